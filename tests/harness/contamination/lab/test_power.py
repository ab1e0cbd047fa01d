"""Power curves: against a direct maximisation of the penalised likelihood, and where detection is perfect."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from harness.contamination.lab.power import Trial, power_curve


def trials(*detected: tuple[int, int, int]) -> list[Trial]:
    """Trials from (copies, trials, detected)."""
    return [Trial(copies, i < found, -3.0 * (i < found)) for copies, count, found in detected for i in range(count)]


def maximised(found: list[Trial]) -> np.ndarray:
    design = np.array([[1.0, math.log1p(trial.copies)] for trial in found])
    outcome = np.array([trial.detected for trial in found])

    def loss(weights: np.ndarray) -> float:
        p = 1 / (1 + np.exp(-design @ weights))
        determinant = np.linalg.det((design * (p * (1 - p))[:, None]).T @ design)
        likelihood = np.where(outcome, np.log(p), np.log1p(-p)).sum()
        return float(-likelihood - 0.5 * np.log(determinant))

    best: np.ndarray = minimize(loss, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12}).x
    return best


@pytest.mark.parametrize(
    "seen",
    [
        trials((0, 6, 0), (1, 6, 1), (5, 6, 2), (10, 6, 4), (40, 6, 6)),
        trials((0, 4, 0), (10, 4, 4)),  # separated: the unpenalised estimate is infinite
        trials((0, 5, 0), (50, 5, 0)),
    ],
)
def test_the_curve_maximises_the_penalised_likelihood(seen: list[Trial]) -> None:
    curve = power_curve(seen)
    assert [curve.intercept, curve.slope] == pytest.approx(maximised(seen), abs=1e-3)


def test_what_the_curve_says() -> None:
    curve = power_curve(trials((0, 12, 0), (1, 6, 0), (10, 6, 3), (40, 6, 6), (100, 6, 6)))
    probability, low, high = curve.probability(40)
    assert low < probability < high
    assert probability > 0.85
    assert curve.probability(1)[0] < 0.2
    half = curve.copies(0.5)
    assert half is not None
    assert 5 < half < 20
    assert curve.probability(half)[0] == pytest.approx(0.5)
    assert [(dose.copies, dose.trials, dose.detected) for dose in curve.doses][2] == (10, 6, 3)
    assert curve.doses[-1].low == pytest.approx(0.05 ** (1 / 6))  # mid-p, 6 of 6


def test_a_curve_that_does_not_rise_has_no_number_of_copies() -> None:
    assert power_curve(trials((0, 5, 2), (50, 5, 0))).copies(0.5) is None


def test_one_number_of_copies_is_no_curve() -> None:
    with pytest.raises(ValueError, match="two or more"):
        power_curve(trials((10, 5, 2)))


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 1000), st.booleans()), min_size=2).filter(lambda x: len({c for c, _ in x}) > 1)
)
def test_every_outcome_has_a_finite_curve(seen: list[tuple[int, bool]]) -> None:
    curve = power_curve([Trial(copies, detected, 0.0) for copies, detected in seen])
    for copies in (0, 1, 1000):
        probability, low, high = curve.probability(copies)
        assert 0 <= low <= probability <= high <= 1
