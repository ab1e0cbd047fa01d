"""The words around a leaderboard's numbers: headings, marks and footnotes, the same in every format."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from harness.answers.reasoning_count import UNANNOUNCED, UNFINISHED
from harness.contracts.scores import CompositeScore
from harness.contracts.specs import Component
from harness.leaderboard.aggregate import Board, Column, Row
from harness.leaderboard.cells import Cell
from harness.leaderboard.columns import canonical
from harness.leaderboard.formatting import arrow
from harness.leaderboard.formatting import number as rounded
from harness.leaderboard.prompt_spread import PromptSpread
from harness.output.display import brief, counted, sentence
from harness.plugins.titles import SEPARATOR, Titles, value_title

SAMPLE, PARTIAL, FAILED, MISSING, DECLINED, DAMAGED, IMPORTED = "†", "‡", "✗", "§", "⊘", "◊", "¶"
SHORTENED, UNREAD, UNJUDGED, ENDLESS, REASONED = "⋯", "∅", "⊖", "∞", "※"
"""Marks after a number."""

MANY = 0.05
"""The share of a cell's examples from which on what happened to them may change how its number is read."""

MOST_MEMBERS = 4
"""The most members of a composite score that its heading names."""

_COUNTS = {
    "truncated_examples": (SHORTENED, "prompts were shortened"),
    "unread_examples": (UNREAD, "answers could not be read"),
    "unjudged_examples": (UNJUDGED, "answers have a judgement that could not be read"),
    UNFINISHED: (ENDLESS, "answers end in unfinished reasoning"),
    UNANNOUNCED: (REASONED, "answers have unannounced reasoning"),
}
"""The mark of each kind of counted examples, and what happened to them."""

MEANINGS = {
    SAMPLE: "sample data: a demonstration, not a measurement.",
    PARTIAL: "over only some of the scenario's runs (how many of how many); left out of the mean win rate.",
    FAILED: "failed; the reasons are below.",
    MISSING: "some examples gave no value and are left out.",
    DECLINED: "some answers were declined by the model or its provider and are scored as they are; counts are below.",
    SHORTENED: "some prompts were too long for the model and lost examples or a part of the input; counts are below.",
    UNREAD: "some answers could not be read and count as wrong; counts are below.",
    UNJUDGED: "of some answers a judgement could not be read, so judges' metrics leave them out; counts are below.",
    ENDLESS: "in some answers the reasoning did not end; they are scored as wrong; counts are below.",
    REASONED: "some answers have reasoning that the model's entry does not announce; counts are below.",
    DAMAGED: "a file of examples is damaged or missing, so the number cannot be checked; details are below.",
    IMPORTED: "imported: measured by another program, whose name follows the model's.",
}
"""What the marks mean."""

WIN_RATE = (
    "Mean win rate: the fraction of other models that a model beats, ties counting one half, averaged over the columns "
    "in which two models or more have a result (Liang et al. 2022). Its 95 % interval, for new instances of these "
    "columns, counts the wins and losses that are certain (closed testing; models are paired where they answered the "
    "same instances)."
)
COLUMNS = "Columns: how many of the columns shown have a result of the model; composite scores are not counted."
RANKS = (
    "Ranks are the ranges that the data allow, all correct at once with 95 % probability. So are the ranks in a "
    "column, shown where the data separate at least two of its models."
)
MEANS = "Numbers are means with 95 % intervals (± if symmetrical, else from–to in brackets) over n instances."
REPEATED = (
    "Not shown, since each scenario has one column, by default that with the most instances, models, or its own "
    "prompt (see --all-columns): {}."
)
TESTS = "Tests of data sets are not shown (see --all-columns, and `harness contamination report`)."
UNDECIDED = "n too small to separate the models"

