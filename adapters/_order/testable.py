"""Whether the order can be tested at all; this is known before any model is asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from adapters._order.boundaries import STRETCH
from adapters._order.neighbours import NEIGHBOURS
from adapters._order.published_order import PublishedOrder
from harness import Adapted, Instance, SequenceRequest
from harness.contamination import Repaired, Stretch, bonferroni, count_orders, why_not_testable

NOTHING = "nothing"
"""``meta.asked`` of the stand-in for a data set that cannot be tested; the stand-in has no requests."""

FEWEST_NEIGHBOURS = 4
"""Size of the smallest block that can help to reject: in smaller ones, different orders always tie."""

MOST_ROWS = 100
"""Largest number of examples to try when looking for one that suffices."""

Tests = Callable[[PublishedOrder], Sequence[tuple[Iterable[Adapted], float]]]
"""For each of the combined tests: what it would ask about a data set, and its last look's share of its level."""


def unless_untestable(order: PublishedOrder, tests: Tests, level: float, trial: int) -> Iterator[Adapted]:
    """Yield a stand-in without requests if the order is not exchangeable or no p-value at the level is possible.

    Args:
        order: The data set.
        tests: What each of the tests asks, whose p-values are combined by Bonferroni.
        level: The level.
        trial: The trial.
    """
    if reason := why_not_testable(order.description):
        yield _stand_in(order, reason, trial)
        return
    enough = math.log10(level)
    smallest = _smallest(tests(order), enough)
    if smallest <= enough:
        return
    n = len(order.contents)
    needed = next(
        (rows for rows in range(n + 1, MOST_ROWS + 1) if _smallest(tests(_alike(order, rows)), enough) <= enough), None
    )
    advice = "more shards or shuffles are needed" if needed is None else f"{needed} examples are needed"
    least = f"{10**smallest:.2g}"
    reason = f"with {n} examples no p-value at the level {level:g} is possible (the smallest is {least}); {advice}"
    yield _stand_in(order, reason, trial)


def _stand_in(order: PublishedOrder, reason: str, trial: int) -> Adapted:
    description = {**order.description, "testable": False, "not_testable": reason}
    meta = {"asked": NOTHING, "data": description}
    return Adapted(Instance("not-testable", "", split=order.split, meta=meta), (), trial=trial)


def _smallest(tests: Sequence[tuple[Iterable[Adapted], float]], enough: float) -> float:
    """Return log10 of the smallest possible combined p-value, or any value below ``enough`` if it is smaller."""
    alone = []
    for asked, share in tests:
        needed = enough - math.log10(len(tests)) + math.log10(share)
        alone.append(min(0.0, _smallest_alone(asked, needed) - math.log10(share)))
    return bonferroni(alone)


def _smallest_alone(asked: Iterable[Adapted], enough: float) -> float:
    """Return it for one test; it is reached if the published order is best in every shard or block, or boundary."""
    smallest = 0.0
    for adapted in asked:
        if adapted.instance.meta["asked"] == STRETCH:
            boundaries = Stretch.from_json(adapted.instance.meta["bets"]).boundaries
            smallest -= sum(math.log10(len(boundary.candidates)) for boundary in boundaries)
        elif adapted.instance.meta["asked"] == NEIGHBOURS:
            groups = adapted.instance.meta["groups"]
            if len(groups) < FEWEST_NEIGHBOURS:
                continue
            texts = next((one.segments for one in adapted.requests if isinstance(one, SequenceRequest)), ())
            alike = count_orders(list(zip(groups, texts, strict=False)))
            smallest += math.log10(alike / count_orders(groups))
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
