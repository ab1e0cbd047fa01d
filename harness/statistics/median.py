"""The median and its interval."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from harness.contracts import Estimate
from harness.statistics.quantiles import UPPER_TAIL

MEDIAN_MINIMUM = 6
"""Fewest values of which the smallest and the largest hold the median in 95 % of all samples."""


def median_estimate(values: Sequence[float]) -> Estimate:
    """Return the median with the interval between two order statistics (David and Nagaraja 2003, section 7.1).

    The interval covers the true median in at least 95 % of samples whatever the distribution; fewer than six values
    have none. The median has no standard error.

    Raises:
        ValueError: There is no value.
    """
    if not values:
        raise ValueError("the median of no values is undefined")
    from scipy.special import bdtr

    ordered, count = sorted(values), len(values)
    middle = statistics.median(ordered)
    if count < MEDIAN_MINIMUM:
        return Estimate(middle, count, min=ordered[0], max=ordered[-1])
    # The most values that can be left out at each end: P(Bin(n, ½) < k) ≤ 0.025.
    below, above = 1, count // 2
    while below < above:
        tried = (below + above + 1) // 2
        below, above = (tried, above) if bdtr(tried - 1, count, 0.5) <= 1.0 - UPPER_TAIL else (below, tried - 1)
    return Estimate(middle, count, None, ordered[below - 1], ordered[count - below], ordered[0], ordered[-1])
