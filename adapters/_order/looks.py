"""Ask about shuffled orders in two looks: a few for every data set, and more only where the result is unclear."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from pydantic import BaseModel, ConfigDict, Field

from adapters._order.neighbours import NEIGHBOURS
from adapters._order.shards import SHARD
from harness import Adapted
from harness.contamination import Neighbours, bonferroni, combined_looks, neighbour_test, relabelling_test

SECOND = "more"
"""Ends the names of stand-ins for a second look."""


class FirstLook(BaseModel):
    """A first look at a data set; it gets a fixed share of the relabelling test's level."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    shuffles: int = Field(default=5, ge=1)
    """Number of shuffled orders of each shard in the first look."""

    share: float = Field(default=0.2, gt=0, lt=1)
    """The first look's share of the level; its p-value is divided by this."""

    clear: float = Field(default=1e-4, gt=0, lt=1)
    """Skip the second look if the relabelling and neighbour tests together have a p-value of at most this."""

    open: float = Field(default=0.2, gt=0, le=1)
    """Skip the second look if the first look's p-value, before division, is above this."""

    def asks_again(self, log10_p: float, neighbours: float | None) -> bool:
        """Return True if a second look is called for.

        Args:
            log10_p: Log10 of the first look's p-value.
            neighbours: Log10 of the neighbour test's p-value; None without that test.
        """
        tests = [combined_looks(log10_p, None, self.share, self.open), *([] if neighbours is None else [neighbours])]
        return math.log10(self.clear) < bonferroni(tests) and log10_p <= math.log10(self.open)


class Answers:
    """Collects the answers to the first look and to the neighbour test."""

    def __init__(self) -> None:
        self._expected = 0
        self._shards: list[Sequence[float]] = []
        self._blocks: list[Neighbours] = []

    def expect(self) -> None:
        """Count a stand-in that is asked about."""
        self._expected += 1

    def add(self, adapted: Adapted, scores: Sequence[float]) -> None:
        """Take one stand-in's answers, in the order in which they were asked for."""
        meta = adapted.instance.meta
        if meta["asked"] == SHARD and meta.get("look") == 1:
            self._shards.append(scores)
        elif meta["asked"] == NEIGHBOURS:
            self._blocks.append(Neighbours(tuple(meta["groups"]), tuple(scores)))

    def call_for_more(self, look: FirstLook) -> bool:
        """Return True if the answers call for a second look, or are not all known."""
        if len(self._shards) + len(self._blocks) < self._expected:
            return True  # a plan, which counts what may be asked at most, or an answer is missing
        neighbours = neighbour_test(self._blocks).log10_p if self._blocks else None
        return look.asks_again(relabelling_test(self._shards).log10_p, neighbours)


def in_looks(
    shards: Callable[[], Iterator[Adapted]], neighbours: Iterator[Adapted], look: FirstLook, answers: Answers
) -> Iterator[Adapted]:
    """Yield the stand-ins of the neighbour test and of the first look, then those of a second look if one is needed.

    Args:
        shards: Returns the shards' stand-ins with all their requests; each call gives the same ones.
        neighbours: The stand-ins of the neighbour test.
        look: The first look.
        answers: Receives the answers; they are awaited before a second look.
    """
    held: Adapted | None = None
    for adapted in chain(neighbours, (_part(shard, 1, slice(1 + look.shuffles)) for shard in shards())):
        if held is not None:
            yield held
        answers.expect()
        held = adapted
    if held is None:
        return
    yield replace(held, awaited=True)
    if answers.call_for_more(look):
        for shard in shards():
            yield _part(shard, 2, slice(1 + look.shuffles, None))


def _part(adapted: Adapted, look: int, requests: slice) -> Adapted:
    instance = adapted.instance.replace(meta={**adapted.instance.meta, "look": look})
    if look == 2:
        instance = instance.replace(id=f"{instance.id}-{SECOND}")
    return replace(adapted, instance=instance, requests=adapted.requests[requests])
