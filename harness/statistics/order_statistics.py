"""Percentiles, with intervals that make no assumption about the distribution of the values."""

from __future__ import annotations

import math
from collections.abc import Sequence

from harness.contracts import Estimate
from harness.statistics.estimates import TOO_FEW
from harness.statistics.quantiles import UPPER_TAIL


def percentile_estimate(values: Sequence[float], share: float) -> Estimate:
    """Return a percentile with the 95 % interval between two order statistics (David and Nagaraja 2003, section 7.1).

    A percentile between two values is interpolated (Hyndman and Fan 1996, type 7). The interval covers the true
    percentile in at least 95 % of samples from any distribution; it needs enough values for the smallest and the
    largest to be its ends. There is no standard error.

    Args:
        values: At least one.
        share: Share of the distribution below the percentile, between 0 and 1: 0.5 for the median.

    Raises:
        ValueError: There are no values, or the share is not between 0 and 1.
    """
    if not values or not 0.0 < share < 1.0:
        raise ValueError(f"a percentile needs values and a share between 0 and 1, not {len(values)} and {share}")
    ordered, count = sorted(values), len(values)
    place = share * (count - 1)
    below = math.floor(place)
    above = min(below + 1, count - 1)
    value = ordered[below] + (place - below) * (ordered[above] - ordered[below])
    low, high = _left_out(count, share), _left_out(count, 1.0 - share)
    if low is None or high is None:
        return Estimate(value, count, min=ordered[0], max=ordered[-1], note=TOO_FEW)
    return Estimate(value, count, None, ordered[low], ordered[-1 - high], ordered[0], ordered[-1])


def median_estimate(values: Sequence[float]) -> Estimate:
    """Return the median with its interval (see :func:`percentile_estimate`); it needs six values.

    Raises:
        ValueError: There are no values.
    """
    return percentile_estimate(values, 0.5)


def _left_out(count: int, share: float) -> int | None:
    """Return the largest k with P(Bin(n, share) ≤ k) ≤ 0.025, the smallest values left out; None if not even 0."""
    from scipy.special import bdtr

    if bdtr(0, count, share) > 1.0 - UPPER_TAIL:
        return None
    fewest, most = 0, math.floor(count * share)
    while fewest < most:
        tried = (fewest + most + 1) // 2
        fewest, most = (tried, most) if bdtr(tried, count, share) <= 1.0 - UPPER_TAIL else (fewest, tried - 1)
    return fewest
