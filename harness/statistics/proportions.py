"""Intervals of proportions, and of other statistics between 0 and 1."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from harness.statistics.quantiles import UPPER_TAIL


@cache
def midp_interval(successes: int, count: int, upper_tail: float = UPPER_TAIL) -> tuple[float, float]:
    """Return the mid-p interval of a proportion (Lancaster 1961; Berry and Armitage 1995).

    With K ~ Bin(count, p), the lower end solves P(K ≥ k) − ½·P(K = k) = 0.025 and the upper end mirrors it; without
    successes it is 1 − 0.05^(1/n). Exact coverage over all p is .951 to .968 on average and nowhere below .91
    for 10 to 500 trials, where Wilson's interval falls to .84 near 0 and 1.

    Args:
        successes: From 0 to count.
        count: Number of trials, at least 1.
        upper_tail: Probability below the upper end (default: that of a 95 % interval).

    Raises:
        ValueError: There are no trials, or more successes than trials.
    """
    if not 0 <= successes <= count or count < 1:
        raise ValueError(f"a proportion needs 0 to n successes of n trials, n at least 1, not {successes} of {count}")
    tail = 1.0 - upper_tail
    return _low(successes, count, tail), 1.0 - _low(count - successes, count, tail)


def finite_interval(successes: int, count: int, population: int, upper_tail: float = UPPER_TAIL) -> tuple[float, float]:
    """Return the exact interval of a proportion in a finite population of which a random part was looked at.

    With K successes in the population, a sample without replacement has hypergeometrically many. The interval holds
    every K for which neither tail, the observed number included, is below 0.025; its coverage is never below 95 %
    (Wright 1991, Exact Confidence Bounds when Sampling from Small Finite Universes). Where everything was looked at,
    both ends are the proportion.

    Args:
        successes: From 0 to count.
        count: Number looked at, at least 1.
        population: Number there is, at least count.
        upper_tail: Probability below the upper end (default: that of a 95 % interval).

    Raises:
        ValueError: The numbers do not fit together.
    """
    if not 0 <= successes <= count <= population or count < 1:
        raise ValueError(f"{successes} successes of {count} from a population of {population} are impossible")
    from scipy.stats import hypergeom

    tail = 1.0 - upper_tail
    # The fewest successes with which as many, or more, are seen often enough; their number is at least what was seen.
    low = _first(
        successes, population - count + successes,
        lambda total: float(hypergeom.sf(successes - 1, population, total, count)) >= tail,
    )  # fmt: skip
    # Beginning with so many, as few are seen too seldom.
    beyond = _first(
        low, population - count + successes + 1,
        lambda total: total > population or float(hypergeom.cdf(successes, population, total, count)) < tail,
    )  # fmt: skip
    return low / population, min(beyond - 1, population - count + successes) / population


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Return the smallest whole number from low to high from which on something holds; high if it never does."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def effective_size_interval(
    value: float, variance: float, count: int, upper_tail: float = UPPER_TAIL
) -> tuple[float, float]:
    """Return Jeffreys's interval of a proportion whose number of trials gives the statistic's variance.

    Half an observation at each bound is added to value and variance first, so that a statistic of 0 or 1, or one
    without variance, also has an interval of positive width.

    Args:
        value: The statistic, in [0, 1].
        variance: Its variance, from the jackknife.
        count: The number of instances, at least 1.
        upper_tail: Probability below the upper end (default: that of a 95 % interval).

    Raises:
        ValueError: An argument is out of range.
    """
    if not 0.0 <= value <= 1.0 or not variance >= 0.0 or count < 1:
        raise ValueError(f"no interval for a statistic of {value} with variance {variance} from {count} instances")
    from scipy.special import betaincinv

    middle = (count * value + 0.5) / (count + 1)
    guarded = (count**2 * variance + 0.5 * value**2 + 0.5 * (1.0 - value) ** 2) / (count + 1) ** 2
    size = max(middle * (1.0 - middle) / guarded - 1.0, 1.0)
    first, second = middle * size, (1.0 - middle) * size
    low, high = (float(betaincinv(first, second, tail)) for tail in (1.0 - upper_tail, upper_tail))
    return min(low, value), max(high, value)


def _low(successes: int, count: int, tail: float) -> float:
    if successes == 0:
        return 0.0
    if successes == count:
        return float((2.0 * tail) ** (1.0 / count))
    from scipy.special import betainc, betaincinv

    from harness.statistics.roots import find_root

    failures = count - successes

    def excess(p: float) -> float:
        # P(K ≥ k) is the regularised incomplete beta function I_p(k, n − k + 1).
        return float(betainc(successes, failures + 1, p) + betainc(successes + 1, failures, p)) / 2.0 - tail

    below = float(betaincinv(successes, failures + 1, tail))
    return find_root(excess, below, float(betaincinv(successes + 1, failures, tail)), 1e-12)
