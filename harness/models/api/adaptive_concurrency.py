"""How many calls a server is sent at once: more while it keeps up, fewer when it says that it is too much."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

START = 8
CUT = 0.8
STEP = 0.05
COOLDOWN = 15.0
"""Starting limit, and how it moves: times 0.8 when throttled, 5 % more after a round without it, seconds between cuts.

The constants but the start are those of Inspect's controller (``inspect_ai.util._concurrency``).
"""


@dataclass(slots=True)
class AdaptiveConcurrency:
    """Slow start, then additive increase and multiplicative decrease; the caller tells the time, in seconds.

    A round is as many successes as the limit allows at once. Only successes while every place was taken count: a limit
    that was not reached has not been tried. Until the server first throttles, each round doubles the limit.
    """

    most: int
    """The limit never grows beyond it."""
    limit: int = field(init=False)
    """Calls at once, now."""
    paused_until: float = field(init=False, default=-math.inf)
    """When the server wants to hear of us again."""
    _slow_start: bool = field(init=False, default=True)
    _successes: int = field(init=False, default=0)
    _quiet_until: float = field(init=False, default=-math.inf)

    def __post_init__(self) -> None:
        self.limit = min(START, self.most)

    def allow(self, most: int) -> None:
        """Change the most, and the limit if it is beyond it."""
        self.most = most
        self.limit = min(self.limit, most)

    def succeeded(self, now: float, *, saturated: bool) -> None:
        """Count a call that was answered; what was sent before a cut says nothing about the limit after it."""
        if not saturated or now < self._quiet_until:
            return
        self._successes += 1
        if self._successes < self.limit:
            return
        self._successes = 0
        grown = self.limit * 2 if self._slow_start else self.limit + max(1, round(self.limit * STEP))
        self.limit = min(self.most, grown)

    def throttled(self, now: float, retry_after: float | None = None) -> None:
        """Count a call that was refused as too much; refusals within the cooldown belong to one episode.

        Args:
            now: The time.
            retry_after: How many seconds the server wants to be left alone.
        """
        self._successes = 0
        self._slow_start = False
        if retry_after is not None:
            self.paused_until = max(self.paused_until, now + retry_after)
        if now >= self._quiet_until:
            self.limit = max(1, int(self.limit * CUT))
            self._quiet_until = now + COOLDOWN
        self._quiet_until = max(self._quiet_until, self.paused_until)
