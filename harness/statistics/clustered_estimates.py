"""Means and paired differences of instances in clusters, such as the questions about one passage."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace

from harness.contracts import Estimate, Scale
from harness.statistics.clustered import clustered_mean_interval
from harness.statistics.estimates import Interval, mean_estimate
from harness.statistics.paired import paired_difference
from harness.statistics.quantiles import UPPER_TAIL, t_quantile
from harness.statistics.ratio import ratio_interval

MINIMUM = 5
"""Fewest clusters for an interval."""

_FEW_FREEDOM = 3.0
"""Degrees of freedom below which a few clusters hold most instances."""

_GUARD, _DIFFERENCE_GUARD = 0.5, 0.25
"""Fraction of a cluster added at each bound of a score, and of a difference of two."""


def clustered_mean(
    values: Sequence[float], clusters: Sequence[Hashable], scale: Scale | None, upper_tail: float = UPPER_TAIL
) -> Estimate:
    """Return the mean over instances, with the standard error and 95 % interval of a mean over clusters.

    The standard error is √(G/(G − 1)·Σ d²)/n, with d the sum of a cluster's deviations from the mean. The interval is
    that of :func:`harness.statistics.clustered_mean_interval` for proportions and bounded scores, and of
    :func:`harness.statistics.ratio_interval` for others. Fewer than five clusters have none. If no two instances share
    a cluster, it is :func:`harness.statistics.mean_estimate`, with its 95 % interval.

    Args:
        values: The value of each instance.
        clusters: The cluster of each.
        scale: The scale of the values; None if unknown, which gives no interval.
        upper_tail: Probability below the interval's upper end.

    Raises:
        ValueError: There are no values, the lengths differ, or a value is outside of the scale.
    """
    estimate = mean_estimate(values, scale)
    return _over_clusters(estimate, values, clusters, scale, _GUARD, upper_tail)


def clustered_difference(
    first: Sequence[float], second: Sequence[float], clusters: Sequence[Hashable], scale: Scale | None
) -> Estimate:
    """Return the mean of first − second over instances, with the standard error and interval over clusters.

    The interval is that of :func:`clustered_mean` for scores between the largest differences in either direction, with
    a quarter of a cluster at each, or Student's t with the standard error and degrees of freedom of Bell and McCaffrey
    for smooth and unbounded scores. If no two instances share a cluster, it is
    :func:`harness.statistics.paired_difference`.

    Raises:
        ValueError: There are no pairs, the lengths differ, or a score is outside of the scale.
    """
    estimate = paired_difference(first, second, scale)
    differences = [one - other for one, other in zip(first, second, strict=True)]
    if scale is not None and scale.low is not None and scale.high is not None:
        widest = scale.high - scale.low
        differences = [min(max(value, -widest), widest) for value in differences]
        scale = Scale("smooth" if scale.kind == "smooth" else "bounded", -widest, widest)
    elif scale is not None:
        scale = Scale("unbounded")
    return _over_clusters(estimate, differences, clusters, scale, _DIFFERENCE_GUARD)


def cluster_sums(values: Sequence[float], clusters: Sequence[Hashable]) -> list[float]:
    """Return the sum of each cluster's values, in the order in which the clusters are first seen.

    Raises:
        ValueError: The lengths differ.
    """
    return [math.fsum(members) for members in _members(values, clusters)]


def _members(values: Sequence[float], clusters: Sequence[Hashable]) -> list[list[float]]:
    found: dict[Hashable, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        found.setdefault(cluster, []).append(value)
    return list(found.values())


def _over_clusters(
    estimate: Estimate,
    values: Sequence[float],
    clusters: Sequence[Hashable],
    scale: Scale | None,
    guard: float,
    upper_tail: float = UPPER_TAIL,
) -> Estimate:
    """Return the estimate of a mean with the uncertainty that clusters leave."""
    members = _members(values, clusters)
    groups, items = len(members), len(values)
    if groups == items:
        return replace(estimate, clusters=groups)
    deviations = [math.fsum(found) - len(found) * estimate.value for found in members]
    stderr = None
    if groups > 1:
        stderr = math.sqrt(math.fsum(value * value for value in deviations) * groups / (groups - 1)) / items
    plain = replace(estimate, stderr=stderr, low=None, high=None, clusters=groups)
    if scale is None:
        return plain
    if groups < MINIMUM:
        return replace(plain, note=f"{groups} cluster{'s are' if groups > 1 else ' is'} too few for an interval")
    if scale.kind in ("proportion", "bounded"):
        interval, freedom = _bounded(members, scale, guard, upper_tail)
    else:
        interval, freedom = _unbounded(members, scale, upper_tail)
    note = ""
    if freedom < _FEW_FREEDOM:
        note = f"one cluster holds {max(map(len, members)) / items:.0%} of the instances"
    low, high = min(interval[0], estimate.value), max(interval[1], estimate.value)
    return replace(plain, low=low, high=high, note=note)


def _bounded(
    members: Sequence[Sequence[float]], scale: Scale, guard: float, upper_tail: float
) -> tuple[Interval, float]:
    low, high = scale.bounds
    shares = [[(value - low) / (high - low) for value in found] for found in members]
    means = [math.fsum(found) / len(found) for found in shares]
    within = math.fsum((share - mean) ** 2 for found, mean in zip(shares, means, strict=True) for share in found)
    sums = [min(math.fsum(found), float(len(found))) for found in shares]
    sizes = [len(each) for each in shares]
    found = clustered_mean_interval(sums, sizes, within=within, guard=guard, upper_tail=upper_tail)
    return (low + (high - low) * found.low, low + (high - low) * found.high), found.freedom


def _unbounded(members: Sequence[Sequence[float]], scale: Scale, upper_tail: float) -> tuple[Interval, float]:
    sums, sizes = [math.fsum(found) for found in members], [len(found) for found in members]
    found = ratio_interval(sums, sizes, upper_tail)
    ends = found.low, found.high
    # A difference, or any number, is nearly symmetric.
    if (scale.kind == "smooth" and scale.low is not None and scale.low < 0.0) or scale.bounds == (-math.inf, math.inf):
        mean = math.fsum(sums) / sum(sizes)
        reach = t_quantile(upper_tail, found.freedom) * found.stderr
        ends = mean - reach, mean + reach
    lowest, highest = scale.bounds
    return (max(ends[0], lowest), min(ends[1], highest)), found.freedom
