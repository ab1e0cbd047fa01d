"""Closed forms against other closed forms, other libraries, and the coverage that they promise."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness import Estimate
from harness.statistics import mean_estimate, ratio_estimate, transformed

numbers = st.floats(-1e6, 1e6, allow_subnormal=False)
positive = st.floats(1e-3, 1e6)


def test_a_mean_by_hand() -> None:
    # 1, 2, 3, 4: s² = 5/3, s/√n = √(5/12) = 0.6455, t(3) = 3.18245
    estimate = mean_estimate([1.0, 2.0, 3.0, 4.0])
    assert (estimate.value, estimate.count, estimate.min, estimate.max) == (2.5, 4, 1.0, 4.0)
    assert estimate.stderr == pytest.approx(0.645497, abs=1e-6)
    assert estimate.low == pytest.approx(0.445740, abs=1e-6)
    assert estimate.high == pytest.approx(4.554260, abs=1e-6)


def test_one_value_has_no_uncertainty() -> None:
    assert mean_estimate([0.5]) == Estimate(0.5, 1, min=0.5, max=0.5)
    assert ratio_estimate([3.0], [2.0]) == Estimate(1.5, 1, min=1.5, max=1.5)


def test_no_value_has_no_mean() -> None:
    with pytest.raises(ValueError, match="no values"):
        mean_estimate([])
    with pytest.raises(ValueError, match="0 numerators"):
        ratio_estimate([], [])
    with pytest.raises(ValueError, match="2 numerators and 1 denominators"):
        ratio_estimate([1.0, 1.0], [1.0])
    with pytest.raises(ValueError, match="positive"):
        ratio_estimate([1.0, 1.0], [1.0, 0.0])


@given(st.lists(numbers, min_size=2, max_size=60))
def test_a_mean_equals_scipys_interval(values: list[float]) -> None:
    from scipy import stats

    estimate = mean_estimate(values)
    scale = max(map(abs, values)) + 1.0
    assume(not set(values) <= {0.0, 1.0})
    assert estimate.value == pytest.approx(np.mean(values), abs=1e-9 * scale)
    assert estimate.stderr == pytest.approx(stats.sem(values), abs=1e-9 * scale)
    if np.ptp(values) > 1e-6 * scale:
        low, high = stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=stats.sem(values))
        assert estimate.low == pytest.approx(low, abs=1e-7 * scale)
        assert estimate.high == pytest.approx(high, abs=1e-7 * scale)


@given(st.lists(numbers, min_size=1, max_size=60), st.randoms(use_true_random=False))
def test_the_order_of_the_values_changes_nothing(values: list[float], rng: random.Random) -> None:
    shuffled = rng.sample(values, len(values))
    assert mean_estimate(shuffled) == mean_estimate(values)


@given(st.lists(numbers, min_size=1, max_size=60))
def test_a_mean_lies_between_its_extremes(values: list[float]) -> None:
    estimate = mean_estimate(values)
    assert min(values) <= estimate.value <= max(values)


@given(st.lists(numbers, min_size=2, max_size=40), positive)
def test_a_ratio_with_equal_denominators_is_a_mean(values: list[float], denominator: float) -> None:
    ratio = ratio_estimate([value * denominator for value in values], [denominator] * len(values))
    mean = mean_estimate(values)
    scale = max(map(abs, values)) + 1.0
    assert ratio.value == pytest.approx(mean.value, abs=1e-9 * scale)
    assert ratio.stderr == pytest.approx(mean.stderr, abs=1e-9 * scale)
    if not set(values) <= {0.0, 1.0}:
        assert ratio.high == pytest.approx(mean.high, abs=1e-7 * scale)


@given(st.integers(0, 60), st.integers(2, 60))
def test_a_proportion_has_wilsons_interval(right: int, count: int) -> None:
    from scipy import stats

    assume(right <= count)
    estimate = mean_estimate([1.0] * right + [0.0] * (count - right))
    expected = stats.binomtest(right, count).proportion_ci(0.95, method="wilson")
    assert (estimate.low, estimate.high) == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert estimate.low is not None
    assert estimate.high is not None
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
    assert estimate.low < estimate.high


def test_a_ratio_by_hand() -> None:
    # R = 5/4; e = 1 - 1.25, 4 - 3.75 = ∓0.25; √(2·0.125)/4 = 0.125
    estimate = ratio_estimate([1.0, 4.0], [1.0, 3.0])
    assert estimate.value == 1.25
    assert estimate.stderr == pytest.approx(0.125)
    assert estimate.high == pytest.approx(1.25 + 12.7062 * 0.125, abs=1e-4)
    assert estimate.min == 1.0
    assert estimate.max == pytest.approx(4 / 3)


def test_a_decreasing_function_turns_the_interval_round() -> None:
    before = Estimate(-1.0, 9, 0.1, -1.2, -0.8, -2.0, -0.5)
    after = transformed(before, lambda value: math.exp(-value), lambda value: -math.exp(-value))
    assert (after.value, after.count) == (math.e, 9)
    assert after.stderr == pytest.approx(0.1 * math.e)
    assert (after.low, after.high) == (math.exp(0.8), math.exp(1.2))
    assert (after.min, after.max) == (math.exp(0.5), math.exp(2.0))
    assert transformed(Estimate(2.0, 1), math.sqrt, lambda _: 1.0) == Estimate(math.sqrt(2.0), 1)


def _share_that_covers(truth: float, estimates: list[Estimate]) -> float:
    inside = [one.low is not None and one.high is not None and one.low <= truth <= one.high for one in estimates]
    return sum(inside) / len(inside)


def test_nineteen_of_twenty_intervals_of_a_mean_cover_the_truth() -> None:
    rng = random.Random(1)
    estimates = [mean_estimate([rng.gauss(3.0, 2.0) for _ in range(6)]) for _ in range(4000)]
    # Three standard errors of the simulation are 0.0103; the normal quantile instead of Student's would give 0.89.
    assert _share_that_covers(3.0, estimates) == pytest.approx(0.95, abs=0.0104)


def test_nineteen_of_twenty_intervals_of_a_ratio_cover_the_truth() -> None:
    rng = random.Random(2)

    def corpus() -> Estimate:
        lengths = [rng.uniform(50.0, 150.0) for _ in range(60)]
        return ratio_estimate([length * rng.gauss(-2.0, 0.5) for length in lengths], lengths)

    assert _share_that_covers(-2.0, [corpus() for _ in range(2000)]) == pytest.approx(0.95, abs=0.02)
