"""Means and ratios of sums over independent instances, with their standard errors and 95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import NormalDist

from harness.contracts import Estimate, Scale
from harness.statistics.bounded_mean import bounded_mean_interval
from harness.statistics.proportions import midp_interval
from harness.statistics.quantiles import UPPER_TAIL, t_quantile
from harness.statistics.ratio import ratio_interval, ratio_stderr
from harness.statistics.skewed_mean import skewed_mean_interval

Interval = tuple[float, float]

TOO_FEW = "n too small for an interval"
UNDECLARED = "no interval: the metric does not declare its scale"

BOUNDED_MINIMUM = 5
"""Fewest instances for the interval of a bounded mean."""

UNBOUNDED_MINIMUM = 10
"""Fewest instances for the interval of an unbounded mean or of a ratio."""

_GUARD_TOLD = 1.25
"""From this multiple of the width of Student's t, the note mentions the observations added at the bounds."""

_FEW_FREEDOM = 5.0
"""Degrees of freedom below which a few long items dominate a ratio."""


def mean_estimate(values: Sequence[float], scale: Scale | None) -> Estimate:
    """Return the mean of one value for each instance, with the interval that covers for values on its scale.

    The standard error is s/√n with the sample standard deviation s (n − 1 in the denominator). The interval is mid-p
    for proportions, Jeffreys–Dirichlet for bounded scores, Hall's transformation of Student's t for smooth and for
    unbounded scores, and Student's t for scores that may be any number. It never leaves the scale. If the values are
    means over an instance's trials, the instance is the cluster, and this is the clustered standard error. The
    estimate's note says why there is no interval, or what a reader must know about it.

    Sums are exact, so that the order of the values does not matter.

    Args:
        values: The value of each instance.
        scale: The scale of the values; None if unknown, which gives no interval.

    Raises:
        ValueError: There are no values, or one is outside of the scale.
    """
    count = len(values)
    if count == 0:
        raise ValueError("the mean of no values is undefined")
    values = values if scale is None else [_inside(value, scale) for value in values]
    smallest, largest = min(values), max(values)
    mean = min(max(math.fsum(values) / count, smallest), largest)
    stderr = None
    if count > 1:
        stderr = math.sqrt(math.fsum([(value - mean) ** 2 for value in values]) / (count - 1) / count)
    found, note = (None, UNDECLARED) if scale is None else mean_interval(values, scale)
    low, high = found or (None, None)
    if found is not None and scale is not None:
        note = note or _remark(values, scale, found, stderr or 0.0)
    return Estimate(mean, count, stderr, low, high, smallest, largest, note=note)


def mean_interval(values: Sequence[float], scale: Scale, upper_tail: float = UPPER_TAIL) -> tuple[Interval | None, str]:
    """Return the interval of a mean, or None and the reason.

    Args:
        values: The value of each instance, at least one, all on the scale.
        scale: The scale of the values.
        upper_tail: Probability below the upper end (default: that of a 95 % interval).
    """
    count = len(values)
    if scale.kind in ("proportion", "bounded"):
        low, high = scale.bounds
        binary = all(value in (low, high) for value in values)
        if not binary and count < BOUNDED_MINIMUM:
            return None, TOO_FEW
        if binary:
            ends = midp_interval(sum(value == high for value in values), count, upper_tail)
            return (low + (high - low) * ends[0], high - (high - low) * (1.0 - ends[1])), ""
        return bounded_mean_interval(values, (low, high), z=NormalDist().inv_cdf(upper_tail)), ""
    if count < UNBOUNDED_MINIMUM:
        return None, TOO_FEW
    if min(values) == max(values):
        return None, _all_equal(count, values[0])
    if scale.low is None and scale.high is None:
        return _students_interval(values, upper_tail), ""
    low, high = skewed_mean_interval(values, upper_tail)
    bounds = scale.bounds
    return (max(low, bounds[0]), min(high, bounds[1])), ""


def _inside(value: float, scale: Scale) -> float:
    clipped = scale.clipped(value)
    if clipped is None:
        raise ValueError(f"{value} is outside of its scale, {scale}")
    return clipped


