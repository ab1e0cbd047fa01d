"""Divide the cost of runs that share a model's batches among them."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Generic, TypeVar

from harness.contracts import Response
from harness.costs.energy import Counter, EnergyMeter

Owner = TypeVar("Owner", bound=Hashable)


class Slice(Generic[Owner]):
    """A time in which a model answers for several owners, from when it is made until :meth:`end`.

    Args:
        counters: What measures energy.
    """

    def __init__(self, counters: Sequence[Counter]) -> None:
        self._answered: list[tuple[Owner, Response]] = []
        self._elsewhere = 0.0
        self._meter = EnergyMeter(counters)
        self._meter.__enter__()
        self._clock = time.perf_counter()

    def add(self, owner: Owner, response: Response) -> None:
        """Count an answer."""
        self._answered.append((owner, response))

    def leave_out(self, seconds: float) -> None:
        """Leave out seconds that somebody is known to have spent otherwise."""
        self._elsewhere += seconds

    def end(self) -> dict[Owner, tuple[float, Mapping[str, float]]]:
        """Return each owner's seconds, and joules by kind of processor."""
        seconds = max(0.0, time.perf_counter() - self._clock - self._elsewhere)
        self._meter.__exit__(None, None, None)
        joules = self._meter.joules
        return {
            owner: (share * seconds, {kind: share * whole for kind, whole in joules.items()})
            for owner, share in shares(self._answered).items()
        }


def shares(answered: Sequence[tuple[Owner, Response]]) -> dict[Owner, float]:
    """Return each owner's part: by the model's seconds, else by new answers, else by all answers."""
    measures: list[Callable[[Response], float]] = [
        lambda response: 0.0 if response.cached else response.seconds,
        lambda response: float(not response.cached),
        lambda response: 1.0,
    ]
    for measure in measures:
        parts: dict[Owner, float] = {}
        for owner, response in answered:
            parts[owner] = parts.get(owner, 0.0) + measure(response)
        if (whole := sum(parts.values())) > 0:
            return {owner: part / whole for owner, part in parts.items()}
    return {}
