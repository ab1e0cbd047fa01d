"""Comparisons of two models as a table on the terminal, JSON, CSV and Markdown."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import asdict, fields

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.comparison import Comparison, Family

HEADERS = ("scenario", "metric", "n", "first", "second", "difference", "p", "Holm", "BH", "not compared")


def render(family: Family, format_: str) -> str:
    """Return comparisons as ``json``, ``csv`` or ``md``."""
    if format_ == "json":
        return json.dumps(asdict(family), indent=2, ensure_ascii=False) + "\n"
    return _csv(family) if format_ == "csv" else _markdown(family)


def show(family: Family, console: Console) -> None:
    """Print comparisons."""
    table = Table(*HEADERS, box=None, header_style="bold", pad_edge=False, title_justify="left")
    for column in table.columns[2:9]:
        column.justify = "right"
    for comparison in family.comparisons:
        table.add_row(*(Text(cell) for cell in _cells(comparison)))
    for line in _heading(family):
        console.print(Text(line))
    console.print(table)
    for line in _footnotes(family):
        console.print(Text(line))


def _cells(comparison: Comparison) -> tuple[str, ...]:
    arrow = {True: " ↑", False: " ↓", None: ""}[comparison.higher_is_better]
    interval = (
        "" if comparison.low is None or comparison.high is None else f" [{comparison.low:+.3f}, {comparison.high:+.3f}]"
    )
    return (
        f"{comparison.scenario} ({comparison.adapter})",
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
