"""The comparison of two models as a table to read and as records for other programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, fields, replace

from harness.leaderboard.comparison import Comparison, ComparisonFamily, told_apart
from harness.leaderboard.formatting import arrow, p_value, signed_interval
from harness.leaderboard.pairwise import ALPHA
from harness.output.display import brief, sentence
from harness.output.result_table import Emphasis, ResultTable, TableCell, TableColumn, TableNote
from harness.plugins.titles import Titles

COLUMNS = (
    TableColumn(("scenario",)),
    TableColumn(("metric",), under="scenario"),
    TableColumn(("n",), numeric=True),
    TableColumn(("first",), numeric=True),
    TableColumn(("second",), numeric=True, under="first"),
    TableColumn(("difference",), numeric=True),
    TableColumn(("could show",), numeric=True, under="difference"),
    TableColumn(("p",), numeric=True),
    TableColumn(("Holm",), numeric=True, under="p"),
    TableColumn(("BH",), numeric=True, under="p"),
    TableColumn(("not compared",), under="scenario"),
)


def comparison_table(family: ComparisonFamily, titles: Titles | None = None) -> ResultTable:
    """Return comparisons as a table: the differences that are shown first, and of these the largest."""
    titles = titles or Titles()
    family = replace(family, comparisons=tuple(sorted(family.comparisons, key=_importance)))
    called = told_apart(((each.title, each.adapter) for each in family.comparisons), titles)
    leading = ["first_name", "second_name", "first_id", "second_id"]
    leading += ["scenario", "adapter", "metric", "higher_is_better"]
    names = [field.name for field in fields(Comparison) if field.name not in (*leading, "note")]
    rows = [_row(each, titles, called[each.title, each.adapter]) for each in family.comparisons]
    shown = len(COLUMNS) if any(row[-1].text for row in rows) else len(COLUMNS) - 1
    return ResultTable(
        columns=COLUMNS[:shown],
        rows=[row[:shown] for row in rows],
        notes=[TableNote(note) for note in _notes(family)],
        caption=f"{brief(family.first)} compared with {brief(family.second)}.",
        fields=[*leading, *names],
        records=[
            {
                "first_name": family.first,
                "second_name": family.second,
                "first_id": family.first_id,
                "second_id": family.second_id,
                **asdict(comparison),
                "notes": "; ".join(comparison.notes),
            }
            for comparison in family.comparisons
        ],
        value=asdict(family),
        intro=[
            ("first", brief(family.first, 200)),
            ("second", brief(family.second, 200)),
            ("result", _verdict(family)),
        ],
    )


def _importance(comparison: Comparison) -> tuple[bool, float, str]:
    return comparison.p_holm >= ALPHA, -abs(comparison.difference), comparison.scenario


def _better(comparison: Comparison) -> bool | None:
    """Return if the first is shown to be better, or, False, to be worse; None if neither."""
    if comparison.p_holm >= ALPHA or comparison.higher_is_better is None or comparison.difference == 0:
        return None
    return (comparison.difference > 0) == comparison.higher_is_better


def _verdict(family: ComparisonFamily) -> str:
    found = [_better(comparison) for comparison in family.comparisons]
    better, worse, neither = (str(found.count(each) or "none") for each in (True, False, None))
    return f"first better on {better} of {len(found)}, worse on {worse}, no difference shown on {neither}"


def _row(comparison: Comparison, titles: Titles, scenario: str) -> list[TableCell]:
    better = _better(comparison)
    emphasis: Emphasis = "" if better is None else "better" if better else "worse"
    return [
        TableCell(brief(f"{scenario} {comparison.settings}".rstrip(), 200)),
        TableCell(f"{brief(titles.metric(comparison.metric).title, 60)}{arrow(comparison.higher_is_better)}"),
        TableCell(str(comparison.count)),
        TableCell(f"{comparison.first:.3f}"),
        TableCell(f"{comparison.second:.3f}"),
        TableCell(f"{comparison.difference:+.3f}", signed_interval(comparison.low, comparison.high), emphasis=emphasis),
        TableCell(_could_show(comparison)),
        *(TableCell(p_value(p)) for p in (comparison.p, comparison.p_holm, comparison.p_bh)),
        TableCell(", ".join(comparison.left_out("first", "second"))),
    ]


def _could_show(comparison: Comparison) -> str:
    """Return what a comparison could show; '' if that is not known."""
    if comparison.could_show is None:
        return "" if comparison.variance is None else "none"
    return f"±{comparison.could_show:.3f}"


def _notes(family: ComparisonFamily) -> Iterator[str]:
    tests = {
        "mcnemar": "exact McNemar",
        "permutation": "sign-flip permutation",
        "crossed": "Student’s t over instances and prompts",
    }
    used = sorted({tests[comparison.test] for comparison in family.comparisons})
    size = len(family.comparisons)
    yield f"difference: first − second with 95 % interval; p: {' or '.join(used)}, two-sided; n: instances of both."
    yield f"Holm and BH (Benjamini–Hochberg): p adjusted for {size} comparison{'s' if size > 1 else ''}."
    corrected = f" with p adjusted for {size} comparisons" if size > 1 else ""
    yield (
        f"could show: the smallest true difference that is shown with a power of 0.8{corrected}; it follows from n and "
        "the variance, not from the difference found."
    )
    for comparison in family.comparisons:
        for note in comparison.notes:
            yield sentence(f"{comparison.title or comparison.scenario}: {note}.")
    yield from (sentence(problem) for problem in family.problems)
