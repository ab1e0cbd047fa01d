"""Many tests at once: p-values adjusted for how many there are."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted so that any false finding at all stays as rare as the level says (Holm 1979).

    With the p-values in ascending order, the i-th of m (from 1) becomes the largest of (m − j + 1)·pⱼ over j ≤ i, at
    most 1. It holds whatever the dependence between the tests.
    """
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(_ascending(p_values)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted so that the expected share of false findings stays below the level.

    With the p-values in ascending order, the i-th of m (from 1) becomes the smallest of m·pⱼ/j over j ≥ i, at most 1
    (Benjamini and Hochberg 1995). It holds for independent tests and for tests that depend positively.
    """
    adjusted = [0.0] * len(p_values)
    smallest = 1.0
    order = _ascending(p_values)
    for rank in range(len(order), 0, -1):
        index = order[rank - 1]
        smallest = min(smallest, len(p_values) / rank * p_values[index])
        adjusted[index] = smallest
    return adjusted


def _ascending(p_values: Sequence[float]) -> list[int]:
    for value in p_values:
        if not 0.0 <= value <= 1.0:
            raise ValueError(f"{value} is no p-value")
    return sorted(range(len(p_values)), key=p_values.__getitem__)
