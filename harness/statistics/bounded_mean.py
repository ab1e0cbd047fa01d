"""The interval of the mean of bounded scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from harness.statistics.quantiles import Z
from harness.statistics.roots import find_root

if TYPE_CHECKING:
    from harness.statistics.arrays import Floats

_LOG_TILTS = (-8.0, 60.0)
"""The range of the logarithm of the saddlepoint's parameter."""


def bounded_mean_interval(
    values: Sequence[float] | Floats,
    bounds: tuple[float, float] = (0.0, 1.0),
    *,
    guard: float = 0.5,
    z: float = Z,
) -> tuple[float, float]:
    """Return the Jeffreys–Dirichlet interval of a mean of bounded scores.

    It is the Bayesian bootstrap (Rubin 1981) of the scores and of half an observation at each bound: the mean is Σ w·x
    with weights w ~ Dirichlet(1, …, 1, ½, ½), and the interval contains 95 % of its distribution. If all scores are at
    a bound, it is Jeffreys's interval of a proportion. No random numbers are needed: the quantiles come from the
    saddlepoint approximation (Lugannani and Rice 1980) with Barndorff-Nielsen's r*. The order of the scores does not
    matter. It takes about 0.4 ms for 1,000 different scores, 40 ms for 100,000.

    Args:
        values: At least one, all within the bounds.
        bounds: The smallest and the largest possible score.
        guard: Fraction of an observation that is added at each bound.
        z: Standard errors that the interval reaches (default: those of a 95 % interval).

    Raises:
        ValueError: There are no values, one is outside of the bounds, or the bounds are not in order.
    """
    import numpy as np

    low, high = bounds
    array = np.asarray(values, dtype=np.float64)
    if len(array) == 0 or not low < high or not bool(((array >= low) & (array <= high)).all()):
        raise ValueError(f"a bounded mean needs values from {low} to {high}, the first smaller than the second")
    found, counts = np.unique(array, return_counts=True)
    scaled = (found - low) / (high - low)
    mean = math.fsum((scaled * counts).tolist()) / len(array)
    below = min(_lower_end(scaled, counts.astype(np.float64), guard, z), mean)
    above = max(1.0 - _lower_end((1.0 - scaled)[::-1], counts[::-1].astype(np.float64), guard, z), mean)
    return low + (high - low) * below, high if above >= 1.0 else low + (high - low) * above


def _lower_end(scores: Floats, counts: Floats, guard: float, z: float) -> float:
    """Return the lower end for ascending scores in [0, 1], each of which occurs ``counts`` times."""
    import numpy as np

    if scores[-1] == 0.0:
        return 0.0
    weight = float(counts.sum()) + 2.0 * guard

    @cache
    def at(log_tilt: float) -> tuple[float, float]:
        """Return r* and the mean that it belongs to."""
        tilt = math.exp(log_tilt)
        shrunk = 1.0 / (1.0 + tilt * scores)
        top = 1.0 / (1.0 + tilt)
        pulled = (float(counts @ (scores * shrunk)) + guard * top) / weight
        share = 1.0 - tilt * pulled if tilt < 1.0 else (float(counts @ shrunk) + guard * (1.0 + top)) / weight
        logs = float(counts @ np.log1p(tilt * scores)) + guard * math.log1p(tilt)
        squared = 2.0 * (weight * math.log(share) + logs)
        mean = pulled / share
        if squared < 1e-8:
            return math.sqrt(max(squared, 0.0)), mean
        spread = (float(counts @ (shrunk * shrunk)) + guard * (1.0 + top * top)) / (share * share) - weight
        w = math.sqrt(squared)
        return w + math.log(math.sqrt(spread) / w) / w, mean

    def excess(log_tilt: float) -> float:
        return at(log_tilt)[0] - z

    # For normal scores the parameter would be about z / (s·√n): search outwards from there.
    middle = float(counts @ scores) / weight
    variance = (float(counts @ (scores - middle) ** 2) + guard) / weight
    start = stop = _within(math.log(z / math.sqrt(variance * weight)), _LOG_TILTS)
    outwards = 1.0 if excess(start) < 0.0 else -1.0
    while (excess(stop) < 0.0) == (outwards > 0.0) and stop not in _LOG_TILTS:
        start, stop, outwards = stop, _within(stop + outwards, _LOG_TILTS), 2.0 * outwards
    return at(find_root(excess, start, stop, 1e-9))[1]


def _within(value: float, ends: tuple[float, float]) -> float:
    return min(max(value, ends[0]), ends[1])
