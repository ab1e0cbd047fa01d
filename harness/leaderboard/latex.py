r"""A leaderboard as LaTeX tables fit for a paper: booktabs, every name escaped, as many tables as the columns need.

The document needs ``\usepackage{booktabs}``, and an engine for Unicode where names have letters beyond Latin ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.leaderboard import wording
from harness.leaderboard.aggregate import Board, Column, Row
from harness.leaderboard.cells import Cell
from harness.output.display import brief

COLUMNS = 4
"""Columns of results in one table: with intervals, what a page holds."""

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "{''}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "-": "{-}",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "±": r"$\pm$",
    "−": "$-$",
    "—": "---",
    "†": r"\textdagger{}",
    "‡": r"\textdaggerdbl{}",
    "§": r"\S{}",
    "¶": r"\P{}",
    "⊘": r"$\oslash$",
    "✗": r"$\times$",
    "…": r"\dots{}",
    "·": r"$\cdot$",
    "×": r"$\times$",
    "√": r"$\surd$",
    "Σ": r"$\Sigma$",
    "≠": r"$\neq$",
    "–": "--",
    "½": r"$\frac{1}{2}$",
}


def as_latex(board: Board) -> str:
    """Return the leaderboard as ``table*`` environments; the first has rank and mean win rate, the last the notes."""
    if not board.rows:
        return f"% {wording.NOTHING}\n"
    board = wording.readable(board)
    failures = wording.failures(board)
    positions = range(len(board.columns))
    parts = [positions[start : start + COLUMNS] for start in range(0, len(positions), COLUMNS)] or [positions]
    tables = [_table(board, part, failures, number, len(parts)) for number, part in enumerate(parts)]
    return "\n".join(["% Needs \\usepackage{booktabs}.", *tables]) + "\n"


def escaped(text: str) -> str:
    r"""Return text that LaTeX prints as it stands; what begins a command or an argument is escaped.

    Brackets, asterisks and hyphens are set in braces: after ``\\`` the first two are arguments, and two hyphens are a
    dash.
    """
    return "".join(_ESCAPES.get(character, character) for character in text)


def _table(board: Board, part: Sequence[int], failures: dict[tuple[int, int], int], number: int, of: int) -> str:
    first, last = number == 0, number == of - 1
    headings = wording.headings(board)
    alignment = ("r" if first else "") + "l" + ("r" if first else "") + "r" * len(part)
    titles = [["rank"]] * first + [["model"]] + [["mean win rate ↑"]] * first
    for position in part:
        heading = headings[position]
        titles.append([brief(heading.title, 40), brief(heading.metric, 40), *(brief(d, 40) for d in heading.details)])
    sample = board.sample_win_rate and first
    lines = [
        r"\begin{table*}",
        r"\centering\small",
        rf"\caption{{{_caption(number, of, sample)}}}",
        rf"\begin{{tabular}}{{{alignment}}}",
        r"\toprule",
        *_header(titles),
        r"\midrule",
        *(_line(cells) for cells in _rows(board, part, failures, first)),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    if last:
        notes = [escaped(note) for note in _footnotes(board)]
        lines += ["", r"\smallskip\footnotesize\raggedright", *(rf"{note}\par" for note in notes)]
    return "\n".join([*lines, r"\end{table*}"])


def _caption(number: int, of: int, sample: bool) -> str:
    part = f", part {number + 1} of {of}" if of > 1 else ""
    return f"Results of the models{part}." + (" Mean win rates are over sample data." if sample else "")


def _header(titles: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of the header; what stands over a column is at its foot, above the rule."""
    height = max(len(title) for title in titles)
    for level in range(height):
        cells = [title[level - height + len(title)] if level >= height - len(title) else "" for title in titles]
        yield _line([escaped(cell) for cell in cells])


def _rows(board: Board, part: Sequence[int], failures: dict[tuple[int, int], int], first: bool) -> Iterator[list[str]]:
    for r, row in enumerate(board.rows):
        cells = [_cell(row.cells[c], board.columns[c], failures.get((r, c))) for c in part]
        model = escaped(brief(row.model, 48))
        if first:
            yield [escaped(wording.rank(row)), model, _rate(row), *cells]
        else:
            yield [model, *cells]


def _rate(row: Row) -> str:
    value, _, interval = wording.win_rate(row).partition(" ")
    return _with_interval(value, interval)


def _cell(cell: Cell | None, column: Column, failure: int | None) -> str:
    if cell is None:
        return escaped(wording.NONE)
    mark = escaped(f"{wording.FAILED}{failure}") if failure else ""
    if cell.mean is None:
        return mark
    number = wording.number(cell.mean)
    shown = rf"\textbf{{{escaped(number)}}}" if cell.best else escaped(number)
    marks = escaped(wording.marks(cell, column)) + mark
    raised = rf"\textsuperscript{{{marks}}}" if marks else ""
    interval = wording.spread(cell.mean, cell.low, cell.high)
    return shown + raised + (rf" {{\scriptsize {escaped(interval)}}}" if interval else "")


def _with_interval(value: str, interval: str) -> str:
    return escaped(value) + (rf" {{\scriptsize {escaped(interval)}}}" if interval else "")


def _footnotes(board: Board) -> Iterator[str]:
    notes = wording.footnotes(board)
    yield from notes.explanations
    for mark, meaning in notes.legend:
        yield f"{mark} {meaning}"
    for number, model, column, errors in notes.failures:
        for error in errors:
            yield f"{wording.FAILED}{number} {model}, {column}: {error}"
    yield from notes.notes


def _line(cells: Sequence[str]) -> str:
    return rf"{' & '.join(cells)} \\"
