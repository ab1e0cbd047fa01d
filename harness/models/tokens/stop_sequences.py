"""Where a completion ends: at the first stop string, found in decoded text, however its tokens were cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate


def find_stop(text: str, stop: Iterable[str]) -> int | None:
    """Return where the earliest stop string begins in the text; None if none occurs. Empty stop strings are ignored."""
    starts = [start for string in stop if string and (start := text.find(string)) >= 0]
    return min(starts, default=None)


def cut_at_stop(text: str, stop: Iterable[str]) -> tuple[str, bool]:
    """Return the text up to the earliest stop string, and whether there was one."""
    start = find_stop(text, stop)
    return (text, False) if start is None else (text[:start], True)


def tokens_covering(tokens: Sequence[str], length: int) -> int:
    """Return how many of the tokens it takes to cover a number of characters."""
    return next(count for count, end in enumerate(accumulate(map(len, tokens), initial=0)) if end >= length)
