"""A table of results: as people read it (terminal, Markdown, LaTeX) and as programs do (CSV, JSON)."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from harness.errors import HarnessError, did_you_mean
from harness.output.display import brief, json_text

if TYPE_CHECKING:
    from rich.console import Console

EMPTY = "—"
"""What a cell without any content shows."""

FORMATS = ("terminal", "csv", "json", "md", "latex")

FORMULA_STARTS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""What spreadsheets take for the start of a formula."""

_LONGEST_FIELD = 32_000
"""Characters of a CSV field: as many as a spreadsheet's cell holds, with room for the apostrophe."""

Emphasis = Literal["", "best", "better", "worse"]
"""Best of a column, or a significant improvement or decline."""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """One column of a table."""

    heading: tuple[str, ...]
    """The lines of its heading; the first names the column."""
    numeric: bool = False
    """True to align it to the right."""
    repeated: bool = False
    """True to show it in every table if the columns are split into several tables."""
    movable: bool = False
    """True if the column may move to a further table when the first has no room left."""
    under: str = ""
    """On a narrow terminal, the name of the column that this one is stacked under."""
    limit: int | None = None
    """Most characters in a line on a terminal where there is no room for all; longer texts are folded."""
    name: bool = False
    """True if its texts are names, which lose their beginning rather than being folded: ``…/step-100``."""


@dataclass(frozen=True, slots=True)
class TableCell:
    """One cell of a table."""

    text: str = ""
    """Its number or text."""
    interval: str = ""
    """The confidence interval."""
    marks: str = ""
    """Footnote marks."""
    failure: str = ""
    """The mark of a failure, with the number of its footnote."""
    detail: str = ""
    """Further information in small print, such as the number of instances."""
    emphasis: Emphasis = ""
    """How the number is highlighted."""

    @property
    def value(self) -> str:
        """The number or text with its interval."""
        return f"{self.text} {self.interval}".strip()


@dataclass(frozen=True, slots=True)
class TableNote:
    """A line below the table."""

    text: str
    """The text of the note."""
    kind: Literal["explanation", "legend", "failure", "note"] = "explanation"
    """The kind of note."""


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A table with its notes, and the same results as records for other programs."""

    columns: Sequence[TableColumn]
    """The columns of the table."""
    rows: Sequence[Sequence[TableCell]]
    """The rows, each with one cell per column."""
    notes: Sequence[TableNote]
    """The lines below the table."""
    caption: str
    """The caption in LaTeX."""
    fields: Sequence[str]
    """The columns of the CSV file."""
    records: Sequence[Mapping[str, Any]]
    """The lines of the CSV file, by field."""
    value: Any
    """The table as a JSON value."""
    intro: Sequence[tuple[str, str]] = ()
    """Names and values to show above the table."""
    nothing: str = "There are no results."
    """What to show instead of a table without rows."""


def render(table: ResultTable, format: str) -> str:
    """Return a table as text that ends in a line break.

    Args:
        table: The table.
        format: ``terminal`` (plain, 120 columns wide), ``csv``, ``json``, ``md`` or ``latex``.

    Raises:
        HarnessError: There is no such format.
    """
    match format:
        case "csv":
            return csv_text(table.fields, table.records)
        case "json":
            return json_text(table.value) + "\n"
        case "md":
            from harness.output.markdown import as_markdown

            return as_markdown(table)
        case "latex":
            from harness.output.latex import as_latex

            return as_latex(table)
        case "terminal":
            from harness.output.console import SafeConsole

            file = io.StringIO()
            show(table, SafeConsole(file=file, width=120, color_system=None, legacy_windows=False))
            return file.getvalue()
    raise HarnessError(f"there is no format {format!r}. {did_you_mean(format, FORMATS)}")


def show(table: ResultTable, console: Console, *, flat: bool = False) -> None:
    """Print a table; columns that do not fit the console's width are stacked or go to further tables below.

    Args:
        table: The table.
        console: Where to print it.
        flat: True for one line a row, however long.
    """
    from harness.output.terminal_tables import print_table

    print_table(table, console, flat=flat)


def csv_text(fields: Sequence[str], records: Sequence[Mapping[str, Any]]) -> str:
    """Return records as CSV that is safe to open in a spreadsheet.

    Texts that a spreadsheet would take for a formula begin with an apostrophe; invisible characters are escaped; texts
    that are too long for a spreadsheet's cell lose their middle.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(fields)
    writer.writerows([_field(record[name]) for name in fields] for record in records)
    return file.getvalue()


def _field(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    text = brief(str(value), _LONGEST_FIELD)
    return f"'{text}" if text.lstrip().startswith(FORMULA_STARTS) else text
