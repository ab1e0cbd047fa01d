"""Statistics between two bounds that are not means: the jackknife's variance and an interval inside the bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from harness.contracts import Estimate
from harness.statistics.bootstrap import leave_one_out
from harness.statistics.estimates import TOO_FEW
from harness.statistics.proportions import effective_size_interval

if TYPE_CHECKING:
    from harness.statistics.arrays import Floats

INFLUENCE_MINIMUM = 50
"""Fewest instances for an interval."""


def influence_estimate(value: float, influences: Sequence[float], bounds: tuple[float, float] = (0.0, 1.0)) -> Estimate:
    """Return a statistic with the jackknife's standard error and a 95 % interval that stays inside its bounds.

    With the influence ψ of each instance, (n − 1)·(the statistic − the statistic without the instance), the standard
    error is √(Σ(ψ − ψ̄)² / (n(n − 1))) (Efron 1982, eq. 3.6). The interval is Jeffreys's for a proportion with
    this variance (see :func:`effective_size_interval`). Fewer than 50 instances have none.

    Args:
        value: The statistic.
        influences: The influence of each instance.
        bounds: The statistic's smallest and largest possible value.

    Raises:
        ValueError: There are no instances, or the statistic is outside of its bounds.
    """
    count, (low, high) = len(influences), bounds
    if count == 0 or not low <= value <= high:
        raise ValueError(f"needs a statistic from {low} to {high} over at least one instance, not {value} over {count}")
    if count == 1:
        return Estimate(value, 1, note=TOO_FEW)
    center = math.fsum(influences) / count
    variance = math.fsum([(each - center) ** 2 for each in influences]) / (count * (count - 1))
    return _estimate(value, variance, count, bounds)


def jackknife_estimate(
    statistic: Callable[[Floats], Floats], counts: Floats, bounds: tuple[float, float] = (0.0, 1.0)
) -> Estimate:
    """Return a statistic of categorical data, as :func:`influence_estimate` does, from the statistic itself.

    The data are given as the distinct kinds of instances and their counts, so that the cost depends on the number of
    kinds, not of instances.

    Args:
        statistic: Maps counts, shape (samples, kinds), to values, shape (samples,); it must be finite.
        counts: Number of instances of each kind, shape (kinds,).
        bounds: The statistic's smallest and largest possible value.

    Raises:
        ValueError: There are no instances, or the statistic is outside of its bounds.
    """
    import numpy as np

    counts = np.asarray(counts, dtype=np.float64)
    count = int(counts.sum())
    if count == 0:
        raise ValueError("the jackknife needs at least one instance")
    value = min(max(float(statistic(counts[None, :])[0]), bounds[0]), bounds[1])
    if count == 1:
        return Estimate(value, 1, note=TOO_FEW)
    values, weights = leave_one_out(statistic, counts)
    center = float(values @ weights) / count
    variance = (count - 1) / count * float(((values - center) ** 2) @ weights)
    return _estimate(value, variance, count, bounds)


def _estimate(value: float, variance: float, count: int, bounds: tuple[float, float]) -> Estimate:
    if count < INFLUENCE_MINIMUM:
        return Estimate(value, count, math.sqrt(variance), note=TOO_FEW)
    low, width = bounds[0], bounds[1] - bounds[0]
    share = min(max((value - low) / width, 0.0), 1.0)
    ends = effective_size_interval(share, variance / width**2, count)
    below, above = min(low + width * ends[0], value), max(bounds[1] - width * (1.0 - ends[1]), value)
    return Estimate(value, count, math.sqrt(variance), below, above)
