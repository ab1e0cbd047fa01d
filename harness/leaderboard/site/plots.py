"""The plots' data: the plots of each leaderboard, and the numbers in them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from math import fsum
from typing import Any

from harness.contracts.plugins import CONTAMINATION
from harness.leaderboard.cells import main_stat
from harness.leaderboard.site import plot_specs as draw
from harness.leaderboard.site.calibration_plots import reliability_plot
from harness.leaderboard.site.contamination_plots import write_contamination_plots
from harness.leaderboard.site.files import SiteFolder
from harness.leaderboard.site.measures import WORST, Measure, rated_columns
from harness.leaderboard.site.plot_specs import Plot
from harness.leaderboard.site.snapshot import BoardView, Snapshot
from harness.output.display import brief, counted
from harness.plugins.titles import SEPARATOR, Titles

TRADEOFFS = ("calibration", "robustness", "fairness", "bias", "toxicity", "efficiency")
"""Categories that are drawn against accuracy, as in figure 25 of Liang et al. 2022."""

DECADES = 50.0
"""An axis is logarithmic if the largest number is at least this many times the smallest."""


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
        folder.put(f"plots/{view.key}", {"title": view.title, "plots": listed, "models": _models(view)})
    write_contamination_plots(snapshot, folder)


def board_plots(view: BoardView) -> Iterator[tuple[str, str, Plot]]:
    """Yield name, group and plot.

    Plots of all models are about the columns that the leaderboard shows at first, one for each scenario.
    """
    labels = draw.short_names([row.model for row in view.board.rows])
    shown = {column for column, show in enumerate(rated_columns(view.board.columns)) if show}
    categories = [name for name in view.categories if name != CONTAMINATION]
    if plot := _panels(view, categories, labels):
        yield "categories", "models", plot
    if plot := _head_to_head(view, shown, labels):
        yield "head-to-head", "models", plot
    if plot := _spread(view, shown, labels):
        yield "spread", "models", plot
    for category in TRADEOFFS:
        for number, plot in enumerate(_tradeoffs(view, category, shown, labels)):
            yield f"accuracy-{category}{f'-{number + 1}' if number else ''}", "accuracy against", plot
    for column, heading in enumerate(view.headings):
        group = brief(SEPARATOR.join([heading.title, *heading.details]), 120)
        if plot := _scores(view, column, labels):
            yield f"scores-{column}", group, plot
        if plot := reliability_plot(view, column, labels):
            yield f"reliability-{column}", group, plot


def _models(view: BoardView) -> list[str]:
    """Return the models' names in plots, in the order of the leaderboard."""
    return list(draw.short_names([row.model for row in view.board.rows]).values())


def _panels(view: BoardView, categories: Iterable[str], labels: Mapping[str, str]) -> Plot | None:
    rows = []
    for category in categories:
        rates = view.rates[category]
        title = view.board.titles.category(category).title
        rows += [
            [title, labels[m], rates[m].value, rates[m].low, rates[m].high, rates[m].columns, rates[m].of]
            for m in sorted((m for m in labels if m in rates), key=lambda m: -rates[m].value)
        ]
    if not rows:
        return None
    return Plot(
        "Mean win rates by category",
        "One panel for each category of metrics, models from best to worst. A point is the share of other models that "
        "a model beats, averaged over the category's columns; the line is its 95 % interval. Further right is better "
        "in every panel, also where lower values of the metric are better.",
        ["category", "model", ("mean", "mean win rate"), "low", "high", "columns", ("of", "of columns")],
        rows,
        draw.ranking(
            "model", _labels(view, labels), draw.axis("mean", "mean win rate (further right is better)", draw.SHARE),
            panels="category",
        ),
    )  # fmt: skip


def _head_to_head(view: BoardView, shown: Container[int], labels: Mapping[str, str]) -> Plot | None:
    import numpy as np

    contested = [place for place, column in enumerate(view.board.columns) if place in shown and column.contested]
    if not contested:
        return None
    # One row for each model; higher is better everywhere, and what is not complete is not a number.
    means = np.array([[_signed(view, place, column) for column in contested] for place, _ in enumerate(labels)])
    rows = []
    for place, one in enumerate(view.board.rows):
        both = ~np.isnan(means[place]) & ~np.isnan(means)
        counts = both.sum(axis=1)
        won = ((means[place] > means) & both).sum(axis=1) + 0.5 * ((means[place] == means) & both).sum(axis=1)
        rows += [
            [labels[one.model], labels[other.model], float(won[against] / counts[against]), int(counts[against])]
            for against, other in enumerate(view.board.rows)
            if against != place and counts[against]
        ]
    if not rows:
        return None
    return Plot(
        "Head to head",
        "How often the row's model beats the column's model: percent of the scenarios that both have a result in, by "
        "the main metric; ties count one half. The stronger the tint, the more often the row's model wins.",
        ["model", "against", ("rate", "share won"), "columns"],
        rows,
        draw.matrix("model", "against", "rate", _labels(view, labels)),
    )


def _signed(view: BoardView, row: int, column: int) -> float:
    cell = view.board.rows[row].cells[column]
    if cell is None or cell.mean is None or not cell.complete:
        return float("nan")
    return cell.mean if view.board.columns[column].higher_is_better else -cell.mean


