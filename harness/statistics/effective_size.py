"""The interval of a statistic between 0 and 1 that is not a mean."""

from __future__ import annotations

from harness.statistics.quantiles import UPPER_TAIL


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
