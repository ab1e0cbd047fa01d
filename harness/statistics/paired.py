"""Two scores of the same instances: their difference, and whether it could be chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Literal

from harness.contracts import Estimate
from harness.statistics.bootstrap import bootstrap_estimate
from harness.statistics.estimates import mean_estimate
from harness.statistics.quantiles import UPPER_TAIL

_EXACT_UP_TO = 20
"""Most differences other than 0 whose signs are flipped in all 2ⁿ ways: a million."""

_TOLERANCE = 1e-9
"""Relative difference below which two sums, added up in different orders, are the same."""


def paired_difference(
    first: Sequence[float],
    second: Sequence[float],
    *,
    method: Literal["closed", "bootstrap"] = "closed",
    seed: int = 0,
) -> Estimate:
    """Return the mean of first − second over instances, with its standard error and 95 % interval.

    The closed form is Student's t of the differences, and where all scores are 0 or 1 Bonett and Price's (2012, eq. 4)
    interval, which adds one instance to each kind of disagreement and so has a width even where there is none
    (recommended by Fagerland, Lydersen and Laake 2014). The bootstrap is BCa over instances (Efron 1987). One pair has
    no interval. ``min`` and ``max`` are those of the single differences.

    Simulated coverage at n = 20, 100 and 1000: t 93, 95 and 95 %; Bonett and Price 97, 96 and 94 %; bootstrap 94, 96
    and 95 %.

    Args:
        first: The first score of each instance.
        second: The second, in the same order.
        method: How the interval is found.
        seed: Seeds the bootstrap.

    Raises:
        ValueError: There is no pair, or the lengths differ.
    """
    if len(first) != len(second):
        raise ValueError(f"pairs need two scores each, not {len(first)} and {len(second)} scores")
    differences = [one - other for one, other in zip(first, second, strict=True)]
    estimate = mean_estimate(differences, proportion=False)
    if estimate.count == 1:
        return estimate
    if method == "bootstrap":
        low, high, stderr = _bootstrap(differences, seed)
        return Estimate(estimate.value, estimate.count, stderr, low, high, estimate.min, estimate.max)
    if all(score in (0.0, 1.0) for score in (*first, *second)):
        low, high = _bonett_price(differences.count(1.0), differences.count(-1.0), estimate.count)
        return Estimate(estimate.value, estimate.count, estimate.stderr, low, high, estimate.min, estimate.max)
    return estimate


def mcnemar_test(only_first: int, only_second: int) -> float:
    """Return the exact two-sided p-value that two models succeed equally often (McNemar 1947).

    Given that they disagree, each is right with probability ½: the p-value is twice the smaller binomial tail, at most
    1. Without disagreement it is 1.

    Args:
        only_first: On how many instances only the first succeeds.
        only_second: On how many only the second does.
    """
    disagreements = only_first + only_second
    if disagreements == 0:
        return 1.0
    from scipy.special import bdtr

    return min(1.0, 2.0 * float(bdtr(min(only_first, only_second), disagreements, 0.5)))


def permutation_test(differences: Sequence[float], *, seed: int = 0, resamples: int = 10_000) -> float:
    """Return the two-sided p-value that the mean difference is 0, by flipping signs (Fisher 1935, section 21).

    If the models are exchangeable, each difference could as well have the other sign. The p-value is the share of the
    ways to choose the signs whose sum is at least as far from 0 as the observed one: of all ways where at most 20
    differences are not 0, else of as many as asked for at random and the observed one (Phipson and Smyth 2010), so that
    it is never 0. Differences of equal size are flipped together by a binomial draw, which is the same and costs less.

    Raises:
        ValueError: There is no difference.
    """
    import numpy as np

    if not differences:
        raise ValueError("a test needs differences")
    sizes, times = np.unique(
        np.abs([difference for difference in differences if difference != 0.0]), return_counts=True
    )
    if len(sizes) == 0:
        return 1.0
    observed = abs(math.fsum(differences))
    reached = observed - _TOLERANCE * float(sizes @ times)
    if times.sum() <= _EXACT_UP_TO:
        sums = np.zeros(1)
        for size in np.repeat(sizes, times):
            sums = np.concatenate([sums + size, sums - size])
        return float((np.abs(sums) >= reached).mean())
    generator = np.random.default_rng(seed)
    sums = np.zeros(resamples)
    for size, number in zip(sizes, times, strict=True):
        sums += size * (2.0 * generator.binomial(number, 0.5, size=resamples) - number)
    return float((1 + (np.abs(sums) >= reached).sum()) / (1 + resamples))


def _bonett_price(gains: int, losses: int, count: int) -> tuple[float, float]:
    first, second = (gains + 1) / (count + 2), (losses + 1) / (count + 2)
    middle = first - second
    reach = NormalDist().inv_cdf(UPPER_TAIL) * math.sqrt((first + second - middle * middle) / (count + 2))
    difference = (gains - losses) / count
    return max(-1.0, min(middle - reach, difference)), min(1.0, max(middle + reach, difference))


def _bootstrap(differences: Sequence[float], seed: int) -> tuple[float | None, float | None, float | None]:
    import numpy as np

    kinds, counts = np.unique(differences, return_counts=True)
    found = bootstrap_estimate(lambda draws: draws @ kinds / draws.sum(axis=1), counts.astype(float), seed=seed)
    return found.low, found.high, found.stderr
