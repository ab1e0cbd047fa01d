"""Tables and styles on a console that escapes what it prints."""

from __future__ import annotations

import io

import pytest
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from harness.output.console import SafeConsole, make_console

ESCAPE = "\x1b]0;owned\x07"


def printed(thing: object, **settings: object) -> str:
    stream = io.StringIO()
    SafeConsole(file=stream, width=80, **settings).print(thing)  # type: ignore[arg-type]
    return stream.getvalue()


def test_a_cell_of_a_table_is_escaped() -> None:
    table = Table("name")
    table.add_row(Text(f"a{ESCAPE}b"))
    assert r"a\x1b]0;" in printed(table)
    assert "\x1b" not in printed(table)


def test_plain_text_and_line_feeds_stay() -> None:
    assert printed("modèle 模型\n  two\tlines") == "modèle 模型\n  two   lines\n"


def test_the_consoles_own_styles_stay() -> None:
    shown = printed(Text(f"red{ESCAPE}", "red"), force_terminal=True, color_system="standard")
    assert shown.startswith("\x1b[31mred")
    assert "\x1b]0;" not in shown


def test_a_live_view_still_moves_the_cursor() -> None:
    stream = io.StringIO()
    with Progress(console=SafeConsole(file=stream, force_terminal=True, width=80), transient=True) as progress:
        progress.add_task(ESCAPE.replace("[", r"\["), total=3)
    assert "\x1b[?25l" in stream.getvalue()
    assert "\x1b]0;" not in stream.getvalue()


@pytest.mark.parametrize(("columns", "width"), [(None, 160), ("70", 70), ("nonsense", 160)])
def test_a_pipe_has_the_width_that_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, columns: str | None, width: int
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    assert make_console(file=io.StringIO()).width == width
