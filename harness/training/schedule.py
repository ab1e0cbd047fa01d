"""When a training is evaluated: every N steps, at given steps, or when the Trainer evaluates or saves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from harness.errors import HarnessError, did_you_mean, shown

EVENTS = ("evaluate", "save")
"""Events of the Trainer at which a model can be evaluated."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The steps at which a training is evaluated."""

    every: int | None = None
    """After each multiple of this number of optimizer steps, and after the last."""
    at: frozenset[int] = frozenset()
    """After these numbers of steps; 0 is before the first."""
    event: str | None = None
    """Whenever the Trainer does this: ``evaluate`` or ``save``."""

    def due(self, step: int, last: int) -> bool:
        """Return whether to evaluate after a number of steps, of which the training has ``last`` in all."""
        if step in self.at:
            return True
        return self.every is not None and step > 0 and (step % self.every == 0 or step == last)


def read_schedule(every: Any, at: Any) -> Schedule:
    """Return the schedule that the arguments ``every`` and ``at`` of the callback describe.

    Raises:
        HarnessError: They are not what they should be, or both are missing.
    """
    if every is None and at is None:
        raise HarnessError(
            "say when to evaluate: every=500 (steps), every='evaluate', every='save', or at=[100, 1000]."
        )
    steps = frozenset[int]()
    if at is not None:
        if isinstance(at, str) or not isinstance(at, Iterable):
            raise HarnessError(f"at must be a list of steps, for example [100, 1000], not {shown(at)}.")
        listed = list(at)
        if wrong := [step for step in listed if isinstance(step, bool) or not isinstance(step, int) or step < 0]:
            raise HarnessError(f"at must be a list of steps, which are whole numbers from 0; {shown(wrong[0])} is not.")
        steps = frozenset(listed)
    if every is None:
        return Schedule(at=steps)
    if isinstance(every, str):
        if every not in EVENTS:
            raise HarnessError(f"every must be a number of steps, 'evaluate' or 'save'. {did_you_mean(every, EVENTS)}")
        return Schedule(at=steps, event=every)
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
        raise HarnessError(f"every must be a positive number of steps, 'evaluate' or 'save', not {shown(every)}.")
    return Schedule(every=every, at=steps)
