"""The exhibits of Oren et al. 2023 as tables, from the records of the lab's tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from harness.contamination.lab.false_alarms import (
    WORLDS,
    control_draws,
    false_alarm_rates,
    simulation_file,
    world_draws,
    world_file,
)
from harness.contamination.lab.injections import Injection
from harness.contamination.lab.paper import FALSE_POSITIVES
from harness.contamination.lab.study import runs_by_slice
from harness.contamination.order_tests import details_of, order_tests
from harness.contamination.p_values import shown_p
from harness.contamination.statistics.baselines import auroc, share_flagged, threshold
from harness.output.display import counted
from harness.output.result_table import ResultTable, TableCell, TableColumn, TableNote
from harness.storage.results import RunRecord


@dataclass(frozen=True, slots=True)
class SliceResult:
    """One slice, and what a test found."""

    model: str
    """The name of the checkpoint's folder."""
    one: Injection
    """The slice."""
    found: Mapping[str, Any]
    """The metric's details, as in run.json; ``headline_log10_p`` is None if the order cannot be tested."""
    settings: Mapping[str, Any]
    """The adapter's settings."""


def slice_results(records: Iterable[RunRecord], slices: Mapping[Path, Sequence[Injection]]) -> list[SliceResult]:
    """Return the order tests of checkpoints' slices, by copies and name."""
    found = [
        SliceResult(
            folder.name,
            one,
            test.found if test.testable else {"n_used": test.found["n_used"], "headline_log10_p": None},
            record.spec.adapter.arguments,
        )
        for folder, one, record in runs_by_slice(records, slices)
        for test in order_tests([record])
    ]
    return sorted(found, key=lambda each: (each.one.copies, each.one.label))


def table_1(tests: Sequence[SliceResult], permutations: int, examples: str) -> ResultTable:
    """Return each test set's p-values by the permutation test, the sharded t-test, and the exact tests."""
    headings = ("test set", "copies", "n", "permutation", "sharded t", "exact", "p")
    records = [
        {
            "test set": each.one.label,
            "copies": each.one.copies,
            "n": each.found["n_used"],
            "log10 p, permutation": _log10(each.found.get("p_permutation")),
            "log10 p, sharded t": each.found.get("log10_p_t"),
            "log10 p, exact": each.found.get("log10_p_exact"),
            "log10 p": each.found["headline_log10_p"],
        }
        for each in tests
    ]
    notes = (
        f"permutation: the simple test on all examples, with {permutations} orders at most, so that p is "
        f"{1 / (permutations + 1):.2g} or more. sharded t: the published test. exact: the relabelling test. p: the "
        "harness's, which combines exact with the neighbour test. Rows with 0 copies are controls. "
        f"{examples}{_untested(tests)}"
    )
    return _table(headings, records, "Test sets with known numbers of copies in the training text.", notes)


def duplication(tests: Sequence[SliceResult], examples: str) -> ResultTable:
    """Return the p-values by number of copies."""
    headings = ("copies", "tests", "sharded t", "exact", "p", "p < .01")
    records = []
    for copies in sorted({each.one.copies for each in tests}):
        own = [each.found for each in tests if each.one.copies == copies and _tested(each)]
        records.append(
            {
                "copies": copies,
                "tests": len(own),
                "log10 p, sharded t": _mean(own, "log10_p_t"),
                "log10 p, exact": _mean(own, "log10_p_exact"),
                "log10 p": _mean(own, "headline_log10_p"),
                "p < .01": sum(found["headline_log10_p"] < -2 for found in own),
            }
        )
    return _table(headings, records, "p by number of copies.", f"{GEOMETRIC} {examples}{_untested(tests)}")


def by_setting(tests: Sequence[SliceResult], setting: str, examples: str) -> ResultTable:
    """Return p by a setting of the sharded test, ``shards`` or ``shuffles``, and by number of copies."""
    return _crossed(
        setting,
        {value: value for value in sorted({each.settings[setting] for each in tests})},
        str,
        tests,
        lambda each: each.settings[setting],
        ("log10_p_t", "log10_p_exact"),
        f"p by number of {setting}.",
        f"{GEOMETRIC} Choose the number before you look at p: the smallest of several p-values is not a p-value. "
        + examples,
    )


