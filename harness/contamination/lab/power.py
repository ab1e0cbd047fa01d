"""The probability that a test detects a number of copies: a curve fitted to tests of lab models.

The curve is a psychometric function, with the test's level as the rate of false alarms::

    probability                                   P(c) = α + (1 - α) (1 - 2^-(c/h)^k)
    1 ┤            ······
      │         ··            α  the level: what no copies give
      │        ·              h  copies at which half of the way is gone
    α ┤······                 k  steepness
      └────────┬────── copies
               h

Small studies often detect everything above some number of copies and nothing below it. No maximum of the likelihood
exists then; so h and k have flat priors on logarithmic scales, and all statements come from their posterior on a grid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.statistics import midp_interval

Floats = NDArray[np.float64]

INTERVAL = (0.025, 0.975)
STEEPNESS = (0.5, 6.0)
"""Range of k: from a curve that rises over three decades of copies to one that rises within a factor of two."""
LEAST_HALF, MOST_HALF = 0.1, 100.0
"""Range of h: from a tenth of a copy to this many times the largest tested number of copies."""
_HALVES, _STEEPNESSES = 400, 60


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
    """All trials with one number of copies."""

    copies: int
    """The number of copies."""
    trials: int
    """Number of trials."""
    detected: int
    """Number of them that detected the copies."""
    low: float
    """Lower end of the mid-p interval of the detected share."""
    high: float
    """Its upper end."""
    median_log10_p: float
    """Median of log10 of the p-values."""


@dataclass(frozen=True, slots=True, eq=False)
class PowerCurve:
    """The probability of detection by number of copies."""

    doses: tuple[Dose, ...]
    """The trials, by number of copies, ascending."""
    alpha: float
    """The test's level, the probability of a detection without copies."""
    halves: Floats = field(repr=False)
    """Values of h, shape (points,)."""
    steepness: Floats = field(repr=False)
    """Values of k, shape (points,)."""
    weights: Floats = field(repr=False)
    """Posterior probability of each point, shape (points,)."""

    def probability(self, copies: float) -> tuple[float, float, float]:
        """Return the probability of detecting a number of copies, and its 95 % credible interval."""
        values = _probability(copies, self.alpha, self.halves, self.steepness)
        low, high = self._quantiles(values, INTERVAL)
        return float(values @ self.weights), low, high

    def copies(self, probability: float) -> tuple[float, float, float]:
        """Return the number of copies that is detected with a probability above alpha, and its 95 % interval.

        The upper end is the prior's limit if the trials do not say.
        """
        share = (probability - self.alpha) / (1 - self.alpha)
        values = self.halves * (-np.log2(1 - share)) ** (1 / self.steepness)
        middle, low, high = self._quantiles(values, (0.5, *INTERVAL))
        return middle, low, high

    @property
    def gap(self) -> tuple[int, int] | None:
        """Neighbouring numbers of copies between which everything changes: none found below, all from the upper on.

        None where some tests with one number of copies find it and others do not, or all find it, or none.
        """
        found = [dose for dose in self.doses if dose.copies]
        mixed = any(0 < dose.detected < dose.trials for dose in found)
        rising = [bool(dose.detected) for dose in found]
        if mixed or rising != sorted(rising) or not any(rising):
            return None
        first = rising.index(True)
        return (found[first - 1].copies if first else 0), found[first].copies

    def as_json(self) -> dict[str, Any]:
        """Return the trials and what the curve says as JSON values."""
        names = ("copies", "trials", "detected", "low", "high", "median_log10_p")
        return {
            "alpha": self.alpha,
            "doses": [
                {**{name: getattr(dose, name) for name in names}, "probability": self.probability(dose.copies)}
                for dose in self.doses
            ],
            "copies_found_with_probability": {str(share): self.copies(share) for share in (0.5, 0.9)},
            "gap": self.gap,
        }

    def _quantiles(self, values: Floats, shares: Sequence[float]) -> tuple[float, ...]:
        order = np.argsort(values)
        reached = np.cumsum(self.weights[order])
        places = np.minimum(np.searchsorted(reached, shares), len(values) - 1)
        return tuple(float(value) for value in values[order][places])


def power_curve(trials: Sequence[Trial], alpha: float) -> PowerCurve:
    """Return the curve of some trials at a level.

    Raises:
        ValueError: There are fewer than two different numbers of copies.
    """
    counts = sorted({trial.copies for trial in trials})
    if len(counts) < 2:
        raise ValueError("a curve needs trials of two or more numbers of copies")
    logs = np.linspace(math.log(LEAST_HALF), math.log(MOST_HALF * counts[-1]), _HALVES)
    slopes = np.linspace(math.log(STEEPNESS[0]), math.log(STEEPNESS[1]), _STEEPNESSES)
    halves, steepness = (np.exp(grid).ravel() for grid in np.meshgrid(logs, slopes))
    doses = tuple(_dose(count, [trial for trial in trials if trial.copies == count]) for count in counts)
    likelihood = np.zeros(len(halves))
    for dose in doses:
        if dose.copies:  # without copies every curve gives alpha
            chance = _probability(dose.copies, alpha, halves, steepness)
            missed = dose.trials - dose.detected
            likelihood += dose.detected * np.log(chance) + (missed * np.log1p(-chance) if missed else 0.0)
    weights = np.exp(likelihood - likelihood.max())
    return PowerCurve(doses, alpha, halves, steepness, weights / weights.sum())


def _probability(copies: float, alpha: float, halves: Floats, steepness: Floats) -> Floats:
    raised = np.minimum((copies / halves) ** steepness, 50.0)  # 2^-50: as good as certain, and its logarithm is finite
    values: Floats = alpha + (1 - alpha) * -np.expm1(-math.log(2) * raised)
    return values


def _dose(copies: int, trials: Sequence[Trial]) -> Dose:
    detected = sum(trial.detected for trial in trials)
    low, high = midp_interval(detected, len(trials))
    median = float(np.median([trial.log10_p for trial in trials]))
    return Dose(copies, len(trials), detected, low, high, median)
