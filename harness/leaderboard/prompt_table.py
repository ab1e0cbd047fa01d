"""How much scores depend on the prompt, as a table to read and as records with a row for each prompt."""

from __future__ import annotations

from collections.abc import Iterator

from harness.contracts.specs import UNCHANGED
from harness.leaderboard import board_text
from harness.leaderboard.aggregate import Board
from harness.leaderboard.cells import Cell
from harness.leaderboard.columns import canonical
from harness.leaderboard.formatting import arrow, interval, number
from harness.leaderboard.prompt_spread import PromptSpread
from harness.output.display import brief
from harness.output.result_table import ResultTable, TableCell, TableColumn, TableNote

COLUMNS = (
    TableColumn(("scenario",)),
    TableColumn(("metric",), under="scenario"),
    TableColumn(("model",), limit=36, name=True),
    TableColumn(("mean",), numeric=True),
    TableColumn(("± instances",), numeric=True),
    TableColumn(("± prompts",), numeric=True, under="± instances"),
    TableColumn(("prompts",), numeric=True),
    TableColumn(("unchanged",), numeric=True, under="prompts"),
    TableColumn(("worst",), numeric=True),
    TableColumn(("best",), numeric=True, under="worst"),
)

FIELDS = (
    "model", "model_id", "column", "scenario", "parameters", "method", "metric", "higher_is_better", "prompt",
    "unchanged", "prompt_mean", "best", "worst", "prompts", "mean", "stderr", "low", "high", "stderr_instances",
    "deviation_prompts", "count", "sample",
)  # fmt: skip

NOTES = (
    "mean: over instances and prompts, with the 95 % interval for other instances and other prompts like these.",
    "± instances: standard error from the number of instances, for these prompts. ± prompts: standard deviation of the "
    "prompts’ true means; the part of their spread that few instances explain is subtracted, and less than none is 0.",
    "worst and best: means of single prompts. The best of several overstates a new prompt's score: it was chosen "
    "after seeing the scores.",
)


def prompt_table(board: Board, *, each: bool = False) -> ResultTable:
    """Return the results with several prompts as a table, with a row for each model and column.

    The records, and with ``each`` the table, have a row for each prompt.
    """
    shown = board_text.readable(board)
    headings = board_text.headings(shown)
    rows, few = [], []
    for place, (column, heading) in enumerate(zip(shown.columns, headings, strict=True)):
        for row in shown.rows:
            cell = row.cells[place]
            if cell is None or cell.prompts is None or cell.mean is None:
                continue
            title = " ".join([heading.title, *heading.details])
            metric = f"{heading.metric}{'' if heading.metric.endswith(('↑', '↓')) else arrow(column.higher_is_better)}"
            rows.append([TableCell(brief(title, 120)), TableCell(metric), TableCell(brief(row.model)), *_numbers(cell)])
            rows += [_one(words, mean) for words, mean in _by_mean(cell.prompts)] if each else []
            if not cell.prompts.effects.complete:
                few.append(f"{row.model}, {title}: too few prompts; the interval is for these prompts.")
            if not cell.prompts.paired:
                few.append(f"{row.model}, {title}: the scores of instances are unknown, so ± prompts includes noise.")
    records = list(_records(board))
    return ResultTable(
        columns=COLUMNS,
        rows=rows,
        notes=[*map(TableNote, NOTES), *(TableNote(text, "note") for text in few)] if rows else [],
        caption="Results over variants of the prompt.",
        fields=FIELDS,
        records=records,
        value=records,
        nothing="No run has several prompts. Write prompt_variants: 8 in a run of the sweep.",
    )


def _numbers(cell: Cell) -> list[TableCell]:
    prompts = cell.prompts
    if prompts is None or cell.mean is None:
        return []
    effects = prompts.effects
    worst, best = (None if place is None else effects.means[place] for place in (prompts.worst, prompts.best))
    return [
        TableCell(number(cell.mean), interval(cell.mean, cell.low, cell.high)),
        TableCell("" if effects.instances.stderr is None else number(effects.instances.stderr)),
        TableCell("" if effects.deviation is None else number(effects.deviation)),
        TableCell(str(len(effects.means))),
        *(TableCell("" if value is None else number(value)) for value in (prompts.unchanged, worst, best)),
    ]


def _one(words: str, mean: float) -> list[TableCell]:
    empty = TableCell(" ")
    return [TableCell(f"  {brief(words, 200)}"), empty, empty, TableCell(number(mean)), *[empty] * 6]


def _by_mean(prompts: PromptSpread) -> list[tuple[str, float]]:
    """Return the prompts with their means, the best first."""
    found = list(zip(prompts.descriptions, prompts.effects.means, strict=True))
    return sorted(found, key=lambda one: one[1], reverse=prompts.higher_is_better is not False)


def _records(board: Board) -> Iterator[dict[str, object]]:
    titles = board_text.headings(board)
    for place, column in enumerate(board.columns):
        for row in board.rows:
            cell = row.cells[place]
            if cell is None or cell.prompts is None:
                continue
            prompts, effects = cell.prompts, cell.prompts.effects
            for number_, (words, mean) in enumerate(zip(prompts.descriptions, effects.means, strict=True)):
                yield {
                    "model": row.model,
                    "model_id": row.identifier,
                    "column": " ".join([titles[place].title, *titles[place].details]),
                    "scenario": column.scenario,
                    "parameters": canonical(column.parameters),
                    "method": column.method,
                    "metric": column.metric,
                    "higher_is_better": column.higher_is_better,
                    "prompt": words,
                    "unchanged": words == UNCHANGED,
                    "prompt_mean": mean,
                    "best": number_ == prompts.best,
                    "worst": number_ == prompts.worst,
                    "prompts": len(effects.means),
                    "mean": cell.mean,
                    "stderr": cell.stderr,
                    "low": cell.low,
                    "high": cell.high,
                    "stderr_instances": effects.instances.stderr,
                    "deviation_prompts": effects.deviation,
                    "count": cell.count,
                    "sample": column.sample,
                }
