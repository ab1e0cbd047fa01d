"""The range of a score, which decides the kind of interval for its mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

ScaleKind = Literal["proportion", "bounded", "smooth", "unbounded"]

_ROUNDING = 1e-6
"""How far beyond a bound rounding may push a score, relative to the bound."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The kind and the range of a score of one instance."""

    kind: ScaleKind
    """``proportion`` for 0 or 1; ``bounded`` for anything between two bounds; ``smooth`` for scores between two bounds
    that hardly ever come near them, such as cosine similarities; ``unbounded`` for counts, times and losses.
    """
    low: float | None = None
    """The smallest possible score; None without one."""
    high: float | None = None
    """The largest possible score; None without one."""

    def __post_init__(self) -> None:
        """Check that the range fits the kind.

        Raises:
            ValueError: It does not fit.
        """
        if self.kind not in get_args(ScaleKind):
            raise ValueError(f"a scale's kind must be one of {', '.join(get_args(ScaleKind))}, not {self.kind!r}")
        if self.kind in ("bounded", "smooth") and (self.low is None or self.high is None):
            raise ValueError(f"a {self.kind} scale needs a smallest and a largest score")
        if self.kind == "proportion" and (self.low, self.high) != (0.0, 1.0):
            raise ValueError("a proportion's scores are 0 and 1")
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise ValueError(f"a scale's smallest score must be below its largest, not {self.low} and {self.high}")

    def __str__(self) -> str:
        if self.kind == "proportion":
            return "0 or 1"
        if self.low is not None and self.high is not None:
            return f"from {self.low:g} to {self.high:g}"
        if self.low is not None:
            return f"at least {self.low:g}"
        return "any number" if self.high is None else f"at most {self.high:g}"

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest possible score, infinite without one."""
        return -float("inf") if self.low is None else self.low, float("inf") if self.high is None else self.high

    def clipped(self, value: float) -> float | None:
        """Return a value, moved into the range if rounding alone put it outside; None if it is outside."""
        low, high = self.bounds
        margin = _ROUNDING * max((abs(end) for end in (self.low, self.high) if end is not None), default=0.0)
        if not low - margin - 1e-12 <= value <= high + margin + 1e-12:
            return None
        return min(max(value, low), high)

    def admits(self, score: float) -> bool:
        """Return True if a single instance can have the score in one trial."""
        return score in (0.0, 1.0) if self.kind == "proportion" else self.clipped(score) is not None


PROPORTION = Scale("proportion", 0.0, 1.0)
BOUNDED = Scale("bounded", 0.0, 1.0)
SMOOTH = Scale("smooth", 0.0, 1.0)
COUNT = Scale("unbounded", 0.0)
SIGNED = Scale("unbounded")

ScaleName = Literal["proportion", "bounded", "smooth", "count", "signed"]

SCALES: dict[str, Scale] = {
    "proportion": PROPORTION,
    "bounded": BOUNDED,
    "smooth": SMOOTH,
    "count": COUNT,
    "signed": SIGNED,
}
"""Scales that have a name: 0 or 1; 0 to 1; 0 to 1 without extremes; at least 0; any number."""
