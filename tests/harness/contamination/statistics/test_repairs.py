"""Each repair leaves an order that is exchangeable, and says what it did."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import permutations
from random import Random

import pytest

from harness import DataError
from harness.contamination.statistics.diagnostics import diagnose
from harness.contamination.statistics.repairs import blocks, collapse_near_duplicates, permute_under_ids, strip_ids

MakeTexts = Callable[..., list[str]]


def test_stripped_ids_give_nothing_away(made_up: MakeTexts) -> None:
    texts = made_up(60)
    numbered = [f"{place}. {text}" for place, text in enumerate(texts, start=1)]
    numbered[10] = texts[10]
    repaired = strip_ids(numbered)
    assert list(repaired.texts) == texts
    assert repaired.done == "removed the ids of 59 of 60 examples"
    assert not diagnose(numbered).exchangeable
    assert diagnose(repaired.texts).exchangeable


def test_ids_stay_where_they_are(made_up: MakeTexts) -> None:
    texts = made_up(20)
    numbered = [f"{place}. {text}" for place, text in enumerate(texts, start=1)]
    repaired = permute_under_ids(numbered)
    assert repaired.done == "held the ids of 20 of 20 examples in place"
    assert [prefix + text for prefix, text in zip(repaired.prefixes, repaired.texts, strict=True)] == numbered
    order = repaired.draw(Random(0), 5, 12)
    contents = [repaired.texts[text] for text in order]
    assert contents != texts[5:12]
    assert sorted(contents) == sorted(texts[5:12])
    assert repaired.draw(Random(0), 5, 12) == order


def test_one_of_each_group_of_near_duplicates_is_kept(made_up: MakeTexts) -> None:
    texts = made_up(40)
    doubled = [copy for text in texts for copy in (text, re.sub("Answer", "The answer", text))]
    repaired = collapse_near_duplicates(doubled)
    assert len(repaired.texts) == 40
    assert repaired.done == "left out 40 near duplicates of 80"
    assert [place // 2 for place in repaired.kept] == list(range(40))
    assert {place % 2 for place in repaired.kept} == {0, 1}  # not always the first
    assert [doubled[place] for place in repaired.kept] == list(repaired.texts)
    assert not diagnose(doubled).exchangeable
    assert diagnose(repaired.texts).exchangeable
    assert collapse_near_duplicates(texts).texts == tuple(texts)


def test_which_one_is_kept_does_not_depend_on_the_order() -> None:
    """Over all orders and draws, what had a double stands first as often as what had none."""
    firsts: Counter[str] = Counter()
    for order in permutations(["amber comet", "kelp statue", "kelp  statue".upper().replace("  ", " ")]):
        for seed in range(40):
            firsts[collapse_near_duplicates(order, seed=seed).texts[0].casefold()] += 1
    assert firsts["amber comet"] == pytest.approx(120, abs=25)


def test_copies_without_words_are_duplicates_too() -> None:
    assert len(collapse_near_duplicates(["?", "?", "a b", "c d"]).texts) == 3
    with pytest.raises(DataError, match="all 3 examples are near duplicates"):
        collapse_near_duplicates(["same words", "same words", "Same words"])


def test_blocks_are_permuted_inside_alone() -> None:
    labels = ["x", "y", "x", "y", "z", "x"]
    repaired = blocks(list("abcdef"), labels)
    assert repaired.groups == ((0, 2, 5), (1, 3), (4,))
    orders = {tuple(repaired.draw(Random(seed))) for seed in range(300)}
    assert len(orders) == 6 * 2
    assert all([labels[text] for text in order] == labels for order in orders)
    counts = Counter(tuple(repaired.draw(Random(seed), 0, 4)) for seed in range(1000))
    assert set(counts) == {(0, 1, 2, 3), (2, 1, 0, 3), (0, 3, 2, 1), (2, 3, 0, 1)}
    assert min(counts.values()) > 190


def test_what_has_no_blocks() -> None:
    with pytest.raises(DataError, match="no two examples have the same label"):
        blocks(["a", "b"], ["x", "y"])
    with pytest.raises(ValueError, match="1 labels for 2 texts"):
        blocks(["a", "b"], ["x"])


def test_orders_are_uniform() -> None:
    repaired = strip_ids(["a", "b", "c"])
    counts = Counter(tuple(repaired.draw(Random(seed))) for seed in range(1200))
    assert len(counts) == 6
    assert min(counts.values()) > 150
