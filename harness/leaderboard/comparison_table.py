"""The comparison of two models as a table to read and as records for other programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, fields

from harness.leaderboard.comparison import Comparison, ComparisonFamily
from harness.leaderboard.formatting import arrow, p_value, signed_interval
from harness.output.display import brief, sentence
from harness.output.result_table import ResultTable, TableCell, TableColumn, TableNote

COLUMNS = (
    TableColumn(("scenario",)),
    TableColumn(("metric",), under="scenario"),
    TableColumn(("n",), numeric=True),
    TableColumn(("first",), numeric=True),
    TableColumn(("second",), numeric=True, under="first"),
    TableColumn(("difference",), numeric=True),
    TableColumn(("p",), numeric=True),
    TableColumn(("Holm",), numeric=True, under="p"),
    TableColumn(("BH",), numeric=True, under="p"),
    TableColumn(("not compared",), under="scenario"),
)


def comparison_table(family: ComparisonFamily) -> ResultTable:
    """Return comparisons as a table."""
    leading = ["first_name", "second_name", "scenario", "adapter", "metric", "higher_is_better"]
    names = [field.name for field in fields(Comparison) if field.name not in (*leading, "note")]
    return ResultTable(
        columns=COLUMNS,
        rows=[_row(comparison) for comparison in family.comparisons],
        notes=[TableNote(note) for note in _notes(family)],
        caption=f"{brief(family.first)} compared with {brief(family.second)}.",
        fields=[*leading, *names],
        records=[
            {
                "first_name": family.first,
                "second_name": family.second,
                **asdict(comparison),
                "notes": "; ".join(comparison.notes),
            }
            for comparison in family.comparisons
        ],
        value=asdict(family),
        intro=[("first", brief(family.first)), ("second", brief(family.second))],
    )


def _row(comparison: Comparison) -> list[TableCell]:
    return [
        TableCell(brief(f"{comparison.scenario} ({comparison.adapter}) {comparison.settings}".rstrip(), 200)),
        TableCell(f"{brief(comparison.metric, 40)}{arrow(comparison.higher_is_better)}"),
        TableCell(str(comparison.count)),
        TableCell(f"{comparison.first:.3f}"),
        TableCell(f"{comparison.second:.3f}"),
        TableCell(f"{comparison.difference:+.3f}", signed_interval(comparison.low, comparison.high)),
        *(TableCell(p_value(p)) for p in (comparison.p, comparison.p_holm, comparison.p_bh)),
        TableCell(", ".join(comparison.left_out("first", "second"))),
    ]


def _notes(family: ComparisonFamily) -> Iterator[str]:
    tests = {"mcnemar": "exact McNemar", "permutation": "sign-flip permutation"}
    used = sorted({tests[comparison.test] for comparison in family.comparisons})
    size = len(family.comparisons)
    yield f"difference: first − second with 95 % interval; p: {' or '.join(used)}, two-sided; n: instances of both."
    yield f"Holm and BH (Benjamini–Hochberg): p adjusted for {size} comparison{'s' if size > 1 else ''}."
    for comparison in family.comparisons:
        for note in comparison.notes:
            yield sentence(f"{comparison.scenario}: {note}.")
    yield from (sentence(problem) for problem in family.problems)
