"""Prints a table on a terminal: whole where it fits, else with its columns stacked or in several parts.

Numbers are never cut or folded. To save width, in this order: headings are folded at spaces; columns are stacked
under others or moved to further tables; texts are folded at spaces; names lose their beginning::

    model               mean win rate  boolq                       …/run-3/step-100  0.750       0.810
                                       Exact match ↑      or                         [0.5, 1.0]  ±0.020
    ─────────────────────────────────────────────────
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from harness.output.result_table import EMPTY, ResultTable, TableCell, TableColumn

if TYPE_CHECKING:
    from rich.console import Console

_GAP = 2
"""Spaces between two columns."""

_NARROWEST = 12
"""Characters that a column of texts or names keeps."""

_STYLES = {"": "", "best": "bold", "better": "green", "worse": "red"}
_NOTE_STYLES = {"explanation": "dim", "legend": "", "failure": "red", "note": "yellow"}


@dataclass(frozen=True, slots=True)
class _Strip:
    """A column ready to be printed: the lines of its heading and of each cell."""

    column: TableColumn
    heading: Sequence[Text]
    cells: Sequence[Sequence[Text]]

    @property
    def width(self) -> int:
        return max(line.cell_len for lines in (self.heading, *self.cells) for line in lines or [Text()])


def print_table(result: ResultTable, console: Console, *, flat: bool = False) -> None:
    """Print the intro, the tables and the notes, at most as wide as the console if numbers allow it.

    Nothing is parsed as markup: names may contain brackets.

    Args:
        result: The table.
        console: Where to print it.
        flat: True for one line a row, however long, and one table: for a pipe or a file.
    """
    longest = max((len(name) for name, _ in result.intro), default=0)
    for name, value in result.intro:
        console.print(Text(f"{f'{name}:':{longest + 1}} {value}"), soft_wrap=flat)
    if not result.rows:
        console.print(Text(result.nothing), soft_wrap=flat)
    else:
        for strips in [_flat(result)] if flat else _tables(result, console):
            for line in _lines(strips, rule=not flat):
                console.print(line, soft_wrap=True)
            console.print()
    for note in result.notes if result.rows else ():
        text = f"Note: {note.text}" if note.kind == "note" else note.text
        console.print(Text(text, _NOTE_STYLES[note.kind]), soft_wrap=flat)


def _tables(result: ResultTable, console: Console) -> Iterator[list[_Strip]]:
    """Yield the columns of each table that is printed."""
    strips: list[_Strip] = []
    for stacked, between, folded in _forms(result):
        strips = _stacked(result, stacked, between, folded=folded)
        if _total_width(strips) <= console.width:
            yield strips
            return
    if any(column.under for column in result.columns):
        yield _narrowed(strips, console, console.width)
    else:
        yield from _split([_limited(strip, console) for strip in strips], console)


def _lines(strips: Sequence[_Strip], *, rule: bool) -> Iterator[Text]:
    """Yield the lines of a table: headings, with their feet aligned, a rule, rows, with their heads aligned."""
    widths = [strip.width for strip in strips]
    height = max(len(strip.heading) for strip in strips)
    yield from _row([[*[Text()] * (height - len(strip.heading)), *strip.heading] for strip in strips], strips, widths)
    if rule:
        yield Text("─" * _total_width(strips))
    for cells in zip(*(strip.cells for strip in strips), strict=True):
        yield from _row(cells, strips, widths)


def _row(cells: Sequence[Sequence[Text]], strips: Sequence[_Strip], widths: Sequence[int]) -> Iterator[Text]:
    for level in range(max(map(len, cells))):
        line = Text()
        for place, (lines, strip, width) in enumerate(zip(cells, strips, widths, strict=True)):
            text = lines[level] if level < len(lines) else Text()
            space = " " * (width - text.cell_len)
            line.append(" " * _GAP if place else "")
            line.append_text(Text.assemble(space, text) if strip.column.numeric else Text.assemble(text, space))
        line.rstrip()
        yield line


def _total_width(strips: Sequence[_Strip]) -> int:
    return sum(strip.width + _GAP for strip in strips) - _GAP


def _split(strips: Sequence[_Strip], console: Console) -> Iterator[list[_Strip]]:
    """Yield the columns of each table; repeated columns lead every table, those that do not move stay in the first."""
    fixed = _narrowed([strip for strip in strips if not strip.column.movable], console, console.width)
    movable = [strip for strip in strips if strip.column.movable]
    widest = max((strip.width + _GAP for strip in movable), default=0)
    repeated = [strip for strip in fixed if strip.column.repeated]
    repeated = _narrowed(repeated, console, console.width - widest)
    fixed = [next((one for one in repeated if one.column is strip.column), strip) for strip in fixed]
    table = list(fixed)
    for strip in movable:
        if len(table) > len(repeated) and _total_width([*table, strip]) > console.width:
            yield table
            table = list(repeated)
        table.append(strip)
    yield table


def _forms(result: ResultTable) -> Iterator[tuple[Sequence[TableColumn], str, bool]]:
    """Yield forms of a table, each narrower than the one before.

    A form is the columns that are stacked, what is between a number and its interval, and True to fold headings.
    """
    yield (), " ", False
    yield (), " ", True
    under = sorted((column for column in result.columns if column.under), key=lambda column: column.numeric)
    for count in range(1, len(under) + 1):
        yield under[:count], " ", True
    if under:
        yield under, "\n", True


def _stacked(result: ResultTable, stacked: Sequence[TableColumn], between: str, *, folded: bool) -> list[_Strip]:
    """Return the table's columns, some of them stacked below those that they are to be under."""
    strips = []
    for lead in result.columns:
        if lead in stacked:
            continue
        places = [
            place
            for place, column in enumerate(result.columns)
            if column is lead or (column in stacked and column.under == lead.heading[0])
        ]
        headings = []
        for place in places:
            headings.append(result.columns[place].heading)
            if between == "\n" and any(row[place].interval for row in result.rows):
                headings.append(("95 % interval",))
        cells = [
            [line for place in places for line in _text(row[place], between, result.columns[place])]
            for row in result.rows
        ]
        cells = [lines or [Text(EMPTY, "dim")] for lines in cells]
        strips.append(_strip(lead, headings, cells, folded=folded))
    return strips


