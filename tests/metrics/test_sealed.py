"""The metrics of sealed data sets read what their adapters asked."""

from __future__ import annotations

import math

import pytest

from harness import Completion, Example, GenerateRequest, Instance, MetricError, Reference, Response
from harness.contracts import FinishReason
from metrics.sealed import SealedChoice, SealedDye


def item(*logprobs: tuple[float, ...], published: int = 0) -> Example:
    references = tuple(Reference(str(place), place == published) for place in range(len(logprobs)))
    return Example(Instance("1", "{", references), responses=tuple(Response(logprobs=one) for one in logprobs))


def test_texts_are_compared_by_their_mean_log_probability() -> None:
    metric = SealedChoice()
    for number in range(8):
        # By sums, the longer published text would always be the less likely one.
        metric.add(item((-1.0,) * (4 + number), (-2.0, -2.1), published=0))
        metric.add(item((-2.0, -2.1), (-1.0,) * (4 + number), published=1))
    estimates = metric.estimates()
    assert estimates["sealed_choice_preferred"].value == 1.0
    assert estimates["sealed_choice"].value > 3
    assert metric.details()["sealed_log10_p"] == pytest.approx(-estimates["sealed_choice"].value)
    assert metric.details()["texts"] == [2]


def test_answers_of_another_adapter_are_refused() -> None:
    with pytest.raises(MetricError, match="only reads"):
        SealedChoice().add(item((-1.0,)))
    with pytest.raises(MetricError, match="no finite"):
        SealedChoice().add(item((), (-1.0,)))
    with pytest.raises(MetricError, match="several options"):
        SealedDye().add(item((-1.0,)))
    assert SealedChoice().estimates() == SealedDye().estimates() == {}


def test_dye_counts_published_answers() -> None:
    metric = SealedDye()
    options = (Reference("a"), Reference("b", True), Reference("c"), Reference("d"))
    for choice in (1, 1, 1, 0, None):
        metric.add(Example(Instance("1", "q", options), choice=choice))
    found = metric.details()
    assert (found["hits"], found["n_items"], found["hits_by_chance"]) == (3, 5, pytest.approx(1.25))
    tail = sum(math.comb(5, k) * 3 ** (5 - k) for k in (3, 4, 5)) / 4**5
    assert metric.estimates()["sealed_dye"].value == pytest.approx(-math.log10(tail))


def test_unread_dye_answers_that_were_cut_are_counted() -> None:
    """An answer that was cut after its letter is read, so it is not among them."""
    metric = SealedDye()
    options = (Reference("a"), Reference("b", True))
    request = GenerateRequest("q", 5)
    answers: list[tuple[int | None, FinishReason]] = [
        (1, "length"),
        (None, "length"),
        (None, "length"),
        (None, "stop"),
        (None, "unfinished_reasoning"),
    ]
    for choice, finish in answers:
        response = Response((Completion("The", finish_reason=finish),))
        metric.add(Example(Instance("1", "q", options), (request,), (response,), choice=choice))
    found = metric.details()
    assert {name: found[name] for name in ("cut", "unfinished_reasoning", "max_tokens", "n_items")} == {
        "cut": 2, "unfinished_reasoning": 1, "max_tokens": 5, "n_items": 5,
    }  # fmt: skip
