"""The leaderboards' data: models and their mean win rates, and in separate files the numbers of each category."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from typing import Any

from harness.contracts.plugins import CATEGORIES, CONTAMINATION
from harness.leaderboard import board_text
from harness.leaderboard.aggregate import Column, question
from harness.leaderboard.cells import Cell, imported_from
from harness.leaderboard.columns import agreed
from harness.leaderboard.formatting import is_symmetrical
from harness.leaderboard.pairwise import Contest, snapped, z_scores
from harness.leaderboard.site.addresses import address_of, model_address, scenario_address
from harness.leaderboard.site.board_columns import ColumnName, column_names
from harness.leaderboard.site.descriptions import taxonomy
from harness.leaderboard.site.files import SiteFolder
from harness.leaderboard.site.measures import Measure
from harness.leaderboard.site.snapshot import BoardView, Snapshot
from harness.leaderboard.win_rate import WinRate
from harness.output.display import sentence
from harness.plugins.parameters import PROMPT
from harness.storage.results import RunRecord

MAIN = "main"
"""The first view, before the categories: every column's main metric, as on the terminal."""

INTERVAL_DIGITS = 5
"""Digits of an interval's ends beyond the first one of its width: more than any page shows."""


def write(snapshot: Snapshot, folder: SiteFolder) -> None:
    """Write ``site``, and for each board ``boards/KEY``, ``boards/KEY/main`` and ``boards/KEY/CATEGORY``.

    The latter two have a file ``pairs`` below them, from which the page computes win rates of a part of the board: the
    z-scores of the models against each other, for each measure. ``boards/KEY/main/runs`` has, for each column and
    model, the address of the cell's run, or null (:func:`run_of_cell`).
    """
    folder.put(
        "site",
        {
            "boards": [[view.key, view.title, view.suite, view.board.finished] for view in snapshot.boards],
            "newest": newest_board(snapshot).key,
            "finished": max((run.finished for run in snapshot.runs), default=""),
            "runs": len(snapshot.runs),
            "failed": sum(run.status != "ok" for run in snapshot.runs),
        },
    )
    for view in snapshot.boards:
        models = [row.model for row in view.board.rows]
        names = column_names(snapshot, view)
        categories = {
            name: measures for name, measures in view.categories.items() if any(names[m.column].shown for m in measures)
        }
        folder.put(f"boards/{view.key}", _board(snapshot, view, names, models, categories))
        folder.put(f"boards/{view.key}/{MAIN}", {"measures": _main(view, models)})
        runs = [[run_of_cell(view, column, model) for model in models] for column in range(len(view.groups))]
        folder.put(f"boards/{view.key}/{MAIN}/runs", runs)
        folder.put(f"boards/{view.key}/{MAIN}/pairs", [pair_scores(contest, models) for contest in _contests(view)])
        for name, measures in categories.items():
            rows = [_measure(measure, measure.column, measure.cells, models) for measure in measures]
            folder.put(f"boards/{view.key}/{name}", {"measures": rows})
            pairs = [pair_scores(measure.contest, models) for measure in measures]
            folder.put(f"boards/{view.key}/{name}/pairs", pairs)


def newest_board(snapshot: Snapshot) -> BoardView:
    """Return the board of the suite that ended last; suites that only test data count only if there are no others."""
    suites = [view for view in snapshot.boards if view.suite] or list(snapshot.boards)
    return max(
        suites,
        key=lambda view: (
            any(several and not c.test for several, c in zip(view.measures, view.board.columns, strict=True)),
            view.board.finished,
            view.suite,
        ),
    )


def cell_values(cell: Cell | None) -> list[Any] | None:
    """Return a cell as a list: mean, low, high, count, complete, best, first, last, marks.

    Digits of the numbers that no page shows or compares are left out: they would be half of the file.
    """
    if cell is None:
        return None
    return [
        None if cell.mean is None else snapped(cell.mean), *_ends(cell.mean, cell.low, cell.high), cell.count,
        int(cell.complete), int(cell.best), cell.first, cell.last, board_text.marks_of_runs(cell),
    ]  # fmt: skip


def _ends(mean: float | None, low: float | None, high: float | None) -> tuple[float | None, float | None]:
    """Return an interval's ends without the digits that are small next to its width; one with ``±`` keeps its form."""
    if low is None or high is None or not 0.0 < high - low < math.inf:
        return low, high
    decimals = INTERVAL_DIGITS - math.floor(math.log10(high - low))
    if mean is not None and is_symmetrical(mean, low, high):
        half = to_odd((high - low) / 2, decimals)
        return round(mean - half, 12), round(mean + half, 12)
    return to_odd(low, decimals), to_odd(high, decimals)


