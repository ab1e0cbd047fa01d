"""The interval of the mean of scores that may be skewed and unbounded."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from harness.statistics.quantiles import UPPER_TAIL, t_quantile

SKEWNESS_FACTOR = 4.0 / 3.0
"""Factor for the sample skewness, which is too small in samples of skewed data (found by simulation)."""


def skewed_mean_interval(values: Sequence[float], upper_tail: float = UPPER_TAIL) -> tuple[float, float]:
    """Return the interval of a mean from Hall's transformation of Student's t (Hall 1992, JRSS B 54:221).

    The monotone cubic transformation removes the skewness that t has in samples of skewed data, with the sample
    skewness enlarged by a third. For symmetric data the interval is Student's t. Sums are exact.

    Args:
        values: At least three, not all equal.
        upper_tail: Probability below the upper end (default: that of a 95 % interval).

    Raises:
        ValueError: There are fewer than three values, or all are equal.
    """
    count = len(values)
    if count < 3 or min(values) == max(values):
        raise ValueError("the interval of a skewed mean needs three values that are not all equal")
    mean = math.fsum(values) / count
    deviations = [value - mean for value in values]
    largest = max(map(abs, deviations))
    scaled = [deviation / largest for deviation in deviations]  # squares of tiny values would be 0
    squares = math.fsum([deviation * deviation for deviation in scaled])
    cubes = math.fsum([deviation * deviation * deviation for deviation in scaled])
    skewness = adjusted_skewness(squares / count, cubes / count, count)
    inverse = inverse_transformation(skewness, count)
    scale = largest * math.sqrt(squares / (count - 1))
    reach = t_quantile(upper_tail, count - 1) / math.sqrt(count)
    return mean - scale * inverse(reach), mean - scale * inverse(-reach)


def adjusted_skewness(second: float, third: float, count: int) -> float:
    """Return the skewness that the transformation removes, from the central moments of a sample."""
    return SKEWNESS_FACTOR * third / (second * math.sqrt(second)) * math.sqrt(count * (count - 1)) / (count - 2)


def inverse_transformation(skewness: float, count: int) -> Callable[[float], float]:
    """Return the inverse of Hall's transformation of (mean − true mean) / standard deviation."""

    def inverse(value: float) -> float:
        if abs(skewness) < 1e-8:
            return value
        return 3.0 / skewness * (math.cbrt(1.0 + skewness * (value - skewness / (6.0 * count))) - 1.0)

    return inverse
