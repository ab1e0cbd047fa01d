"""The Jeffreys–Dirichlet interval: worked figures, its properties, and Jeffreys's interval as a special case."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from harness.statistics import bounded_mean_interval

scores = st.one_of(st.floats(0.0, 1.0), st.sampled_from([0.0, 1.0, 0.5, 1e-12, 1 - 1e-12]))
samples = st.lists(scores, min_size=1, max_size=60)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.0] * 20, (0.0, 0.118297)),
        ([0.0] * 19 + [0.5], (0.003418, 0.148971)),
        ([0.0] * 10 + [1.0] * 5 + [0.25] * 3 + [0.5] * 2, (0.185190, 0.532170)),
        ([i / 20 for i in range(1, 21)], (0.397846, 0.649356)),
        ([0.5 + 0.01 * i for i in range(-2, 3)] * 4, (0.447587, 0.552413)),
        ([0.9, 1.0, 1.0, 1.0, 1.0], (0.603703, 0.995171)),
        ([(i / 100) ** 4 for i in range(1, 101)], (0.157814, 0.265112)),
    ],
)
def test_worked_figures(values: list[float], expected: tuple[float, float]) -> None:
    assert bounded_mean_interval(values) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("values", "expected"),
    [([0.0] * 17 + [0.5, 0.2, -0.1], (-0.058426, 0.119634)), ([0.0] * 20, (-0.078801, 0.078801))],
)
def test_worked_figures_of_differences(values: list[float], expected: tuple[float, float]) -> None:
    assert bounded_mean_interval(values, (-1.0, 1.0), guard=0.25) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("ones", "count"), [(0, 20), (3, 10), (19, 40), (500, 1000)])
def test_zeros_and_ones_have_nearly_jeffreys_interval(ones: int, count: int) -> None:
    low, high = bounded_mean_interval([1.0] * ones + [0.0] * (count - ones))
    exact = beta(ones + 0.5, count - ones + 0.5)
    assert low == pytest.approx(exact.ppf(0.025) if ones else 0.0, abs=1e-3)
    assert high == pytest.approx(exact.ppf(0.975), abs=2e-3)


@given(samples)
def test_stays_in_range_and_holds_the_mean(values: list[float]) -> None:
    low, high = bounded_mean_interval(values)
    mean = sum(values) / len(values)
    assert 0.0 <= low <= mean + 1e-12
    assert mean - 1e-12 <= high <= 1.0
    assert low < high


@given(samples, st.randoms(use_true_random=False))
def test_order_changes_nothing(values: list[float], rng: random.Random) -> None:
    assert bounded_mean_interval(rng.sample(values, len(values))) == bounded_mean_interval(values)


@given(samples, st.integers(0, 59), st.floats(0.0, 1.0))
def test_a_better_score_never_lowers_an_end(values: list[float], place: int, share: float) -> None:
    place %= len(values)
    better = [*values]
    better[place] += (1.0 - better[place]) * share
    before, after = bounded_mean_interval(values), bounded_mean_interval([min(value, 1.0) for value in better])
    assert after[0] >= before[0] - 1e-8
    assert after[1] >= before[1] - 1e-8


@given(samples, st.floats(-100.0, 100.0), st.floats(0.1, 50.0))
def test_a_change_of_scale_changes_the_ends_alike(values: list[float], shift: float, scale: float) -> None:
    low, high = bounded_mean_interval(values)
    ends = (shift, shift + scale)
    moved = [min(max(shift + scale * value, ends[0]), ends[1]) for value in values]
    expected = (shift + scale * low, shift + scale * high)
    assert bounded_mean_interval(moved, ends) == pytest.approx(expected, abs=1e-6 * (scale + abs(shift)))


@given(samples)
def test_the_mirror_image_has_the_mirrored_interval(values: list[float]) -> None:
    low, high = bounded_mean_interval(values)
    mirrored = bounded_mean_interval([1.0 - value for value in values])
    assert mirrored == pytest.approx((1.0 - high, 1.0 - low), abs=1e-8)


@given(samples)
def test_wider_for_more_standard_errors(values: list[float]) -> None:
    narrow, wide = bounded_mean_interval(values, z=1.5), bounded_mean_interval(values, z=3.0)
    assert wide[0] <= narrow[0] + 1e-9
    assert narrow[1] <= wide[1] + 1e-9


def test_equals_the_posterior_that_it_approximates() -> None:
    rng = np.random.default_rng(5)
    values = rng.beta(0.5, 2.0, 30)
    weights = rng.dirichlet([1.0] * 30 + [0.5, 0.5], 200_000)
    drawn = weights @ np.concatenate([values, [0.0, 1.0]])
    assert bounded_mean_interval(values) == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=1.5e-3)


@pytest.mark.parametrize("values", [[], [1.5], [-0.1, 0.5], [float("nan")]])
def test_refuses_what_is_not_in_range(values: list[float]) -> None:
    with pytest.raises(ValueError, match="a bounded mean needs values from"):
        bounded_mean_interval(values)


def test_a_hundred_thousand_scores_take_little_time() -> None:
    values = np.random.default_rng(1).random(100_000)
    start = time.process_time()
    low, high = bounded_mean_interval(values)
    assert time.process_time() - start < 2.0
    assert high - low == pytest.approx(2 * 1.96 / (12 * 100_000) ** 0.5, rel=0.02)
