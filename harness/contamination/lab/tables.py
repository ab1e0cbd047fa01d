"""Tables of the studies' results, for the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD

from harness.contamination.lab.power import PowerCurve
from harness.contamination.p_values import shown_p
from harness.output.console import plain_table

if TYPE_CHECKING:
    from rich.table import Table

    from harness.contamination.lab.exhibits import SliceResult

REPORTED_PROBABILITIES = (0.5, 0.9)
FIRST_WIDTH = 12


def power_table(curve: PowerCurve) -> Table:
    """Return the share detected for each number of copies, and the fitted probability."""
    table = _table("copies", "tests", f"detected (p ≤ {curve.alpha:g})", "share", "median p", "fitted probability")
    for dose in curve.doses:
        probability, low, high = curve.probability(dose.copies)
        fitted = f"{probability:.2f} [{low:.2f}, {high:.2f}]"
        table.add_row(
            str(dose.copies),
            str(dose.trials),
            str(dose.detected),
            f"{dose.detected / dose.trials:.2f} [{dose.low:.2f}, {dose.high:.2f}]",
            shown_p(dose.median_log10_p),
            fitted if dose.copies else f"{curve.alpha:g} (the level)",  # set, not fitted
        )
    return table


def power_sentences(curve: PowerCurve) -> Iterable[str]:
    """Yield the curve's conclusions, a sentence each."""
    most = curve.doses[-1].copies
    for probability in REPORTED_PROBABILITIES:
        copies, low, high = curve.copies(probability)
        if not any(dose.detected for dose in curve.doses if dose.copies) or copies > 10 * most:
            yield f"No tested number of copies comes close to being found with probability {probability}."
        elif curve.gap is not None:
            below, above = curve.gap
            found = f"Between {below} and {above} copies are found with probability {probability}"
            yield f"{found}; nothing between them was tested."
        else:
            upper = f"{high:.0f}" if high <= 10 * most else "many more"
            yield f"About {copies:.0f} copies [{low:.0f}, {upper}] are found with probability {probability}."
    yield "This holds for this data, model size and background; larger models remember more of a copy."


def evidence_table(rows: Iterable[SliceResult]) -> Table:
    """Return each slice's p-values: of the paper's test, and of the exact ones; no p if it is not testable."""
    table = _table("slice", "copies", "shards", "shuffles", "t test", "exact", "pairs", "p")
    for each in rows:
        found = each.found
        pairs = found.get("neighbours") or {}
        table.add_row(
            each.one.label,
            str(each.one.copies),
            str(found.get("r", "–")),
            str(found.get("shuffles", "–")),
            shown_p(found.get("log10_p_t")),
            shown_p(found.get("log10_p_exact")),
            shown_p(pairs.get("log10_p")),
            shown_p(found["headline_log10_p"]),
        )
    return table


def _table(*columns: str) -> Table:
    table = plain_table(*columns, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in table.columns:
        column.overflow = "fold"
    table.columns[0].min_width = FIRST_WIDTH  # on a narrow terminal the numbers wrap, and the row's name does not
    return table
