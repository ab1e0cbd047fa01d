"""Comparisons of two models as a table on the terminal, JSON, CSV and Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import asdict, fields

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.leaderboard.comparison import Comparison, Family
from harness.leaderboard.layout import fits
from harness.output.display import json_text

HEADERS = ("scenario", "metric", "n", "first", "second", "difference", "p", "Holm", "BH", "not compared")


def render(family: Family, format_: str) -> str:
    """Return comparisons as ``json``, ``csv`` or ``md``."""
    if format_ == "json":
        return json_text(asdict(family)) + "\n"
    return _csv(family) if format_ == "csv" else _markdown(family)


def show(family: Family, console: Console) -> None:
    """Print comparisons; where a line does not fit the console's width, a few lines for each."""
    for line in _heading(family):
        console.print(Text(line))
    table = _wide(family)
    console.print(table if fits(table, console) else _narrow(family))
    for line in _footnotes(family):
        console.print(Text(line))


def _wide(family: Family) -> Table:
    table = Table(*HEADERS, box=None, header_style="bold", pad_edge=False)
    for column in table.columns[2:9]:
        column.justify = "right"
    for comparison in family.comparisons:
        table.add_row(*(Text(cell) for cell in _cells(comparison)))
    return table


def _narrow(family: Family) -> Table:
    table = Table(
        "scenario\nmetric", "n", "first\nsecond", "difference\n95 % interval", "p\nHolm\nBH",
        box=None, header_style="bold", pad_edge=False,
    )  # fmt: skip
    table.columns[0].overflow = "fold"
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True
    for comparison in family.comparisons:
        scenario, metric, count, first, second, difference, p, strict, loose, left_out = _cells(comparison)
        value, _, interval = difference.partition(" ")
        skipped = "" if left_out == "–" else f"\nnot compared: {left_out}"
        table.add_row(
            Text.assemble(scenario, (f"\n{metric}{skipped}", "dim")),
            count,
            f"{first}\n{second}",
            f"{value}\n{interval}",
            f"{p}\n{strict}\n{loose}",
        )
    return table


def _cells(comparison: Comparison) -> tuple[str, ...]:
    arrow = {True: " ↑", False: " ↓", None: ""}[comparison.higher_is_better]
    interval = (
        "" if comparison.low is None or comparison.high is None else f" [{comparison.low:+.3f}, {comparison.high:+.3f}]"
    )
    return (
        f"{comparison.scenario} ({comparison.adapter}) {comparison.settings}".rstrip(),
        f"{comparison.metric}{arrow}",
        str(comparison.count),
        f"{comparison.first:.3f}",
        f"{comparison.second:.3f}",
        f"{comparison.difference:+.3f}{interval}",
        *(_p_value(p) for p in (comparison.p, comparison.p_holm, comparison.p_bh)),
        ", ".join(_left_out(comparison)) or "–",
    )


def _p_value(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _left_out(comparison: Comparison) -> Iterator[str]:
    counts = (
        (comparison.only_first, "only first"),
        (comparison.only_second, "only second"),
        (comparison.undefined, "undefined"),
        (comparison.changed, "not the same question"),
    )
    return (f"{count} {what}" for count, what in counts if count)


def _heading(family: Family) -> Iterator[str]:
    yield f"first:  {family.first}"
    yield f"second: {family.second}"


def _footnotes(family: Family) -> Iterator[str]:
    tests = {"mcnemar": "exact McNemar", "permutation": "sign-flip permutation"}
    used = sorted({tests[comparison.test] for comparison in family.comparisons})
    size = len(family.comparisons)
    yield f"difference: first − second with 95 % interval; p: {' or '.join(used)}, two-sided; n: instances of both."
    yield f"Holm and BH (Benjamini–Hochberg): p adjusted for {size} comparison{'s' if size > 1 else ''}."
    for comparison in family.comparisons:
        for note in comparison.notes:
            yield f"{comparison.scenario}: {note}."
    yield from family.problems


def _csv(family: Family) -> str:
    names = [field.name for field in fields(Comparison)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["first_name", "second_name", *names])
    for comparison in family.comparisons:
        values = {**asdict(comparison), "notes": "; ".join(comparison.notes)}
        writer.writerow([family.first, family.second, *("" if values[n] is None else values[n] for n in names)])
    return text.getvalue()


def _markdown(family: Family) -> str:
    lines = [*_heading(family), "", f"| {' | '.join(HEADERS)} |", f"|---|---{'|--:' * 7}|---|"]
    for comparison in family.comparisons:
        lines.append(f"| {' | '.join(cell.replace('|', '&#124;') for cell in _cells(comparison))} |")
    lines[0] += "  "  # a line break
    return "\n".join([*lines, "", *(f"{line}  " for line in _footnotes(family))]) + "\n"
