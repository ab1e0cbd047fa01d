"""Many tests at once: p-values adjusted for the number of tests, or combined into one.

Every function takes p-values, or with ``log10=True`` their base-10 logarithms, which never underflow; :func:`fisher`,
:func:`cauchy` and :func:`bonferroni` take logarithms only. Which function fits depends on what the tests share. Tests
of different data sets on one model are independent given the data, so everything here is valid. Tests of several models
on one data set depend on each other in unknown ways: only Holm, Benjamini-Yekutieli, Bonferroni and, in its far tail,
Cauchy remain valid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

LN10 = math.log(10)

_LARGEST_P = 0.999
_SERIES_BELOW = -12.0
"""Log10 of the p-value below which cot(πp) is 1/(πp) to double precision."""


def holm(p_values: Sequence[float], *, log10: bool = False) -> list[float]:
    """Return p-values adjusted so that the probability of any false finding stays below the level (Holm 1979).

    With the p-values in ascending order, the i-th of m (from 1) becomes the largest of (m − j + 1)·pⱼ over j ≤ i, at
    most 1. Valid whatever the dependence between the tests.

    Raises:
        ValueError: A value is not a p-value, or not the log10 of one.
    """
    _check(p_values, log10)
    adjusted = [0.0] * len(p_values)
    largest = -math.inf
    for rank, index in enumerate(_ascending(p_values)):
        largest = max(largest, _times(len(p_values) - rank, p_values[index], log10))
        adjusted[index] = largest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float], *, log10: bool = False) -> list[float]:
    """Return p-values adjusted so that the expected share of false findings stays below the level.

    With the p-values in ascending order, the i-th of m (from 1) becomes the smallest of m·pⱼ/j over j ≥ i, at most 1
    (Benjamini and Hochberg 1995). Valid for independent tests and for tests that depend positively.

    Raises:
        ValueError: A value is not a p-value, or not the log10 of one.
    """
    return _step_up(p_values, len(p_values), log10)


def benjamini_yekutieli(p_values: Sequence[float], *, log10: bool = False) -> list[float]:
    """Return Benjamini and Hochberg's adjustment times 1 + 1/2 + … + 1/m, valid whatever the dependence.

    Benjamini and Yekutieli 2001, theorem 1.3.

    Raises:
        ValueError: A value is not a p-value, or not the log10 of one.
    """
    harmonic = math.fsum(1 / k for k in range(1, len(p_values) + 1))
    return _step_up(p_values, harmonic * len(p_values), log10)


def bonferroni(log10_ps: Sequence[float]) -> float:
    """Return log10 of min(1, m · smallest p) of m tests, a p-value whatever their dependence.

    Raises:
        ValueError: There is no test, or a value is not the log10 of a p-value.
    """
    return min(0.0, math.log10(len(_some(log10_ps))) + min(log10_ps))


def fisher(log10_ps: Sequence[float]) -> float:
    """Return log10 of Fisher's combined p-value: is there an effect in any of the tests?

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
    """Return log10 of the Cauchy combination's p-value: is there a strong effect in a few of the tests?

    The tail of Cauchy's distribution at the mean of cot(πp). Its far tail is right whatever the dependence between
    normal test statistics (Liu and Xie 2020, theorem 1), elsewhere only approximately; for independent tests it is
    exact but for p-values above 0.999, which count as 0.999, so that one of 1 does not cancel the others (compare Fang
    et al. 2023). For 57 tests, this raises 0.05 to 0.0507 and 0.01 to 0.0100 (a million draws of uniform p-values).

    Raises:
        ValueError: There is no test, or a value is not the log10 of a p-value.
    """
    smallest = min(_some(log10_ps))
    if smallest < _SERIES_BELOW:
        inverse = math.fsum(10 ** (smallest - value) for value in log10_ps)
        return min(0.0, smallest + math.log10(len(log10_ps) / inverse))
    mean = math.fsum(1 / math.tan(math.pi * min(10**value, _LARGEST_P)) for value in log10_ps) / len(log10_ps)
    return math.log10(math.atan2(1.0, mean) / math.pi)


def _step_up(p_values: Sequence[float], factor: float, log10: bool) -> list[float]:
    """Return for each p-value the smallest of factor·pⱼ/j over all j from its own rank on."""
    _check(p_values, log10)
    adjusted = [0.0] * len(p_values)
    smallest = math.inf
    for rank, index in reversed(list(enumerate(_ascending(p_values), start=1))):
        smallest = min(smallest, _times(factor / rank, p_values[index], log10))
        adjusted[index] = smallest
    return adjusted


def _times(factor: float, p: float, log10: bool) -> float:
    """Return a p-value times a factor, at most 1, on the scale that it is given on."""
    return min(0.0, p + math.log10(factor)) if log10 else min(1.0, p * factor)


def _check(p_values: Sequence[float], log10: bool) -> None:
    for value in p_values:
        if log10 and not value <= 0.0:
            raise ValueError(f"{value} is not the log10 of a p-value")
        if not log10 and not 0.0 <= value <= 1.0:
            raise ValueError(f"{value} is not a p-value")


def _some(log10_ps: Sequence[float]) -> Sequence[float]:
    if not log10_ps:
        raise ValueError("there is no p-value")
    _check(log10_ps, log10=True)
    return log10_ps


def _ascending(values: Sequence[float]) -> list[int]:
    return sorted(range(len(values)), key=values.__getitem__)