def model_sizes(tests: Sequence[SliceResult], parameters: Mapping[str, int], examples: str) -> ResultTable:
    """Return p by the model's number of parameters and by number of copies."""
    names = sorted({each.model for each in tests}, key=lambda name: parameters[name])
    return _crossed(
        "parameters",
        {name: parameters[name] for name in names},
        lambda count: f"{count / 1e6:.2g} M",
        tests,
        lambda each: each.model,
        ("headline_log10_p",),
        "p by size of the model.",
        f"{GEOMETRIC} All models were trained on the same text. {examples}",
    )


def false_alarms(
    tests: Sequence[SliceResult],
    nulls: int,
    seed: int,
    folder: Path | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> ResultTable:
    """Return how often the tests reject at .05 and .01 although no order matters.

    Args:
        tests: The order tests of the slices; those with 0 copies are controls.
        nulls: Number of draws of each kind of scores.
        seed: Seeds the draws.
        folder: Stores the simulated draws, so that an interrupted simulation continues; None to store nothing.
        progress: Called with the number of tested draws and the number of all draws.

    Raises:
        StorageError: The folder cannot be read or written.
    """
    headings = ("scores", "t, .05", "t, .01", "exact, .05", "exact, .01")

    controls = [each.found["shard_scores"] for each in tests if not each.one.copies and _tested(each)]
    done, total = 0, nulls * (len(WORLDS) + bool(controls))

    def tested(number: int) -> None:
        nonlocal done
        done += number
        progress(done, total)

    kinds = {}
    for name, (world, shards) in WORLDS.items():
        file = None if folder is None else world_file(folder, name, shards, seed)
        kinds[name] = false_alarm_rates(world_draws(world, shards, seed), nulls, file, tested)
    if controls:
        file = None if folder is None else simulation_file(folder, scores="controls", controls=controls, seed=seed)
        kinds["controls of this model"] = false_alarm_rates(control_draws(controls, seed), nulls, file, tested)
    notes = (
        f"Share of {nulls:,} draws in which a test rejects at level .05 and .01. A share above the level "
        "means too many false alarms. Controls: in each shard of a slice that the model never read, a random order "
        "takes the place of the published one."
    )
    records = [{"scores": name, **dict(zip(headings[1:], shares, strict=True))} for name, shares in kinds.items()]
    shown = [[name, *(f"{100 * share:.1f} %" for share in shares)] for name, shares in kinds.items()]
    return _table(headings, records, "False alarms of the tests.", notes, shown)


def membership_scores(
    records: Iterable[RunRecord], slices: Mapping[Path, Sequence[Injection]]
) -> dict[str, dict[str, list[float]]]:
    """Return the examples' membership scores of each slice, by the slice's label and the score's name."""
    found = {}
    for _, one, record in runs_by_slice(records, slices):
        for _, details in details_of(record):
            if details.get("heuristic"):
                found[one.label] = {name: list(values.values()) for name, values in details["scores"].items()}
    return found


def min_k(
    tests: Sequence[SliceResult], scores: Mapping[str, Mapping[str, Sequence[float]]], examples: str
) -> ResultTable:
    """Return the share of examples that membership scores flag, by test set, and the sharded p-value.

    Args:
        tests: The order tests of the slices and their controls.
        scores: By slice, the examples' scores by name of the score.
        examples: A sentence on the examples.
    """
    headings = ("test set", "copies", "Min-K% flags", "Min-K%++ flags", "AUROC", "sharded t", "p")
    records: list[dict[str, Any]] = []
    for each in tests:
        clean = _control_of(each, tests)
        if not each.one.copies or clean is None:
            continue
        own, others = scores.get(each.one.label, {}), scores.get(clean.one.label, {})
        shares = {
            name: share_flagged(own[score], threshold(others[score], FALSE_POSITIVES))
            for name, score in (("Min-K% flags", "membership_min_k"), ("Min-K%++ flags", "membership_min_k_plus_plus"))
            if score in own and score in others
        }
        if shares:
            records.append(
                {
                    "test set": each.one.label,
                    "copies": each.one.copies,
                    "Min-K% flags": shares.get("Min-K% flags"),
                    "Min-K%++ flags": shares.get("Min-K%++ flags"),
                    "AUROC": auroc(own["membership_min_k"], others["membership_min_k"]),
                    "log10 p, sharded t": each.found.get("log10_p_t"),
                    "log10 p": each.found["headline_log10_p"],
                }
            )
    shown = [
        [
            record["test set"],
            str(record["copies"]),
            *(f"{100 * record[name]:.0f} %" if record[name] is not None else "–" for name in headings[2:4]),
            f"{record['AUROC']:.2f}",
            shown_p(record["log10 p, sharded t"]),
            shown_p(record["log10 p"]),
        ]
        for record in records
    ]
    notes = (
        "Share of the test set's examples above the threshold that 5 % of its control's examples exceed: 5 % is what "
        "chance gives. AUROC is that of Min-K%. These scores are heuristics: they need a control that is like the "
        f"test set, and have no p-value. sharded t and p: as in table 1. {examples}{_untested(tests)}"
    )
    return _table(headings, records, "Min-K% at 5 % false positives, and the test of the order.", notes, shown)


GEOMETRIC = "p-values are geometric means over slices."


def _crossed(
    rows: str,
    values: Mapping[Any, int],
    words: Callable[[int], str],
    tests: Sequence[SliceResult],
    key_of: Callable[[SliceResult], Any],
    fields: Sequence[str],
    caption: str,
    notes: str,
) -> ResultTable:
    short = {"log10_p_t": "t", "log10_p_exact": "exact", "headline_log10_p": "p"}
    doses = sorted({each.one.copies for each in tests})
    headings = (rows, *(f"{short[field]}, {copies} ×" for copies in doses for field in fields))
    records: list[dict[str, Any]] = []
    for key, value in values.items():
        own = [each for each in tests if key_of(each) == key]
        cells = {
            f"log10 {short[field]}, {copies} ×": _mean(
                [each.found for each in own if each.one.copies == copies], field
            )
            for copies in doses
            for field in fields
        }  # fmt: skip
        records.append({rows: value, **cells})
    shown = [
        [words(record[rows]), *(_shown(*cell) for cell in record.items() if cell[0] != rows)] for record in records
    ]
    notes = f"{notes} A column has the number of copies before its ×.{_untested(tests)}"
    return _table(headings, records, caption, notes, shown)


def _table(
    headings: Sequence[str],
    records: Sequence[Mapping[str, Any]],
    caption: str,
    notes: str,
    shown: Sequence[Sequence[str]] | None = None,
) -> ResultTable:
    rows = shown or [[_shown(name, value) for name, value in record.items()] for record in records]
    return ResultTable(
        columns=[
            TableColumn((heading,), numeric=place > 0, repeated=place == 0, movable=place > 0, limit=36)
            for place, heading in enumerate(headings)
        ],
        rows=[[TableCell(text) for text in row] for row in rows],
        notes=[TableNote(notes.strip())],
        caption=caption,
        fields=list(records[0]) if records else list(headings),
        records=records,
        value=list(records),
    )


def _shown(name: str, value: Any) -> str:
    if name.startswith("log10"):
        return shown_p(value)
    return "–" if value is None else str(value)


def _mean(found: Sequence[Mapping[str, Any]], field: str) -> float | None:
    values = [each[field] for each in found if each.get(field) is not None]
    return fmean(values) if values else None


def _tested(each: SliceResult) -> bool:
    return each.found["headline_log10_p"] is not None


def _untested(tests: Sequence[SliceResult]) -> str:
    """Return a sentence about the slices that are not testable; '' if there are none."""
    count = sum(not _tested(each) for each in tests)
    return f" Left out: {counted(count, 'slice')} whose order is not testable." if count else ""


def _log10(p: float | None) -> float | None:
    return None if p is None else math.log10(p)


def _control_of(target: SliceResult, tests: Sequence[SliceResult]) -> SliceResult | None:
    return next((each for each in tests if not each.one.copies and each.one.file == target.one.file), None)
