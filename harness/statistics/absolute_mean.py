"""The mean of absolute bin means, as in a calibration error: as observed, without its bias, and with an interval."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

from harness.contracts import Estimate
from harness.statistics.estimates import TOO_FEW
from harness.statistics.quantiles import UPPER_TAIL

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_STEPS = 1001
"""Number of parameter values tried; the interval's ends are exact to a thousandth of its possible reach."""

_HALVINGS = 60
"""Bisection steps of the debiased figure, enough for double precision."""


def absolute_mean_estimates(
    differences: Sequence[float], bins: Sequence[int], clusters: Sequence[int]
) -> tuple[Estimate, Estimate]:
    """Return Σ over bins of (share of the bin) · |mean difference in the bin|, as observed and debiased.

    The observed sum is biased upwards: where every true mean is 0, chance still makes the absolute means positive. A
    bootstrap doubles the bias, and its interval misses a true 0 every time. Here the 95 % interval holds the true
    values under which the observed sum, a sum of folded normals (Leone, Nelson and Nottingham 1961, eq. 2 and 3), is
    not in either 2.5 % tail. How a true value is spread over the bins is not known, so two shapes are tried, in
    proportion to the observed means and even, and the interval holds what either allows. It always contains both
    figures and stays in [0, 1]. A bin's standard error has half a squared unit added to its sum of squares, as one
    success and one failure would, so that a bin that is all right by luck still has one.

    The debiased figure is the true value, in proportion to the observed means, under which the observed sum is what is
    expected; 0 if even 0 predicts a larger sum. (Kumar, Liang and Ma 2019, section 5, debias squared errors alike.)

    Coverage and bias by simulation: docs/coverage_comparisons.md.

    Args:
        differences: One for each example, between −1 and 1.
        bins: The bin of each example.
        clusters: The instance of each example; the examples of one instance depend on each other.

    Returns:
        The observed and the debiased sum, with the same standard error and interval. ``count`` is the number of
        clusters. One cluster has no interval and no debiased figure other than the observed one.

    Raises:
        ValueError: There is no example, or the lengths differ.
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
    ends, z = [estimate], NormalDist().inv_cdf(UPPER_TAIL)
    for shape in (gaps / estimate if estimate > 0.0 else np.ones_like(gaps), np.ones_like(gaps)):
        tried = np.linspace(0.0, reach, _STEPS)
        true = tried[:, None] * shape
        expected = _folded_mean(true, errors) @ shares
        deviation = np.abs(estimate - expected) / np.sqrt(_variance(true, shares, errors, count))
        possible = tried[deviation <= z]
        # Where no true value explains so small an estimate, the bins' standard errors are too large, if anything.
        ends += [float(possible[0]), float(possible[-1])] if len(possible) else [0.0, estimate + z * spread]
    debiased = _debiased(estimate, gaps, shares, errors)
    low, high = min(*ends, debiased), max(estimate, min(1.0, max(ends)))
    return Estimate(estimate, count, spread, low, high), Estimate(debiased, count, spread, low, high)


def _debiased(estimate: float, gaps: Floats, shares: Floats, errors: Floats) -> float:
    """Return the true value, in proportion to the gaps, whose expected sum is the estimate; the sum grows with it."""

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
    """Return E|X| for X normal around the true value."""
    import numpy as np
    from scipy.special import ndtr

    peak = errors * np.sqrt(2.0 / np.pi) * np.exp(-((true / errors) ** 2) / 2.0)
    mean: Floats = peak + true * (1.0 - 2.0 * ndtr(-true / errors))
    return mean


def _variance(true: Floats, shares: Floats, errors: Floats, count: int) -> Floats:
    """Return the estimate's variance: of each bin's mean, and of how many instances fall into which bin."""
    within = true**2 + errors**2 - _folded_mean(true, errors) ** 2
    between = (true**2 @ shares - (true @ shares) ** 2).clip(min=0.0) / count
    variance: Floats = within @ shares**2 + between
    return variance
