"""The interval of a ratio of sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.statistics.quantiles import UPPER_TAIL, t_quantile
from harness.statistics.skewed_mean import adjusted_skewness, inverse_transformation

if TYPE_CHECKING:
    from harness.statistics.arrays import Floats


@dataclass(frozen=True, slots=True)
class RatioInterval:
    """The interval of Σ numerators / Σ denominators."""

    low: float
    """Lower end of the interval."""
    high: float
    """Upper end."""
    stderr: float
    """Standard error."""
    freedom: float
    """Degrees of freedom; below 5, a few long items dominate the ratio."""


def ratio_interval(
    numerators: Sequence[float] | Floats, denominators: Sequence[float] | Floats, upper_tail: float = UPPER_TAIL
) -> RatioInterval:
    """Return the interval of a ratio of sums, corrected for leverage and skewness.

    The residuals y − R·x are enlarged by their leverage (HC2, MacKinnon and White 1985), the degrees of freedom are
    Bell and McCaffrey's (2002, Survey Methodology 28:169) for residuals whose spread grows with x, and Hall's
    transformation (1992) removes the skewness. For equal denominators it is :func:`skewed_mean_interval`, and a ratio
    that is the same in every pair has an interval without width. The order of the pairs does not matter.

    Raises:
        ValueError: There are fewer than three pairs, the lengths differ, or a denominator is not positive.
    """
    import numpy as np

    if len(numerators) != len(denominators) or len(denominators) < 3 or min(denominators) <= 0.0:
        raise ValueError("a ratio of sums needs three pairs or more, with positive denominators")
    ratio, shares, residuals = _residuals(numerators, denominators)
    count = len(shares)
    freedom, _ = leverage_correction(shares, shares**2)
    largest = float(np.abs(residuals).max())
    # Rounding errors of residuals that are all zero have no skewness.
    if largest <= 1e-13 * abs(ratio):
        return RatioInterval(ratio, ratio, 0.0, freedom)
    residuals /= largest
    squares, cubes = math.fsum((residuals**2).tolist()), math.fsum((residuals**3).tolist())
    inverse = inverse_transformation(adjusted_skewness(squares / count, cubes / count, count), count)
    spread, stderr = largest * math.sqrt(squares / count), largest * math.sqrt(squares) / count
    reach = t_quantile(upper_tail, freedom) / math.sqrt(count)
    return RatioInterval(ratio - spread * inverse(reach), ratio - spread * inverse(-reach), stderr, freedom)


def ratio_stderr(numerators: Sequence[float] | Floats, denominators: Sequence[float] | Floats) -> float:
    """Return the standard error of a ratio of sums of two pairs or more, corrected for leverage."""
    _, shares, residuals = _residuals(numerators, denominators)
    return math.sqrt(math.fsum((residuals**2).tolist())) / len(shares)


def _residuals(
    numerators: Sequence[float] | Floats, denominators: Sequence[float] | Floats
) -> tuple[float, Floats, Floats]:
    """Return the ratio, each pair's share of the denominators, and its residual corrected for leverage."""
    import numpy as np

    y, x = np.asarray(numerators, dtype=np.float64), np.asarray(denominators, dtype=np.float64)
    order = np.lexsort((y, x))
    y, x = y[order], x[order]
    whole = math.fsum(x.tolist())
    ratio = math.fsum(y.tolist()) / whole
    shares = x / whole
    return ratio, shares, (y - ratio * x) / (whole / len(x) * np.sqrt(1.0 - shares))


def leverage_correction(shares: Floats, variances: Floats) -> tuple[float, float]:
    """Return Bell and McCaffrey's degrees of freedom, and true variance over the HC0 estimate's expected value.

    Args:
        shares: Each pair's share of the denominators.
        variances: What the residuals' variances are proportional to.
    """
    h, v = shares, variances / math.fsum((shares**2).tolist())
    total = float(v.sum())
    a = 1.0 / (1.0 - h)
    other = -2.0 * h * v + h * h * total
    expected = v + other
    h2, hv, v2 = float(a @ (h * h)), float(a @ (h * v)), float(a @ (v * v))
    trace = float(a @ expected)
    squared = 2.0 * h2 * v2 + 2.0 * hv**2 + h2**2 * total**2 - 4.0 * h2 * hv * total
    squared += float(((a * expected) ** 2).sum() - ((a * other) ** 2).sum())
    return max(trace**2 / squared, 1.0), total / float(expected.sum())
