"""Distances of numbers, and that what is no number has none."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from harness import BestOf, Example
from metrics.absolute_difference import absolute_value_difference

Build = Callable[..., Example]


@pytest.mark.parametrize(
    ("prediction", "golds", "expected"),
    [
        ("12", ("15",), 3.0),
        (" 1,234.5. ", ("1234",), 0.5),
        ("-3", ("\u22125",), 2.0),
        ("10", ("30", "12"), 2.0),
        ("10", ("many", "12"), 2.0),
        ("ten", ("0",), None),
        ("", ("0",), None),
        ("about 7", ("7",), None),
        ("7", ("seven",), None),
        ("7", (), None),
    ],
)
def test_rows(answered: Build, prediction: str, golds: tuple[str, ...], expected: float | None) -> None:
    assert absolute_value_difference(answered(prediction, *golds)) == expected


def test_the_nearest_of_several_completions(answered: Build) -> None:
    assert absolute_value_difference(answered("1", "5", others=("none", "7"))) == BestOf(4.0, 2.0, 3)
    score = absolute_value_difference(answered("none", "5", others=("7",)))
    assert isinstance(score, BestOf)
    assert math.isnan(score.first)
    assert (score.best, score.k) == (2.0, 2)
