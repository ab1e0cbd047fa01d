"""Numbers, intervals and p-values as text, the same in every table."""

from __future__ import annotations

import math


def number(value: float) -> str:
    """Return a number with about three significant digits."""
    size = abs(value)
    if not math.isfinite(value) or 0 < size < 5e-4 or size >= 1e6:
        return f"{value:.2g}"
    return f"{value:.{_decimals(value)}f}"


def interval(mean: float, low: float | None, high: float | None) -> str:
    """Return the interval around a mean: ``±half`` if symmetrical, else ``[low, high]``; '' if there is none."""
    if low is None or high is None:
        return ""
    if is_symmetrical(mean, low, high):
        half = (high - low) / 2
        # As many decimals as the mean has, unless they would all be zero.
        return f"±{half:.{_decimals(mean)}f}" if half >= 10 ** -_decimals(mean) else f"±{number(half)}"
    return f"[{number(low)}, {number(high)}]"


def is_symmetrical(mean: float, low: float, high: float) -> bool:
    """Return True if a mean is in the middle of its interval."""
    return math.isclose(mean - low, high - mean, rel_tol=1e-6, abs_tol=1e-12)


def signed_interval(low: float | None, high: float | None) -> str:
    """Return the interval of a difference; '' if there is none."""
    return "" if low is None or high is None else f"[{low:+.3f}, {high:+.3f}]"


def p_value(p: float | None) -> str:
    """Return a p-value with three decimals; '' for None."""
    return "" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def arrow(higher_is_better: bool | None) -> str:
    """Return an arrow in the direction that is better, to be put after a metric's name."""
    return {True: " ↑", False: " ↓", None: ""}[higher_is_better]


def rank_range(first: int, last: int) -> str:
    """Return ``2`` or ``2–4``."""
    return f"{first}" if first == last else f"{first}–{last}"


def _decimals(value: float) -> int:
    size = abs(value)
    return 3 if size < 10 else 2 if size < 100 else 1
