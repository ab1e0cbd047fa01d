"""The neighbour test: p is exact for any scores and in known cases, also if groups limit which examples move."""

from __future__ import annotations

import itertools
import math
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.contamination.statistics.neighbours import (
    LARGEST_BLOCK,
    Neighbours,
    count_orders,
    neighbour_blocks,
    neighbour_test,
)


def scored(matrix: np.ndarray, order: tuple[int, ...] | None = None, groups: tuple[int, ...] = ()) -> Neighbours:
    """Return the block of examples in the given order; ``matrix[i, j]`` is the score of example j after example i."""
    order = tuple(range(len(matrix))) if order is None else order
    scores = tuple(float(matrix[one, other]) for one, other in itertools.permutations(order, 2))
    return Neighbours(groups or (0,) * len(order), scores)


def random_scores(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, n))


def test_the_module_s_example() -> None:
    table = np.array([[0.0, -20, -35, -33], [-31, 0, -30, -38], [-32, -26, 0, -29], [-35, -24, -36, 0]])
    by_sum = ["ABCD", "BCDA", "CDBA", "CDAB", "DABC"]  # from the module's table, and two more
    for rank, order in enumerate(by_sum, start=1):
        block = scored(table, tuple("ABCD".index(letter) for letter in order))
        assert 10 ** neighbour_test([block]).log10_p == pytest.approx(rank / 24)
    worst = scored(table, (0, 2, 1, 3))
    assert neighbour_test([worst]).log10_p == pytest.approx(0.0)


@pytest.mark.parametrize("n", [4, 5, 6])
def test_over_all_orders_p_is_uniform(n: int) -> None:
    """For any scores, k of a block's n! orders have p of at most k/n!, or fewer where rounded sums tie."""
    matrix = random_scores(n, n)
    every = sorted(10 ** neighbour_test([scored(matrix, order)]).log10_p for order in itertools.permutations(range(n)))
    count = math.factorial(n)
    uniform = np.arange(1, count + 1) / count
    assert (np.array(every) >= uniform - 1e-9).all()
    assert np.array(every) == pytest.approx(uniform, abs=0.01)


def test_with_groups_p_is_uniform_over_the_orders_within_them() -> None:
    matrix, groups = random_scores(6, 0), (0, 1, 0, 1, 1, 0)
    places = [[place for place in range(6) if groups[place] == group] for group in (0, 1)]
    found = []
    for one, other in itertools.product(*(list(itertools.permutations(group)) for group in places)):
        order = [0] * 6
        for group, contents in zip(places, (one, other), strict=True):
            for place, content in zip(group, contents, strict=True):
                order[place] = content
        found.append(10 ** neighbour_test([scored(matrix, tuple(order), groups)]).log10_p)
    assert sorted(found) == pytest.approx([(k + 1) / 36 for k in range(36)])


@given(seed=st.integers(0, 100), n=st.integers(4, 7))
@settings(max_examples=20, deadline=None)
def test_what_an_example_scores_anyway_makes_no_difference(seed: int, n: int) -> None:
    matrix, rng = random_scores(n, seed), np.random.default_rng(seed)
    likely, helpful = rng.normal(0, 50, (1, n)), rng.normal(0, 50, (n, 1))
    plain, shifted = neighbour_test([scored(matrix)]), neighbour_test([scored(matrix + likely + helpful)])
    assert shifted.log10_p == pytest.approx(plain.log10_p, abs=1e-6)


@pytest.mark.parametrize("noise", [0.0, 1e-5])
@given(seed=st.integers(0, 50), n=st.integers(4, 7))
@settings(max_examples=20, deadline=None)
def test_where_nothing_but_these_effects_is_left_all_orders_tie(noise: float, seed: int, n: int) -> None:
    """Rounding, which may follow the order of the requests, must not be ranked."""
    rng = np.random.default_rng(seed)
    matrix = rng.normal(-200, 50, (1, n)) + rng.normal(0, 50, (n, 1)) + noise * rng.normal(size=(n, n))
    assert neighbour_test([scored(matrix)] * 3).log10_p == 0.0


def test_one_odd_example_among_equal_ones_has_no_order() -> None:
    kinds = (0, 0, 0, 1, 0, 0)
    matrix = random_scores(2, 0)[np.ix_(kinds, kinds)] * 40
    assert neighbour_test([scored(matrix)]).log10_p == 0.0


def test_a_model_that_expects_the_next_example_is_found_in_every_block() -> None:
    """The published order is the best of 8! orders in each of five blocks."""
    blocks = []
    for seed in range(5):
        matrix = random_scores(8, seed)
        matrix[range(7), range(1, 8)] += 30
        blocks.append(scored(matrix))
    found = neighbour_test(blocks)
    assert found.log10_p == found.log10_floor == pytest.approx(-5 * math.log10(math.factorial(8)))


def test_the_size_over_random_blocks() -> None:
    """Of 300 tests under the null hypothesis, about 15 have p ≤ 0.05; 30 or more have probability 0.0003."""
    found = [
        neighbour_test([scored(random_scores(6, 1000 * seed + block)) for block in range(5)]).log10_p
        for seed in range(300)
    ]
    assert 4 <= sum(log10_p <= math.log10(0.05) for log10_p in found) <= 29


def test_equal_examples_tie() -> None:
    matrix = random_scores(4, 0)
    twice = np.kron(matrix, np.ones((2, 2)))  # examples 0 and 1 are equal, and so on
    found = neighbour_test([scored(twice)])
    orders = math.factorial(8)
    count = 10**found.log10_p * orders
    assert count == pytest.approx(round(count))
    assert round(count) % 2**4 == 0


@pytest.mark.parametrize(
    ("n", "sizes"),
    [(2, [2]), (8, [8]), (9, [8, 1]), (40, [8] * 5), (1000, [8] * 125), (1001, [7] * 143)],
)
def test_blocks_of_eight_neighbours(n: int, sizes: list[int]) -> None:
    assert [stop - start for start, stop in neighbour_blocks([0] * n)] == sizes


@given(st.lists(st.integers(0, 5), min_size=2, max_size=80))
def test_blocks_are_as_large_as_groups_allow(groups: list[int]) -> None:
    blocks = neighbour_blocks(groups)
    assert [place for start, stop in blocks for place in range(start, stop)] == list(range(len(groups)))
    most = math.factorial(8)
    for start, stop in blocks:
        assert count_orders(groups[start:stop]) <= most
        full = stop - start == LARGEST_BLOCK or stop == len(groups)
        assert full or count_orders(groups[start : stop + 1]) > most


def test_invalid_blocks_are_refused() -> None:
    rng = Random(0)
    with pytest.raises(ValueError, match="no block"):
        neighbour_test([])
    with pytest.raises(ValueError, match="5 scores of 3 examples, which need 6"):
        neighbour_test([Neighbours((0, 0, 0), tuple(rng.random() for _ in range(5)))])
    with pytest.raises(ValueError, match="not finite"):
        neighbour_test([Neighbours((0, 0), (0.0, math.nan))])
