"""Prints a table on a terminal: whole where it fits, else with its columns stacked or in several parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from harness.output.result_table import EMPTY, ResultTable, TableCell, TableColumn

_GAP = 3
"""Between two columns: one space of padding on either side, and the box's separator."""

_STYLES = {"": "", "best": "bold", "better": "green", "worse": "red"}
_NOTE_STYLES = {"explanation": "dim", "legend": "", "failure": "red", "note": "yellow"}


@dataclass(frozen=True, slots=True)
class _Strip:
    """A column ready to be printed."""

    column: TableColumn
    heading: Text
    cells: Sequence[Text]

    @property
    def width(self) -> int:
        widest = max(line.cell_len for text in (self.heading, *self.cells) for line in text.split() or [Text()])
        return widest if self.column.limit is None else min(widest, self.column.limit)


def printed(result: ResultTable, width: int) -> Iterator[RenderableType]:
    """Yield the intro, the tables and the notes, at most ``width`` characters wide where the columns allow it.

    Nothing is parsed as markup: names may contain brackets.
    """
    longest = max((len(name) for name, _ in result.intro), default=0)
    for name, value in result.intro:
        yield Text(f"{f'{name}:':{longest + 1}} {value}")
    if not result.rows:
        yield Text(result.nothing)
        return
    strips = [
        _Strip(column, _heading([column.heading]), [_one_line(row[place]) for row in result.rows])
        for place, column in enumerate(result.columns)
    ]
    stacks = _total_width(strips) > width and any(column.under for column in result.columns)
    for table in [_stacked(result)] if stacks else _split(strips, width):
        yield _table(table, stacks=stacks)
        yield Text()
    for note in result.notes:
        yield Text(f"Note: {note.text}" if note.kind == "note" else note.text, _NOTE_STYLES[note.kind])


def _table(strips: Sequence[_Strip], *, stacks: bool) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False, header_style="")
    for place, strip in enumerate(strips):
        table.add_column(
            strip.heading,
            justify="right" if strip.column.numeric else "left",
            overflow="fold",
            max_width=strip.column.limit,
            no_wrap=stacks and place > 0,
        )
    for cells in zip(*(strip.cells for strip in strips), strict=True):
        table.add_row(*cells)
    return table


def _total_width(strips: Sequence[_Strip]) -> int:
    return sum(strip.width + _GAP for strip in strips) - _GAP


def _split(strips: Sequence[_Strip], width: int) -> Iterator[list[_Strip]]:
    """Yield the columns of each table; repeated columns lead every table, those that do not move stay in the first."""
    table = [strip for strip in strips if not strip.column.movable]
    repeated = [strip for strip in table if strip.column.repeated]
    movable = [strip for strip in strips if strip.column.movable]
    for strip in movable:
        if len(table) > len(repeated) and _total_width([*table, strip]) > width:
            yield table
            table = list(repeated)
        table.append(strip)
    yield table


def _stacked(result: ResultTable) -> list[_Strip]:
    """Return the table's columns with those that have another to be ``under`` stacked below it."""
    strips = []
    for lead in result.columns:
        if lead.under:
            continue
        places = [
            place for place, column in enumerate(result.columns) if column is lead or column.under == lead.heading[0]
        ]
        headings = []
        for place in places:
            headings.append(result.columns[place].heading)
            if any(row[place].interval for row in result.rows):
                headings.append(("95 % interval",))
        cells = [_in_lines([row[place] for place in places]) for row in result.rows]
        strips.append(_Strip(lead, _heading(headings), cells))
    return strips


def _heading(headings: Sequence[Sequence[str]]) -> Text:
    lines = []
    for heading in headings:
        styles = ["bold", "", *["dim"] * len(heading)]
        lines += [Text(line, style) for line, style in zip(heading, styles, strict=False)]
    return Text("\n").join(lines)


def _one_line(cell: TableCell) -> Text:
    """Return a cell as one line, and below it its small print."""
    return _text(cell, " ") or Text(EMPTY, "dim")


def _in_lines(cells: Sequence[TableCell]) -> Text:
    """Return cells below each other, each interval in a line of its own."""
    return Text("\n").join([text for cell in cells if (text := _text(cell, "\n"))]) or Text(EMPTY, "dim")


def _text(cell: TableCell, between: str) -> Text:
    text = Text()
    text.append(between.join(filter(None, [cell.text, cell.interval])), _STYLES[cell.emphasis])
    text.append(cell.marks)
    if cell.failure:
        text.append(f" {cell.failure}" if text else cell.failure, "red")
    if cell.detail:
        text.append(f"\n{cell.detail}" if text else cell.detail, "dim")
    return text
