"""Reliability diagrams: how often a model is right, by the probability that it gave its predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harness.leaderboard.site import plot_specs as draw
from harness.leaderboard.site.plot_specs import Plot
from harness.leaderboard.site.snapshot import BoardView
from harness.output.display import brief
from harness.storage.results import RunRecord

CATEGORY = "calibration"


def reliability_plot(view: BoardView, column: int, labels: Mapping[str, str]) -> Plot | None:
    """Return the reliability diagram of one column; None if no run has the data for it."""
    metric = next((one.metric for one in view.measures[column] if one.represents and one.category == CATEGORY), "")
    rows: list[list[Any]] = []
    runs = 0
    for row in view.board.rows:
        for run in view.counting[column].get(row.model, {}).values():
            found = [
                [labels[row.model], brief(view.board.titles.run(run.spec.scenario), 60), *values]
                for values in _bins(run, metric)
            ]
            rows += found
            runs += bool(found)
    if not rows:
        return None
    models = len({row[0] for row in rows})
    lines = runs == models
    others: list[str | tuple[str, str]] = ["low", "high", ("count", "predictions")]
    return Plot(
        f"{brief(view.headings[column].full, 60)}: reliability",
        "Each point is a bin of predictions: how often they are right, with its 95 % interval, over the mean "
        "probability that the model gave them. On the diagonal a model is calibrated; below it, overconfident."
        " Larger points are bins of more predictions." + ("" if lines else " Each run has its own bins."),
        ["model", "run", ("probability", "mean probability"), ("accuracy", "share right"), *others],
        rows,
        draw.reliability([labels[row.model] for row in view.board.rows], lines),
    )


def _bins(run: RunRecord, metric: str) -> Iterator[list[Any]]:
    """Yield probability, accuracy, its interval and the count of each bin that holds a prediction."""
    splits = run.details.get(metric)
    parts = splits.get(run.spec.eval_split.value) if isinstance(splits, Mapping) else None
    found = parts.get("original") if isinstance(parts, Mapping) else None
    bins = found.get("bins") if isinstance(found, Mapping) else None
    for one in bins if isinstance(bins, list) else ():
        if one.get("count") and "accuracy" in one:
            low, high = one.get("accuracy_ci95") or (None, None)
            yield [one.get("probability"), one["accuracy"], low, high, one["count"]]
