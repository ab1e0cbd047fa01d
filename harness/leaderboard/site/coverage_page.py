"""The coverage page's data: which results each leaderboard has, which failed and why, and which are missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.leaderboard.site.board_columns import default_columns
from harness.leaderboard.site.files import SiteFolder
from harness.leaderboard.site.snapshot import BoardView, Snapshot
from harness.output.display import sentence

LONGEST_REASON = 300
"""Most characters of the reason of a failure."""


def write(snapshot: Snapshot, folder: SiteFolder) -> None:
    """Write ``coverage/KEY`` for each board.

    Models and columns are positions on the board. ``columns`` has those that the leaderboard shows at first, each as
    ``[column, there, failed, missing, without]`` with the models of each kind; ``without`` has those without a
    number for a reason other than an error. ``failures`` has each reason with the cells that failed for it,
    ``[reason, [[model, column]…]]``, the most frequent first.
    """
    for view in snapshot.boards:
        shown = [place for place, show in enumerate(default_columns(view.board.columns)) if show]
        shown = [place for place in shown if view.board.columns[place].score is None]
        folder.put(
            f"coverage/{view.key}",
            {"columns": [_column(view, place) for place in shown], "failures": _failures(view, shown)},
        )


def _column(view: BoardView, column: int) -> list[Any]:
    there, failed, missing, without = [], [], [], []
    for model, row in enumerate(view.board.rows):
        cell = row.cells[column]
        if cell is not None and cell.failures:
            failed.append(model)
        elif cell is not None and cell.mean is not None:
            there.append(model)
        elif cell is not None and cell.no_value:
            without.append(model)
        else:
            missing.append(model)
    return [column, there, failed, missing, without]


def _failures(view: BoardView, columns: Sequence[int]) -> list[list[Any]]:
    found: dict[str, dict[tuple[int, int], None]] = {}
    for model, row in enumerate(view.board.rows):
        for column in columns:
            cell = row.cells[column]
            for failure in cell.failures if cell is not None else ():
                found.setdefault(sentence(failure.error, LONGEST_REASON), {})[model, column] = None
    return [[reason, list(cells)] for reason, cells in sorted(found.items(), key=lambda item: -len(item[1]))]
