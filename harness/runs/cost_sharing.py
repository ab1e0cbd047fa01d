"""The model's time and energy, divided among the runs that it answers side by side."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Generic, Protocol, TypeVar

from harness.contracts import Model, Response
from harness.costs.apportion import Slice
from harness.costs.energy import Counter, gpu_counters, rapl_counters


class Payer(Hashable, Protocol):
    """A run that time and energy are charged to."""

    def charge(self, seconds: float, joules: Mapping[str, float]) -> None:
        """Add to the run's seconds, and to its joules by kind of processor."""


PayerT = TypeVar("PayerT", bound=Payer)


class CostSharing(Generic[PayerT]):
    """Divides the model's time into slices, which end when a run ends or the model is idle.

    Args:
        model: The model.
    """

    def __init__(self, model: Model) -> None:
        elsewhere = model.gpu_joules() is not None
        cards = [Counter("gpu", lambda: model.gpu_joules() or 0.0)] if elsewhere else gpu_counters()
        self._counters = [*cards, *rapl_counters()]
        self._slice: Slice[PayerT] | None = None

    def working(self) -> None:
        """Start a slice if none is open."""
        if self._slice is None:
            self._slice = Slice(self._counters)

    def add(self, payer: PayerT, response: Response) -> None:
        """Count an answer."""
        if self._slice is None:  # another run has ended, and the slice with it, since this answer was found
            self._slice = Slice(self._counters)
        self._slice.add(payer, response)

    def leave_out(self, seconds: float) -> None:
        """Leave out seconds in which the model did not work."""
        if self._slice is not None:
            self._slice.leave_out(seconds)

    def idle(self) -> None:
        """End the slice, and charge each run its share."""
        ended, self._slice = self._slice, None
        if ended is not None:
            for payer, (seconds, joules) in ended.end().items():
                payer.charge(seconds, joules)
