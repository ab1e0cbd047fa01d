"""Tails of sums of independent choices, against counting every choice."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness.contamination.statistics.exact_tail import convolved, exact_tail
from harness.contamination.statistics.null_distribution import NullDistribution, null_distribution

ROWS = st.lists(st.lists(st.integers(-40, 40), min_size=2, max_size=5), min_size=1, max_size=5)


def _tables(rows: list[list[int]]) -> list[Any]:
    return [np.array([row], dtype=np.float64) for row in rows]


def _counted(rows: list[list[int]]) -> float:
    """The probability that rows' choices add up to at least those in their first places, in whole numbers."""
    scale = math.prod(map(len, rows))
    observed = sum(row[0] for row in rows)
    return sum(sum(choice) >= observed for choice in product(*rows)) / scale


def _whole(rows: list[list[int]]) -> NullDistribution:
    # The rows' means are multiples of 1/60, so that on a lattice of that step nothing is rounded.
    return null_distribution(_tables(rows), 1 / 60)


@given(ROWS)
def test_enumeration_counts(rows: list[list[int]]) -> None:
    assert 10 ** exact_tail(_tables(rows)).log10_p == pytest.approx(_counted(rows), rel=1e-12)


@given(ROWS)
def test_convolution_counts(rows: list[list[int]]) -> None:
    assume(any(len(set(row)) > 1 for row in rows))
    log_p = convolved(_whole(rows))
    assert log_p is not None
    assert math.exp(log_p) == pytest.approx(_counted(rows), rel=1e-8)


@given(ROWS)
def test_the_bound_is_never_below_the_probability(rows: list[list[int]]) -> None:
    found = exact_tail(_tables(rows))
    exact = math.log10(_counted(rows))
    assert found.log10_certified >= exact - 1e-9
    assert found.log10_p == pytest.approx(exact, abs=1e-9)
    assert found.log10_floor <= found.log10_p + 1e-12 <= 1e-12


@given(ROWS)
def test_the_bound_holds_before_it_is_compared(rows: list[list[int]]) -> None:
    assume(any(len(set(row)) > 1 for row in rows))
    assert _whole(rows).log_chernoff >= math.log(_counted(rows)) - 1e-9


@pytest.mark.parametrize("seed", range(40))
def test_the_saddlepoint_is_within_a_tenth(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(8, 11))
    table[:, 0] += rng.uniform(0, 1.5)
    total = null_distribution([table], 1e-9)
    found = exact_tail([table])
    assert found.method == "enumeration"
    exact = found.log10_p * math.log(10)
    if math.log(1e-4) <= exact <= math.log(0.5):
        assert math.exp(total.log_saddlepoint() - exact) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize(("rows", "choices", "shift"), [(50, 26, 1.5), (200, 251, 0.5), (200, 251, 3.0), (30, 4, 2.0)])
def test_far_tails_by_two_roads(rows: int, choices: int, shift: float) -> None:
    """Where nothing can be counted, convolution and saddlepoint agree within 2 % of p, down to 1e-300."""
    table = np.random.default_rng(0).normal(size=(rows, choices))
    table[:, 0] += shift
    total = null_distribution([table], math.sqrt(rows) / 2000)
    log_p = convolved(total)
    assert log_p is not None
    assert log_p < math.log(1e-3)
    assert math.exp(total.log_saddlepoint() - log_p) == pytest.approx(1.0, abs=0.02)
    assert total.log_chernoff > log_p


def test_below_the_mean() -> None:
    rng = np.random.default_rng(1)
    table = np.sort(rng.normal(size=(20, 12)), axis=1)  # the observed choices are the lowest
    table[0, [0, 11]] = table[0, [11, 0]]
    found = exact_tail([table])
    assert found.log10_certified == 0.0
    assert found.log10_p == pytest.approx(0.0, abs=1e-12)
    assert found.z < 0
    middling = null_distribution([rng.normal(size=(30, 12))], 1e-3)
    assert middling.excess < 0
    log_p = convolved(middling)
    assert log_p is not None
    assert middling.log_saddlepoint() == pytest.approx(log_p, abs=1e-3)


def test_the_best_choice_everywhere() -> None:
    table = np.tile(np.arange(26.0)[::-1], (8, 1))
    found = exact_tail([table])
    assert found.log10_p == found.log10_certified == found.log10_floor == pytest.approx(-8 * math.log10(26), rel=1e-14)
    tied = np.array([[1.0, 1.0, 0.0, 0.0]] * 300)
    assert exact_tail([tied]).log10_p == pytest.approx(-300 * math.log10(2), rel=1e-12)


def test_what_cannot_vary() -> None:
    found = exact_tail([np.full((5, 4), -301.7)])
    assert (found.log10_p, found.log10_certified, found.log10_floor, found.z) == (0.0, 0.0, 0.0, 0.0)


def test_the_module_s_example() -> None:
    found = exact_tail([np.array([[3.0, 1.0], [2.0, 0.0]])])
    assert 10**found.log10_p == pytest.approx(1 / 4)


def test_rows_of_different_lengths() -> None:
    tables = [np.array([[2.0, 1.0], [0.0, 5.0]]), np.array([[7.0, 1.0, 1.0]])]
    expected = _counted([[2, 1], [0, 5], [7, 1, 1]])
    assert exact_tail(tables).log10_p == pytest.approx(math.log10(expected), rel=1e-12)


def test_more_sums_than_can_be_counted_follow_the_binomial() -> None:
    """200 choices between 0 and 1 of which 140 were 1: the binomial tail, exactly."""
    table = np.zeros((200, 2))
    table[:140, 0] = 1.0
    table[140:, 1] = 1.0
    expected = sum(math.comb(200, k) for k in range(140, 201)) / 2**200
    found = exact_tail([table])
    assert found.method == "convolution"
    assert found.log10_p == pytest.approx(math.log10(expected), rel=1e-12)
