"""Cutting a data set into shards: runs of neighbouring examples that are only permuted within their run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from harness.errors import DataError

_EXAMPLES_A_SHARD = 10
_FEWEST_A_SHARD = 5
_CONTEXTS = 4
_FEWEST, _MOST = 8, 200


def shard_count(token_counts: Sequence[int], context: int, shards: int | None = None) -> int:
    """Return the number of shards, which depends on the numbers of examples and tokens alone.

    A tenth of the number of examples, between 8 and 200, raised while the mean shard and its one
    beginning-of-sequence token do not fit into four contexts, as long as shards keep five examples. A shard longer than
    the context is scored in overlapping windows, which costs up to twice as much; shorter shards would lose more power,
    since a remembered order shows in how examples follow one another. Never more than half the number of examples, so
    that every shard has an order.

    The rule uses the mean shard and not the longest: which shard is longest depends on the published order, and a
    layout that depends on the order would distinguish orders within shards.

    Args:
        token_counts: Tokens of each example, in published order, without special tokens.
        context: The model's context, in tokens.
        shards: Overrides the rule.

    Raises:
        DataError: There are fewer than 2 examples, or ``shards`` is not between 1 and half their number.
    """
    n = len(token_counts)
    if n < 2:
        raise DataError(f"a test of a data set's order needs at least 2 examples; there {_are(n)}.")
    most = n // 2
    if shards is not None:
        if not 1 <= shards <= most:
            raise DataError(
                f"{shards} shards of {n} examples: a shard needs at least 2 examples, so shards can be 1 to {most}."
            )
        return shards
    total = sum(token_counts)
    count = min(max(-(-n // _EXAMPLES_A_SHARD), _FEWEST), _MOST, most)
    while count < n // _FEWEST_A_SHARD and total / count + 1 > _CONTEXTS * context:
        count += 1
    return count


def shard_bounds(n: int, r: int) -> list[tuple[int, int]]:
    """Return the shards' half-open ranges of examples; the first n mod r are one longer (Oren et al. 2023).

    Raises:
        ValueError: ``r`` is not between 1 and ``n``.
    """
    if not 1 <= r <= n:
        raise ValueError(f"{n} examples cannot make {r} shards")
    size, longer = divmod(n, r)
    return list(pairwise(index * size + min(index, longer) for index in range(r + 1)))


def _are(n: int) -> str:
    return "is 1" if n == 1 else f"are {n}"
