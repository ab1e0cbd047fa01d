"""The plots' data: the plots of each leaderboard, and the numbers in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.leaderboard.cells import main_stat
from harness.leaderboard.site import plot_specs as draw
from harness.leaderboard.site.calibration_plots import reliability_plot
from harness.leaderboard.site.contamination_plots import write_contamination_plots
from harness.leaderboard.site.files import SiteFolder
from harness.leaderboard.site.measures import Measure, category_measures, win_rates
from harness.leaderboard.site.plot_specs import Plot
from harness.leaderboard.site.snapshot import BoardView, Snapshot
from harness.output.display import brief
from harness.plugins.titles import SEPARATOR

TRADEOFFS = ("calibration", "robustness", "fairness", "bias", "toxicity", "efficiency")
"""Categories that are drawn against accuracy, as in figure 25 of Liang et al. 2022."""


def write(snapshot: Snapshot, folder: SiteFolder) -> None:
    """Write for each board ``plots/KEY``, the list of its plots, and ``plots/KEY/NAME``; and those of contamination.

    The list has the name, title and group of each plot; the group is ``models``, ``accuracy against``, or the title of
    the plot's column.
    """
    for view in snapshot.boards:
        listed = []
        for name, group, plot in board_plots(view):
            folder.put(f"plots/{view.key}/{name}", plot.as_json())
            listed.append([name, plot.title, group])
        folder.put(f"plots/{view.key}", {"title": view.title, "plots": listed})
    write_contamination_plots(snapshot, folder)


def board_plots(view: BoardView) -> Iterator[tuple[str, str, Plot]]:
    """Yield name, group and plot."""
    labels = draw.short_names([row.model for row in view.board.rows])
    categories = category_measures(view.groups, view.measures)
    if plot := _panels(view, categories, labels):
        yield "categories", "models", plot
    if plot := _heat_map(view, labels):
        yield "head-to-head", "models", plot
    if plot := _spread(view, labels):
        yield "spread", "models", plot
    for category in TRADEOFFS:
        if plot := _tradeoff(view, category, categories, labels):
            yield f"accuracy-{category}", "accuracy against", plot
    for column, heading in enumerate(view.headings):
        group = brief(SEPARATOR.join([heading.title, *heading.details]), 120)
        if plot := _scores(view, column, labels):
            yield f"scores-{column}", group, plot
        if plot := reliability_plot(view, column, labels):
            yield f"reliability-{column}", group, plot


def _panels(view: BoardView, categories: Mapping[str, Sequence[Measure]], labels: Mapping[str, str]) -> Plot | None:
    rows, parts = [], []
    for category, measures in categories.items():
        rates = win_rates(measures)
        ranked = sorted((m for m in labels if m in rates), key=lambda m: -rates[m].value)
        if not ranked:
            continue
        rows += [
            [category, labels[m], rates[m].value, rates[m].low, rates[m].high, rates[m].columns, rates[m].of]
            for m in ranked
        ]
        spec = draw.ranking([labels[m] for m in ranked], f"mean win rate ({draw.UP}) →", {"domain": [0, 1]}, 200)
        parts.append((category, view.board.titles.category(category).title, spec))
    if not parts:
        return None
    return Plot(
        "Mean win rates by category",
        "One panel for each category of metrics, models from best to worst. A point is the share of other models that "
        "a model beats, averaged over the category's columns; the line is its 95 % interval. Further right is better "
        "in every panel, also where lower values of the metric are better.",
        ["category", "model", ("mean", "mean win rate"), "low", "high", "columns", ("of", "of columns")],
        rows,
        draw.panels(parts, "category", 3),
    )


def _heat_map(view: BoardView, labels: Mapping[str, str]) -> Plot | None:
    rows = []
    for one in view.board.rows:
        for other in view.board.rows:
            if one is other:
                continue
            results = [
                _result(cell.mean, against.mean, bool(column.higher_is_better))
                for cell, against, column in zip(one.cells, other.cells, view.board.columns, strict=True)
                if column.contested and cell and against and cell.complete and against.complete
                if cell.mean is not None and against.mean is not None
            ]
            if results:
                rows.append([labels[one.model], labels[other.model], sum(results) / len(results), len(results)])
    if not rows:
        return None
    return Plot(
        "Head to head",
        "How often the row's model has a better main metric than the column's model, over the columns that both "
        "have; ties count one half. Blue: the row's model is ahead; orange: it is behind.",
        ["model", "against", ("rate", "share won"), "columns"],
        rows,
        draw.heat_map([labels[row.model] for row in view.board.rows]),
    )


def _result(mean: float, against: float, higher: bool) -> float:
    if mean == against:
        return 0.5
    return float((mean > against) == higher)


def _spread(view: BoardView, labels: Mapping[str, str]) -> Plot | None:
    rows = [
        [labels[row.model], brief(heading.full, 60), heading.metric, cell.mean, cell.low, cell.high, cell.count]
        for row in view.board.rows
        for cell, column, heading in zip(row.cells, view.board.columns, view.headings, strict=True)
        if cell and cell.mean is not None and column.higher_is_better and 0 <= cell.mean <= 1
        if column.score is None
    ]
    if len({row[1] for row in rows}) < 3:
        return None
    return Plot(
        "Scores by model",
        "Each tick is a main metric between 0 and 1 of which higher is better; the point is the median. It shows if a "
        "model is consistent or good at some scenarios only.",
        ["model", ("part", "column"), "metric", "mean", "low", "high", ("count", "instances")],
        rows,
        draw.spread([labels[row.model] for row in view.board.rows], f"main metric ({draw.UP}) →", {"domain": [0, 1]}),
    )


def _tradeoff(
    view: BoardView, category: str, categories: Mapping[str, Sequence[Measure]], labels: Mapping[str, str]
) -> Plot | None:
    """Return a category's measure over accuracy, a point for each model and column that have both."""
    titles = view.board.titles
    accurate = {measure.column: measure for measure in categories.get("accuracy", ()) if measure.higher_is_better}
    rows: list[list[Any]] = []
    kinds: dict[str, bool | None] = {}
    for measure in categories.get(category, ()):
        accuracy = accurate.get(measure.column)
        if accuracy is None:
            continue
        kinds[measure.metric] = measure.higher_is_better
        for model, cell in measure.cells.items():
            known = accuracy.cells.get(model)
            if model in labels and cell.mean is not None and known is not None and known.mean is not None:
                scenario = brief(view.headings[measure.column].full, 60)
                names = [titles.metric(each.metric).title for each in (accuracy, measure)]
                rows.append([labels[model], scenario, names[0], known.mean, names[1], cell.mean])
    if not rows:
        return None
    worst = category in {"robustness", "fairness"}
    metric = titles.metric(next(iter(kinds))).title if len(kinds) == 1 else titles.category(category).title
    better = next(iter(kinds.values())) if len(set(kinds.values())) == 1 else None
    title = f"{'main metric, worst of all copies' if worst else metric}{draw.direction(better)}"
    logarithmic = category == "efficiency" and all(row[5] > 0 for row in rows)
    y = draw.quantitative("value", title, scale={"type": "log"} if logarithmic else {})
    x = draw.quantitative("accuracy", f"main metric{draw.direction(True)}")
    order = [labels[row.model] for row in view.board.rows]
    of_category = [("metric", f"{category} metric"), ("value", category)]
    return Plot(
        f"Accuracy against {category}",
        "A point is one model on one column of the leaderboard"
        + ("; points below the diagonal lose from perturbations." if worst else ".")
        + " A click on a model in the legend dims the others.",
        ["model", ("scenario", "column"), ("accuracy_metric", "main metric"), "accuracy", *of_category],
        rows,
        draw.scatter(order, x, y, diagonal=worst and all(0 <= v <= 1 for row in rows for v in (row[3], row[5]))),
    )


