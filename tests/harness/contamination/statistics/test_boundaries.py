"""A stretch's answers become centred scores, as in the module's example, and survive a file."""

from __future__ import annotations

import json

import pytest

from harness.contamination.statistics.boundaries import Boundary, Stretch

A, B, C, D = range(4)
STRETCH = Stretch(4, (A, B, C, D), (Boundary(1, (B, D), 2), Boundary(2, (C, D), 2)))


def test_the_module_s_example() -> None:
    scores = [-9.0, -7.0, -8.0, -8.0, -5.0, -9.0, -4.0, -8.0]
    assert STRETCH.scores == len(scores)
    assert list(STRETCH.centred_scores(scores)) == [(1, [2.0, -1.0]), (2, [4.0, 0.75])]


def test_a_boundary_between_equal_examples_or_without_a_baseline_is_left_out() -> None:
    alone = Stretch(2, (0, 1), (Boundary(1, (1, 1), 2), Boundary(2, (0, 1), 2)))
    assert [position for position, _ in alone.centred_scores([-1.0] * 6)] == [2]
    unknown = Stretch(2, (0,), (Boundary(1, (0, 1), 2),))
    assert list(unknown.centred_scores([-1.0] * 3)) == []


def test_a_second_look_adds_candidates_and_contexts() -> None:
    """The module's picture: at the first boundary D joins, at the second all are scored again."""
    looks = Stretch(4, (A, B, C, D), (Boundary(1, (B, C, D), 2), Boundary(2, (C, D), 2, again=True)))
    first = [-9.0, -7.0, -8.0, -8.0, -5.0, -9.0, -4.0, -8.0]
    assert (looks.first_scores, looks.scores) == (8, 11)
    assert next(looks.centred_scores(first)) == (1, [2.0, -1.0])
    (_, one), (_, two) = looks.centred_scores([*first, -10.0, -6.0, -6.0])
    assert one == [2.0, -1.0, -2.0]
    # Means -5 and -7; C and D learnt -9 and -10, less the first boundary's mean centred score of -1/3.
    assert two == pytest.approx([-5.0 - (-8.0 - 9.0 + 1 / 3) / 2, -7.0 - (-8.0 - 10.0 + 1 / 3) / 2])


def test_a_score_too_few() -> None:
    with pytest.raises(ValueError, match="7 scores where 8 or 8"):
        list(STRETCH.centred_scores([-1.0] * 7))


def test_it_is_the_same_after_a_file() -> None:
    assert Stretch.from_json(json.loads(json.dumps(STRETCH.as_json()))) == STRETCH
