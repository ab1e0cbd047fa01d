"""The gap between the means of groups of instances."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.contracts import Estimate, Scale
from harness.statistics.clustered_estimates import clustered_mean
from harness.statistics.estimates import UNDECLARED, Interval, mean_interval
from harness.statistics.quantiles import UPPER_TAIL

if TYPE_CHECKING:
    from harness.statistics.arrays import Floats


def gap_estimate(
    values: Sequence[float],
    groups: Sequence[Sequence[int]],
    scale: Scale | None,
    clusters: Sequence[Hashable] | None = None,
) -> Estimate:
    """Return the largest minus the smallest mean of several groups of instances.

    Since the extreme groups are chosen by the data, the interval must hold for all pairs at once. Each mean has the
    interval of its scale (see :func:`mean_interval`) at level 1 − 0.05/pairs (Bonferroni); the interval of a difference
    follows from two of these by MOVER (Newcombe 1998, method 10; Zou and Donner 2008, eq. 8), with the correlation of
    the means if groups share instances. The interval of the gap extends from the largest lower end of any pair, at
    least 0, to the largest upper end. With two different groups its coverage is 95 %, with more groups or equal ones
    higher. If the mean of a group has no interval, the gap has none. With clusters, means have the interval of
    :func:`clustered_mean`, and their errors and correlations are over clusters.

    Args:
        values: The value of each instance.
        groups: The indices of each group's instances, without repetition; an instance may be in several groups.
        scale: The scale of the values; None if unknown, which gives no interval.
        clusters: The cluster of each instance; None if instances are independent.

    Returns:
        ``count`` is the number of instances in any group, ``stderr`` that of the difference between the two extreme
        groups, ``min`` and ``max`` their means.

    Raises:
        ValueError: There are fewer than two groups, or one of fewer than two instances.
    """
    import numpy as np

    if len(groups) < 2 or min(map(len, groups)) < 2:
        raise ValueError("a gap needs two groups of two instances each")
    scores = np.asarray(values, dtype=np.float64)
    sizes = np.array([len(group) for group in groups], dtype=np.float64)
    means = np.array([math.fsum(scores[list(group)]) / len(group) for group in groups])
    units = range(len(scores)) if clusters is None else clusters
    places = {unit: place for place, unit in enumerate(dict.fromkeys(units))}
    unit_of = np.array([places[unit] for unit in units])
    shares = np.zeros((len(groups), len(places)))
    for row, (group, mean) in enumerate(zip(groups, means, strict=True)):
        shares[row] = np.bincount(unit_of[list(group)], scores[list(group)] - mean, minlength=len(places))
    covariances = (shares @ shares.T) / np.outer(sizes, sizes)
    errors = np.sqrt(np.diag(covariances))
    products = np.outer(errors, errors)
    correlations = np.divide(covariances, products, out=np.zeros_like(products), where=products > 0.0)
    best, worst = int(means.argmax()), int(means.argmin())
    counts = np.array([len(set(unit_of[list(group)].tolist())) for group in groups], dtype=np.float64)
    enlarged = counts / np.maximum(counts - 1.0, 1.0)
    adjusted = covariances * np.sqrt(np.outer(enlarged, enlarged))
    variance = adjusted[best, best] + adjusted[worst, worst] - 2.0 * adjusted[best, worst] if best != worst else 0.0
    gap = float(means[best] - means[worst])
    members = len({index for group in groups for index in group})
    plain = Estimate(
        gap, members, math.sqrt(max(0.0, float(variance))), None, None, float(means[worst]), float(means[best])
    )
    tail = (1.0 - UPPER_TAIL) / (len(groups) * (len(groups) - 1) / 2)
    reaches = []
    for group, mean in zip(groups, means, strict=True):
        found, note = _interval(scores[list(group)].tolist(), unit_of[list(group)].tolist(), scale, 1.0 - tail)
        if found is None:
            return replace(plain, note=note if scale is None else f"a group's mean has no interval: {note}")
        reaches.append((mean - found[0], found[1] - mean))
    down, up = np.array(reaches).T
    differences = means[:, None] - means[None, :]
    low = float((differences - _joined(down[:, None], up[None, :], correlations)).max())
    high = float((differences + _joined(up[:, None], down[None, :], correlations)).max())
    widest = float("inf") if scale is None else scale.bounds[1] - scale.bounds[0]
    return replace(plain, low=min(max(0.0, low), gap), high=min(max(high, gap), widest))


def _interval(
    values: Sequence[float], units: Sequence[int], scale: Scale | None, upper_tail: float
) -> tuple[Interval | None, str]:
    """Return the interval of a group's mean over independent units, or None and the reason."""
    if scale is None:
        return None, UNDECLARED
    if len(set(units)) == len(units):
        return mean_interval(values, scale, upper_tail)
    found = clustered_mean(values, units, scale, upper_tail)
    return (None if found.low is None or found.high is None else (found.low, found.high)), found.note


def _joined(first: Floats, second: Floats, correlations: Floats) -> Floats:
    import numpy as np

    squares: Floats = np.sqrt(np.maximum(first**2 + second**2 - 2.0 * correlations * first * second, 0.0))
    np.fill_diagonal(squares, 0.0)
    return squares
