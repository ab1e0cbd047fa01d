"""The option-order metric: p-values of published orders that always win, never win, or are one of equals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest

from harness import Example, Instance, MetricError, Reference, Response
from metrics.option_order import OptionOrder


def example(scores: Sequence[float], labels: tuple[str, ...] = ("A", "B", "C")) -> Example:
    responses = tuple(Response(logprobs=(score / 2, score / 2)) for score in scores)
    return Example(Instance("q", "Which?"), responses=responses, labels=labels)


def metric_of(items: Sequence[Sequence[float]], alpha: float = 0.01) -> OptionOrder:
    metric = OptionOrder(alpha=alpha)
    for item in items:
        metric.add(example(item))
    return metric


def test_the_published_order_always_first_has_the_smallest_p_there_is() -> None:
    found = metric_of([[-1.0, -2.0, -3.0, -4.0, -5.0, -6.0]] * 10)
    estimates = found.estimates()
    assert estimates["option_order"].value == pytest.approx(10 * math.log10(6))
    assert estimates["option_order"].count == 10
    assert estimates["option_order_first"].value == 1.0
    assert found.details()["first_rate_by_chance"] == pytest.approx(1 / 6)


def test_always_last_and_always_equal_are_no_evidence() -> None:
    assert metric_of([[-6.0, -2.0, -3.0, -4.0, -5.0, -1.0]] * 10).estimates()["option_order"].value < 1e-6
    assert metric_of([[-1.0] * 6] * 10).estimates()["option_order"].value < 0.5


def test_options_with_an_order_of_their_own_are_noted() -> None:
    metric = OptionOrder()
    for number in range(40):
        references = tuple(Reference(str(10 * number + place), place == 0) for place in range(3))
        metric.add(replace(example([-1.0, -2.0, -3.0]), instance=Instance(f"q{number}", "Which?", references)))
    found = metric.details()
    assert found["exchangeable"] is False
    assert found["diagnostics"]["numbers"]["p_holm"] <= 0.01
    assert found["not_testable"].startswith(
        "the text alone shows that the options are not in random order: numbers (p = "
    )
    assert found["no_value"] == f"not testable: {found['not_testable']}"
    assert (found["log10_p"], metric.estimates()) == (None, {})
    assert metric_of([[-1.0, -2.0, -3.0]] * 10).details()["exchangeable"] is True


def test_questions_with_several_correct_options_do_not_show_an_order_of_options() -> None:
    rng, metric = Random(0), OptionOrder()
    for number in range(60):
        options = rng.sample([("salt", True), ("milk", True), ("sand", False)], 3)
        references = tuple(Reference(text, correct) for text, correct in options)
        metric.add(replace(example([-1.0, -2.0, -3.0]), instance=Instance(f"q{number}", "Which?", references)))
    assert metric.details()["exchangeable"] is True


def test_too_few_questions_for_the_level() -> None:
    few = [[-1.0, -2.0]] * 6  # 2^-6 is above 0.01
    found = metric_of(few).details()
    assert found["not_testable"] == "with 6 questions no p-value at the level 0.01 is possible (the smallest is 0.016)"
    assert metric_of(few).estimates() == {}
    assert "not_testable" not in metric_of([*few, few[0]]).details()
    assert "not_testable" not in metric_of(few, alpha=0.05).details()
    with pytest.raises(MetricError, match="alpha is 2"):
        OptionOrder(alpha=2)


def test_nothing_seen_gives_nothing() -> None:
    assert OptionOrder().estimates() == {}
    assert OptionOrder().details() == {}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (example([-1.0]), "adapter option_order"),
        (example([-1.0, -2.0], labels=()), "adapter option_order"),
        (example([-1.0, math.nan]), "finite"),
    ],
)
def test_other_examples_are_refused(wrong: Example, says: str) -> None:
    with pytest.raises(MetricError, match=says):
        OptionOrder().add(wrong)
