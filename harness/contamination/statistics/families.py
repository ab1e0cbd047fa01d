"""Many contamination tests at once, on log10 p-values, so that none underflows.

Which fits depends on what the tests share. The files of one benchmark, asked of one model, have orders of their own:
their tests are independent given the examples, and everything here is valid. Several models asked about the same order
are dependent in unknown ways: only Holm, Benjamini-Yekutieli and, in its far tail, Cauchy remain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from harness.contamination.statistics.choice_sum import LN10
from harness.statistics.families import step_down, step_up

_LARGEST_P = 0.999
_SERIES_BELOW = -12.0
"""Log10 of the p-value below which cot(πp) is 1/(πp) to double precision."""


def holm(log10_ps: Sequence[float]) -> list[float]:
    """Return log10 p-values adjusted so that any false finding at all stays as rare as the level says (Holm 1979).

    Valid whatever the dependence between the tests.

    Raises:
        ValueError: A value is not the log10 of a p-value.
    """
    return step_down(_checked(log10_ps), times=_times, ceiling=0.0)


def benjamini_hochberg(log10_ps: Sequence[float]) -> list[float]:
    """Return log10 p-values adjusted so that the expected share of false findings stays below the level.

    Valid for independent tests and for tests that depend positively (Benjamini and Hochberg 1995, Benjamini and
    Yekutieli 2001): across the files of one model, not across models that share an order.

    Raises:
        ValueError: A value is not the log10 of a p-value.
    """
    return step_up(_checked(log10_ps), times=_times, ceiling=0.0)


def benjamini_yekutieli(log10_ps: Sequence[float]) -> list[float]:
    """Return log10 p-values adjusted for the share of false findings, whatever the dependence between the tests.

    Benjamini and Hochberg's, times 1 + 1/2 + … + 1/m (Benjamini and Yekutieli 2001, theorem 1.3).

    Raises:
        ValueError: A value is not the log10 of a p-value.
    """
    harmonic = math.fsum(1 / k for k in range(1, len(log10_ps) + 1))
    return step_up(_checked(log10_ps), times=_times, ceiling=0.0, factor=harmonic)


def fisher(log10_ps: Sequence[float]) -> float:
    """Return log10 of Fisher's combined p-value: is there a dependence in any of the sets?

    With y = -Σ ln p of m tests, the tail of χ² with 2m degrees of freedom at 2y is e⁻ʸ Σ yʲ/j! over j < m. Valid for
    independent tests only (Fisher 1932); conservative where p-values are discrete.

    Raises:
        ValueError: There is no test, or a value is not the log10 of a p-value.
    """
    y = -LN10 * math.fsum(_some(log10_ps))
    if y <= 0:
        return 0.0
    logs = [j * math.log(y) - math.lgamma(j + 1) for j in range(len(log10_ps))]
    largest = max(logs)
    log_sum = largest + math.log(math.fsum(math.exp(value - largest) for value in logs))
    return min(0.0, (log_sum - y) / LN10)


def cauchy(log10_ps: Sequence[float]) -> float:
    """Return log10 of the Cauchy combination's p-value: is there a strong dependence in a few of the sets?

    The tail of Cauchy's distribution at the mean of cot(πp). Its far tail is right whatever the dependence between
    normal test statistics (Liu and Xie 2020, theorem 1), elsewhere only approximately; for independent tests it is
    exact. p-values above 0.999 count as 0.999, so that one of 1 does not undo the others (compare Fang et al. 2023).

    Raises:
        ValueError: There is no test, or a value is not the log10 of a p-value.
    """
    smallest = min(_some(log10_ps))
    if smallest < _SERIES_BELOW:
        inverse = math.fsum(10 ** (smallest - value) for value in log10_ps)
        return min(0.0, smallest + math.log10(len(log10_ps) / inverse))
    mean = math.fsum(1 / math.tan(math.pi * min(10**value, _LARGEST_P)) for value in log10_ps) / len(log10_ps)
    p = math.atan2(1.0, mean) / math.pi
    return math.log10(p)


def _times(factor: float, log10_p: float) -> float:
    return log10_p + math.log10(factor)


def _checked(log10_ps: Sequence[float]) -> Sequence[float]:
    for value in log10_ps:
        if not value <= 0.0:
            raise ValueError(f"{value} is not the log10 of a p-value")
    return log10_ps


def _some(log10_ps: Sequence[float]) -> Sequence[float]:
    if not log10_ps:
        raise ValueError("there is no p-value")
    return _checked(log10_ps)
