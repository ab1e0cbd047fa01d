"""Where a completion ends: at the first stop string, found in decoded text, however its tokens were cut."""

from __future__ import annotations

from collections.abc import Iterable


def find_stop(text: str, stop: Iterable[str]) -> int | None:
    """Return where the earliest stop string begins in the text; None if none occurs. Empty stop strings never occur."""
    starts = [start for string in stop if string and (start := text.find(string)) >= 0]
    return min(starts, default=None)


def cut_at_stop(text: str, stop: Iterable[str]) -> tuple[str, bool]:
    """Return the text up to the earliest stop string, and whether there was one."""
    start = find_stop(text, stop)
    return (text, False) if start is None else (text[:start], True)
