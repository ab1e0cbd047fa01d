"""A leaderboard as tables for the terminal; what does not fit one table's width goes to the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from harness.leaderboard import wording
from harness.leaderboard.aggregate import Board, Row
from harness.leaderboard.layout import stacked
from harness.output.display import brief

MODEL_WIDTH = 36
GAP = 3  # one space of padding on either side, and the box's separator


@dataclass(frozen=True, slots=True)
class _Strip:
    """A column of a printed table."""

    header: Text
    cells: Sequence[Text]
    justify: Literal["left", "right"] = "right"
    limit: int | None = None

    @property
    def width(self) -> int:
        widest = max(line.cell_len for text in (self.header, *self.cells) for line in text.split() or [Text()])
        return widest if self.limit is None else min(widest, self.limit)


def printed(board: Board, width: int) -> Iterator[RenderableType]:
    """Yield the tables, each at most ``width`` characters wide where its columns allow it, and the footnotes.

    Nothing is parsed as markup: names may hold brackets.
    """
    if not board.rows:
        yield Text(wording.NOTHING)
        return
    board = wording.readable(board)
    for strips in _packed(board, width):
        table = Table(box=SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False, header_style="")
        for strip in strips:
            table.add_column(strip.header, justify=strip.justify, overflow="fold", max_width=strip.limit)
        for cells in zip(*(strip.cells for strip in strips), strict=True):
            table.add_row(*cells)
        yield table
        yield Text()
    yield from _footnotes(board)


def _packed(board: Board, width: int) -> Iterator[list[_Strip]]:
    """Yield the columns of each table; the models' names lead every one, rank and win rate the first."""
    models = _models(board)
    table = [*_rank(board), models, *_win_rate(board)]
    for strip in _columns(board):
        used = sum(placed.width + GAP for placed in table)
        if len(table) > 1 and used + strip.width > width:
            yield table
            table = [models]
        table.append(strip)
    yield table


def _models(board: Board) -> _Strip:
    return _Strip(Text("model", "bold"), [Text(brief(row.model)) for row in board.rows], "left", MODEL_WIDTH)


def _rank(board: Board) -> list[_Strip]:
    if all(row.rank is None for row in board.rows):
        return []
    cells = [Text(wording.rank(row)) for row in board.rows]
    return [_Strip(Text("rank", "bold"), cells)]


def _win_rate(board: Board) -> list[_Strip]:
    mark = wording.SAMPLE if board.sample_win_rate else ""
    header = stacked(Text("mean win rate", "bold"), Text(f"↑{mark}", "dim"))
    return [_Strip(header, [stacked(*_rate(row)) for row in board.rows])]


def _rate(row: Row) -> Iterator[Text]:
    yield Text(wording.win_rate(row))
    if columns := wording.win_rate_columns(row):
        yield Text(columns, "dim")


def _columns(board: Board) -> Iterator[_Strip]:
    failures = wording.failures(board)
    for c, (column, heading) in enumerate(zip(board.columns, wording.headings(board), strict=True)):
        details = [Text(detail, "dim") for detail in heading.details]
        header = stacked(Text(heading.title, "bold"), Text(heading.metric), *details)
        cells = []
        for r, row in enumerate(board.rows):
            cell = row.cells[c]
            if cell is None:
                cells.append(Text(wording.NONE, "dim"))
                continue
            text = Text(wording.value(cell), "bold" if cell.best else "")
            text.append(wording.marks(cell, column), "not bold")
            if number := failures.get((r, c)):
                text.append(f"{number}" if cell.mean is None else f" {wording.FAILED}{number}", "red")
            size = wording.size(cell, board, c)
            cells.append(stacked(text, Text(size, "dim")) if size else text)
        yield _Strip(header, cells)


def _footnotes(board: Board) -> Iterator[Text]:
    notes = wording.footnotes(board)
    for explanation in notes.explanations:
        yield Text(explanation, "dim")
    for mark, meaning in notes.legend:
        yield Text(f"{mark} {meaning}")
    for number, model, column, errors in notes.failures:
        for error in errors:
            yield Text(f"{wording.FAILED}{number} {model}, {column}: {error}", "red")
    for note in notes.notes:
        yield Text(f"Note: {note}", "yellow")
