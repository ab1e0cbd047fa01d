"""How a leaderboard speaks: numbers, intervals, marks, headings and footnotes, the same words in every format."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.leaderboard.aggregate import Board, Column, Row
from harness.leaderboard.cells import Cell
from harness.output.display import brief, sentence, visible

SAMPLE, PARTIAL, FAILED, MISSING, IMPORTED, DECLINED = "†", "‡", "✗", "§", "¶", "⊘"
NONE = "—"
NOTHING = "There are no runs to compare yet."
LEGEND = {
    SAMPLE: "sample data: a demonstration, no measurement.",
    PARTIAL: "over some of the scenario's runs only (how many of how many); left out of the mean win rate.",
    FAILED: "failed; the reasons are below.",
    MISSING: "some examples gave no value and are left out.",
    DECLINED: "some answers were declined by the model or its provider and are scored as they are; counts are below.",
    IMPORTED: "imported: asked and counted by another program, which the model's name begins with.",
}
WIN_RATE = (
    "Mean win rate: the fraction of other models that a model beats, ties counting one half, averaged over columns "
    "(Liang et al. 2022). Its 95 % interval, for new instances of these columns, counts the wins and losses that are "
    "certain (closed testing; models are paired where they answered the same instances)."
)
RANKS = (
    "Ranks in brackets are those that the data allow, all correct at once with 95 % probability. So are the ranks in "
    "a column, shown where the data separate at least two of its models."
)
UNDECIDED = "n too small to separate the models"
MEANS = "Numbers are means with 95 % intervals (±, or from and to where lopsided) over n instances."


@dataclass(frozen=True, slots=True)
class Heading:
    """What stands over a column."""

    title: str
    """The scenario, with the parameters that all its runs share."""
    metric: str
    """The metric with an arrow in the direction that is better."""
    details: tuple[str, ...]
    """What tells the column from others like it, and what it is a mean of."""


@dataclass(frozen=True, slots=True)
class Footnotes:
    """What stands under the table."""

    explanations: tuple[str, ...]
    """What the numbers are."""
    legend: tuple[tuple[str, str], ...]
    """Each mark that is used, with its meaning."""
    failures: tuple[tuple[int, str, str, tuple[str, ...]], ...]
    """Number, model, column and errors of each cell with a failure."""
    notes: tuple[str, ...]
    """What a reader must know not to be misled."""


def readable(board: Board) -> Board:
    """Return the board as people read it: a model without any number has no row, but a note that says why.

    Columns in which no other model was run go with it. Where no model has a number the board stays as it is.
    """
    rows = [row for row in board.rows if measured(row)]
    if not rows:
        return board
    kept = [c for c in range(len(board.columns)) if any(row.cells[c] is not None for row in rows)]
    return replace(
        board,
        columns=tuple(board.columns[c] for c in kept),
        rows=tuple(replace(row, cells=tuple(row.cells[c] for c in kept)) for row in rows),
        notes=(*(_absence(row) for row in board.rows if not measured(row)), *board.notes),
    )


def measured(row: Row) -> bool:
    """Return whether any of a model's cells has a number."""
    return any(cell is not None and cell.mean is not None for cell in row.cells)


def _absence(row: Row) -> str:
    failures = [failure for cell in row.cells if cell is not None for failure in cell.failures]
    which = "its one run gave no number" if len(failures) == 1 else f"none of its {len(failures)} runs gave a number"
    errors = (failure.error.removeprefix(f"{row.model}: ").rstrip(". ") for failure in failures)
    return f"{brief(row.model)} has no row, since {which}: {'; '.join(dict.fromkeys(errors))}."


def number(value: float) -> str:
    """Return a number with about three significant digits."""
    size = abs(value)
    if not math.isfinite(value) or 0 < size < 5e-4 or size >= 1e6:
        return f"{value:.2g}"
    return f"{value:.{_decimals(value)}f}"


def spread(mean: float, low: float | None, high: float | None) -> str:
    """Return the interval around a mean: ``±half`` where symmetrical, else ``[low, high]``; '' if there is none."""
    if low is None or high is None:
        return ""
    below, above = mean - low, high - mean
    if math.isclose(below, above, rel_tol=1e-6, abs_tol=1e-12):
        half = (below + above) / 2
        # As many decimals as the mean has, unless they would all be zero.
        return f"±{half:.{_decimals(mean)}f}" if half >= 10 ** -_decimals(mean) else f"±{number(half)}"
    return f"[{number(low)}, {number(high)}]"


def _decimals(value: float) -> int:
    size = abs(value)
    return 3 if size < 10 else 2 if size < 100 else 1


def value(cell: Cell) -> str:
    """Return a cell's number with its interval, ``✗`` if there is none."""
    if cell.mean is None:
        return FAILED
    return f"{number(cell.mean)} {spread(cell.mean, cell.low, cell.high)}".rstrip()


def marks(cell: Cell, column: Column) -> str:
    """Return the marks after a cell's number, without that of a failure."""
    if cell.mean is None:
        return ""
    return (
        (SAMPLE if column.sample else "")
        + (f"{PARTIAL}{cell.have}/{cell.of}" if not cell.complete else "")
        + (MISSING if cell.missing else "")
        + (DECLINED if cell.declined.examples else "")
        + (IMPORTED if cell.imported else "")
    )


def win_rate(row: Row) -> str:
    """Return a row's mean win rate with its interval; a dash if there is none."""
    rate = row.win_rate
    if rate is None:
        return NONE
    interval = "" if rate.low is None or rate.high is None else f" [{rate.low:.2f}, {rate.high:.2f}]"
    return f"{rate.value:.3f}{interval}"