_MEAN_OF = "mean of "


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of a column, for people."""

    title: str
    """The scenario with the parameters that all its runs share, ``MMLU · anatomy``."""
    metric: str
    """The metric with an arrow in the direction that is better."""
    details: tuple[str, ...]
    """What distinguishes the column from similar ones, and what it is a mean of."""
    group: str = ""
    """The scenario alone, ``MMLU``: the heading of a group of columns."""
    short: str = ""
    """The column within its group, ``anatomy``; the scenario, if there is nothing to add."""
    identifier: str = ""
    """The scenario and its parameters as specs have them, ``mmlu:subject=anatomy``."""

    @property
    def full(self) -> str:
        """The title with all that distinguishes the column from others; no two columns have the same."""
        return SEPARATOR.join([self.title, *(detail for detail in self.details if not detail.startswith(_MEAN_OF))])


def readable(board: Board) -> Board:
    """Return the board without the models that have no number at all; a note for each of them says why.

    Columns in which no other model was run go with them. If no model has a number, the board stays as it is.
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


def other_suites(newest: str, others: Sequence[str]) -> str:
    """Return which suite is shown, and which others there are."""
    more = f" and {len(others) - 8} more" if len(others) > 8 else ""
    named = ", ".join(brief(suite, 40) for suite in others[:8])
    return f"{brief(newest, 40)}, the newest; others: {named}{more} (name one, or --all-suites)"


def main_columns(board: Board) -> Board:
    """Return the board with one column for each scenario with its parameters, and without tests of data sets.

    A note names what is left out. A board of nothing else stays as it is.
    """
    kept = [place for place, column in enumerate(board.columns) if column.primary and not column.test]
    if not kept or len(kept) == len(board.columns):
        return board
    titles = [heading.full for heading in headings(board)]
    repeated = [title for title, column in zip(titles, board.columns, strict=True) if not column.primary]
    tests = any(column.test for column in board.columns)
    left_out = [REPEATED.format("; ".join(repeated))] if repeated else []
    return replace(
        board,
        columns=tuple(board.columns[place] for place in kept),
        rows=tuple(replace(row, cells=tuple(row.cells[place] for place in kept)) for row in board.rows),
        notes=(*board.notes, *left_out, *([TESTS] if tests else [])),
    )


def coverage(board: Board, row: Row) -> tuple[int, int]:
    """Return in how many of a board's columns a model has a result, without composite scores; and of how many."""
    cells = [cell for cell, column in zip(row.cells, board.columns, strict=True) if column.score is None]
    return sum(cell is not None and cell.mean is not None for cell in cells), len(cells)


def measured(row: Row) -> bool:
    """Return whether any of a model's cells has a number, or a reason other than an error for having none."""
    return any(cell is not None and (cell.mean is not None or cell.no_value) for cell in row.cells)


def headings(board: Board) -> list[Heading]:
    """Return the heading of each column; method and split only where they distinguish columns."""
    found = [_heading(column, board.columns, board.titles) for column in board.columns]
    taken = Counter(heading.full for heading in found)
    return [
        _with_values(heading, column) if taken[heading.full] > 1 else heading
        for heading, column in zip(found, board.columns, strict=True)
    ]


def marks(cell: Cell, column: Column) -> str:
    """Return the marks after a cell's number, without that of a failure."""
    return f"{SAMPLE if column.sample and cell.mean is not None else ''}{marks_of_runs(cell)}"


def marks_of_runs(cell: Cell) -> str:
    """Return those of the marks that are about the cell's runs, not about its column."""
    if cell.mean is None:
        return ""
    return (
        (f"{PARTIAL}{cell.have}/{cell.of}" if not cell.complete else "")
        + (MISSING if cell.missing else "")
        + (DECLINED if cell.declined.examples else "")
        + "".join(mark for kind, (mark, _) in _COUNTS.items() if kind in cell.counts)
        + (DAMAGED if cell.damaged else "")
        + (IMPORTED if cell.imported else "")
    )


