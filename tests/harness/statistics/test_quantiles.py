"""The t quantile against printed tables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.statistics import t_quantile


@pytest.mark.parametrize(
    ("probability", "freedom", "expected"),
    [
        (0.975, 1, 12.706),
        (0.975, 2, 4.303),
        (0.975, 9, 2.262),
        (0.95, 10, 1.812),
        (0.995, 30, 2.750),
        (0.025, 4, -2.776),
    ],
)
def test_equals_the_printed_table(probability: float, freedom: int, expected: float) -> None:
    assert t_quantile(probability, freedom) == pytest.approx(expected, abs=5e-4)


@given(st.floats(0.001, 0.999), st.floats(1.0, 1e6))
def test_the_quantile_inverts_the_distribution(probability: float, freedom: float) -> None:
    from scipy.stats import t

    assert t.cdf(t_quantile(probability, freedom), freedom) == pytest.approx(probability, abs=1e-9)


@pytest.mark.parametrize(("probability", "freedom"), [(0.0, 5), (1.0, 5), (0.975, 0)])
def test_refuses_what_has_no_quantile(probability: float, freedom: int) -> None:
    with pytest.raises(ValueError, match="no t quantile"):
        t_quantile(probability, freedom)
