"""A leaderboard as a Markdown table (GitHub's flavour) with its footnotes as a list."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

from harness.leaderboard import wording
from harness.leaderboard.aggregate import Board, Column, Row
from harness.leaderboard.cells import Cell
from harness.output.display import brief

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~$@-])")
_LINKS = re.compile(r"(?i)(https?|ftp|mailto|xmpp|www)([.:])")


def as_markdown(board: Board) -> str:
    """Return the leaderboard; what names hold is never read as Markdown, HTML, a mention or a link."""
    if not board.rows:
        return f"{wording.NOTHING}\n"
    board = wording.readable(board)
    headings = wording.headings(board)
    titles = [
        "<br>".join([f"**{_escaped(h.title)}**", _escaped(h.metric), *map(_escaped, h.details)]) for h in headings
    ]
    mark = wording.SAMPLE if board.sample_win_rate else ""
    lines = [
        _line(["rank", "model", f"mean win rate ↑{mark}", *titles]),
        _line(["--:", ":--", "--:", *["--:"] * len(titles)]),
        *(_line(cells) for cells in _rows(board)),
        "",
        *(f"- {note}" for note in _footnotes(board)),
    ]
    return "\n".join(lines) + "\n"


def _rows(board: Board) -> Iterator[list[str]]:
    failures = wording.failures(board)
    for r, row in enumerate(board.rows):
        yield [
            wording.rank(row),
            _escaped(brief(row.model)),
            _rate(row),
            *(
                _cell(cell, column, failures.get((r, c)), "" if cell is None else wording.size(cell, board, c))
                for c, (cell, column) in enumerate(zip(row.cells, board.columns, strict=True))
            ),
        ]


def _rate(row: Row) -> str:
    return _escaped(" · ".join(filter(None, [wording.win_rate(row), wording.win_rate_columns(row)])))


def _cell(cell: Cell | None, column: Column, failure: int | None, size: str) -> str:
    if cell is None:
        return wording.NONE
    if cell.mean is None:
        return f"{wording.FAILED}{failure}"
    value = _escaped(wording.value(cell))
    failed = f" {wording.FAILED}{failure}" if failure else ""
    return (
        f"{f'**{value}**' if cell.best else value}{wording.marks(cell, column)}{failed}{f' ({size})' if size else ''}"
    )


def _footnotes(board: Board) -> Iterator[str]:
    notes = wording.footnotes(board)
    yield from map(_escaped, notes.explanations)
    for mark, meaning in notes.legend:
        yield f"{mark} {_escaped(meaning)}"
    for number, model, column, errors in notes.failures:
        for error in errors:
            yield f"{wording.FAILED}{number} {_escaped(f'{model}, {column}: {error}')}"
    yield from map(_escaped, notes.notes)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    # An entity in the middle keeps a bare address from becoming a link.
    unlinked = _LINKS.sub(lambda match: f"{match[1]}\0{match[2]}", text)
    return _SPECIAL.sub(r"\\\1", html.escape(unlinked, quote=False)).replace("\0", "<!---->")