def remarks(cell: Cell) -> list[str]:
    """Return what a reader of a cell's number must know, a phrase for each of its marks."""
    if cell.mean is None:
        return []
    found = [f"over {cell.have} of {cell.of} runs; left out of the mean win rate"] if not cell.complete else []
    if cell.missing:
        found.append(f"{counted(cell.missing, 'example')} gave no value and are left out")
    if cell.declined.examples:
        found.append(str(cell.declined))
    found += [
        f"{_COUNTS[kind][1]}: {count:,} of {of:,}" for kind, (count, of) in cell.counts.items() if kind in _COUNTS
    ]
    if cell.prompts is not None:
        found.append(_over_prompts(cell.prompts))
    found += [sentence(problem) for problem in cell.damaged[:3]]
    if cell.imported:
        found.append("measured by another program")
    return found


def _over_prompts(prompts: PromptSpread) -> str:
    means, deviation = prompts.effects.means, prompts.effects.deviation
    spread = (
        f", standard deviation {rounded(deviation)} beyond sampling error"
        if deviation is not None and prompts.effects.complete
        else ""
    )
    return f"mean over {len(means)} prompts, from {rounded(min(means))} to {rounded(max(means))}{spread}"


def noteworthy(cell: Cell) -> bool:
    """Return True if a remark of a cell may change how its number is read, so that it should catch the eye.

    So do missing runs, damaged examples, and :data:`MANY` examples that were declined, shortened, not read or without a
    value. Which program measured it, and reasoning that was not announced, do not.
    """
    if cell.mean is None:
        return False
    shares = [cell.missing / max(1, cell.count + cell.missing), cell.declined.examples / max(1, cell.declined.of)]
    shares += [
        count / max(1, of) for kind, (count, of) in cell.counts.items() if kind in _COUNTS and kind != UNANNOUNCED
    ]
    return not cell.complete or bool(cell.damaged) or max(shares) >= MANY


def separates(board: Board, column: int) -> bool:
    """Return whether the data separate any two models of a column."""
    cells = [row.cells[column] for row in board.rows]
    places = [(cell.first, cell.last) for cell in cells if cell is not None and cell.first is not None]
    return any(place != (1, len(places)) for place in places)


def failure_numbers(board: Board) -> dict[tuple[int, int], int]:
    """Return the number of the footnote of each cell with a failure, by row and column; equal reasons share one."""
    numbers: dict[tuple[str, ...], int] = {}
    return {
        (r, c): numbers.setdefault(_reasons(row, cell), len(numbers) + 1)
        for r, row in enumerate(board.rows)
        for c, cell in enumerate(row.cells)
        if cell is not None and cell.failures
    }


def explanations(board: Board) -> list[str]:
    """Return sentences that explain the numbers."""
    if not board.rows:
        return []
    means = MEANS
    if any(cell is not None and cell.best for row in board.rows for cell in row.cells):
        means += " Bold: statistically tied with the best of its column."
    rates = [WIN_RATE, RANKS] if any(row.win_rate for row in board.rows) else []
    return [means, *rates, COLUMNS]


def legend(board: Board) -> list[tuple[str, str]]:
    """Return each mark that is used, with its meaning."""
    cells = [
        (cell, column) for row in board.rows for cell, column in zip(row.cells, board.columns, strict=True) if cell
    ]
    used = "".join(marks(cell, column) for cell, column in cells) + (SAMPLE if board.sample_win_rate else "")
    used += FAILED if any(cell.failures for cell, _ in cells) else ""
    return [(mark, meaning) for mark, meaning in MEANINGS.items() if mark in used]


def failures(board: Board) -> Iterator[str]:
    """Yield the reasons of all failures, each with the number of its footnote and up to three of its results."""
    titles = headings(board)
    places: dict[int, list[tuple[int, int]]] = {}
    for place, number in failure_numbers(board).items():
        places.setdefault(number, []).append(place)
    for number, found in places.items():
        (r, c), *others = found
        named = [f"{brief(board.rows[row].model)}, {titles[column].full}" for row, column in found[:3]]
        if not others:
            yield from (f"{FAILED}{number} {named[0]}: {error}" for error in _errors(board.rows[r].cells[c]))
            continue
        more = f"; and {len(found) - 3} more" if len(found) > 3 else ""
        for reason in _reasons(board.rows[r], board.rows[r].cells[c]):
            yield f"{FAILED}{number} {len(found)} results ({'; '.join(named)}{more}): {reason}"


