"""What changed between two suites as a table on the terminal, Markdown, CSV, JSON and LaTeX."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.errors import HarnessError, did_you_mean
from harness.leaderboard.diff import Change, Diff
from harness.leaderboard.latex import escaped
from harness.leaderboard.layout import fits, stacked
from harness.output.display import brief, json_text, sentence

HEADERS = ("model", "scenario", "metric", "n", "before", "after", "change", "p", "Holm")
FORMATS = ("csv", "json", "md", "latex")
UNPAIRED = "≠"
_FORMULA = ("=", "+", "-", "@")
_SPECIAL = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]#|~"})


def render_diff(diff: Diff, format: str) -> str:
    """Return the changes as ``csv``, ``json``, ``md`` or ``latex``.

    Raises:
        HarnessError: There is no such format.
    """
    writers = {"csv": _csv, "json": _json, "md": _markdown, "latex": _latex}
    if format not in writers:
        raise HarnessError(f"there is no format {format!r}. {did_you_mean(format, writers)}")
    return writers[format](diff)


def show_diff(diff: Diff, console: Console) -> None:
    """Print the changes, those that are not chance coloured; where a line does not fit, a few lines for each."""
    console.print(Text(f"before: {brief(diff.first)}\nafter:  {brief(diff.second)}"))
    rows = [[Text(cell) for cell in _cells(change)] for change in diff.changes]
    for change, cells in zip(diff.changes, rows, strict=True):
        cells[6].stylize({True: "green", False: "red", None: ""}[change.better])
    table = _wide(rows)
    console.print(table if fits(table, console) else _narrow(rows))
    for line in _footnotes(diff):
        console.print(Text(line))


def _wide(rows: Sequence[Sequence[Text]]) -> Table:
    table = Table(*HEADERS, box=None, header_style="bold", pad_edge=False)
    for column in table.columns[3:]:
        column.justify = "right"
    for cells in rows:
        table.add_row(*cells)
    return table


def _narrow(rows: Sequence[Sequence[Text]]) -> Table:
    table = Table(
        "model\nscenario\nmetric", "n", "before\nafter", "change\n95 % interval", "p\nHolm",
        box=None, header_style="bold", pad_edge=False,
    )  # fmt: skip
    table.columns[0].overflow = "fold"
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True
    for model, scenario, metric, count, before, after, change, p, corrected in rows:
        value, _, interval = change.plain.partition(" ")
        table.add_row(
            stacked(model, scenario, metric),
            count,
            stacked(before, after),
            Text(f"{value}\n{interval}", change.spans[0].style if change.spans else ""),
            stacked(p, corrected),
        )
    return table


def _cells(change: Change) -> tuple[str, ...]:
    arrow = {True: " ↑", False: " ↓", None: ""}[change.higher_is_better]
    interval = "" if change.low is None or change.high is None else f" [{change.low:+.3f}, {change.high:+.3f}]"
    return (
        brief(change.model, 40),
        brief(f"{change.scenario} ({change.method})", 60),
        f"{brief(change.metric, 40)}{arrow}",
        f"{change.count}{'' if change.paired else UNPAIRED}",
        f"{change.before:.3f}",
        f"{change.after:.3f}",
        f"{change.difference:+.3f}{interval}",
        _p_value(change.p),
        _p_value(change.p_holm),
    )


def _p_value(p: float | None) -> str:
    return "–" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def _footnotes(diff: Diff) -> Iterator[str]:
    tested = sum(change.p is not None for change in diff.changes)
    yield "change: after − before with 95 % interval; p: exact McNemar or sign flips on the same instances, two-sided."
    yield f"Holm: p adjusted for {tested} comparison{'s' if tested != 1 else ''}."
    if not all(change.paired for change in diff.changes):
        yield f"{UNPAIRED} not on the same instances: from the two means' own intervals, where they have some."
    noted: dict[str, list[str]] = {}
    for change in diff.changes:
        for note in change.notes:
            noted.setdefault(note, []).append(f"{brief(change.model, 40)} on {brief(change.scenario, 60)}")
    for note, where in noted.items():
        more = f" and {len(where) - 2} more" if len(where) > 2 else ""
        yield sentence(f"{note} ({'; '.join(where[:2])}{more}).")
    for problem in diff.problems:
        yield sentence(problem)


def _csv(diff: Diff) -> str:
    names = [field.name for field in fields(Change)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["before_suite", "after_suite", *names])
    for change in diff.changes:
        values = {**asdict(change), "notes": "; ".join(change.notes)}
        writer.writerow([_field(value) for value in (diff.first, diff.second, *(values[name] for name in names))])
    return text.getvalue()


def _field(value: object) -> str:
    """Return a value as CSV has it; a text that a spreadsheet would take for a formula begins with an apostrophe."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    text = brief(str(value), 32_000)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def _json(diff: Diff) -> str:
    return json_text(asdict(diff)) + "\n"


def _markdown(diff: Diff) -> str:
    lines = [f"before: {_marked(brief(diff.first))}  ", f"after: {_marked(brief(diff.second))}", ""]
    lines += [f"| {' | '.join(HEADERS)} |", f"|---|---|---|{'--:|' * 6}"]
    lines += [f"| {' | '.join(_marked(cell) for cell in _cells(change))} |" for change in diff.changes]
    return "\n".join([*lines, "", *(f"{_marked(line)}  " for line in _footnotes(diff))]) + "\n"


def _marked(text: str) -> str:
    return html.escape(text, quote=False).translate(_SPECIAL)


def _latex(diff: Diff) -> str:
    lines = [
        "% Needs \\usepackage{booktabs}.",
        r"\begin{table*}",
        r"\centering\small",
        rf"\caption{{From {escaped(brief(diff.first))} to {escaped(brief(diff.second))}.}}",
        r"\begin{tabular}{lllrrrrrr}",
        r"\toprule",
        rf"{' & '.join(escaped(header) for header in HEADERS)} \\",
        r"\midrule",
        *(rf"{' & '.join(escaped(cell) for cell in _cells(change))} \\" for change in diff.changes),
        r"\bottomrule",
        r"\end{tabular}",
        "",
        r"\smallskip\footnotesize\raggedright",
        *(rf"{escaped(note)}\par" for note in _footnotes(diff)),
        r"\end{table*}",
    ]
    return "\n".join(lines) + "\n"
