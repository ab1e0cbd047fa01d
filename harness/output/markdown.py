"""Writes a table in Markdown (GitHub's flavour), with its notes as a list."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.output.result_table import EMPTY, ResultTable, TableCell

_ESCAPES = re.compile(
    r"""
      \\(?=[!-/:-@\[-`{-~]|$)              # a backslash that would escape what follows
    | [`*~|$]                              # code, emphasis, strikethrough, the table's border, mathematics
    | (?<![^\W_])_ | _(?![^\W_])           # emphasis; not the underscores within a name
    | \](?=[(\[:]) | \[(?=\^)              # links, definitions of links, footnotes
    """,
    re.VERBOSE,
)
_TAGS = re.compile(r"<(?=[a-zA-Z/!?])")
_ENTITIES = re.compile(r"&(?=#?\w+;)")
_LINKS = re.compile(r"(?i)(https?|ftp|mailto|xmpp)(?=:)|www(?=\.)|@(?=\w)")


def as_markdown(table: ResultTable) -> str:
    """Return the table; nothing that names contain is read as Markdown, HTML, a mention or a link."""
    lines = [f"{name}: {escaped(value)}  " for name, value in table.intro]
    if lines:
        lines.append("")
    if not table.rows:
        return "\n".join([*lines, table.nothing]) + "\n"
    lines += [
        _line([_heading(column.heading) for column in table.columns]),
        _line(["--:" if column.numeric else ":--" for column in table.columns]),
        *(_line([_cell(cell) for cell in row]) for row in table.rows),
        "",
        *(f"- {_paragraph(note.text)}" for note in table.notes),
    ]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Return text that a table's cell shows as it is."""
    text = _ENTITIES.sub("&amp;", text)
    text = _ESCAPES.sub(lambda match: f"\\{match[0]}", text)
    text = _TAGS.sub("&lt;", text)
    # An empty comment in its middle keeps an address from becoming a link, and a name from notifying somebody.
    return _LINKS.sub(r"\g<0><!---->", text)


def _paragraph(text: str) -> str:
    """Return text for a list's item, which must not begin a heading, a quotation or another list."""
    return re.sub(r"^([\[#>+-]|\d+(?=[.)]))", _not_a_marker, escaped(text.strip()))


def _not_a_marker(match: re.Match[str]) -> str:
    return f"{match[0]}\\" if match[0].isdigit() else f"\\{match[0]}"


def _heading(lines: Sequence[str]) -> str:
    first, *rest = map(escaped, lines)
    return "<br>".join([f"**{first}**", *rest]) if rest else first


def _cell(cell: TableCell) -> str:
    value = escaped(cell.value)
    shown = (f"**{value}**" if cell.emphasis == "best" else value) + cell.marks
    detail = f"({escaped(cell.detail)})" if cell.detail else ""
    return " ".join(filter(None, [shown, cell.failure, detail])) or EMPTY


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