def _students_interval(values: Sequence[float], upper_tail: float) -> Interval:
    count = len(values)
    mean = math.fsum(values) / count
    spread = math.sqrt(math.fsum([(value - mean) ** 2 for value in values]) / (count - 1) / count)
    reach = t_quantile(upper_tail, count - 1) * spread
    return mean - reach, mean + reach


def _remark(values: Sequence[float], scale: Scale, interval: Interval, stderr: float) -> str:
    count, (low, high) = len(values), interval
    if scale.bounds == (0.0, 1.0) and scale.kind in ("proportion", "bounded") and min(values) == max(values):
        if values[0] == 1.0:
            return f"every score is 1, so the true value is at least {100.0 * low:.0f} %"
        if values[0] == 0.0:
            return f"every score is 0, so the true value is at most {100.0 * high:.0f} %"
    if scale.kind in ("proportion", "bounded"):
        binary = all(value in scale.bounds for value in values)
        usual = 2.0 * t_quantile(UPPER_TAIL, count - 1) * stderr if count > 1 else 0.0
        if not binary and high - low > _GUARD_TOLD * usual:
            return "few scores: the interval counts half an observation at each bound, and is wide"
    if scale.kind == "unbounded" and scale.low == 0.0 and 3.0 * max(values) > math.fsum(values):
        return "the mean may rest on rare long items"
    return ""


def ratio_estimate(
    numerators: Sequence[float], denominators: Sequence[float], *, low: float | None = None, high: float | None = None
) -> Estimate:
    """Return Σ numerators / Σ denominators, with one pair for each instance.

    The standard error is that of a ratio of sums with residuals corrected for leverage (HC2); the interval is that of
    :func:`harness.statistics.ratio_interval`, clipped to the range. Fewer than ten pairs have no interval. ``min`` and
    ``max`` are those of the instances' ratios.

    Args:
        numerators: The numerator of each instance.
        denominators: The denominator of each instance, positive.
        low: The smallest possible ratio, if any.
        high: The largest possible ratio, if any.

    Raises:
        ValueError: There are no pairs, the lengths differ, or a denominator is not positive.
    """
    count = len(numerators)
    if count == 0 or count != len(denominators):
        raise ValueError(f"a ratio needs pairs, not {count} numerators and {len(denominators)} denominators")
    if min(denominators) <= 0.0:
        raise ValueError("a ratio of sums needs positive denominators")
    ratio = math.fsum(numerators) / math.fsum(denominators)
    singles = [upper / lower for upper, lower in zip(numerators, denominators, strict=True)]
    plain = Estimate(ratio, count, min=min(singles), max=max(singles), note=TOO_FEW)
    if count == 1:
        return plain
    if count < UNBOUNDED_MINIMUM:
        return replace(plain, stderr=ratio_stderr(numerators, denominators))
    found = ratio_interval(numerators, denominators)
    if found.stderr == 0.0:
        return replace(plain, stderr=0.0, note=_all_equal(count, ratio))
    below = found.low if low is None else max(found.low, low)
    above = found.high if high is None else min(found.high, high)
    note = "a few long items dominate the ratio" if found.freedom < _FEW_FREEDOM else ""
    return replace(plain, stderr=found.stderr, low=min(below, ratio), high=max(above, ratio), note=note)


def transformed(estimate: Estimate, function: Callable[[float], float], slope: Callable[[float], float]) -> Estimate:
    """Return the estimate of a monotone function of a number.

    The ends of the interval are transformed, so that they stay in the function's range, and so is a value in the note;
    the standard error is that of the delta method, |slope at the value| times the old one.
    """

    def ordered(low: float | None, high: float | None) -> tuple[float | None, float | None]:
        if low is None or high is None:
            return None, None
        ends = sorted((function(low), function(high)))
        return ends[0], ends[1]

    low, high = ordered(estimate.low, estimate.high)
    smallest, largest = ordered(estimate.min, estimate.max)
    stderr = None if estimate.stderr is None else abs(slope(estimate.value)) * estimate.stderr
    value, note = function(estimate.value), estimate.note
    if note == _all_equal(estimate.count, estimate.value):
        note = _all_equal(estimate.count, value)
    return replace(estimate, value=value, stderr=stderr, low=low, high=high, min=smallest, max=largest, note=note)


def _all_equal(count: int, value: float) -> str:
    return f"all {count} values are {value:g}"