def rank(row: Row) -> str:
    """Return a row's rank, in brackets the ranks that the data allow if there are several; a dash without one."""
    if row.rank is None or row.win_rate is None:
        return NONE
    places = rank_range(row.win_rate.first, row.win_rate.last)
    return f"{row.rank}" if row.win_rate.first == row.win_rate.last else f"{row.rank} ({places})"


def rank_range(first: int, last: int) -> str:
    """Return ``2`` or ``2–4``."""
    return f"{first}" if first == last else f"{first}–{last}"


def size(cell: Cell, board: Board, column: int) -> str:
    """Return how many instances a cell is over, and its ranks if the column separates any models; '' for neither."""
    parts = [f"n={cell.count:,}"] if cell.count else []
    if cell.first is not None and cell.last is not None and separates(board, column):
        parts.append(f"rank {rank_range(cell.first, cell.last)}")
    return ", ".join(parts)


def separates(board: Board, column: int) -> bool:
    """Return whether the data say of any two models of a column which is better."""
    cells = [row.cells[column] for row in board.rows]
    places = [(cell.first, cell.last) for cell in cells if cell is not None and cell.first is not None]
    return any(place != (1, len(places)) for place in places)


def win_rate_columns(row: Row) -> str:
    """Return over how many of how many columns a mean win rate is; '' if there is none."""
    return "" if row.win_rate is None else f"{row.win_rate.columns}/{row.win_rate.of} columns"


def headings(board: Board) -> list[Heading]:
    """Return what stands over each column; method and split only where they tell columns apart."""
    return [_heading(column, board.columns) for column in board.columns]


def failures(board: Board) -> dict[tuple[int, int], int]:
    """Return the footnote's number of each cell with a failure, by row and column."""
    places = [
        (r, c)
        for r, row in enumerate(board.rows)
        for c, cell in enumerate(row.cells)
        if cell is not None and cell.failures
    ]
    return {place: position for position, place in enumerate(places, start=1)}


def footnotes(board: Board) -> Footnotes:
    """Return what stands under the table; only what it needs."""
    cells = [
        (cell, column) for row in board.rows for cell, column in zip(row.cells, board.columns, strict=True) if cell
    ]
    used = "".join(marks(cell, column) for cell, column in cells) + (SAMPLE if board.sample_win_rate else "")
    used += FAILED if any(cell.failures for cell, _ in cells) else ""
    titles = headings(board)
    notes = [*_declined(board, titles), *(sentence(note) for note in board.notes)]
    rates = [row.win_rate for row in board.rows if row.win_rate is not None]
    if any(rate.low is None for rate in rates):
        notes.append("A mean win rate has no interval where none of the results it rests on has a standard error.")
    undecided = [brief(row.model) for row in board.rows if row.win_rate is not None and row.win_rate.undecided]
    if undecided:
        whose = "" if len(undecided) == len(rates) else f" (the interval is [0, 1]): {', '.join(undecided)}"
        notes.append(f"Mean win rate: {UNDECIDED}{whose}.")
    skipped = [heading.title for heading, c in zip(titles, board.columns, strict=True) if c.sample and not c.contested]
    if rates and skipped and not board.sample_win_rate:
        notes.append(f"Sample data do not enter the mean win rate ({', '.join(dict.fromkeys(skipped))}).")
    return Footnotes(
        explanations=((MEANS, WIN_RATE, RANKS) if rates else (MEANS,)) if board.rows else (),
        legend=tuple((mark, meaning) for mark, meaning in LEGEND.items() if mark in used),
        failures=tuple(
            (position, brief(board.rows[r].model), titles[c].title, _errors(board.rows[r].cells[c]))
            for (r, c), position in failures(board).items()
        ),
        notes=tuple(notes),
    )


def _declined(board: Board, titles: Sequence[Heading]) -> Iterator[str]:
    """Yield for each model how many answers were declined in which columns."""
    for row in board.rows:
        counts = [
            f"{heading.title}: {cell.declined}"
            for cell, heading in zip(row.cells, titles, strict=True)
            if cell is not None and cell.mean is not None and cell.declined.examples
        ]
        if counts:
            yield f"{brief(row.model)}, {'; '.join(counts)}."


def _errors(cell: Cell | None) -> tuple[str, ...]:
    """Return each different error once, with the sub-runs that it befell."""
    befell: dict[str, list[str]] = {}
    for failure in cell.failures if cell else ():
        befell.setdefault(sentence(failure.error), []).append(brief(failure.run))
    return tuple(
        f"{', '.join(runs[:3])}{f' and {len(runs) - 3} more' if len(runs) > 3 else ''}: {error}"
        for error, runs in befell.items()
    )


def _heading(column: Column, columns: tuple[Column, ...]) -> Heading:
    peers = [other for other in columns if other.scenario == column.scenario and other is not column]
    told: list[str] = []
    if any(other.method != column.method for other in peers):
        told.append(column.method)
    if any(other.split != column.split for other in peers):
        told.append(f"{column.split} split")
    if any(other.sample != column.sample for other in peers):
        told.append("sample data" if column.sample else "real data")
    told += [f"{name}={_shown(setting)}" for name, setting in column.settings.items()]
    if len(column.subruns) > 1:
        told.append(f"mean of {len(column.subruns)} runs ({', '.join(column.pooled)})")
    shared = {name: item for name, item in column.parameters.items() if item not in (None, False, "", [], {})}
    arguments = ",".join(f"{name}={_shown(item)}" for name, item in shared.items())
    arrow = {True: " ↑", False: " ↓", None: ""}[column.higher_is_better]
    return Heading(
        title=brief(f"{column.scenario}:{arguments}" if arguments else column.scenario),
        metric=brief(column.metric, 40) + arrow,
        details=tuple(brief(detail) for detail in told),
    )


def _shown(item: Any) -> str:
    return brief(item, 40) if isinstance(item, str) else visible(str(item))
