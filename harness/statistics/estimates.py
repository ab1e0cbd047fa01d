"""Means and ratios of sums over independent instances, with their standard errors and 95 % intervals in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist

from harness.contracts import Estimate
from harness.statistics.quantiles import UPPER_TAIL, t_quantile


def mean_estimate(values: Sequence[float], *, proportion: bool = True) -> Estimate:
    """Return the mean of one value for each instance.

    The standard error is s/√n with the sample standard deviation s (n − 1 in the denominator); the interval is
    mean ± t·s/√n with n − 1 degrees of freedom (Student 1908). One value has neither. Where every value is 0 or 1, the
    interval is Wilson's (1927), which stays between 0 and 1 and has a width even where all values are equal. Values
    that are themselves means over an instance's trials are right here: the instance is the cluster, and with one value
    for each cluster the clustered standard error of a mean of cluster means is this one.

    The sums are exact, so that the order of the values changes nothing.

    Args:
        values: One for each instance.
        proportion: Whether values that are all 0 or 1 are successes and failures; not so for counts, which may be
            small by chance.

    Raises:
        ValueError: There is no value.
    """
    count = len(values)
    if count == 0:
        raise ValueError("the mean of no values is undefined")
    smallest, largest = min(values), max(values)
    mean = min(max(math.fsum(values) / count, smallest), largest)
    if count == 1:
        return Estimate(mean, 1, min=smallest, max=largest)
    deviations = [value - mean for value in values]
    variance = math.fsum([deviation * deviation for deviation in deviations]) / (count - 1)
    stderr = math.sqrt(variance / count)
    if proportion and all(value in (0.0, 1.0) for value in values):
        low, high = wilson_interval(mean, count)
    else:
        reach = t_quantile(UPPER_TAIL, count - 1) * stderr
        low, high = mean - reach, mean + reach
    return Estimate(mean, count, stderr, low, high, smallest, largest)


def wilson_interval(share: float, count: int, upper_tail: float = UPPER_TAIL) -> tuple[float, float]:
    """Return the score interval of a proportion (Wilson 1927; Brown, Cai and DasGupta 2001, eq. 4).

    Args:
        share: The proportion observed, in [0, 1].
        count: Out of how many, at least 1.
        upper_tail: The probability below the upper end; the default is that of a 95 % interval.
    """
    z = NormalDist().inv_cdf(upper_tail)
    shrunk = (share + z * z / (2 * count)) / (1 + z * z / count)
    reach = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / (1 + z * z / count)
    # Rounding must not push an end past the share itself where none or all are right.
    return min(max(0.0, shrunk - reach), share), max(min(1.0, shrunk + reach), share)


def ratio_estimate(numerators: Sequence[float], denominators: Sequence[float]) -> Estimate:
    """Return Σ numerators / Σ denominators, one pair for each instance.

    The standard error is the delta method's (Cochran 1977, eq. 2.46): with R the ratio and e = numerator −
    R·denominator, it is √(n/(n−1)·Σe²) / Σdenominators; the interval is Student's t with n − 1 degrees of freedom. One
    pair has neither. ``min`` and ``max`` are those of the single ratios.

    Raises:
        ValueError: There is no pair, the lengths differ, or a denominator is not positive.
    """
    count = len(numerators)
    if count == 0 or count != len(denominators):
        raise ValueError(f"a ratio needs pairs, not {count} numerators and {len(denominators)} denominators")
    if min(denominators) <= 0.0:
        raise ValueError("a ratio of sums needs positive denominators")
    whole = math.fsum(denominators)
    ratio = math.fsum(numerators) / whole
    singles = [upper / lower for upper, lower in zip(numerators, denominators, strict=True)]
    if count == 1:
        return Estimate(ratio, 1, min=singles[0], max=singles[0])
    residuals = [upper - ratio * lower for upper, lower in zip(numerators, denominators, strict=True)]
    stderr = math.sqrt(count / (count - 1) * math.fsum([residual * residual for residual in residuals])) / whole
    reach = t_quantile(UPPER_TAIL, count - 1) * stderr
    return Estimate(ratio, count, stderr, ratio - reach, ratio + reach, min(singles), max(singles))


def transformed(estimate: Estimate, function: Callable[[float], float], slope: Callable[[float], float]) -> Estimate:
    """Return the estimate of a monotone function of a number.

    The ends of the interval are transformed, so that they stay in the function's range; the standard error is the
    delta method's, |slope at the value| times the old one.
    """

    def ordered(low: float | None, high: float | None) -> tuple[float | None, float | None]:
        if low is None or high is None:
            return None, None
        ends = sorted((function(low), function(high)))
        return ends[0], ends[1]

    low, high = ordered(estimate.low, estimate.high)
    smallest, largest = ordered(estimate.min, estimate.max)
    stderr = None if estimate.stderr is None else abs(slope(estimate.value)) * estimate.stderr
    return Estimate(function(estimate.value), estimate.count, stderr, low, high, smallest, largest)
