"""Checks of the numbers that another program reports: possible by themselves, and what the scores of instances give."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from harness.errors import DataError, shown

Limits = Callable[[str], tuple[float | None, float | None]]
"""Returns the smallest and the largest possible score of a metric, None where there is no limit."""

_ROUNDING = 1e-6

_OTHER_DEFINITION = 0.25
"""How much another standard error may differ, relative to ours: bootstraps vary, and some divide by n, not n − 1."""


def checked_number(
    value: Any, key: str, file: Path, *, row: int | None = None, low: float | None = None, high: float | None = None
) -> float:
    """Return a number.

    Args:
        value: What the file has.
        key: Where, for messages.
        file: The file.
        row: The line of the file, from 1; None if it has one value.
        low: The smallest possible number; None without one.
        high: The largest possible number; None without one.

    Raises:
        DataError: It is not a finite number, or outside of its range.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        given = "null" if value is None else shown(value)
        raise DataError(f"{key} must be a finite number, not {given}.", file=file, row=row)
    if (low is not None and value < low - _ROUNDING) or (high is not None and value > high + _ROUNDING):
        limits = f"at least {low:g}" if high is None else f"at most {high:g}" if low is None else (
            f"from {low:g} to {high:g}"
        )  # fmt: skip
        hint = "; it looks like a percentage: divide it by 100" if (low, high) == (0, 1) and 1 < value <= 100 else ""
        raise DataError(f"{key} must be {limits}, not {value:g}{hint}.", file=file, row=row)
    return float(value)


def check_mean(mean: float, key: str, file: Path, scores: Sequence[float], samples: str) -> None:
    """Check that a mean is the mean of its scores, of which there is at least one.

    Args:
        mean: The mean.
        key: Where it is in the file.
        file: The file.
        scores: One for each instance.
        samples: Where the scores are, ``samples in FILE``.

    Raises:
        DataError: It is not.
    """
    computed = math.fsum(scores) / len(scores)
    if not math.isclose(computed, mean, rel_tol=_ROUNDING, abs_tol=_ROUNDING):
        message = f"{key} is {mean:g}, but the mean of the {len(scores)} {samples} is {computed:g}."
        raise DataError(message, file=file)


def check_stderr(stderr: float, key: str, file: Path, expected: float | None, samples: str) -> None:
    """Check that a mean's standard error is about the one of its scores.

    Args:
        stderr: The standard error.
        key: Where it is in the file.
        file: The file.
        expected: What the scores give; None if they give none.
        samples: Which scores, ``10 samples in FILE``.

    Raises:
        DataError: It is not.
    """
    if expected is not None and not math.isclose(stderr, expected, rel_tol=_OTHER_DEFINITION, abs_tol=_ROUNDING):
        raise DataError(f"{key} is {stderr:g}, but the {samples} give {expected:g}.", file=file)


def largest_stderr(mean: float, count: int) -> float:
    """Return about the largest possible standard error of a mean of independent scores from 0 to 1.

    The scores of a mean m vary most if they are 0 or 1: √(m(1 − m)/(n − 1)).
    """
    if count < 2:
        return 1.0
    return (1 + _OTHER_DEFINITION) * math.sqrt(max(0.0, mean * (1 - mean)) / (count - 1))
