"""Means over instances and conditions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from scipy.stats import t as student

from harness.contracts import BOUNDED, PROPORTION, Scale
from harness.statistics import (
    FEWEST_CONDITIONS,
    clustered_mean,
    combined,
    condition_effects,
    mean_estimate,
    paired_condition_effects,
    paired_difference,
)

ANY = Scale("unbounded")

TABLES = st.tuples(st.integers(5, 12), st.integers(2, 6)).flatmap(
    lambda shape: st.lists(
        st.lists(st.integers(0, 1), min_size=shape[1], max_size=shape[1]), min_size=shape[0], max_size=shape[0]
    ).map(lambda rows: np.array(rows, dtype=float))
)


def test_the_parts_are_those_of_an_analysis_of_variance_by_hand() -> None:
    rows = [[1.0, 2.0, 6.0], [3.0, 4.0, 8.0], [2.0, 6.0, 7.0], [6.0, 4.0, 11.0]]
    # Means: rows 3, 5, 5, 7; columns 3, 4, 8; all 5. Residuals by row: 0 0 0; 0 0 0; -1 2 -1; 1 -2 1.
    table = np.array(rows * 2)
    mean_square = 24.0 / (7 * 2)
    between_columns = ((3 - 5) ** 2 + (4 - 5) ** 2 + (8 - 5) ** 2) / 2
    between_rows = 2 * (4 + 0 + 0 + 4) / 7
    found = condition_effects(table, Scale("bounded", -20.0, 20.0))
    assert found.means == pytest.approx((3.0, 4.0, 8.0))
    assert found.noise == pytest.approx(mean_square / 8)
    assert found.deviation == pytest.approx(math.sqrt(between_columns - mean_square / 8))
    assert found.estimate.value == 5.0
    assert found.instances.stderr == pytest.approx(math.sqrt(between_rows / 8))
    variance = between_rows / 8 + (between_columns - mean_square / 8) / 3
    assert found.estimate.stderr == pytest.approx(math.sqrt(variance))
    square = (student.ppf(0.975, 2) ** 2 * between_columns - norm.ppf(0.975) ** 2 * mean_square / 8) / 3
    assert found.instances.low is not None
    assert found.estimate.low == pytest.approx(5.0 - math.sqrt((5.0 - found.instances.low) ** 2 + square))


def test_a_deviation_that_noise_explains_is_zero() -> None:
    table = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    found = condition_effects(table, PROPORTION)
    assert found.means == (0.4, 0.4, 0.4)
    assert found.deviation == 0.0
    assert found.estimate == found.instances  # the prompts' means are equal
    assert found.complete


@given(TABLES)
def test_conditions_only_ever_widen_the_interval_of_the_instances_means(table: np.ndarray) -> None:
    found = condition_effects(table, PROPORTION)
    assert found.instances == mean_estimate([math.fsum(row) / len(row) for row in table.tolist()], PROPORTION)
    low, high = found.estimate.low, found.estimate.high
    assert None not in (low, high, found.instances.low, found.instances.high)
    assert 0.0 <= low <= found.instances.low <= found.instances.high <= high <= 1.0  # type: ignore[operator]
    if table.shape[1] < FEWEST_CONDITIONS:
        assert (found.estimate, found.complete) == (found.instances, False)


@given(TABLES, st.randoms())
def test_the_order_of_instances_and_conditions_does_not_matter(table: np.ndarray, random: object) -> None:
    rng = np.random.default_rng(random.getrandbits(32))  # type: ignore[attr-defined]
    other = condition_effects(table[rng.permutation(len(table))][:, rng.permutation(table.shape[1])], PROPORTION)
    found = condition_effects(table, PROPORTION)
    assert other.estimate.low == pytest.approx(found.estimate.low)
    assert sorted(other.means) == pytest.approx(sorted(found.means))
    assert other.noise == pytest.approx(found.noise)


def test_instances_that_are_their_own_clusters_are_independent_and_copies_count_once() -> None:
    rng = np.random.default_rng(5)
    table = rng.integers(0, 2, (12, 4)).astype(float)
    alone, own = condition_effects(table, PROPORTION), condition_effects(table, PROPORTION, range(12))
    assert own.noise == pytest.approx(alone.noise)
    doubled = condition_effects(np.repeat(table, 2, axis=0), PROPORTION, [place // 2 for place in range(24)])
    assert doubled.noise == pytest.approx(alone.noise)
    assert doubled.deviation == pytest.approx(alone.deviation)
    means = np.repeat(table, 2, axis=0).mean(axis=1).tolist()
    assert doubled.instances == clustered_mean(means, [place // 2 for place in range(24)], PROPORTION)


def test_a_difference_is_that_of_the_means_and_common_effects_of_conditions_cancel() -> None:
    rng = np.random.default_rng(2)
    shift = np.array([0.0, 1.0, -1.0, 3.0])
    second = rng.normal(0.0, 1.0, (30, 1)) + shift
    first = second + 0.5 + rng.normal(0.0, 0.1, (30, 4))
    found = paired_condition_effects(first, second, ANY)
    plain = paired_difference(first.mean(axis=1).tolist(), second.mean(axis=1).tolist(), ANY)
    assert found.instances == plain
    assert condition_effects(first, ANY).deviation == pytest.approx(1.7, abs=0.1)
    assert found.deviation is not None
    assert found.deviation < 0.05
    assert found.estimate.high - found.estimate.low < 0.2  # type: ignore[operator]


@pytest.mark.parametrize("value", [0.01, 0.5, 3.0])
def test_the_p_value_is_the_level_at_which_the_interval_ends_at_zero(value: float) -> None:
    over = mean_estimate([value - 1.0, value, value + 1.0, value, value], ANY)
    found = combined(over, [value - 0.5, value, value + 0.5], 0.01, ANY)
    p = found.p()
    assert over.stderr is not None
    square = (student.ppf(1 - p / 2, 2) ** 2 * 0.25 - norm.ppf(1 - p / 2) ** 2 * 0.01) / 3
    reach = math.sqrt((student.ppf(1 - p / 2, 4) * over.stderr) ** 2 + square)
    assert reach == pytest.approx(value, rel=1e-5)
    mirrored = combined(mean_estimate([-1.0 - value, -value, 1.0 - value, -value, -value], ANY), [-value] * 3, 0.0, ANY)
    assert mirrored.p() == pytest.approx(2 * student.sf(value / over.stderr, 4), rel=1e-5)


def test_p_is_one_without_a_difference_and_zero_without_any_variance() -> None:
    assert combined(mean_estimate([0.0] * 6, BOUNDED), [0.0] * 3, 0.0, BOUNDED).p() == 1.0
    assert combined(mean_estimate([1.0] * 6, BOUNDED), [1.0] * 3, 0.0, BOUNDED).p() == 0.0


@pytest.mark.parametrize(("conditions", "deviation"), [(3, 0.0), (3, 0.3), (5, 0.1), (5, 0.3), (10, 0.0), (10, 0.3)])
def test_the_interval_covers_and_one_over_instances_alone_does_not(conditions: int, deviation: float) -> None:
    rng = np.random.default_rng([conditions, int(100 * deviation)])
    times, covered, alone = 400, 0, 0
    for _ in range(times):
        table = (
            rng.normal(0, 0.5, (60, 1)) + rng.normal(0, deviation, conditions) + rng.normal(0, 0.5, (60, conditions))
        )
        found = condition_effects(table, ANY)
        covered += found.estimate.low <= 0.0 <= found.estimate.high  # type: ignore[operator]
        alone += found.instances.low <= 0.0 <= found.instances.high  # type: ignore[operator]
    assert covered / times >= 0.92
    if deviation == 0.3:
        assert alone / times <= 0.8
