"""A leaderboard in any format: the one door to the terminal's table and the exports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from harness.errors import HarnessError, did_you_mean
from harness.leaderboard.aggregate import Board

if TYPE_CHECKING:
    from rich.console import Console


def render(board: Board, format: str) -> str:
    """Return the leaderboard as text that ends in a line break.

    Args:
        board: The leaderboard.
        format: ``terminal`` (plain, 120 columns wide), ``csv``, ``json``, ``md`` or ``latex``.

    Raises:
        HarnessError: There is no such format.
    """
    writer = _WRITERS.get(format)
    if writer is None:
        raise HarnessError(f"there is no format {format!r}. {did_you_mean(format, _WRITERS)}")
    return writer(board)


def show(board: Board, console: Console) -> None:
    """Print the leaderboard; columns that do not fit the console's width go to further tables below."""
    from harness.leaderboard.terminal import printed

    for part in printed(board, console.width):
        console.print(part)


def _terminal(board: Board) -> str:
    import io

    from harness.output.console import SafeConsole

    file = io.StringIO()
    show(board, SafeConsole(file=file, width=120, color_system=None, legacy_windows=False))
    return file.getvalue()


def _csv(board: Board) -> str:
    from harness.leaderboard.exports import as_csv

    return as_csv(board)


def _json(board: Board) -> str:
    from harness.leaderboard.exports import as_json

    return as_json(board)


def _markdown(board: Board) -> str:
    from harness.leaderboard.markdown import as_markdown

    return as_markdown(board)


def _latex(board: Board) -> str:
    from harness.leaderboard.latex import as_latex

    return as_latex(board)


_WRITERS: Mapping[str, Callable[[Board], str]] = {
    "terminal": _terminal,
    "csv": _csv,
    "json": _json,
    "md": _markdown,
    "latex": _latex,
}
