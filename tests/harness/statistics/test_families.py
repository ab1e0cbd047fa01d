"""Adjusted p-values from published examples and from their definitions."""

from __future__ import annotations

import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from harness.statistics import benjamini_hochberg, holm

# Benjamini and Hochberg (1995, section 4.1): 15 tests of a treatment for myocardial infarction.
TREATMENT = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528]
TREATMENT += [0.7590, 1.0000]


def test_the_example_of_benjamini_and_hochberg() -> None:
    assert sum(p <= 0.05 for p in benjamini_hochberg(TREATMENT)) == 4
    assert sum(p <= 0.05 for p in holm(TREATMENT)) == 3


def test_by_hand() -> None:
    p = [0.01, 0.04, 0.03, 0.005]
    assert holm(p) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert benjamini_hochberg(p) == pytest.approx([0.02, 0.04, 0.04, 0.02])
    assert holm([]) == benjamini_hochberg([]) == []
    assert holm([0.2]) == benjamini_hochberg([0.2]) == [0.2]


_P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=20)


@given(_P_VALUES)
def test_properties(p_values: list[float]) -> None:
    strict, loose = holm(p_values), benjamini_hochberg(p_values)
    assert loose == pytest.approx(scipy.stats.false_discovery_control(p_values).tolist())
    for value, upper, lower in zip(p_values, strict, loose, strict=True):
        assert value - 1e-12 <= lower <= upper + 1e-12
        assert upper <= min(1.0, len(p_values) * value) + 1e-12
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    for adjusted in (strict, loose):
        assert [adjusted[index] for index in order] == sorted(adjusted)


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_what_is_no_p_value(value: float) -> None:
    for adjust in (holm, benjamini_hochberg):
        with pytest.raises(ValueError, match="is no p-value"):
            adjust([0.5, value])
