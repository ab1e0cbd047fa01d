"""The set matches, row by row: prediction, references, and what exact match, intersection over union and F1 give."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness import BestOf, Example
from metrics.set_match import exact_set_match, f1_set_match, iou_set_match

Build = Callable[..., Example]

ROWS = [
    # prediction                            references                  exact  IoU   F1
    ("Bob is red and round.",               ("Bob is round and red.",), (1.0, 1.0, 1.0)),
    ("red and round",                       ("Bob is round and red.",), (1.0, 1.0, 1.0)),
    ("Bob is red.",                         ("Bob is round and red.",), (0.0, 1 / 2, 2 / 3)),
    ("Bob is red and big and kind.",        ("Bob is round and red.",), (0.0, 1 / 4, 2 / 5)),
    ("Bob is red.\nBob is round.",          ("Bob is red.",),           (1.0, 1.0, 1.0)),
    ("Nothing.",                            ("Nothing.",),              (1.0, 1.0, 1.0)),
    ("Nothing",                             ("Nothing.",),              (1.0, 1.0, 1.0)),
    ("Bob is red.",                         ("Nothing.",),              (0.0, 0.0, 0.0)),
    ("Nothing.",                            ("Bob is red.",),           (0.0, 0.0, 0.0)),
    ("",                                    ("Nothing.",),              (0.0, 0.0, 0.0)),
    ("green",                               ("red", "green and big"),   (0.0, 1 / 2, 2 / 3)),
]  # fmt: skip


@pytest.mark.parametrize(("prediction", "golds", "expected"), ROWS)
def test_rows(answered: Build, prediction: str, golds: tuple[str, ...], expected: tuple[float, ...]) -> None:
    example = answered(prediction, *golds)
    assert tuple(score(example) for score in (exact_set_match, iou_set_match, f1_set_match)) == pytest.approx(expected)


def test_several_completions_give_the_best_of_them(answered: Build) -> None:
    example = answered("red", "red and big", others=("big and red",))
    assert f1_set_match(example) == BestOf(2 / 3, 1.0, 2)
