"""A stretch's answers become centred scores, as in the module's example, and survive a file."""

from __future__ import annotations

import json

import pytest

from harness.contamination.statistics.boundaries import Boundary, Stretch

A, B, C, D = range(4)
STRETCH = Stretch(4, (A, B, C, D), (Boundary(1, (B, D)), Boundary(2, (C, D))))


def test_the_module_s_example() -> None:
    scores = [-9.0, -7.0, -8.0, -8.0, -5.0, -9.0, -4.0, -8.0]
    assert STRETCH.scores == len(scores)
    assert list(STRETCH.centred_scores(scores)) == [(1, [2.0, -1.0]), (2, [4.0, 0.75])]


def test_a_boundary_between_equal_examples_or_without_a_baseline_is_left_out() -> None:
    alone = Stretch(2, (0, 1), (Boundary(1, (1, 1)), Boundary(2, (0, 1))))
    assert [position for position, _ in alone.centred_scores([-1.0] * 6)] == [2]
    unknown = Stretch(2, (0,), (Boundary(1, (0, 1)),))
    assert list(unknown.centred_scores([-1.0] * 3)) == []


def test_a_score_too_few() -> None:
    with pytest.raises(ValueError, match="7 scores where 8 are"):
        list(STRETCH.centred_scores([-1.0] * 7))


def test_it_is_the_same_after_a_file() -> None:
    assert Stretch.from_json(json.loads(json.dumps(STRETCH.as_json()))) == STRETCH
