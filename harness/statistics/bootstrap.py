"""Bootstrap intervals for statistics that are neither a mean nor a ratio of sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import NormalDist
from typing import TYPE_CHECKING

from harness.contracts import Estimate

if TYPE_CHECKING:
    from harness.statistics.arrays import Floats

_CELLS_AT_ONCE = 2_000_000
"""Largest number of values in a block of resamples: 16 MB."""

_NORMAL = NormalDist()


def bootstrap_estimate(
    statistic: Callable[[Floats], Floats], counts: Floats, *, seed: int, resamples: int = 2000
) -> Estimate:
    """Return a statistic of categorical data, with the bootstrap's standard error and its BCa 95 % interval.

    The data are given as the distinct kinds of instances and their counts. Drawing n instances with replacement is
    drawing multinomial counts of the kinds, so that the cost depends on the number of kinds, not of instances. The
    interval is bias-corrected and accelerated (Efron 1987), with the acceleration from the jackknife; if all instances
    are of one kind, or all resamples agree, it has no width. A single instance has no interval.

    Args:
        statistic: Maps counts, shape (resamples, kinds), to values, shape (resamples,); it must be finite.
        counts: Number of instances of each kind, shape (kinds,).
        seed: Seed of the resampling.
        resamples: Number of resamples.

    Raises:
        ValueError: There are no instances.
    """
    import numpy as np

    counts = np.asarray(counts, dtype=np.float64)[None, :]
    count = int(counts.sum())
    if count == 0:
        raise ValueError("the bootstrap needs an instance")
    value = float(statistic(counts)[0])
    if count == 1:
        return Estimate(value, 1)
    draws = np.concatenate([statistic(block) for block in _resampled(counts[0], count, resamples, seed)])
    stderr = float(draws.std(ddof=1))
    if np.ptp(draws) == 0.0:
        return Estimate(value, count, stderr, value, value)
    low, high = np.quantile(draws, _bca_levels(draws, value, _acceleration(statistic, counts[0])))
    return Estimate(value, count, stderr, float(low), float(high))


def _resampled(counts: Floats, count: int, resamples: int, seed: int) -> Iterator[Floats]:
    import numpy as np

    generator = np.random.default_rng(seed)
    block = max(1, _CELLS_AT_ONCE // len(counts))
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        yield generator.multinomial(count, counts / counts.sum(), size=size).astype(np.float64)


def _bca_levels(draws: Floats, value: float, acceleration: float) -> list[float]:
    below = (float((draws < value).sum()) + 0.5 * float((draws == value).sum())) / len(draws)
    edge = 0.5 / len(draws)
    bias = _NORMAL.inv_cdf(min(max(below, edge), 1.0 - edge))
    levels = []
    for level in (0.025, 0.975):
        shifted = bias + _NORMAL.inv_cdf(level)
        levels.append(_NORMAL.cdf(bias + shifted / (1.0 - acceleration * shifted)))
    return levels


def leave_one_out(statistic: Callable[[Floats], Floats], counts: Floats) -> tuple[Floats, Floats]:
    """Return the statistic without one instance of each kind that occurs, and the number of instances of the kind.

    Args:
        statistic: Maps counts, shape (samples, kinds), to values, shape (samples,).
        counts: Number of instances of each kind, shape (kinds,).
    """
    import numpy as np

    present = np.flatnonzero(counts)
    block = max(1, _CELLS_AT_ONCE // len(counts))
    values = []
    for start in range(0, len(present), block):
        left_out = present[start : start + block]
        without = np.repeat(counts[None, :], len(left_out), axis=0)
        without[np.arange(len(left_out)), left_out] -= 1.0
        values.append(statistic(without))
    return np.concatenate(values), counts[present]


def _acceleration(statistic: Callable[[Floats], Floats], counts: Floats) -> float:
    import numpy as np

    jackknife, weights = leave_one_out(statistic, counts)
    influence = np.average(jackknife, weights=weights) - jackknife
    spread = float((weights * influence**2).sum())
    return 0.0 if spread == 0.0 else float((weights * influence**3).sum()) / (6.0 * spread**1.5)
