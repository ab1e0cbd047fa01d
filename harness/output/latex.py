r"""Writes a table in LaTeX for a paper: booktabs, every name escaped, in as many parts as the columns need.

The document needs ``\usepackage{booktabs}``, and an engine for Unicode where names have letters beyond Latin ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.output.display import brief
from harness.output.result_table import EMPTY, ResultTable, TableCell

COLUMNS = 4
"""Movable columns in one table: with intervals, as many as fit on a page."""

_LONGEST_HEADING = 40
_LONGEST_TEXT = 48
"""Characters of a line in a heading, and of a cell."""

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
    "◊": r"$\diamond$",
    "⋯": r"$\cdots$",
    "∅": r"$\emptyset$",
    "⊖": r"$\ominus$",
    "∞": r"$\infty$",
    "※": r"$\ast$",
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


def as_latex(table: ResultTable) -> str:
    """Return the table as ``table*`` environments; the last one has the notes."""
    if not table.rows:
        return f"% {table.nothing}\n"
    places = range(len(table.columns))
    fixed = [place for place in places if not table.columns[place].movable]
    repeated = [place for place in fixed if table.columns[place].repeated]
    movable = [place for place in places if table.columns[place].movable]
    parts = [movable[start : start + COLUMNS] for start in range(0, len(movable), COLUMNS)] or [[]]
    tables = [
        _table(table, [*(repeated if number else fixed), *part], number, len(parts))
        for number, part in enumerate(parts)
    ]
    return "\n".join(["% Needs \\usepackage{booktabs}.", *tables]) + "\n"


def escaped(text: str) -> str:
    r"""Return text that LaTeX prints as it is; whatever would begin a command or an argument is escaped.

    Brackets, asterisks and hyphens are set in braces: after ``\\`` the first two are arguments, and two hyphens are a
    dash.
    """
    return "".join(_ESCAPES.get(character, character) for character in text)


def _table(table: ResultTable, places: Sequence[int], number: int, of: int) -> str:
    columns = [table.columns[place] for place in places]
    part = f" Part {number + 1} of {of}." if of > 1 else ""
    lines = [
        r"\begin{table*}",
        r"\centering\small",
        rf"\caption{{{escaped(table.caption)}{part}}}",
        rf"\begin{{tabular}}{{{''.join('r' if column.numeric else 'l' for column in columns)}}}",
        r"\toprule",
        *_header([column.heading for column in columns]),
        r"\midrule",
        *(_line([_cell(row[place]) for place in places]) for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    if number == of - 1:
        lines += ["", r"\smallskip\footnotesize\raggedright", *(rf"{escaped(note.text)}\par" for note in table.notes)]
    return "\n".join([*lines, r"\end{table*}"])


def _header(headings: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of the header; headings with fewer lines are at its foot, above the rule."""
    height = max(map(len, headings))
    padded = [[""] * (height - len(heading)) + list(heading) for heading in headings]
    for level in range(height):
        yield _line([escaped(brief(heading[level], _LONGEST_HEADING)) for heading in padded])


def _cell(cell: TableCell) -> str:
    text = escaped(brief(cell.text, _LONGEST_TEXT))
    shown = rf"\textbf{{{text}}}" if cell.emphasis == "best" else text
    marks = escaped(cell.marks + cell.failure)
    if marks:
        shown = rf"{shown}\textsuperscript{{{marks}}}" if shown else marks
    interval = rf"{{\scriptsize {escaped(cell.interval)}}}" if cell.interval else ""
    return " ".join(filter(None, [shown, interval])) or escaped(EMPTY)


def _line(cells: Sequence[str]) -> str:
    return rf"{' & '.join(cells)} \\"
