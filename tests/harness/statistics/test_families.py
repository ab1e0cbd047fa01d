"""Adjusted and combined p-values, and their logarithms, from published examples and from their definitions."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from harness.statistics.families import benjamini_hochberg, benjamini_yekutieli, bonferroni, cauchy, fisher, holm

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
_POSITIVE = st.lists(st.floats(1e-200, 1.0), min_size=1, max_size=30)


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
def test_invalid_p_values_are_refused(value: float) -> None:
    for adjust in (holm, benjamini_hochberg):
        with pytest.raises(ValueError, match="is not a p-value"):
            adjust([0.5, value])


def _logs(p_values: list[float]) -> list[float]:
    return [math.log10(p) for p in p_values]


@given(_POSITIVE)
def test_adjustments_of_logarithms_are_those_of_plain_p_values(p_values: list[float]) -> None:
    logs = _logs(p_values)
    assert holm(logs, log10=True) == pytest.approx(_logs(holm(p_values)), abs=1e-9)
    assert benjamini_hochberg(logs, log10=True) == pytest.approx(_logs(benjamini_hochberg(p_values)), abs=1e-9)
    expected = scipy.stats.false_discovery_control(p_values, method="by").tolist()
    assert benjamini_yekutieli(logs, log10=True) == pytest.approx(_logs(expected), abs=1e-9)


def test_adjustments_do_not_underflow() -> None:
    logs = [-500.0, -400.0, -1.0]
    assert holm(logs, log10=True) == pytest.approx([-500 + math.log10(3), -400 + math.log10(2), -1.0])
    assert benjamini_hochberg(logs, log10=True) == pytest.approx([-500 + math.log10(3), -400 + math.log10(1.5), -1.0])
    harmonic = 1 + 1 / 2 + 1 / 3
    assert benjamini_yekutieli(logs, log10=True)[0] == pytest.approx(-500 + math.log10(3 * harmonic))


@given(_POSITIVE)
def test_fisher(p_values: list[float]) -> None:
    expected = scipy.stats.chi2.logsf(-2 * sum(map(math.log, p_values)), 2 * len(p_values)) / math.log(10)
    found = fisher(_logs(p_values))
    if math.isfinite(expected) and expected > -290:
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
    else:
        assert -1e5 < found < -280


def test_bonferroni() -> None:
    assert bonferroni([-3.0, -1.0]) == pytest.approx(math.log10(2e-3))
    assert bonferroni([-0.1, -0.2]) == 0.0
    assert bonferroni([-400.0]) == -400.0
    assert bonferroni([-400.0, 0.0, 0.0]) == pytest.approx(-400 + math.log10(3))


def test_fisher_far_out() -> None:
    assert fisher([-400.0]) == pytest.approx(-400.0)
    y = 700 * math.log(10)
    assert fisher([-300.0, -400.0]) == pytest.approx(-700 + math.log10(1 + y))  # e⁻ʸ (1 + y)


@given(st.lists(st.floats(1e-9, 0.99), min_size=1, max_size=20))
def test_cauchy(p_values: list[float]) -> None:
    mean = np.mean([math.tan((0.5 - p) * math.pi) for p in p_values])
    assert 10 ** cauchy(_logs(p_values)) == pytest.approx(scipy.stats.cauchy.sf(mean), rel=1e-6)


def test_cauchy_far_out() -> None:
    assert cauchy([-400.0]) == pytest.approx(-400.0)
    assert cauchy([-400.0, -400.0, -400.0]) == pytest.approx(-400.0)
    assert cauchy([-400.0] + [-0.3] * 48) == pytest.approx(-400 + math.log10(49))
    # The two forms meet where one takes over from the other.
    near, past = cauchy([-11.9999999, -0.5]), cauchy([-12.0000001, -0.5])
    assert near == pytest.approx(past, abs=1e-6)
    # One file of p = 1 does not undo another's 1e-6.
    assert cauchy([-6.0, 0.0]) == pytest.approx(-6 + math.log10(2), abs=0.01)


@pytest.mark.parametrize("combine", [fisher, cauchy])
def test_the_size_of_combinations(combine: object) -> None:
    assert callable(combine)
    rng = np.random.default_rng(4)
    rejected = np.mean([combine(np.log10(rng.random(49)).tolist()) <= math.log10(0.05) for _ in range(3000)])
    assert rejected == pytest.approx(0.05, abs=3.5 * math.sqrt(0.05 * 0.95 / 3000))


def test_each_finds_what_it_is_for() -> None:
    diffuse, sparse = [-0.8] * 49, [-5.0] + [-0.3] * 48
    assert fisher(diffuse) < cauchy(diffuse)
    assert cauchy(sparse) < fisher(sparse)


@pytest.mark.parametrize(
    "use", [partial(holm, log10=True), partial(benjamini_hochberg, log10=True), bonferroni, fisher, cauchy]
)
def test_invalid_logarithms_are_refused(use: Callable[[list[float]], object]) -> None:
    for values in ([0.5], [-1.0, math.nan]):
        with pytest.raises(ValueError, match="not the log10 of a p-value"):
            use(values)


def test_no_tests() -> None:
    assert holm([], log10=True) == benjamini_hochberg([], log10=True) == benjamini_yekutieli([], log10=True) == []
    for combine in (bonferroni, fisher, cauchy):
        with pytest.raises(ValueError, match="no p-value"):
            combine([])
