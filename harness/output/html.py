"""Writes a table in HTML for notebooks, with its notes below; every text is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from harness.output.display import lines
from harness.output.result_table import EMPTY, ResultTable, TableCell, TableColumn

_SMALL = ' style="font-size: smaller; opacity: 0.75"'


def as_html(table: ResultTable) -> str:
    """Return the table as an element that needs neither style sheets nor scripts."""
    intro = "".join(f"<div>{shown(name)}: {shown(value)}</div>" for name, value in table.intro)
    if not table.rows:
        return f"<div>{intro}<div>{shown(table.nothing)}</div></div>"
    head = "".join(_tag("th", column, _heading(column)) for column in table.columns)
    body = "".join(
        f"<tr>{''.join(_tag('td', column, _cell(cell)) for column, cell in zip(table.columns, row, strict=True))}</tr>"
        for row in table.rows
    )
    notes = _lines(note.text for note in table.notes)
    return f"<div>{intro}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}</div>"


def shown(text: str) -> str:
    """Return a text escaped for HTML, with control characters as visible escapes."""
    return escape(lines(text))


def _tag(name: str, column: TableColumn, content: str) -> str:
    return f'<{name} style="text-align: {"right" if column.numeric else "left"}">{content}</{name}>'


def _heading(column: TableColumn) -> str:
    first, *rest = column.heading
    return f"{shown(first)}{_lines(rest)}"


def _cell(cell: TableCell) -> str:
    number = f"<b>{shown(cell.value)}</b>" if cell.emphasis == "best" else shown(cell.value)
    found = " ".join(filter(None, [f"{number}{shown(cell.marks)}", shown(cell.failure)]))
    return f"{found}{_lines([cell.detail] if cell.detail else [])}" if found or cell.detail else EMPTY


def _lines(texts: Iterable[str]) -> str:
    return "".join(f"<div{_SMALL}>{shown(text)}</div>" for text in texts)
