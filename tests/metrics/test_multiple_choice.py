"""Accuracy by position: choices, ties and what is not there."""

from __future__ import annotations

import math

import pytest

from harness import Example, Instance, MetricError, Reference
from metrics.multiple_choice import multiple_choice_accuracy


def _choice(
    correct: str, choice: int | None = None, scores: tuple[float, ...] | None = None, labels: tuple[str, ...] = ()
) -> Example:
    """Options are written as ones and zeros, ``"0100"``; all have the same text."""
    references = tuple(Reference("same", correct=mark == "1") for mark in correct)
    return Example(Instance("a", "", references), choice=choice, choice_scores=scores, labels=labels, prediction="same")


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        (_choice("0100", choice=1), 1.0),
        (_choice("0100", choice=2), 0.0),
        (_choice("0100", choice=None, labels=tuple("ABCD")), 0.0),
        (_choice("0100", scores=(-3.0, -1.0, -2.0, -4.0)), 1.0),
        (_choice("0100", scores=(-1.0, -3.0, -2.0, -4.0)), 0.0),
        (_choice("0100", scores=(-1.0, -1.0, -2.0, -4.0)), 0.5),
        (_choice("0100", scores=(0.0, 0.0, 0.0, 0.0)), 0.25),
        (_choice("0110", scores=(0.0, 0.0, 0.0, -1.0)), 2 / 3),
        (_choice("0110", scores=(-math.inf, -5.0, -math.inf, -math.inf)), 1.0),
        (_choice("0000", choice=1), None),
        (_choice("0000", scores=(1.0, 2.0, 3.0, 4.0)), None),
    ],
)
def test_accuracy(example: Example, expected: float | None) -> None:
    assert multiple_choice_accuracy(example) == expected


@pytest.mark.parametrize(
    ("example", "message"),
    [
        (_choice("01", choice=None), "no options to choose from"),
        (_choice("01", choice=2), "option 2, but there are 2"),
        (_choice("01", scores=(0.0,)), "1 scores for 2 options"),
        (_choice("01", scores=(0.0, math.nan)), "gave no log-probabilities"),
    ],
)
def test_what_is_missing_is_an_error_and_no_score(example: Example, message: str) -> None:
    with pytest.raises(MetricError, match=message):
        multiple_choice_accuracy(example)