def _flat(result: ResultTable) -> list[_Strip]:
    """Return the table's columns with everything in one line."""
    return [
        _Strip(
            column,
            [Text(" ".join(column.heading), "bold")],
            [[Text(" ").join(_in_one_line(row[place], column))] for row in result.rows],
        )
        for place, column in enumerate(result.columns)
    ]


# ---------------------------------------------------------------------------------------------------------------------
# One column


def _strip(
    column: TableColumn, headings: Sequence[Sequence[str]], cells: Sequence[Sequence[Text]], *, folded: bool
) -> _Strip:
    """Return a column; a heading may be folded at spaces where it would be wider than what is below it."""
    widest = max((line.cell_len for lines in cells for line in lines), default=0)
    longest_word = max(cell_len(word) for heading in headings for line in heading for word in line.split(" "))
    lines: list[Text] = []
    for heading in headings:
        styles = ["bold", "", *["dim"] * len(heading)]
        for line, style in zip(heading, styles, strict=False):
            parts = _folded(line, max(widest, longest_word, _NARROWEST)) if folded else [line]
            lines += [Text(part, style) for part in parts]
    return _Strip(column, lines, cells)


def _folded(line: str, width: int) -> list[str]:
    """Return a line broken at spaces to fit a width; an arrow stays with the word before it."""
    folded: list[str] = []
    for word in line.replace(" ↑", "\0↑").replace(" ↓", "\0↓").split(" "):
        if folded and cell_len(f"{folded[-1]} {word}") <= width:
            folded[-1] += f" {word}"
        else:
            folded.append(word)
    return [part.replace("\0", " ") for part in folded]


def _limited(strip: _Strip, console: Console) -> _Strip:
    limit = strip.column.limit
    return strip if limit is None or strip.width <= limit else _narrow(strip, console, limit)


def _narrowed(strips: Sequence[_Strip], console: Console, width: int) -> list[_Strip]:
    """Return columns that together fit a width, if those that are not numeric can be narrowed that far."""
    found = list(strips)
    while (excess := _total_width(found) - width) > 0:
        able = [
            place
            for place, strip in enumerate(found)
            if not strip.column.numeric and strip.width > max(_NARROWEST, _heading_width(strip))
        ]
        if not able:
            break
        place = max(able, key=lambda place: found[place].width)
        others = [found[other].width for other in able if other != place]
        least = max(_NARROWEST, _heading_width(found[place]), min(max(others, default=0), found[place].width - 1))
        wanted = max(found[place].width - excess, least)
        narrow = _narrow(found[place], console, wanted)
        if narrow.width >= found[place].width:
            break
        found[place] = narrow
    return found


def _heading_width(strip: _Strip) -> int:
    return max((line.cell_len for line in strip.heading), default=0)


def _narrow(strip: _Strip, console: Console, width: int) -> _Strip:
    """Return a column of texts narrowed to a width: names lose their beginning, other texts are folded at spaces."""
    cells = []
    for lines in strip.cells:
        parts: list[Text] = []
        for line in lines:
            parts += [_shortened(line, width)] if line.no_wrap else line.wrap(console, width)
        for part in parts:
            part.rstrip()
        cells.append(parts)
    return replace(strip, cells=cells)


def _shortened(line: Text, width: int) -> Text:
    """Return a name shortened to a width, without the beginning of its path: ``…/run-3/step-100``."""
    if line.cell_len <= width:
        return line
    plain, style = line.plain, line.style
    starts = [place for place, letter in enumerate(plain) if letter == "/"]
    whole = next((plain[start:] for start in starts if cell_len(plain[start:]) < width), "")
    if whole:
        return Text(f"…{whole}", style, no_wrap=True)
    end = plain
    while cell_len(end) >= width:
        end = end[1:]
    return Text(f"…{end}", style, no_wrap=True)


# ---------------------------------------------------------------------------------------------------------------------
# One cell


def _in_one_line(cell: TableCell, column: TableColumn) -> list[Text]:
    """Return a cell as one line, and below it its small print."""
    return _text(cell, " ", column) or [Text(EMPTY, "dim")]


def _text(cell: TableCell, between: str, column: TableColumn) -> list[Text]:
    """Return the lines of a cell, with a space or a line break between its number and its interval."""
    text = Text(no_wrap=column.name)
    text.append(cell.text if between == "\n" else cell.value, _STYLES[cell.emphasis])
    text.append(cell.marks)
    if cell.failure:
        text.append(f" {cell.failure}" if text else cell.failure, "red")
    lines = [text] if text else []
    if between == "\n" and cell.interval:
        lines.append(Text(cell.interval, _STYLES[cell.emphasis]))
    if cell.detail:
        lines.append(Text(cell.detail, "dim"))
    return lines
