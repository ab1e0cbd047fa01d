"""Asking in two looks: few orders and contexts of every data set, and more only where the answer is open."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from pydantic import BaseModel, ConfigDict, Field

from adapters._order.boundaries import STRETCH
from adapters._order.shards import SHARD
from harness import Adapted
from harness.contamination import Stretch, look_log10_p

SECOND = "more"
"""Ends the names of stand-ins for a second look."""


class FirstLook(BaseModel):
    """A first look at a data set, which has a fixed share of the level."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    shuffles: int = Field(default=5, ge=1)
    """Number of shuffled orders of each shard in the first look."""

    candidates: int = Field(default=8, ge=2)
    """Approximate number of candidates at a boundary in the first look, which are scored after one context."""

    share: float = Field(default=0.2, gt=0, lt=1)
    """The share of the level that it has: its p-value is divided by it."""

    clear: float = Field(default=1e-4, gt=0, lt=1)
    """No second look if the first look's p-value, after division by its share, is at most this."""

    open: float = Field(default=0.2, gt=0, le=1)
    """No second look if the first look's p-value is above this."""

    def asks_again(self, log10_p: float) -> bool:
        """Return True if the first look's p-value, given as its log10, calls for a second one."""
        return math.log10(self.clear * self.share) < log10_p <= math.log10(self.open)


class Answers:
    """The answers of a first look.

    Args:
        ties: Seeds the order of ties.
    """

    def __init__(self, ties: int) -> None:
        self._ties = ties
        self._expected = 0
        self._shards: list[Sequence[float]] = []
        self._stretches: list[tuple[Stretch, Sequence[float]]] = []

    def expect(self) -> None:
        """Count a stand-in that is asked about."""
        self._expected += 1

    def add(self, adapted: Adapted, scores: Sequence[float]) -> None:
        """Take one stand-in's answers, in the order in which they were asked for."""
        meta = adapted.instance.meta
        if meta.get("look") != 1:
            return
        if meta["asked"] == SHARD:
            self._shards.append(scores)
        else:
            self._stretches.append((Stretch.from_json(meta["bets"]), scores))

    def call_for_more(self, look: FirstLook) -> bool:
        """Return True if the answers call for a second look, or are not all known."""
        if len(self._shards) + len(self._stretches) < self._expected:
            return True  # a plan, which counts what may be asked at most, or an answer is missing
        return look.asks_again(look_log10_p(self._shards or None, self._stretches or None, self._ties))


def in_looks(every: Callable[[], Iterator[Adapted]], look: FirstLook, answers: Answers) -> Iterator[Adapted]:
    """Yield the stand-ins with the requests of the first look, and then, where these answers are open, with the others.

    Args:
        every: Makes the stand-ins of shards and stretches with all their requests, the same ones each time.
        look: The first look.
        answers: Receives the answers; they are awaited after the first look.
    """
    held: Adapted | None = None
    for adapted in every():
        if held is not None:
            yield held
        answers.expect()
        held = _part(adapted, 1, slice(_first(adapted, look)))
    if held is None:
        return
    yield replace(held, awaited=True)
    if answers.call_for_more(look):
        for adapted in every():
            more = _part(adapted, 2, slice(_first(adapted, look), None))
            if more.requests:
                yield more


def _first(adapted: Adapted, look: FirstLook) -> int:
    """Return the number of a stand-in's requests that belong to the first look."""
    meta = adapted.instance.meta
    return Stretch.from_json(meta["bets"]).first_scores if meta["asked"] == STRETCH else 1 + look.shuffles


def _part(adapted: Adapted, look: int, requests: slice) -> Adapted:
    instance = adapted.instance.replace(meta={**adapted.instance.meta, "look": look})
    if look == 2:
        instance = instance.replace(id=f"{instance.id}-{SECOND}")
    return replace(adapted, instance=instance, requests=adapted.requests[requests])
