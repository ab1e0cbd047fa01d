"""A leaderboard as a table to read, and as records and a JSON value with unrounded numbers for other programs."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from harness.answers.declined import encode_declined, named_kinds
from harness.leaderboard import board_text
from harness.leaderboard.aggregate import Board, Column, Row
from harness.leaderboard.cells import Cell
from harness.leaderboard.columns import agreed, canonical
from harness.leaderboard.formatting import interval, number, rank_range
from harness.output.display import brief
from harness.output.result_table import ResultTable, TableCell, TableColumn, TableNote

MODEL_WIDTH = 36
"""Characters of a model's name in a line on the terminal."""

CSV_FIELDS = (
    "rank", "rank_first", "rank_last", "model", "model_id", "series", "step", "mean_win_rate", "mean_win_rate_low",
    "mean_win_rate_high", "win_rate_columns", "win_rate_columns_of", "column", "scenario", "parameters", "method",
    "split", "metric", "higher_is_better", "settings", "sample", "primary", "status", "mean", "stderr", "low", "high",
    "count", "missing", "declined", "declined_kinds", "runs_have", "runs_of", "best", "column_rank_first",
    "column_rank_last", "runs", "no_value", "errors", "damaged",
)  # fmt: skip


def board_table(board: Board, *, all_columns: bool = False) -> ResultTable:
    """Return a leaderboard as a table; unless ``all_columns`` are wanted, with one for each scenario with parameters.

    The records have one entry for each model and column that it was run on, by rank and column. The JSON value has
    ``suites``, ``finished``, ``models``, ``columns``, ``cells`` and ``notes``; cells refer to models by name and to
    columns by their position.
    """
    shown = board_text.readable(board)
    shown = shown if all_columns else board_text.main_columns(shown)
    ranked = [TableColumn(("rank",), numeric=True)] if any(row.rank is not None for row in shown.rows) else []
    sample = board_text.SAMPLE if shown.sample_win_rate else ""
    return ResultTable(
        columns=[
            *ranked,
            TableColumn(("model",), repeated=True, limit=MODEL_WIDTH, name=True),
            TableColumn((f"mean win rate ↑{sample}",), numeric=True),
            TableColumn(("columns",), numeric=True),
            *(
                TableColumn(
                    (heading.title, heading.metric, *heading.details, *_size(shown, c)), numeric=True, movable=True
                )
                for c, heading in enumerate(board_text.headings(shown))
            ),
        ],
        rows=_rows(shown, ranked=bool(ranked)),
        notes=_notes(shown),
        caption="Results of the models." + (" Mean win rates are over sample data." if shown.sample_win_rate else ""),
        fields=CSV_FIELDS,
        records=_records(board),
        value=_json_value(board, shown),
        nothing="There are no runs to compare yet.",
    )


def rank(row: Row) -> str:
    """Return the ranks that the data allow a row, ``2`` or ``2–4``; '' without a rank."""
    if row.rank is None or row.win_rate is None:
        return ""
    return rank_range(row.win_rate.first, row.win_rate.last)


def _size(board: Board, column: int) -> tuple[str, ...]:
    """Return the number of instances of a column, if it is the same for all models; else each cell says it."""
    count = agreed(cell.count for row in board.rows if (cell := row.cells[column]) and cell.mean is not None)
    return (f"n={count:,}",) if count else ()


def _rows(board: Board, *, ranked: bool) -> list[list[TableCell]]:
    failures = board_text.failure_numbers(board)
    separating = [board_text.separates(board, c) for c in range(len(board.columns))]
    sized = [bool(_size(board, c)) for c in range(len(board.columns))]
    rows = []
    for r, row in enumerate(board.rows):
        cells = [TableCell(rank(row))] if ranked else []
        have, of = board_text.coverage(board, row)
        cells += [TableCell(brief(row.model)), _win_rate(row), TableCell(f"{have}/{of}")]
        for c, (cell, column) in enumerate(zip(row.cells, board.columns, strict=True)):
            shown = cell and _cell(cell, column, failures.get((r, c)), separates=separating[c], sized=sized[c])
            cells.append(shown or TableCell())
        rows.append(cells)
    return rows


def _win_rate(row: Row) -> TableCell:
    rate = row.win_rate
    if rate is None:
        return TableCell()
    ends = "" if rate.low is None or rate.high is None else f"[{rate.low:.2f}, {rate.high:.2f}]"
    return TableCell(f"{rate.value:.3f}", ends)


