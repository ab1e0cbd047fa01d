"""Signal and noise of scores over a training: how large changes between checkpoints are, beside their errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import stdev

LAST_CHECKPOINTS = 5
"""Number of last checkpoints of a training whose scores give its noise."""


@dataclass(frozen=True, slots=True)
class SignalNoise:
    """A signal, the noise in which it is seen, and their ratio."""

    signal: float
    """The signal, in units of the score."""
    noise: float
    """The noise, in units of the score."""

    @property
    def ratio(self) -> float | None:
        """Signal over noise; None without noise."""
        return self.signal / self.noise if self.noise > 0.0 else None


def change_signal(differences: Sequence[float], variances: Sequence[float]) -> SignalNoise | None:
    """Return the signal and noise of changes between neighbouring checkpoints; None without changes.

    The noise is the root of the mean squared standard error of a change, the signal the root of the mean squared true
    change: √(mean(d²) − mean(se²)), and 0 where the errors explain all changes. At a ratio of 2.8 a typical change is
    shown with a power of 0.8.

    Args:
        differences: The changes that were measured.
        variances: The squared standard error of each.

    Raises:
        ValueError: The lengths differ.
    """
    if not differences:
        return None
    if len(differences) != len(variances):
        raise ValueError(f"{len(differences)} differences have {len(variances)} variances")
    noise = math.fsum(variances) / len(variances)
    total = math.fsum(value * value for value in differences) / len(differences)
    return SignalNoise(math.sqrt(max(0.0, total - noise)), math.sqrt(noise))


def training_signal(trainings: Sequence[Sequence[float]]) -> SignalNoise | None:
    """Return the signal and noise between trainings; None with fewer than two, or if none has three checkpoints.

    The signal is the largest difference between the last scores of any two trainings, the noise the mean over trainings
    of the standard deviation of their last five checkpoints' scores. Heineman et al. 2025 (arXiv:2508.13144, section 3)
    divide both by the mean score, which leaves their ratio as it is where trainings have similar means.

    Args:
        trainings: The scores of each training's checkpoints, by step.
    """
    known = [list(scores) for scores in trainings if scores]
    noises = [stdev(scores[-LAST_CHECKPOINTS:]) for scores in known if len(scores) >= 3]
    if len(known) < 2 or not noises:
        return None
    last = [scores[-1] for scores in known]
    return SignalNoise(max(last) - min(last), math.fsum(noises) / len(noises))
