"""Scores over the steps of trainings, as a table of what they can tell apart and as records of curves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from harness.leaderboard.aggregate import build_board, counting_runs
from harness.leaderboard.board_text import Heading, headings
from harness.leaderboard.checkpoint_changes import ColumnChanges, SeriesChanges, column_changes
from harness.leaderboard.checkpoints import series_of, shared_steps
from harness.leaderboard.columns import canonical, group_runs
from harness.leaderboard.formatting import arrow, number
from harness.leaderboard.model_names import model_names
from harness.output.display import brief
from harness.output.result_table import ResultTable, TableCell, TableColumn, TableNote
from harness.plugins.titles import Titles
from harness.storage.results import RunRecord

COLUMNS = (
    TableColumn(("scenario",)),
    TableColumn(("metric",), under="scenario"),
    TableColumn(("training",), limit=36, name=True),
    TableColumn(("checkpoints",), numeric=True),
    TableColumn(("n",), numeric=True, under="checkpoints"),
    TableColumn(("first",), numeric=True),
    TableColumn(("last",), numeric=True, under="first"),
    TableColumn(("signal to noise",), numeric=True),
    TableColumn(("told apart",), numeric=True),
    TableColumn(("could show",), numeric=True),
    TableColumn(("n needed",), numeric=True, under="could show"),
)

SIGNAL_FIELDS = (
    "series", "column", "scenario", "parameters", "method", "metric", "higher_is_better", "checkpoints", "first_step",
    "last_step", "first", "last", "count", "signal", "noise", "signal_to_noise", "pairs", "told_apart", "could_show",
    "needed", "paired", "training_signal", "training_noise", "training_signal_to_noise", "sample",
)  # fmt: skip

CURVE_FIELDS = (
    "series", "step", "model", "model_id", "column", "scenario", "parameters", "method", "metric", "higher_is_better",
    "mean", "stderr", "low", "high", "count", "sample",
)  # fmt: skip

NOTES = (
    "signal to noise: the typical true change from one checkpoint to the next (root mean square, sampling error "
    "subtracted) over its standard error. At 2.8, a typical change is shown with a power of 0.8.",
    "told apart: neighbouring checkpoints that are shown to differ, paired by instance (5 %, Holm’s correction).",
    "could show: the smallest true change between neighbours that is shown with a power of 0.8 after this correction "
    "(median). n needed: instances with which a typical change is shown with a power of 0.8.",
)


def signal_table(runs: Sequence[RunRecord], titles: Titles | None = None) -> ResultTable:
    """Return what each scenario can tell apart in each training: signal to noise between neighbouring checkpoints."""
    board = build_board(runs, titles=titles, check=lambda _: "")
    names, groups = model_names(runs), group_runs(runs)
    counting = [counting_runs(group, names) for group in groups]
    first = len(board.columns) - len(groups)  # composite scores are the first columns, and have no runs of their own
    said = headings(board)[first:]
    columns = board.columns[first:]
    rows, records, notes = [], [], []
    trainings = series_of(runs)
    for found in column_changes(groups, counting, trainings):
        column, heading = columns[found.column], said[found.column]
        if column.test:
            continue
        title = brief(" ".join([heading.title, *heading.details]), 120)
        metric = f"{heading.metric}{'' if heading.metric.endswith(('↑', '↓')) else arrow(column.higher_is_better)}"
        rows += [[TableCell(title), TableCell(metric), *_row(one)] for one in found.series]
        about = {
            "scenario": column.scenario,
            "parameters": canonical(column.parameters),
            "method": column.method,
            "metric": column.metric,
            "higher_is_better": column.higher_is_better,
            "sample": column.sample,
        }
        records += [{**about, **_record(one, found, heading)} for one in found.series]
        notes += list(_notes(found, title))
    notes += [note for one in trainings for note in shared_steps(one)]
    return ResultTable(
        columns=COLUMNS,
        rows=rows,
        notes=[*map(TableNote, NOTES), *(TableNote(note, "note") for note in notes)] if rows else [],
        caption="Signal to noise between neighbouring checkpoints.",
        fields=SIGNAL_FIELDS,
        records=records,
        value=records,
        nothing="No two of these models are checkpoints of one training. Write about: {series: NAME, step: 1000}.",
    )


def curve_records(runs: Sequence[RunRecord], titles: Titles | None = None) -> Iterator[dict[str, Any]]:
    """Yield a record for each checkpoint of a training and column with a result, by training, column and step."""
    board = build_board(runs, titles=titles, check=lambda _: "")
    said = headings(board)
    several = {one.key for one in series_of(runs)}
    rows = [(row.training, row) for row in board.rows if row.training is not None and row.training.series in several]
    for place, (column, heading) in enumerate(zip(board.columns, said, strict=True)):
        if column.test:
            continue
        for training, row in sorted(rows, key=lambda one: (one[0].series, one[0].step, one[1].model)):
            cell = row.cells[place]
            if cell is None or cell.mean is None or not cell.complete:
                continue
            yield {
                "series": training.series,
                "step": training.step,
                "model": row.model,
                "model_id": row.identifier,
                "column": " ".join([heading.title, *heading.details]),
                "scenario": column.scenario,
                "parameters": canonical(column.parameters),
                "method": column.method,
                "metric": column.metric,
                "higher_is_better": column.higher_is_better,
                "mean": cell.mean,
                "stderr": cell.stderr,
                "low": cell.low,
                "high": cell.high,
                "count": cell.count,
                "sample": column.sample,
            }


def ratio_text(ratio: float | None) -> str:
    """Return a ratio of signal to noise as text; '' if it is unknown."""
    return "" if ratio is None else f"{ratio:.1f}"


def _row(one: SeriesChanges) -> list[TableCell]:
    signal = one.signal
    return [
        TableCell(brief(one.series.name, 100)),
        TableCell(str(len(one.steps))),
        TableCell(f"{one.count:,}"),
        TableCell(number(one.scores[0])),
        TableCell(number(one.scores[-1])),
        TableCell(ratio_text(signal.ratio if signal else None)),
        TableCell(f"{one.told_apart} of {len(one.changes)}"),
        TableCell(_could_show(one)),
        TableCell("" if one.needed is None else f"{one.needed:,}"),
    ]


def _could_show(one: SeriesChanges) -> str:
    if one.could_show is None:
        return "" if one.over_prompts else "none"
    return f"±{number(one.could_show)}"


def _record(one: SeriesChanges, found: ColumnChanges, heading: Heading) -> dict[str, Any]:
    signal, between = one.signal, found.between
    return {
        "series": one.series.key,
        "column": " ".join([heading.title, *heading.details]),
        "checkpoints": len(one.steps),
        "first_step": one.steps[0],
        "last_step": one.steps[-1],
        "first": one.scores[0],
        "last": one.scores[-1],
        "count": one.count,
        "signal": signal and signal.signal,
        "noise": signal and signal.noise,
        "signal_to_noise": signal and signal.ratio,
        "pairs": len(one.changes),
        "told_apart": one.told_apart,
        "could_show": one.could_show,
        "needed": one.needed,
        "paired": all(change.paired for change in one.changes),
        "training_signal": between and between.signal,
        "training_noise": between and between.noise,
        "training_signal_to_noise": between and between.ratio,
    }


def _notes(found: ColumnChanges, title: str) -> Iterator[str]:
    if between := found.between:
        ratio = "" if between.ratio is None else f", ratio {ratio_text(between.ratio)}"
        yield (
            f"{title}: the trainings’ last checkpoints differ by up to {number(between.signal)}; those of one training "
            f"have a standard deviation of {number(between.noise)} at its end{ratio} (Heineman et al. 2025)."
        )
    unpaired = [one.series.name for one in found.series if not all(change.paired for change in one.changes)]
    if unpaired:
        yield (
            f"{title}, {', '.join(unpaired)}: checkpoints are not paired, because the scores of instances are unknown, "
            "or because they share no variant of the prompt."
        )
    varied = [one.series.name for one in found.series if one.over_prompts]
    if varied:
        yield (
            f"{title}, {', '.join(varied)}: over the variants of the prompt that both checkpoints have. A few prompts "
            "are too few to say what a comparison could show."
        )
