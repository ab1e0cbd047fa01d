"""A lower bound on the number of true findings among many: closed testing on dependent p-values."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.statistics.arrays import Floats

_CORRELATION = 0.5
"""Correlation of two differences that share a model, when all means vary alike."""

_COVARIANCE = 3.263 * _CORRELATION + 0.71 * _CORRELATION**2 + 0.027 * _CORRELATION**3
"""Covariance of two terms −2·ln p of normal tests with that correlation (Kost and McDermott 2002, eq. 8)."""


def certain_count(log_p: Floats, dependent: int, level: float) -> int:
    """Return a lower bound on the number of true alternatives, which holds with probability 1 − ``level``.

    By closed testing (Goeman and Solari 2011), a number h of null hypotheses may all be true unless the local test
    rejects the h largest p-values together; all hypotheses beyond the largest such h are false. Returned is the larger
    of the bounds by two local tests, each at half the level: Simes (1986), which finds few strong effects, and Fisher's
    sum with Brown's (1975) correction for dependence, which finds many weak ones.

    Args:
        log_p: Natural logarithms of one-sided p-values, at most 0.
        dependent: Largest number of p-values that depend on each other (those over the same instances), with a
            correlation of ½; all others are taken as independent.
        level: Probability that the bound is too large.
    """
    import numpy as np

    if len(log_p) == 0:
        return 0
    ordered = np.sort(log_p)[::-1]  # the largest p-value first
    return len(ordered) - min(_by_simes(ordered, level / 2.0), _by_fisher(ordered, dependent, level / 2.0))


def _by_simes(ordered: Floats, level: float) -> int:
    """Return the largest i for which Simes's test does not reject the i largest p-values.

    Of i p-values in ascending order, the test rejects where the j-th is at most j·level/i for any j. What it does not
    reject with i it does not reject with fewer, so the largest i is found by bisection (Hommel 1988).
    """
    import numpy as np

    low, high = 0, len(ordered)
    logs = np.log(np.arange(high, 0, -1))
    while low < high:
        size = (low + high + 1) // 2
        thresholds = logs[len(ordered) - size :] + math.log(level / size)
        if bool((ordered[:size] > thresholds).all()):
            low = size
        else:
            high = size - 1
    return low


def _by_fisher(ordered: Floats, dependent: int, level: float) -> int:
    """Return the largest i for which −2·Σ ln p of the i largest p-values is at most Brown's critical value."""
    import numpy as np

    sums = -2.0 * np.cumsum(ordered)
    passed = np.flatnonzero(sums <= _critical_values(_table_size(len(ordered)), dependent, level)[: len(ordered)])
    return int(passed[-1]) + 1 if len(passed) else 0


def _table_size(count: int) -> int:
    """Return the next power of two, so that a few tables serve all counts."""
    return 1 << (count - 1).bit_length()


@lru_cache(maxsize=64)
def _critical_values(most: int, dependent: int, level: float) -> Floats:
    """Return the critical values of −2·Σ ln p for 1, 2, …, ``most`` p-values: c·χ² with matched mean and variance."""
    import numpy as np
    from scipy.special import gammainccinv

    counts = np.arange(1, most + 1, dtype=np.float64)
    variance = counts * (4.0 + (np.minimum(dependent, counts) - 1.0) * _COVARIANCE)
    freedom = 8.0 * counts**2 / variance
    critical: Floats = variance / (4.0 * counts) * 2.0 * gammainccinv(freedom / 2.0, level)
    return critical
