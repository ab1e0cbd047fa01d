"""Every statistic of a run as a table to read and as records for other programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from harness.answers.reasoning_count import unannounced_note, unfinished_note
from harness.answers.served_models import served_models, served_notes
from harness.contracts import Stat
from harness.leaderboard.cells import examples_problem
from harness.leaderboard.formatting import arrow, number
from harness.leaderboard.model_names import model_names, model_of
from harness.output.display import brief, sentence
from harness.output.result_table import ResultTable, TableCell, TableColumn, TableNote
from harness.plugins.titles import SEPARATOR, Titles
from harness.runs.determinism import determinism_of
from harness.storage.results import RunRecord

COLUMNS = (
    TableColumn(("metric",)),
    TableColumn(("category",), under="metric"),
    TableColumn(("of",), under="metric"),
    TableColumn(("mean",), numeric=True),
    TableColumn(("95 % interval",), numeric=True, under="mean"),
    TableColumn(("n",), numeric=True),
    TableColumn(("undefined",), numeric=True, under="n"),
)

_FIELDS = (
    "suite", "run", "model", "series", "step", "scenario", "metric", "category", "split", "perturbation", "computed_on",
    "group", "count", "mean", "stderr", "low", "high", "min", "max", "higher_is_better", "missing", "clusters", "note",
)  # fmt: skip


def stats_table(run: RunRecord, titles: Titles | None = None) -> ResultTable:
    """Return a run's statistics as a table; the notes on intervals are numbered."""
    titles = titles or Titles()
    notes = list(dict.fromkeys(filter(None, [run.no_value, *(stat.note for stat in run.stats)])))
    rows = [_row(stat, notes, titles) for stat in run.stats]
    records = [{**asdict(stat), **_ends(stat)} for stat in run.stats]
    if run.no_value:
        rows.insert(0, _without_value(run, titles))
        records.insert(0, {**dict.fromkeys(_FIELDS), **_about_no_value(run)})
    kept = [place for place in range(len(COLUMNS)) if place < len(COLUMNS) - 1 or any(row[place].text for row in rows)]
    remarks = list(_remarks(run))
    training = run.spec.training_step
    about = {
        "suite": run.suite,
        "run": run.name,
        "model": run.spec.model.label,
        "series": training and training.series,
        "step": training and training.step,
        "scenario": run.spec.scenario.label,
    }
    return ResultTable(
        columns=[COLUMNS[place] for place in kept],
        rows=[[row[place] for place in kept] for row in rows],
        notes=[
            *(TableNote(f"({place}) {note}") for place, note in enumerate(notes, start=1)),
            *(TableNote(text, "note") for text in remarks),
            *(TableNote(text) for text in run.instances.sentences()),
        ],
        caption=f"{titles.run(run.spec.scenario)} with {brief(run.spec.model_label, 100)}.",
        fields=_FIELDS,
        records=[{**record, **about} for record in records],
        value={
            **about,
            "status": run.status,
            "error": run.error,
            "no_value": run.no_value or None,
            "stats": [asdict(stat) for stat in run.stats],
        },
        intro=[
            ("model", brief(model_of(run, model_names([run])), 200)),
            ("scenario", titles.run(run.spec.scenario)),
            ("method", titles.method(run.spec.adapter.name).title),
            *([("prompt changed", brief(run.spec.prompt_description, 400))] if run.spec.prompt_variant else []),
            ("run", f"{run.suite}/{run.name}"),
            ("status", run.status),
            *((("determinism", grade),) if (grade := determinism_of(run)) else ()),
        ],
        nothing="\n".join(filter(None, [run.error, *remarks])) or "The run has no statistics.",
    )


def joined(tables: Sequence[ResultTable]) -> ResultTable:
    """Return the records and values of several runs as those of one table, for programs."""
    records = [record for table in tables for record in table.records]
    return replace(tables[0], records=records, value=[table.value for table in tables])


def _row(stat: Stat, notes: Sequence[str], titles: Titles) -> list[TableCell]:
    ends = [] if stat.ci95 is None else [f"[{number(stat.ci95[0])}, {number(stat.ci95[1])}]"]
    mark = [f"({notes.index(stat.note) + 1})"] if stat.note else []
    subset = SEPARATOR.join(filter(None, [stat.split, titles.subset(stat)]))
    return [
        TableCell(f"{brief(titles.metric(stat.metric).title, 80)}{arrow(stat.higher_is_better)}"),
        TableCell(titles.category(stat.category).title),
        TableCell(brief(subset, 100)),
        TableCell(number(stat.mean)),
        TableCell(" ".join([*ends, *mark])),
        TableCell(f"{stat.count:,}"),
        TableCell(f"{stat.missing:,}" if stat.missing else ""),
    ]


def _without_value(run: RunRecord, titles: Titles) -> list[TableCell]:
    """Return the row of a main metric that has no value, with the first note."""
    title, split = brief(titles.metric(run.spec.main_metric).title, 80), run.spec.eval_split.value
    word = run.no_value.partition(":")[0]
    return [*map(TableCell, (title, "", split, word, "(1)")), TableCell(), TableCell()]


def _about_no_value(run: RunRecord) -> dict[str, Any]:
    split = run.spec.eval_split.value
    return {"metric": run.spec.main_metric, "split": split, "computed_on": "original", "count": 0, "note": run.no_value}


def _ends(stat: Stat) -> dict[str, float | None]:
    low, high = stat.ci95 or (None, None)
    return {"low": low, "high": high}


def _remarks(run: RunRecord) -> Iterator[str]:
    """Yield what a reader must know about the numbers."""
    if run.declined.examples and not run.error:
        yield f"{run.declined}."
    for note in filter(None, (unfinished_note(run.efficiency), unannounced_note(run.efficiency))):
        yield f"{note}."
    for note in served_notes(run.spec.model.name, served_models(run.provenance)):
        yield f"{note}."
    if problem := examples_problem(run):
        yield sentence(problem)