def _spread(view: BoardView, shown: Container[int], labels: Mapping[str, str]) -> Plot | None:
    rows = [
        [labels[row.model], brief(heading.full, 60), heading.metric, cell.mean, cell.low, cell.high, cell.count]
        for row in view.board.rows
        for position, (cell, column, heading) in enumerate(
            zip(row.cells, view.board.columns, view.headings, strict=True)
        )
        if position in shown
        if cell and cell.mean is not None and column.higher_is_better and 0 <= cell.mean <= 1
        if column.score is None
    ]
    if len({row[1] for row in rows}) < 3:
        return None
    return Plot(
        "Scores by model",
        "A tick is a scenario: a main metric between 0 and 1 of which higher is better; the point is the median. It "
        "shows if a model is consistent, or good at some scenarios only.",
        ["model", ("part", "column"), "metric", "mean", "low", "high", ("count", "instances")],
        rows,
        draw.ranking(
            "model", _labels(view, labels), draw.axis("mean", f"main metric ({draw.UP})", draw.SHARE), median=True
        ),
    )


def _tradeoffs(view: BoardView, category: str, shown: Container[int], labels: Mapping[str, str]) -> Iterator[Plot]:
    """Yield a category's measures over accuracy, a plot for each unit: each metric, other than the main ones."""
    titles = view.board.titles
    accurate = {one.column: one for one in view.categories.get("accuracy", ()) if one.higher_is_better}
    worst = category in WORST
    rows: dict[str, list[list[Any]]] = {}
    better: dict[str, set[bool | None]] = {}
    for measure in view.categories.get(category, ()):
        accuracy = accurate.get(measure.column)
        if measure.column not in shown or accuracy is None or not _is_share(accuracy, titles):
            continue
        unit = "" if worst else measure.metric
        scenario = brief(view.headings[measure.column].full, 60)
        names = [titles.metric(each.metric).title for each in (accuracy, measure)]
        better.setdefault(unit, set()).add(measure.higher_is_better)
        for model, cell in measure.cells.items():
            known = accuracy.cells.get(model)
            if model in labels and cell.mean is not None and known is not None and known.mean is not None:
                rows.setdefault(unit, []).append([labels[model], scenario, names[0], known.mean, names[1], cell.mean])
    for unit, points in rows.items():
        metric = titles.metric(unit).title if unit else "main metric, worst of all copies"
        one_way = next(iter(better[unit])) if len(better[unit]) == 1 else None
        values = [point[5] for point in points]
        share = min(values) >= 0 and max(values) <= 1 and (worst or category != "efficiency")
        # Errors and rates near 0 keep their own range: on one from 0 to 1 they would all lie on the axis.
        limits = draw.SHARE if worst and share else None
        y = draw.axis("value", metric + draw.direction(one_way), limits, "linear" if limits else _scale(values))
        about = ("; points below the diagonal lose by perturbations." if worst else ".") + (
            " The mean is over the columns that all of these models have."
        )
        yield Plot(
            f"Accuracy against {category if worst else metric[:1].lower() + metric[1:]}",
            f"A point is one model on the chosen column of the leaderboard{about}",
            ["model", ("scenario", "column"), ("accuracy_metric", "main metric"), "accuracy",
             ("metric", f"{category} metric"), ("value", category)],
            [*_means(points), *points],
            draw.scatter(
                _labels(view, labels),
                draw.axis("accuracy", f"main metric{draw.direction(True)}", draw.SHARE),
                y,
                choice="scenario",
                lost_below=worst and share,
            ),
        )  # fmt: skip


def _means(points: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Return each model's mean over the columns that all models have; none if these are fewer than two."""
    columns: dict[str, set[str]] = {}
    for point in points:
        columns.setdefault(point[0], set()).add(point[1])
    shared = set.intersection(*columns.values())
    if len(shared) < 2:
        return []
    found = []
    for model in columns:
        own = [point for point in points if point[0] == model and point[1] in shared]
        x, y = (fsum(point[place] for point in own) / len(own) for place in (3, 5))
        metrics = [_only({point[place] for point in own}) for place in (2, 4)]
        found.append([model, f"mean of {counted(len(shared), 'column')}", metrics[0], x, metrics[1], y])
    return found


def _only(names: set[str]) -> str:
    return next(iter(names)) if len(names) == 1 else "several"


def _is_share(measure: Measure, titles: Titles) -> bool:
    """Return True if a measure is between 0 and 1: as its metric declares or, if it does not, by its values."""
    scale = titles.metric(measure.metric).scale
    if scale is not None:
        return scale.bounds == draw.SHARE
    return all(0 <= cell.mean <= 1 for cell in measure.cells.values() if cell.mean is not None)


def _scale(values: Sequence[float]) -> str:
    return "log" if min(values) > 0 and max(values) >= DECADES * min(values) else "linear"


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
    of_several = len(about.subruns) > 1
    if of_several:
        for model, _ in ranked:
            for run in view.counting[column].get(model, {}).values():
                if stat := main_stat(run):
                    low, high = stat.ci95 or (None, None)
                    part = brief(view.board.titles.run(run.spec.scenario), 60)
                    rows.append([labels[model], part, stat.mean, low, high, stat.count])
    values = [row[2] for row in rows]
    share = about.score is None and _is_share(view.measures[column][0], view.board.titles)
    title = f"{heading.metric.rstrip(' ↑↓')}{draw.direction(about.higher_is_better)}"
    return Plot(
        f"{brief(heading.full, 60)}: scores",
        "Models from best to worst: the main metric with its 95 % interval"
        + (", and a tick for each of the runs that it is a mean of." if of_several else "."),
        ["model", ("part", "run"), "mean", "low", "high", ("count", "instances")],
        rows,
        draw.ranking(
            "model", [labels[model] for model, _ in ranked],
            draw.axis("mean", title, draw.SHARE if share else None, "linear" if share else _scale(values)),
            points=("part", "all") if of_several else None,
        ),
    )  # fmt: skip


def _labels(view: BoardView, labels: Mapping[str, str]) -> list[str]:
    return [labels[row.model] for row in view.board.rows]
