"""Closed forms against other closed forms, other libraries, and the coverage that they promise."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness import Estimate, Scale
from harness.statistics import (
    BOUNDED,
    COUNT,
    PROPORTION,
    SIGNED,
    SMOOTH,
    bounded_mean_interval,
    mean_estimate,
    midp_interval,
    ratio_estimate,
    ratio_interval,
    skewed_mean_interval,
    transformed,
)

numbers = st.floats(-1e6, 1e6, allow_subnormal=False)
positive = st.floats(1e-3, 1e6)


def test_a_mean_by_hand() -> None:
    # 1 to 10: s² = 55/6, s/√n = √(55/60) = 0.957427, t(9) = 2.262157
    estimate = mean_estimate([float(value) for value in range(1, 11)], SIGNED)
    assert (estimate.value, estimate.count, estimate.min, estimate.max) == (5.5, 10, 1.0, 10.0)
    assert estimate.stderr == pytest.approx(0.957427, abs=1e-6)
    assert estimate.low == pytest.approx(3.334149, abs=1e-6)
    assert estimate.high == pytest.approx(7.665851, abs=1e-6)


@pytest.mark.parametrize(
    ("values", "scale", "expected"),
    [
        ([1.0] * 13 + [0.0] * 7, PROPORTION, midp_interval(13, 20)),
        ([1.0] * 13 + [0.0] * 7, BOUNDED, midp_interval(13, 20)),
        ([1.0] * 12 + [0.0] * 7 + [0.5], PROPORTION, bounded_mean_interval([1.0] * 12 + [0.0] * 7 + [0.5])),
        ([0.02] * 19 + [0.1], BOUNDED, bounded_mean_interval([0.02] * 19 + [0.1])),
        ([0.0, 3.0, 1.0, 1.0] * 5, COUNT, skewed_mean_interval([0.0, 3.0, 1.0, 1.0] * 5)),
        ([0.8, 0.82, 0.7] * 5, SMOOTH, skewed_mean_interval([0.8, 0.82, 0.7] * 5)),
        ([-1.0] * 4 + [1.0] * 4, Scale("bounded", -1.0, 1.0), tuple(2 * end - 1 for end in midp_interval(4, 8))),
    ],
)
def test_the_declared_scale_chooses_the_interval(
    values: list[float], scale: Scale, expected: tuple[float, float]
) -> None:
    estimate = mean_estimate(values, scale)
    assert (estimate.low, estimate.high) == pytest.approx(expected)


def test_counts_that_happen_to_be_0_or_1_are_not_a_proportion() -> None:
    assert mean_estimate([1.0] * 20, PROPORTION).low == pytest.approx(0.860892, abs=1e-6)
    found = mean_estimate([1.0] * 20, COUNT)
    assert (found.value, found.low, found.high, found.note) == (1.0, None, None, "all 20 values are 1")
    mixed = [1.0] * 3 + [0.0] * 17
    assert (mean_estimate(mixed, COUNT).low, mean_estimate(mixed, COUNT).high) != midp_interval(3, 20)


@pytest.mark.parametrize("scale", [PROPORTION, BOUNDED, SMOOTH, COUNT, Scale("bounded", 0.0, 0.5)])
@given(values=st.lists(st.sampled_from([0.0, 0.0, 0.0, 0.02, 0.1, 0.5]), min_size=1, max_size=60))
def test_an_interval_never_leaves_its_scale(scale: Scale, values: list[float]) -> None:
    found = mean_estimate(values, scale)
    low, high = scale.bounds
    assert (found.low is None) == (found.high is None)
    if found.low is None or found.high is None:
        assert found.note
    else:
        assert low <= found.low <= found.value <= found.high <= high
        assert found.low < found.high


def test_one_f1_among_zeros_stays_above_zero() -> None:
    found = mean_estimate([0.4] + [0.0] * 19, BOUNDED)
    assert found.low is not None
    assert found.low >= 0.0


@pytest.mark.parametrize(
    ("values", "scale", "note"),
    [
        ([1.0] * 20, PROPORTION, "every score is 1, so the true value is at least 86 %"),
        ([0.0] * 20, PROPORTION, "every score is 0, so the true value is at most 14 %"),
        ([1.0], PROPORTION, "every score is 1, so the true value is at least 5 %"),
        ([0.5] * 4, BOUNDED, "n too small for an interval"),
        ([0.5] * 9, SMOOTH, "n too small for an interval"),
        ([5.0] * 9, COUNT, "n too small for an interval"),
        ([5.0] * 12, COUNT, "all 12 values are 5"),
        ([0.5, 0.51] * 10, BOUNDED, "few scores: the interval counts half an observation at each bound, and is wide"),
        ([1.0] * 20 + [90.0], COUNT, "the mean may rest on rare long items"),
        ([0.3, 0.9] * 10, None, "no interval: the metric does not declare its scale"),
        ([0.0, 1.0, 0.0, 1.0], PROPORTION, ""),
        ([float(value) for value in range(30)], COUNT, ""),
    ],
)
def test_the_note_says_what_a_reader_must_know(values: list[float], scale: Scale | None, note: str) -> None:
    found = mean_estimate(values, scale)
    assert found.note == note
    assert (found.low is None) == note.startswith(("n too small", "all", "no interval"))


def test_a_value_outside_of_its_scale_is_refused() -> None:
    with pytest.raises(ValueError, match=r"1\.5 is outside of its scale, from 0 to 1"):
        mean_estimate([0.5, 1.5], BOUNDED)
    assert mean_estimate([1.0 + 1e-9] * 5, BOUNDED).value == 1.0  # rounding


def test_one_value_has_no_uncertainty() -> None:
    assert mean_estimate([0.5], BOUNDED) == Estimate(0.5, 1, min=0.5, max=0.5, note="n too small for an interval")
    assert ratio_estimate([3.0], [2.0]) == Estimate(1.5, 1, min=1.5, max=1.5, note="n too small for an interval")


def test_no_value_has_no_mean() -> None:
    with pytest.raises(ValueError, match="no values"):
        mean_estimate([], BOUNDED)
    with pytest.raises(ValueError, match="0 numerators"):
        ratio_estimate([], [])
    with pytest.raises(ValueError, match="2 numerators and 1 denominators"):
        ratio_estimate([1.0, 1.0], [1.0])
    with pytest.raises(ValueError, match="positive"):
        ratio_estimate([1.0, 1.0], [1.0, 0.0])


@given(st.lists(numbers, min_size=10, max_size=60))
def test_a_mean_of_signed_values_equals_scipys_interval(values: list[float]) -> None:
    from scipy import stats

    estimate = mean_estimate(values, SIGNED)
    scale = max(map(abs, values)) + 1.0
    assert estimate.value == pytest.approx(np.mean(values), abs=1e-9 * scale)
    assert estimate.stderr == pytest.approx(stats.sem(values), abs=1e-9 * scale)
    if np.ptp(values) > 1e-6 * scale:
        low, high = stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=stats.sem(values))
        assert estimate.low == pytest.approx(low, abs=1e-7 * scale)
        assert estimate.high == pytest.approx(high, abs=1e-7 * scale)


@given(st.lists(numbers, min_size=1, max_size=60), st.randoms(use_true_random=False))
def test_the_order_of_the_values_changes_nothing(values: list[float], rng: random.Random) -> None:
    shuffled = rng.sample(values, len(values))
    assert mean_estimate(shuffled, SIGNED) == mean_estimate(values, SIGNED)


@given(st.lists(numbers, min_size=1, max_size=60))
def test_a_mean_lies_between_its_extremes(values: list[float]) -> None:
    estimate = mean_estimate(values, SIGNED)
    assert min(values) <= estimate.value <= max(values)


@given(st.lists(st.floats(0.0, 1e4), min_size=10, max_size=40), positive)
def test_a_ratio_with_equal_denominators_is_a_mean(values: list[float], denominator: float) -> None:
    assume(max(values) - min(values) > 1e-3 * max(values) + 1e-6)
    ratio = ratio_estimate([value * denominator for value in values], [denominator] * len(values), low=0.0)
    mean = mean_estimate(values, COUNT)
    assert ratio.value == pytest.approx(mean.value)
    assert ratio.stderr == pytest.approx(mean.stderr)
    assert (ratio.low, ratio.high) == pytest.approx((mean.low, mean.high), rel=1e-6, abs=1e-6)


def test_a_ratio_by_hand() -> None:
    # R = 5/4; shares ¼ and ¾; residuals ∓0.25 / (2·√¾) and ±0.25 / (2·½); √(Σe²)/2
    estimate = ratio_estimate([1.0, 4.0], [1.0, 3.0])
    assert estimate.value == 1.25
    assert estimate.stderr == pytest.approx((0.25**2 / 3 + 0.25**2) ** 0.5 / 2)
    assert (estimate.low, estimate.high, estimate.note) == (None, None, "n too small for an interval")
    assert estimate.min == 1.0
    assert estimate.max == pytest.approx(4 / 3)


def test_few_long_items_carry_a_ratio() -> None:
    lengths = [10.0, 20, 30, 40, 50, 60, 80, 120, 200, 400]
    sums = [
        length * rate for length, rate in zip(lengths, [1.1, 0.9, 1.3, 0.8, 1, 1.2, 0.7, 1.1, 0.9, 1.05], strict=True)
    ]
    estimate = ratio_estimate(sums, lengths, low=0.0)
    expected = ratio_interval(sums, lengths)
    assert (estimate.low, estimate.high, estimate.stderr) == (expected.low, expected.high, expected.stderr)
    assert estimate.note == "a few long items dominate the ratio"


def test_a_ratio_stays_in_its_range_and_says_where_all_are_equal() -> None:
    sums = [0.0] * 14 + [30.0]
    estimate = ratio_estimate(sums, [10.0] * 15, low=0.0)
    assert estimate.low == 0.0
    assert ratio_estimate(sums, [10.0] * 15).low != 0.0
    same = ratio_estimate([1.5] * 12, [3.0] * 12)
    assert (same.low, same.high, same.note) == (None, None, "all 12 values are 0.5")


def test_a_decreasing_function_turns_the_interval_round() -> None:
    before = Estimate(-1.0, 9, 0.1, -1.2, -0.8, -2.0, -0.5)
    after = transformed(before, lambda value: math.exp(-value), lambda value: -math.exp(-value))
    assert (after.value, after.count) == (math.e, 9)
    assert after.stderr == pytest.approx(0.1 * math.e)
    assert (after.low, after.high) == (math.exp(0.8), math.exp(1.2))
    assert (after.min, after.max) == (math.exp(0.5), math.exp(2.0))


def test_the_note_of_a_transformed_number_names_the_transformed_value() -> None:
    same = transformed(ratio_estimate([-2.0] * 12, [1.0] * 12), lambda value: -10.0 * value, lambda _: 10.0)
    assert (same.value, same.note) == (20.0, "all 12 values are 20")
    few = transformed(ratio_estimate([-2.0], [1.0]), lambda value: -10.0 * value, lambda _: 10.0)
    assert few.note == "n too small for an interval"
    assert transformed(Estimate(2.0, 1), math.sqrt, lambda _: 1.0) == Estimate(math.sqrt(2.0), 1)
