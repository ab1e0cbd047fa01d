"""The held-out test: its p-value by hand and over all splits, its level, and which rows stay together."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contamination.statistics.held_out import (
    Split,
    held_out_test,
    smallest_p,
    split_at_random,
    split_of,
    telling_texts,
)
from harness.errors import DataError

WORDS = ("amber", "birch", "comet", "delta", "ember", "fjord", "grove", "heath", "island", "juniper", "kelp", "larch")


def rows(seed: int, count: int) -> list[str]:
    """Rows of random words, all different."""
    rng = np.random.default_rng(seed)
    return [f"{' '.join(rng.choice(WORDS, 6))} {seed}{row} {rng.integers(10**9)}" for row in range(count)]


def single(published: int, held_out: int) -> Split:
    count = published + held_out
    return Split(tuple((row,) for row in range(count)), (True,) * published + (False,) * held_out, 0)


def test_by_hand() -> None:
    scores = [-2.1, -1.9, -2.4, -2.0, -2.2, -2.8, -2.5, -2.3, -2.9, -2.6]
    found = held_out_test(single(5, 5), scores)
    assert found.p == pytest.approx(2 / 252)
    assert (found.ways, found.exact) == (252, True)
    assert found.difference == pytest.approx(0.5)


@given(st.lists(st.integers(-5, 5), min_size=4, max_size=8), st.data())
def test_it_is_the_rank_among_all_splits(scores: list[int], data: st.DataObject) -> None:
    published = data.draw(st.integers(1, len(scores) - 1))
    sums = [sum(chosen) for chosen in combinations(scores, published)]
    expected = np.mean([total >= sum(scores[:published]) for total in sums])
    assert held_out_test(single(published, len(scores) - published), scores).p == pytest.approx(expected)


def test_random_splits_agree_with_all_of_them() -> None:
    scores = np.random.default_rng(1).normal(size=18).tolist()
    split = single(9, 9)  # 48,620 ways
    everything = float((split.every(scores) >= sum(scores[:9]) - 1e-9).mean())
    found = held_out_test(split, scores, draws=9999)
    assert not found.exact
    assert found.p == pytest.approx(everything, abs=4 * (everything * (1 - everything) / 9999) ** 0.5 + 2e-4)
    assert smallest_p(split, 9999) == 1 / 10_000


def test_units_change_sides_only_with_units_of_their_size() -> None:
    split = Split(((0, 1), (2,), (3,), (4, 5), (6,)), (True, False, True, False, False), 0)
    assert split.ways == 2 * 3
    drawn = split.draws(np.random.default_rng(0), 500)
    sizes = np.array([2, 1, 1, 2, 1])
    assert set((drawn @ sizes).tolist()) == {3}
    assert len({tuple(row) for row in drawn.tolist()}) == 6
    assert held_out_test(split, [1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]).p == pytest.approx(1 / 6)


def test_near_duplicates_stay_together_or_are_left_out() -> None:
    published, held_out = rows(0, 5), rows(1, 5)
    pair = "the very long question about a comet and a birch in the grove of amber"
    split = split_of([*published, f"{pair} ?", f"{pair} !"], held_out)
    assert (5, 6) in split.units
    assert split.left_out == 0
    split = split_of([*published, f"{pair} ?"], [*held_out, f"{pair} !"])
    assert split.left_out == 2
    assert all(5 not in unit for unit in split.units)


def test_rows_in_both_files_are_refused() -> None:
    published = rows(0, 5)
    with pytest.raises(DataError, match=r"1 of 6 held-out rows are published too, the first is row 6, which is row 2"):
        split_of(published, [*rows(1, 5), published[1].upper()])


def test_texts_tell_a_split_that_was_not_random() -> None:
    ours, others = rows(0, 20), [f"{row} with a tail" for row in rows(1, 20)]
    found = telling_texts(split_of(ours, others), [*ours, *others])
    assert not split_at_random(found)
    every = rows(2, 40)
    assert split_at_random(telling_texts(split_of(every[:20], every[20:]), every))


@pytest.mark.parametrize(("count", "draws"), [(12, 99), (60, 199)])
def test_size(count: int, draws: int) -> None:
    # Skew scores, some of them shared by a unit, as near duplicates would.
    rng = np.random.default_rng(5)
    p_values = []
    for null in range(400):
        units = (*((row,) for row in range(count - 4)), (count - 4, count - 3), (count - 2, count - 1))
        chosen = rng.random(len(units)) < 0.5
        chosen[:2] = True, False
        scores = -np.exp(rng.normal(size=count))
        scores[count - 3], scores[count - 1] = scores[count - 4], scores[count - 2]
        split = Split(units, tuple(bool(one) for one in chosen), 0)
        p_values.append(held_out_test(split, scores.tolist(), draws, seed=null).p)
    for level in (0.05, 0.2):
        rejected = float(np.mean([p <= level for p in p_values]))
        assert rejected <= level + 4 * (level * (1 - level) / 400) ** 0.5
    assert np.mean(p_values) > 0.4


def test_what_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="3 scores of 4 rows"):
        held_out_test(single(2, 2), [0.0, 1.0, 2.0])
    with pytest.raises(ValueError, match="not finite"):
        held_out_test(single(2, 2), [0.0, 1.0, 2.0, float("nan")])
