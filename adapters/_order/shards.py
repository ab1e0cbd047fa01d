"""The sharded comparison's requests: each shard in published order, and in random orders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from adapters._order.published_order import PublishedOrder
from harness import Adapted, Instance, Origin, SequenceRequest, derive_rng
from harness.contamination import shard_bounds, shard_count

SHARD = "shard"
"""``meta.asked`` of the stand-in for a shard."""


def shards_of(order: PublishedOrder, shards: int | None) -> list[tuple[int, int]]:
    """Return the shards' half-open ranges, which depend on the numbers of examples and tokens alone.

    Raises:
        DataError: There are too few examples for this number of shards.
    """
    return shard_bounds(len(order.contents), shard_count(order.lengths, order.context, shards))


def ask_shards(
    order: PublishedOrder, bounds: Sequence[tuple[int, int]], shuffles: int, seed: int, trial: int
) -> Iterator[Adapted]:
    """Yield one stand-in instance for each shard, with requests for its published order and then the shuffled ones."""
    for number, (start, stop) in enumerate(bounds):
        rng = derive_rng(seed, f"exchangeability/{order.digest}/shard={number}")
        identity = list(range(start, stop))
        orders = [identity, *(order.arrangement.draw(rng, start, stop) for _ in range(shuffles))]
        segments, requests = sequences(order, orders, start, stop)
        name = f"shard-{number + 1:03d}"
        meta = {"asked": SHARD, "number": number, "start": start, "stop": stop}
        yield Adapted(
            Instance(name, "", split=order.split, meta=meta),
            tuple(SequenceRequest(segments, one, origin=Origin(name, None, trial)) for one in requests),
            trial=trial,
        )


def sequences(
    order: PublishedOrder, orders: Sequence[Sequence[int]], start: int, stop: int
) -> tuple[tuple[str, ...], list[tuple[int, ...]]]:
    """Return the segments that orders of a range share, and each order as indices into them.

    If prefixes stay in place, each position has two segments, its prefix and its content. Equal contents share the
    first one's index, so that orders that read alike are one request and tie exactly.

    Args:
        order: The data set.
        orders: For each order, the position whose content is at each place from ``start`` on.
        start: The first position.
        stop: The one after the last.
    """
    contents = order.contents[start:stop]
    prefixes = order.prefixes[start:stop]
    first: dict[str, int] = {}
    of = [first.setdefault(content, place) for place, content in enumerate(contents)]
    if not any(prefixes):
        return contents, [tuple(of[place - start] for place in one) for one in orders]
    size = stop - start
    return (*prefixes, *contents), [
        tuple(chain.from_iterable((at, size + of[place - start]) for at, place in enumerate(one))) for one in orders
    ]


def with_description(adapted: Adapted, description: Mapping[str, Any]) -> Adapted:
    """Return the first stand-in instance with the description of the data in ``meta.data``."""
    return replace(adapted, instance=adapted.instance.replace(meta={**adapted.instance.meta, "data": description}))