def _cell(cell: Cell, column: Column, failure: int | None, *, separates: bool, sized: bool) -> TableCell:
    failed = f"{board_text.FAILED}{failure}" if failure else ""
    if cell.mean is None:
        return TableCell(cell.no_value_word or (f"{cell.have} of {cell.of}" if column.score else ""), failure=failed)
    details = [f"n={cell.count:,}"] if cell.count and not sized else []
    if separates and cell.first is not None and cell.last is not None:
        details.append(f"rank {rank_range(cell.first, cell.last)}")
    return TableCell(
        number(cell.mean),
        interval(cell.mean, cell.low, cell.high),
        board_text.marks(cell, column),
        failed,
        ", ".join(details),
        "best" if cell.best else "",
    )


def _notes(board: Board) -> list[TableNote]:
    return [
        *(TableNote(text) for text in board_text.explanations(board)),
        *(TableNote(f"{mark} {meaning}", "legend") for mark, meaning in board_text.legend(board)),
        *(TableNote(text, "failure") for text in board_text.failures(board)),
        *(TableNote(text, "note") for text in board_text.notes(board)),
    ]


def _json_value(board: Board, shown: Board) -> dict[str, Any]:
    counts = {row.model: board_text.coverage(shown, row) for row in shown.rows}
    return {
        "suites": board.suites,
        "finished": board.finished,
        "sample_win_rate": board.sample_win_rate,
        "models": [
            {
                "name": row.model,
                "identifier": row.identifier,
                "backend": row.backend,
                "series": row.training and row.training.series,
                "step": row.training and row.training.step,
                "rank": row.rank,
                "mean_win_rate": asdict(row.win_rate) if row.win_rate else None,
                "columns": counts.get(row.model, (0, 0))[0],
                "columns_of": counts.get(row.model, (0, len(shown.columns)))[1],
            }
            for row in board.rows
        ],
        "columns": [
            {"title": heading.full, "identifier": heading.identifier, **_column_value(column)}
            for heading, column in zip(board_text.headings(board), board.columns, strict=True)
        ],
        "cells": [
            {
                "model": row.model,
                "column": position,
                "complete": cell.complete,
                **asdict(cell),
                "declined": encode_declined(cell.declined),
            }
            for row in board.rows
            for position, cell in enumerate(row.cells)
            if cell is not None
        ],
        "notes": board.notes,
    }


def _status(cell: Cell) -> str:
    if cell.mean is None:
        return cell.no_value_word or "failed"
    return "complete" if cell.complete else "partial"


def _column_value(column: Column) -> dict[str, Any]:
    score = None if column.score is None else column.score.model_dump(mode="json")
    return {**asdict(replace(column, score=None)), "score": score}


def _records(board: Board) -> list[dict[str, Any]]:
    titles = [heading.full for heading in board_text.headings(board)]
    return [
        {
            "rank": row.rank,
            "rank_first": row.win_rate and row.win_rate.first,
            "rank_last": row.win_rate and row.win_rate.last,
            "model": row.model,
            "model_id": row.identifier,
            "series": row.training and row.training.series,
            "step": row.training and row.training.step,
            "mean_win_rate": row.win_rate and row.win_rate.value,
            "mean_win_rate_low": row.win_rate and row.win_rate.low,
            "mean_win_rate_high": row.win_rate and row.win_rate.high,
            "win_rate_columns": row.win_rate and row.win_rate.columns,
            "win_rate_columns_of": row.win_rate and row.win_rate.of,
            "column": title,
            "scenario": column.scenario,
            "parameters": canonical(column.parameters),
            "method": column.method,
            "split": column.split,
            "metric": column.metric,
            "higher_is_better": column.higher_is_better,
            "settings": canonical(column.settings),
            "sample": column.sample,
            "primary": column.primary,
            "status": _status(cell),
            "mean": cell.mean,
            "stderr": cell.stderr,
            "low": cell.low,
            "high": cell.high,
            "count": cell.count,
            "missing": cell.missing,
            "declined": cell.declined.examples,
            "declined_kinds": named_kinds(cell.declined.kinds),
            "runs_have": cell.have,
            "runs_of": cell.of,
            "best": cell.best,
            "column_rank_first": cell.first,
            "column_rank_last": cell.last,
            "runs": " ".join(cell.runs),
            "no_value": "; ".join(f"{one.run}: {one.error}" for one in cell.no_value),
            "errors": "; ".join(f"{failure.run}: {failure.error}" for failure in cell.failures),
            "damaged": "; ".join(cell.damaged),
        }
        for row in board.rows
        for title, column, cell in zip(titles, board.columns, row.cells, strict=True)
        if cell is not None
    ]
