"""Membership scores of examples, by hand."""

from __future__ import annotations

import zlib

import pytest

from harness import Example, Instance, MetricError, Response
from metrics.membership import Membership


def example(name: str, logprobs: tuple[float, ...], role: str = "target", **more: object) -> Example:
    instance = Instance(name, "the text", meta={"role": role})
    return Example(instance, responses=(Response(logprobs=logprobs, **more),))  # type: ignore[arg-type]


def test_scores_by_hand() -> None:
    metric = Membership()
    metric.add(example("a", (-1.0, -2.0, -3.0, -4.0, -10.0), vocabulary_moments=((-2.0, 1.0),) * 5))
    metric.add(example("b", (-1.0,) * 5, vocabulary_moments=((-2.0, 2.0),) * 5))
    found = {name: estimate.value for name, estimate in metric.estimates().items()}
    size = len(zlib.compress(b"the text"))
    assert found["membership"] == pytest.approx((-4.0 - 1.0) / 2)
    assert found["membership_min_k"] == pytest.approx((-10.0 - 1.0) / 2)
    assert found["membership_min_k_plus_plus"] == pytest.approx((-8.0 + 0.5) / 2)
    assert found["membership_zlib"] == pytest.approx((-20.0 - 5.0) / 2 / size)
    assert metric.instance_scores()["membership"] == {"a": -4.0, "b": -1.0}
    assert metric.details()["heuristic"]
    assert metric.details()["scores"]["membership_min_k"] == {"a": -10.0, "b": -1.0}


def test_without_moments_there_is_no_min_k_plus_plus() -> None:
    metric = Membership()
    metric.add(example("a", (-1.0, -2.0)))
    assert "membership_min_k_plus_plus" not in metric.estimates()


def test_a_certain_text_scores_zero_however_rounding_goes() -> None:
    metric = Membership()
    metric.add(example("a", (1e-4, 0.0)))
    assert {estimate.value for estimate in metric.estimates().values()} == {0.0}


def test_other_examples_are_refused() -> None:
    with pytest.raises(MetricError, match="adapter membership"):
        Membership().add(example("a", (-1.0,), role="none"))
    with pytest.raises(MetricError, match="no log-probabilities"):
        Membership().add(example("a", ()))
