"""The changes between two suites as a table to read and as records for other programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, fields

from harness.leaderboard.comparison import told_apart
from harness.leaderboard.diff import Change, Diff
from harness.leaderboard.formatting import arrow, p_value, signed_interval
from harness.output.display import brief, sentence
from harness.output.result_table import Emphasis, ResultTable, TableCell, TableColumn, TableNote
from harness.plugins.titles import Titles

UNPAIRED = "≠"
"""The mark of a change that is not over the same instances."""

COLUMNS = (
    TableColumn(("model",), name=True),
    TableColumn(("scenario",), under="model"),
    TableColumn(("metric",), under="model"),
    TableColumn(("n",), numeric=True),
    TableColumn(("before",), numeric=True),
    TableColumn(("after",), numeric=True, under="before"),
    TableColumn(("change",), numeric=True),
    TableColumn(("p",), numeric=True),
    TableColumn(("Holm",), numeric=True, under="p"),
)


def diff_table(diff: Diff, titles: Titles | None = None) -> ResultTable:
    """Return the changes as a table; significant ones are highlighted on the terminal."""
    titles = titles or Titles()
    called = told_apart(((change.title, change.method) for change in diff.changes), titles)
    names = [field.name for field in fields(Change)]
    return ResultTable(
        columns=COLUMNS,
        rows=[_row(change, titles, called[change.title, change.method]) for change in diff.changes],
        notes=[TableNote(note) for note in _notes(diff)],
        caption=f"From {brief(diff.first)} to {brief(diff.second)}.",
        fields=["before_suite", "after_suite", *names],
        records=[
            {
                "before_suite": diff.first,
                "after_suite": diff.second,
                **asdict(change),
                "notes": "; ".join(change.notes),
            }
            for change in diff.changes
        ],
        value=asdict(diff),
        intro=[("before", brief(diff.first)), ("after", brief(diff.second)), ("result", _verdict(diff))],
    )


def _verdict(diff: Diff) -> str:
    found = [change.better for change in diff.changes]
    better, worse, neither = (str(found.count(each) or "none") for each in (True, False, None))
    return f"better on {better} of {len(found)}, worse on {worse}, no difference shown on {neither}"


def _row(change: Change, titles: Titles, scenario: str) -> list[TableCell]:
    emphasis: Emphasis = "" if change.better is None else "better" if change.better else "worse"
    return [
        TableCell(brief(change.model, 100)),
        TableCell(brief(f"{scenario} {change.settings}".rstrip(), 200)),
        TableCell(f"{brief(titles.metric(change.metric).title, 60)}{arrow(change.higher_is_better)}"),
        TableCell(str(change.count), marks="" if change.paired else UNPAIRED),
        TableCell(f"{change.before:.3f}"),
        TableCell(f"{change.after:.3f}"),
        TableCell(f"{change.difference:+.3f}", signed_interval(change.low, change.high), emphasis=emphasis),
        TableCell(p_value(change.p)),
        TableCell(p_value(change.p_holm)),
    ]


def _notes(diff: Diff) -> Iterator[str]:
    tested = sum(change.p is not None for change in diff.changes)
    yield "change: after − before with 95 % interval; p: exact McNemar or sign flips on the same instances, two-sided."
    yield f"Holm: p adjusted for {tested} comparison{'s' if tested != 1 else ''}."
    if not all(change.paired for change in diff.changes):
        yield f"{UNPAIRED} not on the same instances: from the intervals of the two means, where they have intervals."
    changes_by_note: dict[str, list[str]] = {}
    for change in diff.changes:
        for note in change.notes:
            changes_by_note.setdefault(note, []).append(f"{brief(change.model, 40)} on {brief(change.title, 60)}")
    for note, changes in changes_by_note.items():
        more = f" and {len(changes) - 2} more" if len(changes) > 2 else ""
        yield sentence(f"{note} ({'; '.join(changes[:2])}{more}).")
    yield from (sentence(problem) for problem in diff.problems)
