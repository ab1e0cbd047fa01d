"""Tokens a second and percentiles by hand, and how often a percentile's interval holds the true one."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import pytest

from harness import Estimate, Example, GenerateRequest, Instance, Response
from metrics.throughput import Latency, TokensPerSecond

Estimated = Callable[..., Mapping[str, Estimate]]


def _asked(*responses: Response, id: str = "a") -> Example:
    return Example(Instance(id, ""), (GenerateRequest("x", 1),) * len(responses), responses)


def test_tokens_per_second_is_a_ratio_of_sums(estimated: Estimated) -> None:
    slow, fast = Response(completion_tokens=10, seconds=10.0), Response(completion_tokens=90, seconds=0.0001)
    values = estimated(TokensPerSecond(), _asked(slow), _asked(fast, id="b"))
    assert values["tokens_per_second"].value == pytest.approx(10.0, rel=1e-3)
    assert values["tokens_per_second"].count == 2


def test_what_is_not_known_has_no_speed(estimated: Estimated) -> None:
    unknown = _asked(Response(completion_tokens=10), Response(seconds=1.0))
    assert estimated(TokensPerSecond(), unknown) == {}
    assert estimated(Latency(), _asked(Response(completion_tokens=10))) == {}


def test_percentiles_by_hand(estimated: Estimated) -> None:
    requests = [_asked(Response(seconds=float(second)), id=str(second)) for second in range(1, 102)]
    values = estimated(Latency(), *requests)
    assert [values[f"latency_p{percent}"].value for percent in (50, 95, 99)] == pytest.approx([51.0, 96.0, 100.0])
    median = values["latency_p50"]
    # P(Bin(101, ½) ≤ 40) = .023: the 41st smallest and the 41st largest.
    assert (median.low, median.high, median.min, median.max) == (41.0, 61.0, 1.0, 101.0)
    assert (values["latency_p95"].low, values["latency_p95"].high) == (91.0, 101.0)
    p99 = values["latency_p99"]
    assert (p99.low, p99.high, p99.note) == (None, None, "n too small for an interval")


def test_one_request_has_no_interval(estimated: Estimated) -> None:
    assert estimated(Latency(), _asked(Response(seconds=2.0)))["latency_p99"] == Estimate(
        2.0, 1, min=2.0, max=2.0, note="n too small for an interval"
    )


def test_the_medians_interval_holds_it_as_often_as_it_says(estimated: Estimated) -> None:
    draw = random.Random(0)
    held = 0
    for _ in range(400):
        responses = [Response(seconds=draw.expovariate(1.0)) for _ in range(101)]
        median = estimated(Latency(), _asked(*responses))["latency_p50"]
        assert median.low is not None
        assert median.high is not None
        held += median.low <= 0.6931471805599453 <= median.high
    assert 0.94 <= held / 400 <= 0.99
