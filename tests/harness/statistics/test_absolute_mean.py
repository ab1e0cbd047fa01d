"""The absolute mean by hand, and its interval where the answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import foldnorm

from harness.contracts import BOUNDED, SIGNED, Scale
from harness.statistics import absolute_mean_estimates, influence_estimate, jackknife_estimate, mean_estimate


def test_by_hand() -> None:
    # Bins of 3 and 1: 3/4·|(0.5 - 0.2 + 0)/3| + 1/4·|-0.4|
    found, _ = absolute_mean_estimates([0.5, -0.2, -0.4, 0.0], [7, 7, 2, 7], [0, 1, 2, 3])
    assert found.value == pytest.approx(0.075 + 0.1)
    assert found.count == 4


def test_one_bin_far_from_zero_is_a_mean_with_its_normal_interval() -> None:
    differences = np.random.default_rng(0).normal(-0.5, 0.2, 400).tolist()
    found, _ = absolute_mean_estimates(differences, [0] * 400, range(400))
    mean = mean_estimate(differences, SIGNED)
    assert mean.low is not None
    assert mean.high is not None
    assert [found.value, found.low, found.high] == pytest.approx([-mean.value, -mean.high, -mean.low], abs=0.002)
    assert found.stderr == pytest.approx(mean.stderr, rel=0.03)


def test_chance_alone_allows_zero() -> None:
    rng = np.random.default_rng(1)
    found, _ = absolute_mean_estimates(rng.normal(0, 0.3, 500).tolist(), (np.arange(500) // 50).tolist(), range(500))
    assert found.value > 0.02
    assert found.low == 0.0


def test_examples_of_one_instance_are_one() -> None:
    rng = np.random.default_rng(2)
    differences = rng.normal(0.2, 0.3, 300).tolist()
    bins = (np.arange(300) // 30).tolist()
    once, _ = absolute_mean_estimates(differences, bins, list(range(300)))
    thrice, _ = absolute_mean_estimates(differences * 3, bins * 3, list(range(300)) * 3)
    assert thrice.count == once.count == 300
    assert thrice.value == pytest.approx(once.value)
    assert thrice.stderr == pytest.approx(once.stderr, rel=0.02)


_ROWS = st.lists(st.tuples(st.floats(-1, 1), st.integers(0, 4), st.integers(0, 9)), min_size=1, max_size=40)


@given(_ROWS)
def test_the_interval_contains_the_estimate(rows: list[tuple[float, int, int]]) -> None:
    differences, bins, clusters = zip(*rows, strict=True)
    observed, debiased = absolute_mean_estimates(differences, bins, clusters)
    assert 0.0 <= debiased.value <= observed.value <= 1.0
    if observed.count > 1:
        assert observed.low is not None
        assert observed.high is not None
        assert 0.0 <= observed.low <= debiased.value <= observed.value <= observed.high <= 1.0
        assert (debiased.low, debiased.high, debiased.count) == (observed.low, observed.high, observed.count)


def test_the_interval_of_the_worst_error_ends_at_one() -> None:
    found, _ = absolute_mean_estimates([1.0] * 30, (np.arange(30) // 3).tolist(), range(30))
    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low is not None
    assert found.low == pytest.approx(0.874, abs=0.001)


@pytest.mark.parametrize("true", [0.1, 0.2, 0.4])
def test_the_debiased_figure_is_the_one_under_which_the_observed_one_is_expected(true: float) -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(true, 0.3, (4, 25))
    observed, debiased = absolute_mean_estimates(rows.ravel().tolist(), np.repeat(range(4), 25).tolist(), range(100))
    means = np.abs(rows.mean(axis=1))
    errors = np.sqrt((((rows - rows.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) + 0.5) / 25 / 26)
    centres = debiased.value * means / observed.value
    assert 0.0 < debiased.value < observed.value
    assert foldnorm.mean(centres / errors, scale=errors).mean() == pytest.approx(observed.value, rel=1e-9)


def test_an_error_that_chance_explains_is_zero_without_its_bias() -> None:
    rng = np.random.default_rng(4)
    found = [
        absolute_mean_estimates(rng.normal(0.0, 0.3, 200).tolist(), (np.arange(200) // 20).tolist(), range(200))
        for _ in range(200)
    ]
    assert np.mean([observed.value for observed, _ in found]) > 0.05
    assert np.median([debiased.value for _, debiased in found]) < 0.005


def test_what_has_no_absolute_mean() -> None:
    for found in absolute_mean_estimates([0.5], [0], [0]):
        assert (found.low, found.high, found.note) == (None, None, "n too small for an interval")
    for rows in (([], [], []), ([0.5], [0, 1], [0])):
        with pytest.raises(ValueError, match="needs examples"):
            absolute_mean_estimates(*rows)


def test_the_influence_of_a_mean_is_its_standard_error() -> None:
    values = [0.1, 0.9, 0.4, 0.4, 0.8, 0.6] * 10
    mean = mean_estimate(values, BOUNDED)
    found = influence_estimate(mean.value, values)
    assert found.stderr == pytest.approx(mean.stderr)
    assert found.low is not None
    assert found.high is not None
    assert 0.0 < found.low < found.value < found.high < 1.0
    assert [found.low, found.high] == pytest.approx([mean.low, mean.high], abs=0.02)
    certain = influence_estimate(1.0, [0.0] * 60)
    assert certain.low == pytest.approx(0.95, abs=0.02)
    assert certain.high == 1.0
    few = influence_estimate(mean.value, values[:48])
    assert (few.low, few.high, few.note) == (None, None, "n too small for an interval")
    for value, influences in ((0.5, []), (1.5, [0.0])):
        with pytest.raises(ValueError, match="statistic from"):
            influence_estimate(value, influences)


@given(st.lists(st.sampled_from([0.0, 0.2, 1.0]), min_size=50, max_size=90), st.sampled_from([(0.0, 1.0), (-1.0, 3.0)]))
def test_the_jackknife_of_a_mean_is_its_standard_error(values: list[float], bounds: tuple[float, float]) -> None:
    kinds, counts = np.unique(values, return_counts=True)
    found = jackknife_estimate(lambda samples: samples @ kinds / samples.sum(axis=1), counts.astype(float), bounds)
    mean = mean_estimate(values, Scale("bounded", *bounds))
    assert [found.value, found.stderr] == pytest.approx([mean.value, mean.stderr])
    assert found.count == len(values)
    assert found.low is not None
    assert found.high is not None
    assert bounds[0] <= found.low <= found.value <= found.high <= bounds[1]