def to_odd(value: float, decimals: int) -> float:
    """Return a number with fewer decimals, chosen so that rounding it further gives what the number itself would give.

    It is cut off; where that would leave a last digit of 0 or 5, on which later rounding may turn, the digit is one
    more: 0.24996 becomes 0.2499, and 0.25004 becomes 0.2501.
    """
    scale = 10.0**decimals
    scaled = value * scale
    if not abs(scaled) < 2**53 or not 0.0 < scale < math.inf:
        return value
    cut = math.floor(scaled)
    return (cut + (cut != scaled and cut % 5 == 0)) / scale


def win_rate_values(rate: WinRate | None) -> list[Any] | None:
    """Return a mean win rate as ``[value, low, high, columns, of columns, first rank, last rank]``."""
    if rate is None:
        return None
    return [rate.value, rate.low, rate.high, rate.columns, rate.of, rate.first, rate.last]


def _column(
    snapshot: Snapshot, view: BoardView, name: ColumnName, column: int, questions: Sequence[str]
) -> dict[str, Any]:
    return {
        **column_title(snapshot, view, column),
        "key": name.key,
        "title": name.title,
        "label": name.label,
        "group": name.group,
        "shown": name.shown,
        "test": name.test,
        "count": name.count,
        "question": questions.index(questions[column]),
        "prompted": PROMPT in view.board.columns[column].parameters,
        "asks": sorted({run.spec.scenario.label for runs in view.groups[column].runs.values() for run in runs}),
    }


def column_title(snapshot: Snapshot, view: BoardView, column: int) -> dict[str, Any]:
    """Return the description of a column, as JSON."""
    about, heading = view.board.columns[column], view.headings[column]
    return {
        "title": heading.full,
        "short": heading.short,
        "group": heading.group,
        "identifier": heading.identifier,
        "scenario": about.scenario,
        "address": "" if about.score else scenario_address(about.scenario),
        "score": about.score is not None,
        "composite": _composite(view, column),
        "metric": about.metric,
        "higher": about.higher_is_better,
        "method": about.method,
        "split": about.split,
        "details": heading.details,
        "sample": about.sample,
        "contested": about.contested,
        "taxonomy": taxonomy(snapshot.registry, about.scenario),
    }


def _composite(view: BoardView, column: int) -> dict[str, Any] | None:
    """Return what a composite score is: its mean, the range of its values, and its members with their runs."""
    score = view.board.columns[column].score
    if score is None:
        return None
    cells = (row.cells[column] for row in view.board.rows)
    rescaled = any(run.chance for run in score.runs)
    bounds = agreed(cell.bounds for cell in cells if cell is not None and cell.mean is not None)
    return {
        "rule": view.headings[column].metric,
        "mean": score.mean,
        "rescaled": rescaled,
        "range": None if bounds is None else [max(0.0, bounds[0]) if rescaled else bounds[0], bounds[1]],
        "members": [[member.name, [run.label for run in member.runs]] for member in score.members],
    }


def _board(
    snapshot: Snapshot,
    view: BoardView,
    columns: Sequence[ColumnName],
    models: Sequence[str],
    categories: Mapping[str, Sequence[Measure]],
) -> dict[str, Any]:
    addresses = {snapshot.model(run): model_address(run.spec.model) for run in snapshot.runs}
    origins = {snapshot.model(run): program for run in snapshot.runs if (program := imported_from(run))}
    measured = [{measure.category for measure in several} for several in view.measures]
    tested = {column.scenario for column in view.board.columns if column.test}
    for found, group in zip(measured, view.groups, strict=True):
        if group.scenario in tested:
            found.add(CONTAMINATION)
    sizes = {snapshot.model(run): size for run in snapshot.runs if (size := _parameters(run))}
    questions = [question(column, test=column.test) for column in view.board.columns]
    names = [*CATEGORIES, *sorted({name for found in measured for name in found} - set(CATEGORIES))]
    return {
        "key": view.key,
        "title": view.title,
        "suites": view.board.suites,
        "finished": view.board.finished,
        "sample": view.board.sample_win_rate,
        "models": [
            {
                "name": row.model,
                "identifier": row.identifier,
                "backend": row.backend,
                "address": addresses[row.model],
                "rank": row.rank,
                "rate": win_rate_values(row.win_rate),
                "origin": origins.get(row.model, ""),
                "parameters": sizes.get(row.model),
                "failed": not board_text.measured(row),
            }
            for row in view.board.rows
        ],
        "columns": [
            {
                **_column(snapshot, view, columns[column], column, questions),
                "measured": [names.index(name) for name in sorted(found, key=names.index)],
            }
            for column, found in enumerate(measured)
        ],
        "names": names,
        "categories": [
            {
                "name": name,
                "rates": [win_rate_values(view.rates[name].get(model)) for model in models],
                "measures": sum(columns[measure.column].shown for measure in measures),
            }
            for name, measures in categories.items()
        ],
        "dependent": _dependent(snapshot, view, models),
        "remarks": _remarks(view),
        "failures": _failures(view),
        "no_values": _no_values(view),
        "explanations": board_text.explanations(view.board),
        "legend": board_text.legend(view.board),
        "notes": board_text.notes(view.board),
    }


