"""Statistics between 0 and 1 that are no mean, from what each instance contributes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from harness.contracts import Estimate
from harness.statistics.estimates import wilson_interval
from harness.statistics.quantiles import UPPER_TAIL, t_quantile


def influence_estimate(value: float, influences: Sequence[float]) -> Estimate:
    """Return a statistic in [0, 1] with the jackknife's standard error and a 95 % interval that stays inside.

    With the influence ψ of each instance, (n − 1)·(the statistic − the statistic without the instance), the standard
    error is √(Σ(ψ − ψ̄)² / (n(n − 1))) (Efron 1982, eq. 3.6). The interval is Student's t on the logit scale, and that
    of a proportion (Wilson 1927) where the statistic is 0 or 1. One instance has neither.

    Simulated coverage for the area under the coverage–accuracy curve: 95 to 96 % at n = 100 and 1000; 94 to 96 % at
    n = 20, but 89 % for a model that is nearly always right.

    Args:
        value: The statistic.
        influences: One for each instance.

    Raises:
        ValueError: There is no instance, or the statistic is not in [0, 1].
    """
    count = len(influences)
    if count == 0 or not 0.0 <= value <= 1.0:
        raise ValueError(f"a statistic in [0, 1] of an instance or more is needed, not {value} of {count}")
    if count == 1:
        return Estimate(value, 1)
    center = math.fsum(influences) / count
    variance = math.fsum([(each - center) ** 2 for each in influences]) / (count * (count - 1))
    stderr = math.sqrt(variance)
    if value in (0.0, 1.0):
        low, high = wilson_interval(value, count)
        return Estimate(value, count, stderr, low, high)
    middle = math.log(value / (1.0 - value))
    reach = t_quantile(UPPER_TAIL, count - 1) * stderr / (value * (1.0 - value))
    return Estimate(value, count, stderr, min(value, _logistic(middle - reach)), max(value, _logistic(middle + reach)))


def _logistic(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-value)) if value > -700.0 else 0.0
