"""Percentiles and their intervals between order statistics."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from harness.statistics import median_estimate, percentile_estimate


@pytest.mark.parametrize(("count", "left_out"), [(6, 0), (9, 1), (20, 5), (100, 39)])
def test_ranks_of_the_printed_table(count: int, left_out: int) -> None:
    # Conover 1999, Practical Nonparametric Statistics, table A3 of the binomial: the ranks r and n + 1 − r.
    found = median_estimate([float(value) for value in range(1, count + 1)])
    assert (found.low, found.high) == (left_out + 1, count - left_out)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=80))
def test_is_the_median_and_lies_inside(values: list[float]) -> None:
    found = median_estimate(values)
    assert found.value == pytest.approx(statistics.median(values))
    assert (found.count, found.min, found.max) == (len(values), min(values), max(values))
    if len(values) < 6:
        assert found.low is None
        assert found.high is None
    else:
        assert found.low is not None
        assert found.high is not None
        assert min(values) <= found.low <= found.value <= found.high <= max(values)


@given(st.integers(6, 3000))
def test_covers_at_least_95_per_cent_and_no_narrower_pair_does(count: int) -> None:
    found = median_estimate(list(np.arange(1.0, count + 1)))
    assert found.low is not None
    left_out = round(found.low) - 1
    assert 1 - 2 * binom.cdf(left_out, count, 0.5) >= 0.95
    assert 1 - 2 * binom.cdf(left_out + 1, count, 0.5) < 0.95


@pytest.mark.parametrize(("share", "fewest"), [(0.5, 6), (0.95, 72), (0.99, 368), (0.05, 72)])
def test_a_percentile_far_out_takes_many_values(share: float, fewest: int) -> None:
    values = [float(value) for value in range(fewest)]
    assert percentile_estimate(values, share).low is not None
    below = percentile_estimate(values[1:], share)
    assert (below.low, below.high, below.note) == (None, None, "n too small for an interval")


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=80), st.sampled_from([0.05, 0.5, 0.95]))
def test_percentiles_are_numpys(values: list[float], share: float) -> None:
    found = percentile_estimate(values, share)
    assert found.value == pytest.approx(np.quantile(values, share), rel=1e-9, abs=1e-6)


def test_no_value_has_no_median() -> None:
    with pytest.raises(ValueError, match="a percentile needs values"):
        median_estimate([])
