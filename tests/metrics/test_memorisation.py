"""How much of a known text comes back, by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import Example, Instance, MetricError, Reference
from metrics.memorisation import edit_distance, edit_similarity, longest_common_prefix_length

Build = Callable[..., Example]


@pytest.mark.parametrize(
    ("completions", "true", "prefix", "distance", "similarity"),
    [
        (("A A B C", "A M D"), "A A D", 2.0, 1.0, 2 / 3),  # the first against "A A D": 2 and 2/4
        (("A B C D",), "A B C D E F", 4.0, 0.0, 1.0),
        (("X B C D",), "A B C D E F", 0.0, 1.0, 3 / 4),
        (("don't stop.",), "don't stop!", 3.0, 1.0, 3 / 4),  # Treebank: do n't stop .
        (("", "A B"), "A B", 2.0, 0.0, 1.0),
        (("A B C D",), "A B", 2.0, 2.0, 1 / 2),
    ],
)
def test_by_hand(
    answered: Build, completions: tuple[str, ...], true: str, prefix: float, distance: float, similarity: float
) -> None:
    example = answered(completions[0], true, others=completions[1:])
    assert longest_common_prefix_length(example) == prefix
    assert edit_distance(example) == distance
    assert edit_similarity(example) == pytest.approx(similarity)


def test_the_reference_may_hold_the_input() -> None:
    example = Example(Instance("a", "It was ", (Reference("It was a dark night", True),)), prediction="a dark cellar")
    assert longest_common_prefix_length(example) == 2.0
    assert edit_similarity(example) == pytest.approx(2 / 3)


def test_the_continuation_is_cut_to_the_completions_length(answered: Build) -> None:
    example = answered("one two", "one two " + "more " * 10_000)
    assert edit_similarity(example) == 1.0


def test_nothing_to_compare(answered: Build) -> None:
    for score, empty in ((longest_common_prefix_length, 0.0), (edit_distance, None), (edit_similarity, None)):
        assert score(answered(" ", "A B")) == empty
        assert score(answered("A B")) is None
        with pytest.raises(MetricError, match="one correct reference, and there are 2"):
            score(answered("A", "A", "B"))


def _by_table(first: list[str], second: list[str]) -> int:
    row = list(range(len(second) + 1))
    for i, one in enumerate(first, start=1):
        above, row[0] = row[0], i
        for j, other in enumerate(second, start=1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (one != other))
    return row[-1]


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=40), st.lists(st.sampled_from("abc"), max_size=40))
def test_the_distance_is_levenshteins(written: list[str], true: list[str]) -> None:
    instance = Instance("a", "", (Reference(" ".join(true), correct=True),))
    assert edit_distance(Example(instance, prediction=" ".join(written))) == _by_table(written, true[: len(written)])
