"""The interval of a statistic between 0 and 1 that is not a mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from harness.statistics import effective_size_interval


@pytest.mark.parametrize(("successes", "count"), [(0, 30), (12, 60), (60, 60), (450, 1000)])
def test_a_proportion_has_jeffreys_interval(successes: int, count: int) -> None:
    # With the variance p(1 − p)/n the guarded variance is that of Jeffreys's posterior.
    share = successes / count
    low, high = effective_size_interval(share, share * (1 - share) / count, count)
    exact = beta(successes + 0.5, count - successes + 0.5)
    assert low == pytest.approx(min(exact.ppf(0.025), share), abs=2e-3)
    assert high == pytest.approx(max(exact.ppf(0.975), share), abs=2e-3)


@given(st.floats(0.0, 1.0), st.floats(0.0, 0.2), st.integers(1, 2000))
def test_stays_in_range_and_holds_the_value(value: float, design: float, count: int) -> None:
    low, high = effective_size_interval(value, design * value * (1 - value), count)
    assert 0.0 <= low <= value <= high <= 1.0
    assert low < high


@given(st.floats(0.3, 0.7), st.floats(0.0, 0.004), st.integers(50, 2000))
def test_more_variance_never_narrows_it(value: float, variance: float, count: int) -> None:
    narrow = effective_size_interval(value, variance, count)
    wide = effective_size_interval(value, 2 * variance + 1e-4, count)
    assert wide[1] - wide[0] >= narrow[1] - narrow[0]


@pytest.mark.parametrize(("value", "variance", "count"), [(1.2, 0.1, 9), (0.5, -1.0, 9), (0.5, 0.1, 0)])
def test_refuses_what_is_out_of_range(value: float, variance: float, count: int) -> None:
    with pytest.raises(ValueError, match="no interval for a statistic"):
        effective_size_interval(value, variance, count)
