"""Many tests at once: p-values adjusted for how many there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import mul

Times = Callable[[float, float], float]
"""Multiplies a p-value by a number, on the scale that the p-values are given on."""


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted so that any false finding at all stays as rare as the level says (Holm 1979).

    With the p-values in ascending order, the i-th of m (from 1) becomes the largest of (m − j + 1)·pⱼ over j ≤ i, at
    most 1. It holds whatever the dependence between the tests.
    """
    return step_down(_checked(p_values), times=mul, ceiling=1.0)


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted so that the expected share of false findings stays below the level.

    With the p-values in ascending order, the i-th of m (from 1) becomes the smallest of m·pⱼ/j over j ≥ i, at most 1
    (Benjamini and Hochberg 1995). It holds for independent tests and for tests that depend positively.
    """
    return step_up(_checked(p_values), times=mul, ceiling=1.0)


def step_down(values: Sequence[float], *, times: Times, ceiling: float) -> list[float]:
    """Return Holm's adjustment of p-values on any increasing scale, on which ``ceiling`` stands for 1."""
    adjusted = [ceiling] * len(values)
    largest = -float("inf")
    for rank, index in enumerate(_ascending(values)):
        largest = max(largest, min(ceiling, times(len(values) - rank, values[index])))
        adjusted[index] = largest
    return adjusted


def step_up(values: Sequence[float], *, times: Times, ceiling: float, factor: float = 1.0) -> list[float]:
    """Return Benjamini and Hochberg's adjustment, of p-values times a factor, on any increasing scale."""
    adjusted = [ceiling] * len(values)
    smallest = ceiling
    order = _ascending(values)
    for rank in range(len(order), 0, -1):
        index = order[rank - 1]
        smallest = min(smallest, times(factor * len(values) / rank, values[index]))
        adjusted[index] = smallest
    return adjusted


def _checked(p_values: Sequence[float]) -> Sequence[float]:
    for value in p_values:
        if not 0.0 <= value <= 1.0:
            raise ValueError(f"{value} is no p-value")
    return p_values


def _ascending(values: Sequence[float]) -> list[int]:
    return sorted(range(len(values)), key=values.__getitem__)
