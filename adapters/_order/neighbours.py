"""Requests of the neighbour test: score the beginning of each example of a block after each of the other examples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from pydantic import BaseModel, ConfigDict, Field

from adapters._order.published_order import PublishedOrder
from harness import Adapted, HarnessError, Instance, Origin, SequenceRequest
from harness.contamination import count_orders, neighbour_blocks

NEIGHBOURS = "neighbours"
"""``meta.asked`` of the stand-in for a block of neighbouring examples."""

HEAD = 64


class NeighbourSettings(BaseModel):
    """How to score an example after another one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    head: int | None = Field(default=None, ge=1)
    """Maximum number of tokens of an example to score; null: what all examples begin with and 64 more, or half of the
    context if that is less."""


def ask_neighbours(order: PublishedOrder, settings: NeighbourSettings, trial: int) -> Iterator[Adapted]:
    """Yield one stand-in instance for each block, with a request for each ordered pair of its examples.

    Text that a repair holds in place, such as leading numbers, is left out.

    Raises:
        HarnessError: The head fills the context and leaves no room for a preceding example.
    """
    head = _head(order, settings)
    if head >= order.context:
        raise HarnessError(
            f"neighbours.head is {head} tokens, which leaves no room for a preceding example in a context of "
            f"{order.context} tokens."
        )
    for number, (start, stop) in enumerate(_blocks(order)):
        name = f"neighbours-{number + 1:03d}"
        texts = order.contents[start:stop]
        origin = Origin(name, None, trial, role=NEIGHBOURS)
        first: dict[str, int] = {}
        # Pairs with equal texts share a request.
        of = [first.setdefault(text, place) for place, text in enumerate(texts)]
        requests = []
        for one in range(len(texts)):
            for other in range(len(texts)):
                if one == other:
                    continue
                pair = (of[one], of[other]) if of[one] != of[other] else (one, other)
                requests.append(SequenceRequest(texts, pair, 1, head, origin))
        meta = {"asked": NEIGHBOURS, "number": number, "start": start, "stop": stop}
        meta["groups"] = list(order.group[start:stop])
        yield Adapted(Instance(name, "", split=order.split, meta=meta), tuple(requests), trial=trial)


def describe(order: PublishedOrder, settings: NeighbourSettings) -> dict[str, object]:
    """Return the test's settings for the result, with the head that was chosen and the number of blocks."""
    return {"head": _head(order, settings), "blocks": len(_blocks(order))}


def _blocks(order: PublishedOrder) -> list[tuple[int, int]]:
    """Return the blocks that have more than one order."""
    blocks = neighbour_blocks(order.group)
    return [(start, stop) for start, stop in blocks if count_orders(order.group[start:stop]) > 1]


def _head(order: PublishedOrder, settings: NeighbourSettings) -> int:
    if settings.head is not None:
        return settings.head
    alike = len(_shared_beginning(order.contents)) / sum(map(len, order.contents))
    return max(1, min(HEAD + math.ceil(alike * sum(order.tokens)), order.context // 2))


def _shared_beginning(texts: Sequence[str]) -> str:
    # What the first and the last in sorted order begin with, all others begin with too.
    first, last = min(texts), max(texts)
    return next((first[:at] for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), first)