def notes(board: Board) -> list[str]:
    """Return the warnings that a reader needs."""
    titles = [heading.full for heading in headings(board)]
    found = [*_no_values(board, titles), *_declined(board, titles), *_counts(board, titles), *_damaged(board, titles)]
    found += [sentence(note) for note in board.notes]
    rates = [row.win_rate for row in board.rows if row.win_rate is not None]
    if any(rate.low is None for rate in rates):
        found.append("A mean win rate has no interval if none of the results that it is based on has a standard error.")
    undecided = [brief(row.model) for row in board.rows if row.win_rate is not None and row.win_rate.undecided]
    if undecided:
        whose = "" if len(undecided) == len(rates) else f" (the interval is [0, 1]): {', '.join(undecided)}"
        found.append(f"Mean win rate: {UNDECIDED}{whose}.")
    skipped = [title for title, c in zip(titles, board.columns, strict=True) if c.sample and not c.contested]
    if rates and skipped and not board.sample_win_rate:
        found.append(f"Sample data do not count in the mean win rate ({', '.join(dict.fromkeys(skipped))}).")
    return found


def _absence(row: Row) -> str:
    failed = [failure for cell in row.cells if cell is not None for failure in cell.failures]
    which = "its one run gave no number" if len(failed) == 1 else f"none of its {len(failed)} runs gave a number"
    errors = (failure.error.removeprefix(f"{row.identifier}: ").rstrip(". ") for failure in failed)
    return f"{brief(row.model)} has no row, since {which}: {'; '.join(dict.fromkeys(errors))}."


def _no_values(board: Board, titles: list[str]) -> Iterator[str]:
    """Yield for each column and reason which models have no number for it."""
    for c, title in enumerate(titles):
        models: dict[str, list[str]] = {}
        for row in board.rows:
            for reason in no_values(row.cells[c]):
                models.setdefault(reason, []).append(brief(row.model))
        for reason, names in models.items():
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            yield sentence(f"{title}, {', '.join(names[:3])}{more}: {reason}.")


def no_values(cell: Cell | None) -> list[str]:
    """Return the different reasons for which sub-runs of a cell have no number, without errors."""
    return list(dict.fromkeys(one.error for one in cell.no_value)) if cell is not None else []


def _declined(board: Board, titles: list[str]) -> Iterator[str]:
    """Yield for each model how many answers were declined in which columns."""
    for row in board.rows:
        counts = [
            f"{title}: {cell.declined}"
            for cell, title in zip(row.cells, titles, strict=True)
            if cell is not None and cell.mean is not None and cell.declined.examples
        ]
        if counts:
            yield f"{brief(row.model)}, {'; '.join(counts)}."


def _counts(board: Board, titles: list[str]) -> Iterator[str]:
    """Yield for each model and kind how many examples of which columns are of it."""
    for row in board.rows:
        for kind, (_, happened) in _COUNTS.items():
            counted = [
                f"{title}: {cell.counts[kind][0]:,} of {cell.counts[kind][1]:,}"
                for cell, title in zip(row.cells, titles, strict=True)
                if cell is not None and cell.mean is not None and kind in cell.counts
            ]
            if counted:
                yield f"{brief(row.model)}, {happened}: {'; '.join(counted)}."


def _damaged(board: Board, titles: list[str]) -> Iterator[str]:
    """Yield for each cell which of its runs' examples are damaged, and how."""
    for row in board.rows:
        for cell, title in zip(row.cells, titles, strict=True):
            if cell is not None and cell.damaged:
                more = f" (and {len(cell.damaged) - 1} more runs)" if len(cell.damaged) > 1 else ""
                yield sentence(f"{brief(row.model)}, {title}{more}: {cell.damaged[0]}")


def _reasons(row: Row, cell: Cell | None) -> tuple[str, ...]:
    """Return the different errors of a cell without its model's name."""
    errors = (failure.error.removeprefix(f"{row.identifier}: ") for failure in (cell.failures if cell else ()))
    return tuple(dict.fromkeys(map(sentence, errors)))


