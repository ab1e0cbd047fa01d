"""The results of a training by step, as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from harness.leaderboard.cells import main_stat
from harness.leaderboard.formatting import number
from harness.output.result_table import ResultTable, TableCell, TableColumn, TableNote
from harness.storage.results import RunRecord
from harness.training.logged import PREFIX, metric_names

FIELDS = (
    "series",
    "step",
    "model",
    "run",
    "metric",
    "status",
    "mean",
    "stderr",
    "low",
    "high",
    "count",
    "no_value",
    "error",
)


def newest_by_step(records: Iterable[RunRecord]) -> dict[tuple[int, str], RunRecord]:
    """Return records by step and the run's question; if a step was evaluated twice, the last record counts."""
    newest = {(record.suite, record.name): record for record in records}
    found = [record for record in newest.values() if record.spec.training_step is not None]
    return {(_step(record), record.spec.question): record for record in found}


def steps_table(records: Iterable[RunRecord]) -> ResultTable:
    """Return a table with a row for each step and a column for each run of the sweep."""
    cells = newest_by_step(records)
    questions = {record.spec.question: record.spec for record in cells.values()}
    names = {key: name.removeprefix(PREFIX) for key, name in metric_names(list(questions.values())).items()}
    steps = sorted({step for step, _ in cells})
    failed = [cells[key] for key in sorted(cells) if cells[key].status != "ok"]
    return ResultTable(
        columns=[
            TableColumn(("step",), numeric=True, repeated=True),
            *(TableColumn(tuple(_heading(names[key])), numeric=True, movable=True) for key in questions),
        ],
        rows=[
            [TableCell(f"{step:,}"), *(_cell(cells.get((step, key)), failed) for key in questions)] for step in steps
        ],
        notes=[
            TableNote(f"F{place} step {_step(one):,}: {one.error}", "failure") for place, one in enumerate(failed, 1)
        ],
        caption="Main metric by training step, with 95 % intervals.",
        fields=FIELDS,
        records=[_record(cells[step, key], names[key]) for step in steps for key in questions if (step, key) in cells],
        value=[_record(cells[step, key], names[key]) for step in steps for key in questions if (step, key) in cells],
        nothing="No checkpoint has been evaluated.",
    )


def _heading(name: str) -> Sequence[str]:
    scenario, _, metric = name.rpartition("/")
    return scenario, metric


def _step(record: RunRecord) -> int:
    place = record.spec.training_step
    return -1 if place is None else place.step


def _cell(record: RunRecord | None, failed: Sequence[RunRecord]) -> TableCell:
    if record is None:
        return TableCell()
    stat = main_stat(record)
    if record.status != "ok" or stat is None:
        return TableCell(
            record.no_value.partition(":")[0], failure=f"F{failed.index(record) + 1}" if record in failed else ""
        )
    ends = "" if stat.ci95 is None else f"[{number(stat.ci95[0])}, {number(stat.ci95[1])}]"
    return TableCell(number(stat.mean), ends)


def _record(record: RunRecord, name: str) -> dict[str, Any]:
    place, stat = record.spec.training_step, main_stat(record) if record.status == "ok" else None
    low, high = (None, None) if stat is None or stat.ci95 is None else stat.ci95
    return {
        "series": place and place.series,
        "step": place and place.step,
        "model": record.spec.model.label,
        "run": f"{record.suite}/{record.name}",
        "metric": name,
        "status": record.status,
        "mean": stat and stat.mean,
        "stderr": stat and stat.stderr,
        "low": low,
        "high": high,
        "count": stat and stat.count,
        "no_value": record.no_value or None,
        "error": record.error,
    }
