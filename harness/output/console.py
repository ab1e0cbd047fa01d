"""A rich console that shows control characters as escapes in everything that it prints."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import IO, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from harness.output.display import lines

PIPED_WIDTH = 160
"""Width of tables that go to a pipe or a file, in characters, unless ``COLUMNS`` is set."""


class SafeConsole(Console):
    """A console that escapes control characters in texts; its own styles and cursor movements are not affected."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control or (segment.text.isascii() and segment.text.isprintable()):
                yield segment
            else:
                yield Segment(lines(segment.text), segment.style)


def is_flat(console: Console) -> bool:
    """Return True if a console's output is read by a program: not a terminal, and ``COLUMNS`` does not say how wide."""
    return not console.is_terminal and not os.environ.get("COLUMNS", "").isdigit()


def make_console(*, err: bool = False, file: IO[str] | None = None, width: int = PIPED_WIDTH) -> SafeConsole:
    """Return a console for standard output, standard error or a file that does not interpret markup or emoji codes.

    Args:
        err: True to print to standard error.
        file: A file to print to instead.
        width: Width in characters if the output is not a terminal and ``COLUMNS`` is not set.
    """
    made = SafeConsole(stderr=err, file=file, highlight=False, markup=False, emoji=False)
    if is_flat(made):
        made.width = width
    return made


def print_note(console: Console, note: str, *, indent: int = 2, style: str = "") -> None:
    """Print a note below a table, wrapped at the console's width; as one line if a program reads the output."""
    if is_flat(console):
        console.print(Text(" " * indent + note, style), soft_wrap=True)
        return
    for line in Text(note, style).wrap(console, max(1, console.width - indent)):
        line.rstrip()
        console.print(Text(" " * indent).append_text(line), soft_wrap=True)


def plain_table(*headings: str, numeric: slice = slice(1, None), **layout: Any) -> Table:
    """Return a table without borders."""
    table = Table(*headings, **{"box": None, **layout})
    for column in table.columns[numeric]:
        column.justify = "right"
    return table
