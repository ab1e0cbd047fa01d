"""Whether the order can be tested at all; this is known before any model is asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from adapters._order.boundaries import STRETCH
from adapters._order.published_order import PublishedOrder
from harness import Adapted, Instance
from harness.contamination import Repaired, Stretch, bonferroni, why_not_testable

NOTHING = "nothing"
"""``meta.asked`` of the stand-in for a data set that cannot be tested; the stand-in has no requests."""

MOST_ROWS = 100
"""Largest number of examples to try when looking for one that suffices."""

Tests = Callable[[PublishedOrder], Sequence[Iterable[Adapted]]]
"""What each of the combined tests would ask about a data set."""


def unless_untestable(
    order: PublishedOrder, tests: Tests, level: float, trial: int, *, share: float = 1.0
) -> Iterator[Adapted]:
    """Yield a stand-in without requests if the order is not exchangeable or no p-value at the level is possible.

    Args:
        order: The data set.
        tests: What each of the tests asks, whose p-values are combined by Bonferroni.
        level: The level.
        trial: The trial.
        share: The share of the level that these tests have together.
    """
    if reason := why_not_testable(order.description):
        yield _stand_in(order, reason, trial)
        return
    enough = math.log10(level * share)
    smallest = _smallest(tests(order), enough)
    if smallest <= enough:
        return
    n = len(order.contents)
    needed = next(
        (rows for rows in range(n + 1, MOST_ROWS + 1) if _smallest(tests(_alike(order, rows)), enough) <= enough), None
    )
    advice = "more shards or shuffles are needed" if needed is None else f"{needed} examples are needed"
    least = f"{min(1.0, 10**smallest / share):.2g}"
    reason = f"with {n} examples no p-value at the level {level:g} is possible (the smallest is {least}); {advice}"
    yield _stand_in(order, reason, trial)


def _stand_in(order: PublishedOrder, reason: str, trial: int) -> Adapted:
    description = {**order.description, "testable": False, "not_testable": reason}
    meta = {"asked": NOTHING, "data": description}
    return Adapted(Instance("not-testable", "", split=order.split, meta=meta), (), trial=trial)


def _smallest(tests: Sequence[Iterable[Adapted]], enough: float) -> float:
    """Return log10 of the smallest possible combined p-value, or any value below ``enough`` if it is smaller."""
    return bonferroni([_smallest_alone(asked, enough - math.log10(len(tests))) for asked in tests])


def _smallest_alone(asked: Iterable[Adapted], enough: float) -> float:
    """Return it for one test: the published order is the likeliest in every shard, or the next at every boundary."""
    smallest = 0.0
    for adapted in asked:
        if adapted.instance.meta["asked"] == STRETCH:
            boundaries = Stretch.from_json(adapted.instance.meta["bets"]).boundaries
            smallest -= sum(math.log10(len(boundary.candidates)) for boundary in boundaries)
        else:
            orders = [getattr(request, "order", None) for request in adapted.requests]
            smallest += math.log10(orders.count(orders[0]) / len(orders))
        if smallest <= enough:
            break
    return smallest


def _alike(order: PublishedOrder, rows: int) -> PublishedOrder:
    """Return a data set of as many different examples, each of the mean length."""
    texts = tuple(f"{row}\n" for row in range(rows))
    description: dict[str, Any] = {**order.description, "data_hash": f"{rows} examples"}
    return replace(
        order,
        contents=texts,
        prefixes=("",) * rows,
        tokens=(max(1, round(sum(order.tokens) / len(order.tokens))),) * rows,
        prefix_tokens=(0,) * rows,
        arrangement=Repaired(texts, tuple(range(rows)), ("",) * rows, (tuple(range(rows)),), ""),
        group=(0,) * rows,
        description=description,
    )
