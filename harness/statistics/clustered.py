"""The interval of a mean over items in clusters, such as the questions about one document."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.statistics.quantiles import UPPER_TAIL, normal_quantile, t_quantile
from harness.statistics.ratio import leverage_correction
from harness.statistics.roots import find_root

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ClusteredInterval:
    """The interval of a mean over items in clusters."""

    low: float
    """Lower end of the interval."""
    high: float
    """Upper end."""
    correlation: float
    """Estimated correlation of two items of a cluster."""
    freedom: float
    """Degrees of freedom; below 3, a few clusters contain most of the items."""


def clustered_mean_interval(
    sums: Sequence[float],
    sizes: Sequence[int],
    *,
    within: float | None = None,
    guard: float = 0.5,
    upper_tail: float = UPPER_TAIL,
) -> ClusteredInterval:
    """Return the Jeffreys–Dirichlet interval of Σ sums / Σ sizes for items with scores in [0, 1].

    It is based on the empirical likelihood of the ratio with a part of a cluster of average size at each bound, with
    the signed root corrected as r*, and widened for clusters of unequal size by Bell and McCaffrey's degrees of
    freedom, with the correlation within clusters from an analysis of variance. For equal sizes it is the interval of
    the cluster means.

    Args:
        sums: The sum of each cluster's scores.
        sizes: Each cluster's number of items.
        within: Sum of squared deviations of the items from their cluster's mean; not needed for scores of 0 and 1.
        guard: Fraction of a cluster of average size that is added at each bound.
        upper_tail: Probability below the upper end.

    Raises:
        ValueError: There are fewer than two clusters, the lengths differ, or a sum is not between 0 and its size.
    """
    import numpy as np

    y, n = np.asarray(sums, dtype=np.float64), np.asarray(sizes, dtype=np.float64)
    if len(y) != len(n) or len(y) < 2 or not bool(((n >= 1.0) & (y >= 0.0) & (y <= n)).all()):
        raise ValueError("a clustered mean needs two clusters or more, each with a sum between 0 and its size")
    order = np.lexsort((y, n))
    y, n = y[order], n[order]
    groups, items = len(n), float(n.sum())
    mean = math.fsum(y.tolist()) / items
    correlation = _correlation(y, n, mean, within)
    freedom, excess = leverage_correction(n / items, correlation * n**2 + (1.0 - correlation) * n)
    ratio = t_quantile(upper_tail, freedom) / t_quantile(upper_tail, groups - 1)
    reach = normal_quantile(upper_tail) * ratio * math.sqrt(excess * (groups - 1) / groups)
    low, high = _lower_end(y, n, mean, reach, guard), 1.0 - _lower_end(n - y, n, 1.0 - mean, reach, guard)
    return ClusteredInterval(min(low, mean), max(high, mean), correlation, freedom)


def _correlation(y: Floats, n: Floats, mean: float, within: float | None) -> float:
    groups, items = len(n), float(n.sum())
    if items == groups:
        return 0.0
    inside = (float((y * (1.0 - y / n)).sum()) if within is None else within) / (items - groups)
    typical = (items - float((n * n).sum()) / items) / (groups - 1)
    between = max(0.0, (float((n * (y / n - mean) ** 2).sum()) / (groups - 1) - inside) / typical)
    return between / (between + inside) if between + inside > 0.0 else 1.0


def _lower_end(y: Floats, n: Floats, mean: float, reach: float, guard: float) -> float:
    """Return the smallest mean whose signed root r* is not above the reach."""
    import numpy as np

    if not y.any():
        return 0.0
    typical = float(n.mean())
    sums = np.concatenate([y, [0.0, typical]])
    sizes = np.concatenate([n, [typical, typical]])
    weights = np.concatenate([np.ones(len(n)), [guard, guard]])

    def excess(candidate: float) -> float:
        return _signed_root(sums - candidate * sizes, weights) - reach

    return find_root(excess, 1e-12, mean * (1.0 - 1e-12), 1e-9)


def _signed_root(differences: Floats, weights: Floats) -> float:
    """Return Barndorff-Nielsen's r* of the hypothesis that the weighted mean difference is 0."""
    import numpy as np

    tilt = _tilt(differences, weights)
    scaled = 1.0 + tilt * differences
    w = math.copysign(math.sqrt(max(0.0, 2.0 * float(weights @ np.log(scaled)))), tilt)
    if abs(w) < 1e-4:
        return w
    u = tilt * math.sqrt(float(weights @ (differences / scaled) ** 2))
    return w + math.log(u / w) / w


def _tilt(differences: Floats, weights: Floats) -> float:
    """Return the λ with Σ weight·d / (1 + λd) = 0 by Newton's method inside the bracket that keeps 1 + λd positive."""
    low, high = -1.0 / float(differences.max()), -1.0 / float(differences.min())
    tilt = 0.0
    for _ in range(200):
        terms = differences / (1.0 + tilt * differences)
        slope = float(weights @ terms)
        low, high = (tilt, high) if slope > 0.0 else (low, tilt)
        step = slope / float(weights @ (terms * terms))
        moved = tilt + step
        moved = moved if low < moved < high else (low + high) / 2.0
        if abs(moved - tilt) <= 1e-11 * abs(moved):
            return moved
        tilt = moved
    return tilt
