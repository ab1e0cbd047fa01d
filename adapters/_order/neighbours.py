"""The neighbour test's requests: the beginning of each example of a block after each of the others."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict, Field

from adapters._order.published_order import PublishedOrder
from harness import Adapted, HarnessError, Instance, Origin, SequenceRequest
from harness.contamination import neighbour_blocks

NEIGHBOURS = "neighbours"
"""``meta.asked`` of the stand-in for a block of neighbouring examples."""

HEAD = 64


class NeighbourSettings(BaseModel):
    """How to score an example after another one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    head: int | None = Field(default=None, ge=1)
    """Number of tokens of an example to score; null: 64, but at most half of the context."""


def ask_neighbours(order: PublishedOrder, settings: NeighbourSettings, trial: int) -> Iterator[Adapted]:
    """Yield one stand-in instance for each block, with a request for each ordered pair of its examples.

    Texts that stay in place, such as numbers, are left out.

    Raises:
        HarnessError: The context has no room for an example before a head.
    """
    head = head_tokens(order, settings)
    if head >= order.context:
        raise HarnessError(
            f"head is {head} tokens, which leaves no room for a preceding example in a context of {order.context}."
        )
    for number, (start, stop) in enumerate(neighbour_blocks(order.group)):
        name = f"neighbours-{number + 1:03d}"
        texts = order.contents[start:stop]
        origin = Origin(name, None, trial, role=NEIGHBOURS)
        first: dict[str, int] = {}
        of = [first.setdefault(text, place) for place, text in enumerate(texts)]  # equal pairs are one request
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


def head_tokens(order: PublishedOrder, settings: NeighbourSettings) -> int:
    """Return the number of tokens of an example to score."""
    return settings.head or max(1, min(HEAD, order.context // 2))
