"""Reliability diagrams: how often a model is right, by the probability that it gave its predictions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.contracts import Stat
from harness.leaderboard.site import plot_specs as draw
from harness.leaderboard.site.measures import Measure
from harness.leaderboard.site.plot_specs import Plot
from harness.leaderboard.site.snapshot import BoardView
from harness.output.display import brief
from harness.statistics import midp_interval
from harness.storage.results import RunRecord

CATEGORY = "calibration"
MOST_BINS = 10
"""Most bins of a diagram."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Predictions with similar probabilities."""

    count: int
    """Number of predictions, at least 1."""
    right: int
    """Number of those that are right."""
    probability: float
    """Mean of the probabilities."""

    def values(self) -> list[float | int]:
        """Return probability, accuracy, the ends of its 95 % interval, and the count."""
        low, high = midp_interval(self.right, self.count)
        return [self.probability, self.right / self.count, low, high, self.count]


def reliability_plot(view: BoardView, column: int, labels: Mapping[str, str]) -> Plot | None:
    """Return the reliability diagrams of one column; None if no run has the data for it."""
    measure = _measure(view, column)
    if measure is None:
        return None
    rows: list[list[Any]] = []
    errors: dict[str, list[Any]] = {}
    for row in view.board.rows:
        runs = view.counting[column].get(row.model, {}).values()
        if bins := adaptive([one for run in runs for one in _bins(run, measure.metric)]):
            diagram = _diagram(measure, row.model, bins)
            errors[labels[row.model]] = [*(diagram["ece"] or [None, None, None]), diagram["count"]]
            rows += [[labels[row.model], *values] for values in diagram["bins"]]
    if not rows:
        return None
    return Plot(
        f"{brief(view.headings[column].full, 60)}: reliability",
        "A point is a bin of predictions: how often they are right, with the 95 % interval, over the mean probability "
        "that the model gave them. On the diagonal a model is calibrated; below it, too sure. Bins have about equally "
        "many predictions, and are fewer where there are few predictions.",
        ["model", ("probability", "mean probability"), ("accuracy", "share right"), "low", "high",
         ("count", "predictions")],
        rows,
        draw.reliability(list(errors), errors),
    )  # fmt: skip


def run_diagram(record: RunRecord, metric: str = "") -> dict[str, Any] | None:
    """Return the reliability diagram of one run: ``metric``, ``ece``, ``count`` and ``bins``; None if it has none.

    The calibration error ``ece`` is ``[value, low, high]``, or None. ``harness.reliability`` draws the diagram
    (assets/components/chart.js).

    Args:
        record: The run.
        metric: The metric that has the bins (default: the first that has any).
    """
    for name in [metric] if metric else record.details:
        if bins := adaptive(_bins(record, name)):
            stat = next((one for one in record.stats if _is_overall(one, name, record.spec.eval_split.value)), None)
            ece = None if stat is None else [stat.mean, *(stat.ci95 or (None, None))]
            return {"metric": name, **_as_json(ece, bins)}
    return None


def adaptive(bins: Iterable[Bin]) -> list[Bin]:
    """Return bins merged until they hold about equally many predictions, with as many bins as these allow.

    Of n predictions, the number of bins is √(n/2), from 1 to 10: two for 15, five for 50, ten from 200 on.
    """
    ordered = sorted(bins, key=lambda one: one.probability)
    total = sum(one.count for one in ordered)
    parts = min(MOST_BINS, max(1, math.isqrt(total // 2)))
    merged: dict[int, list[Bin]] = {}
    before = 0
    for one in ordered:
        merged.setdefault(parts * (2 * before + one.count) // (2 * total), []).append(one)
        before += one.count
    return [_merged(several) for several in merged.values()]


def _merged(bins: Sequence[Bin]) -> Bin:
    """Return bins, in the order of their probabilities, as one."""
    count = sum(one.count for one in bins)
    mean = math.fsum(one.probability * one.count for one in bins) / count
    probability = min(max(mean, bins[0].probability), bins[-1].probability)  # rounding must not put bins out of order
    return Bin(count, sum(one.right for one in bins), probability)


def _measure(view: BoardView, column: int) -> Measure | None:
    return next((one for one in view.measures[column] if one.represents and one.category == CATEGORY), None)


def _diagram(measure: Measure, model: str, bins: Sequence[Bin]) -> dict[str, Any]:
    cell = measure.cells.get(model)
    return _as_json([cell.mean, cell.low, cell.high] if cell and cell.mean is not None else None, bins)


def _as_json(ece: Sequence[float | None] | None, bins: Sequence[Bin]) -> dict[str, Any]:
    return {"ece": ece, "count": sum(one.count for one in bins), "bins": [one.values() for one in bins]}


def _bins(run: RunRecord, metric: str) -> list[Bin]:
    """Return the bins in a metric's details that hold predictions."""
    splits = run.details.get(metric)
    parts = splits.get(run.spec.eval_split.value) if isinstance(splits, Mapping) else None
    found = parts.get("original") if isinstance(parts, Mapping) else None
    bins = found.get("bins") if isinstance(found, Mapping) else None
    return [
        Bin(one["count"], round(one["accuracy"] * one["count"]), one["probability"])
        for one in (bins if isinstance(bins, list) else ())
        if isinstance(one, Mapping) and one.get("count") and "accuracy" in one and "probability" in one
    ]


def _is_overall(stat: Stat, metric: str, split: str) -> bool:
    return stat.metric == metric and stat.split == split and stat.overall
