"""A limit on the time that an evaluation takes."""

from __future__ import annotations

from numbers import Real
from time import monotonic
from typing import Any

from harness.errors import HarnessError, shown


class TimeUp(KeyboardInterrupt):
    """The time budget is used up. Everything stops as after Ctrl-C: answers so far are kept."""


class Deadline:
    """The end of a time budget, which is checked before each forward pass or call of a model.

    Args:
        seconds: The budget in seconds; None for no limit.

    Raises:
        HarnessError: It is not a positive number.
    """

    def __init__(self, seconds: Any = None) -> None:
        number = isinstance(seconds, Real) and not isinstance(seconds, bool)
        self.seconds = float(seconds) if number else None
        if seconds is not None and (self.seconds is None or not self.seconds > 0):
            raise HarnessError(f"time_budget must be a positive number of seconds, not {shown(seconds)}.")
        self._end = None if self.seconds is None else monotonic() + self.seconds

    def left(self) -> float | None:
        """Return the seconds that are left, at least 0; None without a limit."""
        return None if self._end is None else max(0.0, self._end - monotonic())

    def check(self) -> None:
        """Raise TimeUp if the time is up."""
        if self._end is not None and monotonic() >= self._end:
            raise TimeUp