def _errors(cell: Cell | None) -> list[str]:
    """Return each different error once, with the sub-runs that failed with it."""
    runs_by_error: dict[str, list[str]] = {}
    for failure in cell.failures if cell else ():
        runs_by_error.setdefault(sentence(failure.error), []).append(brief(failure.run))
    return [
        f"{', '.join(runs[:3])}{f' and {len(runs) - 3} more' if len(runs) > 3 else ''}: {error}"
        for error, runs in runs_by_error.items()
    ]


def _heading(column: Column, columns: tuple[Column, ...], titles: Titles) -> Heading:
    if column.score is not None:
        return _score_heading(column, column.score, columns)
    peers = [other for other in columns if other.scenario == column.scenario and other is not column]
    details: list[str] = []
    if any(other.method != column.method for other in peers):
        details.append(titles.method(column.method).short)
    if any(other.metric != column.metric and other.method == column.method for other in peers):
        details.append(titles.metric(column.metric).short)
    if any(other.split != column.split for other in peers):
        details.append(f"{column.split} split")
    if any(other.sample != column.sample for other in peers):
        details.append("sample data" if column.sample else "real data")
    details += [
        value_title(name, value) or f"{name} unset"
        for name, value in column.settings.items()
        if any(peer.settings.get(name) != value for peer in peers)
    ]
    differing = {
        name
        for name in column.parameters
        if any(name in peer.pooled or peer.parameters.get(name) != column.parameters[name] for peer in peers)
    }
    scenario = titles.scenario(column.scenario)
    parameters = titles.parameters(column.scenario, column.parameters, differing)
    distinct = tuple(brief(detail) for detail in details)
    pooled = f"{_MEAN_OF}{len(column.subruns)} runs ({', '.join(column.pooled)})" if len(column.subruns) > 1 else ""
    metric = titles.metric(column.metric).title
    return Heading(
        title=brief(SEPARATOR.join(filter(None, [scenario.title, parameters]))),
        metric=brief(metric, 60) + arrow(column.higher_is_better),
        details=(*distinct, *([brief(pooled)] if pooled else [])),
        group=brief(scenario.title),
        short=brief(SEPARATOR.join(filter(None, [parameters, *distinct])) or scenario.short),
        identifier=_identifier(column),
    )


def _with_values(heading: Heading, column: Column) -> Heading:
    """Return a heading with parameters and settings as specs have them, where words for them are not enough.

    Of a path, words have the last part alone.
    """
    values = ",".join(f"{name}={canonical(value)}" for name, value in column.settings.items())
    exact = tuple(brief(text) for text in (heading.identifier, values) if text)
    short = SEPARATOR.join([heading.short, *exact])
    return replace(heading, details=(*exact, *heading.details), short=short)


def _score_heading(column: Column, score: CompositeScore, columns: tuple[Column, ...]) -> Heading:
    title = score.title or score.name
    peers = [other.score for other in columns if other.score is not None and other is not column]
    alike = [peer for peer in peers if (peer.title or peer.name) == title]
    rule = f"{score.mean}-average" + (", rescaled from chance" if any(run.chance for run in score.runs) else "")
    names = [member.name for member in score.members]
    if (more := len(names) - MOST_MEMBERS) > 0:
        names[MOST_MEMBERS - 1 :] = [f"{more + 1} more"]
    size = brief(", ".join(names), 100) if len(names) > 1 else f"{len(score.runs)} runs"
    # Equal titles are of sweeps that differ in their runs.
    distinct = (hashlib.sha256(score.identity.encode()).hexdigest()[:4],) if alike else ()
    return Heading(
        title=brief(title),
        metric=rule + arrow(column.higher_is_better),
        details=(*distinct, f"{_MEAN_OF}{size}"),
        group=brief(title),
        short=brief(SEPARATOR.join([title, *distinct])),
        identifier=score.name,
    )


def _identifier(column: Column) -> str:
    shared = {name: value for name, value in column.parameters.items() if value not in (None, False, "", [], {})}
    return Component(name=column.scenario, arguments=shared).label
