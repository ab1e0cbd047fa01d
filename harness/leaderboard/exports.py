"""A leaderboard for other programs: CSV with a line for each cell, and JSON; numbers unrounded."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from typing import Any

from harness.answers.declined import encode_declined, named_kinds
from harness.leaderboard import wording
from harness.leaderboard.aggregate import Board
from harness.leaderboard.columns import canonical
from harness.output.display import brief

CSV_COLUMNS = (
    "rank", "rank_first", "rank_last", "model", "mean_win_rate", "mean_win_rate_low", "mean_win_rate_high",
    "win_rate_columns", "win_rate_columns_of", "column", "scenario", "parameters", "method", "split", "metric",
    "higher_is_better", "settings", "sample", "status", "mean", "stderr", "low", "high", "count", "missing",
    "declined", "declined_kinds", "runs_have", "runs_of", "best", "column_rank_first", "column_rank_last",
    "runs", "errors",
)  # fmt: skip
# What spreadsheets take for the start of a formula, the full-width forms included.
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")

# Characters that a spreadsheet's cell holds, with room for the apostrophe.
_LIMIT = 32_000


def as_csv(board: Board) -> str:
    """Return one line for each model and column that it was run on, by rank and column.

    Texts that a spreadsheet would take for a formula begin with an apostrophe; invisible characters are escapes; what
    is too long for a spreadsheet's cell loses its middle.
    """
    file = io.StringIO()
    writer = csv.DictWriter(file, CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
    for cell in _cells(board):
        writer.writerow({name: _field(cell[name]) for name in CSV_COLUMNS})
    return file.getvalue()


def as_json(board: Board) -> str:
    """Return the whole leaderboard: ``suites``, ``finished``, ``models``, ``columns``, ``cells`` and ``notes``.

    Cells refer to models by name and to columns by their position.
    """
    value = {
        "suites": board.suites,
        "finished": board.finished,
        "sample_win_rate": board.sample_win_rate,
        "models": [
            {"name": row.model, "rank": row.rank, "mean_win_rate": asdict(row.win_rate) if row.win_rate else None}
            for row in board.rows
        ],
        "columns": [
            {"title": heading.title, **asdict(column)}
            for heading, column in zip(wording.headings(board), board.columns, strict=True)
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
    return json.dumps(value, indent=2, allow_nan=False, default=str) + "\n"


def _cells(board: Board) -> list[dict[str, Any]]:
    titles = [heading.title for heading in wording.headings(board)]
    return [
        {
            "rank": row.rank,
            "rank_first": row.win_rate and row.win_rate.first,
            "rank_last": row.win_rate and row.win_rate.last,
            "model": row.model,
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
            "status": "failed" if cell.mean is None else "complete" if cell.complete else "partial",
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
            "errors": "; ".join(f"{failure.run}: {failure.error}" for failure in cell.failures),
        }
        for row in board.rows
        for title, column, cell in zip(titles, board.columns, row.cells, strict=True)
        if cell is not None
    ]


def _field(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    text = brief(str(value), _LIMIT)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text
