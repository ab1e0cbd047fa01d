"""The neighbour test: exact for any scores, known values, and groups whose members may change places."""

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
    """Return the block of examples in an order, from the score of each example after each."""
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
    """Whatever the scores: of all orders of one block, a share of k/n! has p of at most k/n!."""
    matrix = random_scores(n, n)
    every = sorted(10 ** neighbour_test([scored(matrix, order)]).log10_p for order in itertools.permutations(range(n)))
    count = math.factorial(n)
    assert every == pytest.approx([(k + 1) / count for k in range(count)])


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
    """Of 300 nulls 15 are expected below 0.05; 30 or more have probability 0.0003."""
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
    ("n", "sizes"), [(2, {2}), (8, {8}), (9, {4, 5}), (40, {8}), (100, {7, 8}), (1000, {8}), (1001, {7})]
)
def test_blocks_of_eight_neighbours(n: int, sizes: set[int]) -> None:
    blocks = neighbour_blocks([0] * n)
    assert {stop - start for start, stop in blocks} == sizes
    assert [place for start, stop in blocks for place in range(start, stop)] == list(range(n))


@given(st.lists(st.integers(0, 5), min_size=2, max_size=80))
def test_blocks_are_larger_where_groups_leave_fewer_orders(groups: list[int]) -> None:
    blocks = neighbour_blocks(groups)
    assert all(count_orders(groups[start:stop]) <= math.factorial(8) for start, stop in blocks)
    assert all(stop - start <= LARGEST_BLOCK for start, stop in blocks)
    assert max(stop - start for start, stop in blocks) >= min(len(groups) // 2, 7)


def test_what_is_no_block_is_refused() -> None:
    rng = Random(0)
    with pytest.raises(ValueError, match="no block"):
        neighbour_test([])
    with pytest.raises(ValueError, match="5 scores of 3 examples, which need 6"):
        neighbour_test([Neighbours((0, 0, 0), tuple(rng.random() for _ in range(5)))])
    with pytest.raises(ValueError, match="not finite"):
        neighbour_test([Neighbours((0, 0), (0.0, math.nan))])
