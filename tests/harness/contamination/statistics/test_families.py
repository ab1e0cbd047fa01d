"""Combinations and adjustments of p-values on the scale of their logarithms."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from harness import statistics
from harness.contamination.statistics import families

P_VALUES = st.lists(st.floats(1e-200, 1.0), min_size=1, max_size=30)


def _logs(p_values: list[float]) -> list[float]:
    return [math.log10(p) for p in p_values]


@given(P_VALUES)
def test_adjustments_are_those_of_plain_p_values(p_values: list[float]) -> None:
    logs = _logs(p_values)
    assert families.holm(logs) == pytest.approx(_logs(statistics.holm(p_values)), abs=1e-9)
    assert families.benjamini_hochberg(logs) == pytest.approx(_logs(statistics.benjamini_hochberg(p_values)), abs=1e-9)
    expected = scipy.stats.false_discovery_control(p_values, method="by").tolist()
    assert families.benjamini_yekutieli(logs) == pytest.approx(_logs(expected), abs=1e-9)


def test_adjustments_do_not_underflow() -> None:
    logs = [-500.0, -400.0, -1.0]
    assert families.holm(logs) == pytest.approx([-500 + math.log10(3), -400 + math.log10(2), -1.0])
    assert families.benjamini_hochberg(logs) == pytest.approx([-500 + math.log10(3), -400 + math.log10(1.5), -1.0])
    harmonic = 1 + 1 / 2 + 1 / 3
    assert families.benjamini_yekutieli(logs)[0] == pytest.approx(-500 + math.log10(3 * harmonic))


@given(P_VALUES)
def test_fisher(p_values: list[float]) -> None:
    expected = scipy.stats.chi2.logsf(-2 * sum(map(math.log, p_values)), 2 * len(p_values)) / math.log(10)
    found = families.fisher(_logs(p_values))
    if math.isfinite(expected) and expected > -290:
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
    else:
        assert -1e5 < found < -280


def test_fisher_far_out() -> None:
    assert families.fisher([-400.0]) == pytest.approx(-400.0)
    y = 700 * math.log(10)
    assert families.fisher([-300.0, -400.0]) == pytest.approx(-700 + math.log10(1 + y))  # e⁻ʸ (1 + y)


@given(st.lists(st.floats(1e-9, 0.99), min_size=1, max_size=20))
def test_cauchy(p_values: list[float]) -> None:
    mean = np.mean([math.tan((0.5 - p) * math.pi) for p in p_values])
    assert 10 ** families.cauchy(_logs(p_values)) == pytest.approx(scipy.stats.cauchy.sf(mean), rel=1e-6)


def test_cauchy_far_out() -> None:
    assert families.cauchy([-400.0]) == pytest.approx(-400.0)
    assert families.cauchy([-400.0, -400.0, -400.0]) == pytest.approx(-400.0)
    assert families.cauchy([-400.0] + [-0.3] * 48) == pytest.approx(-400 + math.log10(49))
    # The two forms meet where one takes over from the other.
    near, past = families.cauchy([-11.9999999, -0.5]), families.cauchy([-12.0000001, -0.5])
    assert near == pytest.approx(past, abs=1e-6)
    # One file of p = 1 does not undo another's 1e-6.
    assert families.cauchy([-6.0, 0.0]) == pytest.approx(-6 + math.log10(2), abs=0.01)


@pytest.mark.parametrize("combine", [families.fisher, families.cauchy])
def test_the_size_of_combinations(combine: object) -> None:
    assert callable(combine)
    rng = np.random.default_rng(4)
    rejected = np.mean([combine(np.log10(rng.random(49)).tolist()) <= math.log10(0.05) for _ in range(3000)])
    assert rejected == pytest.approx(0.05, abs=3.5 * math.sqrt(0.05 * 0.95 / 3000))


def test_each_finds_what_it_is_for() -> None:
    diffuse, sparse = [-0.8] * 49, [-5.0] + [-0.3] * 48
    assert families.fisher(diffuse) < families.cauchy(diffuse)
    assert families.cauchy(sparse) < families.fisher(sparse)


@pytest.mark.parametrize("adjust", [families.holm, families.benjamini_hochberg, families.fisher, families.cauchy])
def test_what_is_no_p_value(adjust: object) -> None:
    assert callable(adjust)
    for values in ([0.5], [-1.0, math.nan]):
        with pytest.raises(ValueError, match="not the log10 of a p-value"):
            adjust(values)


def test_no_tests() -> None:
    assert families.holm([]) == families.benjamini_hochberg([]) == families.benjamini_yekutieli([]) == []
    for combine in (families.fisher, families.cauchy):
        with pytest.raises(ValueError, match="no p-value"):
            combine([])
