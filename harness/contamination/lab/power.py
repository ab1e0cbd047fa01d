"""The probability that a test detects a number of copies: a logistic curve fitted to tests of lab models.

The fit is a logistic regression with Firth's penalty, which scikit-learn does not have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from harness.statistics import midp_interval

Z = 1.959963984540054
"""97.5 % quantile of the normal distribution."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One slice of a test set that was tested."""

    copies: int
    """Number of copies in the model's training text."""
    detected: bool
    """True if the test detected them."""
    log10_p: float
    """Log10 of the test's p-value."""
    label: str = ""
    """Name of the slice."""


@dataclass(frozen=True, slots=True)
class Dose:
    """All trials with one number of copies; ``low`` and ``high`` are the mid-p interval of the detected share."""

    copies: int
    trials: int
    detected: int
    low: float
    high: float
    median_log10_p: float


@dataclass(frozen=True, slots=True)
class PowerCurve:
    """The probability of detection, logistic in the logarithm of 1 + copies."""

    doses: tuple[Dose, ...]
    """The trials, by number of copies."""
    intercept: float
    """The logit at no copies."""
    slope: float
    """The logit's increase with ln(1 + copies)."""
    covariance: tuple[tuple[float, float], tuple[float, float]]
    """Covariance of intercept and slope, ``(2, 2)``."""

    def probability(self, copies: float) -> tuple[float, float, float]:
        """Return the probability of detecting a number of copies, and its 95 % interval (delta method on logits)."""
        x = np.array([1.0, math.log1p(copies)])
        logit = float(x @ [self.intercept, self.slope])
        spread = Z * math.sqrt(max(0.0, float(x @ np.array(self.covariance) @ x)))
        return float(expit(logit)), float(expit(logit - spread)), float(expit(logit + spread))

    def copies(self, probability: float) -> float | None:
        """Return the number of copies that is detected with a probability; None if the curve does not rise."""
        if self.slope <= 0:
            return None
        logit = math.log(probability / (1 - probability))
        return max(0.0, math.expm1((logit - self.intercept) / self.slope))


def power_curve(trials: Sequence[Trial]) -> PowerCurve:
    """Fit the curve by logistic regression with Firth's (1993) penalty, half the log-determinant of the information.

    The penalty keeps the estimates finite if everything above some number of copies is detected and nothing below it,
    which is the usual outcome of a small study.

    Raises:
        ValueError: There are fewer than two different numbers of copies.
    """
    counts = sorted({trial.copies for trial in trials})
    if len(counts) < 2:
        raise ValueError("a curve needs trials of two or more numbers of copies")
    design = np.array([[1.0, math.log1p(trial.copies)] for trial in trials])
    found = np.array([float(trial.detected) for trial in trials])
    weights = minimize(_loss, np.zeros(2), (design, found), jac=True, method="BFGS", options={"gtol": 1e-10}).x
    covariance = np.linalg.inv(_information(design, weights))
    return PowerCurve(
        doses=tuple(_dose(count, [trial for trial in trials if trial.copies == count]) for count in counts),
        intercept=float(weights[0]),
        slope=float(weights[1]),
        covariance=((covariance[0, 0], covariance[0, 1]), (covariance[1, 0], covariance[1, 1])),
    )


def _dose(copies: int, trials: Sequence[Trial]) -> Dose:
    detected = sum(trial.detected for trial in trials)
    low, high = midp_interval(detected, len(trials))
    median = float(np.median([trial.log10_p for trial in trials]))
    return Dose(copies, len(trials), detected, low, high, median)


def _loss(weights: np.ndarray, design: np.ndarray, found: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the negative penalised log-likelihood, and its gradient: Firth's modified score with its sign changed."""
    logits = design @ weights
    information = _information(design, weights)
    likelihood = float(found @ logits - np.logaddexp(0, logits).sum())
    probability = expit(logits)
    spread = probability * (1 - probability)
    leverage = spread * np.einsum("ij,jk,ik->i", design, np.linalg.inv(information), design)
    score = design.T @ (found - probability + leverage * (0.5 - probability))
    return -likelihood - 0.5 * float(np.linalg.slogdet(information)[1]), -score


def _information(design: np.ndarray, weights: np.ndarray) -> np.ndarray:
    probability = expit(design @ weights)
    information: np.ndarray = (design * (probability * (1 - probability))[:, None]).T @ design
    return information
