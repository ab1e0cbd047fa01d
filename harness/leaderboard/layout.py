"""Layout of tables on a terminal: whether one fits, and lines stacked in a cell."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text


def fits(table: Table, console: Console) -> bool:
    """Return whether a table can be printed without wrapping a cell."""
    return console.measure(table, options=console.options.update(max_width=10_000)).maximum <= console.width


def stacked(*lines: Text) -> Text:
    """Return lines as one text."""
    return Text("\n").join(lines)
