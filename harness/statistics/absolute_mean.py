"""The mean of absolute bin means, such as a calibration error: observed, debiased, and with an interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.contracts import Estimate
from harness.statistics.estimates import TOO_FEW
from harness.statistics.quantiles import Z

if TYPE_CHECKING:
    from harness.statistics.arrays import Floats

_STEPS = 1001
"""Number of parameter values tried; the ends of the interval are exact to a thousandth of its largest reach."""

_HALVINGS = 60
"""Bisection steps of the debiased value, enough for double precision."""


def absolute_mean_estimates(
    differences: Sequence[float], bins: Sequence[int], clusters: Sequence[int]
) -> tuple[Estimate, Estimate]:
    """Return Σ over bins of (share of the bin) · |mean difference in the bin|, as observed and debiased.

    The observed sum is biased upwards: even if every true mean is 0, chance makes the absolute means positive. A
    bootstrap doubles the bias, and its interval always misses a true 0. Here the 95 % interval contains the true values
    under which the observed sum, a sum of folded normals (Leone, Nelson and Nottingham 1961, eq. 2 and 3), is in
    neither 2.5 % tail. Since it is unknown how a true value is distributed over the bins, two distributions are tried,
    proportional to the observed means and uniform, and the interval contains what either allows. It always contains
    both values and stays in [0, 1]. Half a squared unit is added to a bin's sum of squares, as one success and one
    failure would add, so that a bin that is right every time by luck still has a standard error.

    The debiased value is the true value, distributed proportionally to the observed means, for which the observed sum
    is the expected one; 0 if even 0 predicts a larger sum. (Kumar, Liang and Ma 2019, section 5, debias squared errors
    similarly.)

    Coverage and bias by simulation: docs/coverage_comparisons.md.

    Args:
        differences: The difference of each example, between −1 and 1.
        bins: The bin of each example.
        clusters: The instance of each example; the examples of one instance depend on each other.

    Returns:
        The observed and the debiased sum, with the same standard error and interval. ``count`` is the number of
        clusters. A single cluster has no interval, and its debiased value is the observed one.

    Raises:
        ValueError: There are no examples, or the lengths differ.
    """
    import numpy as np

    if not len(differences) == len(bins) == len(clusters) or len(differences) == 0:
        raise ValueError("an absolute mean needs examples, each with its difference, bin and cluster")
    values = np.asarray(differences, dtype=np.float64)
    _, places, sizes = np.unique(np.asarray(bins), return_inverse=True, return_counts=True)
    count = len(set(clusters))
    totals = np.bincount(places, values)
    means = totals / sizes
    shares, gaps = sizes / len(values), np.abs(means)
    estimate = float(np.abs(totals).sum()) / len(values)
    if count == 1:
        return Estimate(estimate, 1, note=TOO_FEW), Estimate(estimate, 1, note=TOO_FEW)
    _, cells, inverse = np.unique(
        np.stack([places, np.asarray(clusters)]), axis=1, return_index=True, return_inverse=True
    )
    sums = np.bincount(inverse.ravel(), values - means[places])
    squares = np.bincount(places[cells], sums**2, minlength=len(sizes))
    members = np.bincount(places[cells], minlength=len(sizes))  # clusters in each bin
    smoothed = squares + 0.5 * (sizes / members) ** 2
    errors = np.sqrt(smoothed * members / (members + 1.0)) / sizes
    spread = float(np.sqrt(_variance(gaps[None, :], shares, errors, count)[0]))
    reach = estimate + 6.0 * float(np.sqrt((shares**2) @ (errors**2) + 0.25 / count))
    ends = [estimate]
    for shape in (gaps / estimate if estimate > 0.0 else np.ones_like(gaps), np.ones_like(gaps)):
        tried = np.linspace(0.0, reach, _STEPS)
        true = tried[:, None] * shape
        expected = _folded_mean(true, errors) @ shares
        deviation = np.abs(estimate - expected) / np.sqrt(_variance(true, shares, errors, count))
        possible = tried[deviation <= Z]
        # If no true value explains so small an estimate, the standard errors of the bins are too large.
        ends += [float(possible[0]), float(possible[-1])] if len(possible) else [0.0, estimate + Z * spread]
    debiased = _debiased(estimate, gaps, shares, errors)
    low, high = min(*ends, debiased), max(estimate, min(1.0, max(ends)))
    return Estimate(estimate, count, spread, low, high), Estimate(debiased, count, spread, low, high)


def _debiased(estimate: float, gaps: Floats, shares: Floats, errors: Floats) -> float:
    """Return the true value, distributed proportionally to the gaps, whose expected sum is the estimate."""

    def expected(true: float) -> float:
        return float(_folded_mean(true * gaps / estimate, errors) @ shares)

    if estimate == 0.0 or expected(0.0) >= estimate:
        return 0.0
    low, high = 0.0, estimate
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if expected(middle) < estimate else (low, middle)
    return (low + high) / 2.0


def _folded_mean(true: Floats, errors: Floats) -> Floats:
    """Return E|X| for X normally distributed around the true value."""
    import numpy as np
    from scipy.special import ndtr

    peak = errors * np.sqrt(2.0 / np.pi) * np.exp(-((true / errors) ** 2) / 2.0)
    mean: Floats = peak + true * (1.0 - 2.0 * ndtr(-true / errors))
    return mean


def _variance(true: Floats, shares: Floats, errors: Floats, count: int) -> Floats:
    """Return the variance of the estimate, from the bins' means and from the numbers of instances in the bins."""
    within = true**2 + errors**2 - _folded_mean(true, errors) ** 2
    between = (true**2 @ shares - (true @ shares) ** 2).clip(min=0.0) / count
    variance: Floats = within @ shares**2 + between
    return variance