def _scores(view: BoardView, column: int, labels: Mapping[str, str]) -> Plot | None:
    """Return the models' main metric in one column with its interval; for a mean of sub-runs also theirs."""
    about, heading = view.board.columns[column], view.headings[column]
    cells = [(row.model, cell) for row in view.board.rows if (cell := row.cells[column]) and cell.mean is not None]
    if not cells:
        return None
    sign = -1 if about.higher_is_better else 1
    ranked = sorted(cells, key=lambda pair: (sign * (pair[1].mean or 0.0), pair[0]))
    rows: list[list[Any]] = [
        [labels[model], "all", cell.mean, cell.low, cell.high, cell.count] for model, cell in ranked
    ]
    order = [labels[model] for model, _ in ranked]
    title = f"{heading.metric.rstrip(' ↑↓')}{draw.direction(about.higher_is_better)}"
    spec = draw.ranking(order, title)
    if len(about.subruns) > 1:
        for model, _ in ranked:
            for run in view.counting[column].get(model, {}).values():
                if stat := main_stat(run):
                    low, high = stat.ci95 or (None, None)
                    part = brief(view.board.titles.run(run.spec.scenario), 60)
                    rows.append([labels[model], part, stat.mean, low, high, stat.count])
        spec = _with_parts(spec)
    return Plot(
        f"{brief(heading.full, 60)}: scores",
        "Models from best to worst: the main metric with its 95 % interval"
        + (", and a tick for each of the runs that it is a mean of." if len(about.subruns) > 1 else "."),
        ["model", ("part", "run"), "mean", "low", "high", ("count", "instances")],
        rows,
        spec,
    )


def _with_parts(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a ranking with a point for the row ``all`` of each model and ticks for its other rows."""
    whole = {"filter": {"field": "part", "equal": "all"}}
    parts = {"filter": {"not": {"field": "part", "equal": "all"}}}
    x = spec["layer"][1]["encoding"]["x"]
    ticks = {
        "transform": [parts],
        "mark": {"type": "tick", "thickness": 1, "opacity": 0.45},
        "encoding": {"x": x, "tooltip": draw.tooltips("model", "part", "mean", "low", "high")},
    }
    return {**spec, "layer": [ticks, *({**layer, "transform": [whole]} for layer in spec["layer"])]}