def _parameters(run: RunRecord) -> int | None:
    model = run.provenance.get("model", {})
    size = model.get("parameters") if isinstance(model, Mapping) else None
    return size if isinstance(size, int) and not isinstance(size, bool) and size > 0 else None


def _remarks(view: BoardView) -> list[list[Any]]:
    """Return for each cell with remarks model, column, 1 if all was declined, the remarks, 1 if they need a mark."""
    found = []
    for m, row in enumerate(view.board.rows):
        for c, cell in enumerate(row.cells):
            words = board_text.remarks(cell) if cell is not None else []
            if cell is not None and words:
                declined = cell.declined.examples > 0 and cell.declined.examples == cell.declined.of
                found.append([m, c, int(declined), words, int(board_text.noteworthy(cell))])
    return found


def _failures(view: BoardView) -> list[list[Any]]:
    """Return model, column and distinct errors of each cell with a failure."""
    found = []
    for m, row in enumerate(view.board.rows):
        for c, cell in enumerate(row.cells):
            if cell is not None and cell.failures:
                errors = dict.fromkeys(_failure(failure.run, failure.error) for failure in cell.failures)
                found.append([m, c, [sentence(error) for error in list(errors)[:20]]])
    return found


def _no_values(view: BoardView) -> list[list[Any]]:
    """Return model, column and reasons of each cell that has no number for a reason other than an error."""
    return [
        [m, c, list(map(sentence, reasons))]
        for m, row in enumerate(view.board.rows)
        for c, cell in enumerate(row.cells)
        if (reasons := board_text.no_values(cell))
    ]


def _failure(run: str, error: str) -> str:
    """Return an error with its run, unless the error begins with the run's name."""
    return error if error.startswith(f"{run}:") else f"{run}: {error}"


def _main(view: BoardView, models: Sequence[str]) -> list[dict[str, Any]]:
    cells = [{row.model: row.cells[position] for row in view.board.rows} for position in range(len(view.groups))]
    return [_measure(column, position, cells[position], models) for position, column in enumerate(view.board.columns)]


def _contests(view: BoardView) -> list[Contest | None]:
    """Return for each column the main metric's results; None if no run has a value of it."""
    return [
        next((m.contest for m in found if (m.metric, m.worst) == (column.metric, None)), None)
        for column, found in zip(view.board.columns, view.measures, strict=True)
    ]


def pair_scores(contest: Contest | None, models: Sequence[str]) -> str:
    """Return z-scores of all pairs of models, the upper triangle of the matrix row by row, as base64.

    They are 16-bit integers, little-endian, in thousandths and rounded towards 0; −32768 where they are unknown.
    """
    import numpy as np

    table = np.full((len(models), len(models)), np.nan)
    if contest is not None and contest.results:
        places = [models.index(model) for model in sorted(contest.results)]
        table[np.ix_(places, places)] = z_scores(contest)
    upper = table[np.triu_indices(len(models), 1)]
    steps = np.where(np.isnan(upper), -32768, np.trunc(1000.0 * np.nan_to_num(upper)).clip(-32767, 32767))
    return base64.b64encode(steps.astype("<i2").tobytes()).decode()


def run_of_cell(view: BoardView, column: int, model: str) -> str | None:
    """Return the address of a cell's run if it has only one, else None."""
    runs = list(view.counting[column].get(model, {}).values())
    return address_of(runs[0]) if len(runs) == 1 else None


def _measure(
    about: Column | Measure, column: int, cells: Mapping[str, Cell | None], models: Sequence[str]
) -> dict[str, Any]:
    return {
        "column": column,
        "metric": about.metric,
        "worst": about.worst if isinstance(about, Measure) else None,
        "higher": about.higher_is_better,
        "contested": about.contested and (isinstance(about, Measure) or about.primary),
        "cells": [cell_values(cells.get(model)) for model in models],
    }


def _dependent(snapshot: Snapshot, view: BoardView, models: Sequence[str]) -> list[list[Any]]:
    """Return model, column, log10 p and run for each cell whose model depends on the published order of its data."""
    found: dict[tuple[int, int], tuple[float, str]] = {}
    positions = {model: position for position, model in enumerate(models)}
    for finding in snapshot.findings:
        model = positions.get(snapshot.model(finding.record))
        if model is None or not finding.seen:
            continue
        for column, counting in enumerate(view.counting):
            runs = counting.get(models[model], {}).values()
            if any(finding.concerns(run) for run in runs):
                value = (finding.log10_p_holm, address_of(finding.record))
                found[model, column] = min(found.get((model, column), value), value)
    return [[m, c, value, run] for (m, c), (value, run) in found.items()]
