"""The scale of scores that are compared or averaged, where runs may declare different ones."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from harness.contracts import BOUNDED, PROPORTION, Scale

DIFFERENT = "no interval: the runs declare different scales for the metric"
"""The note of a mean of runs without a common scale."""


def wider_scale(one: Scale | None, other: Scale | None) -> Scale | None:
    """Return a scale that fits the scores of two metrics; None if one is unknown, or their ranges differ."""
    if one is None or other is None or one == other:
        return one if other is not None else None
    return BOUNDED if {one, other} == {PROPORTION, BOUNDED} else None


def common_scale(scales: Iterable[Scale | None], lowest: float, highest: float) -> Scale | None:
    """Return a scale that fits the scores of several runs; None if one is unknown, their ranges differ, or none fits.

    Args:
        scales: The scale that each run declares, at least one.
        lowest: The smallest score.
        highest: The largest.
    """
    scale = reduce(wider_scale, scales)
    return None if scale is None or None in (scale.clipped(lowest), scale.clipped(highest)) else scale


def scale_note(scales: Iterable[Scale | None], found: Scale | None, note: str) -> str:
    """Return the note of a mean without an interval: that of the estimate, unless the runs' scales differ."""
    return DIFFERENT if found is None and len(set(scales)) > 1 else note
