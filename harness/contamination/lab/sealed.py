"""Sealed data sets with known numbers of copies in a model's training text: what their keys find."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from harness.contamination.lab.injections import Injection, take
from harness.contamination.p_values import shown_p
from harness.contamination.sealing.key import KEY_SUFFIX, SealKey, write_key
from harness.contamination.sealing.rewriting import twins_of_files
from harness.contamination.sealing.seal import SealSettings, seal
from harness.contamination.unsealing import TESTS, sealed_p_values
from harness.data.formats import read_rows
from harness.errors import DataError
from harness.output.result_table import ResultTable, TableCell, TableColumn, TableNote
from harness.seeds import derive_seed
from harness.storage.durable import write_whole, writing
from harness.storage.results import RunRecord


@dataclass(frozen=True, slots=True)
class SealedSlice:
    """Some rows of a file, sealed by themselves."""

    published: Path
    """The published file."""
    key_file: Path
    """The private key."""
    key: SealKey
    """Its content."""
    injection: Injection
    """The published file with its number of copies."""


def sealed_slices(
    file: Path,
    twins: Path | None,
    copies: Sequence[int],
    settings: SealSettings,
    *,
    rows: int,
    repeats: int,
    seed: int,
    folder: Path,
) -> list[SealedSlice]:
    """Cut a file into slices, seal each, and write the published files and the keys.

    Args:
        file: The data set.
        twins: A file with another form of each row. Without it, the twin of a row is another row of the file, and a
            slice takes twice as many rows.
        copies: Numbers of copies; each gets ``repeats`` slices.
        settings: What to draw.
        rows: Rows of a published file, without dye questions.
        repeats: Slices for each number of copies.
        seed: Seeds what is drawn, so that the same command finds the same files. A real seal never has a seed.
        folder: The folder of the files.

    Raises:
        DataError: The file has too few rows, or they do not allow what is drawn.
        StorageError: A file cannot be written.
    """
    records = _records(file)
    width = rows if twins else 2 * rows
    doses = [dose for dose in copies for _ in range(repeats)]
    twice = "" if twins else ", and as many for their twins (without --twins),"
    if len(records) < width * len(doses):
        raise DataError(
            f"has {len(records)} rows; {len(doses)} slices of {rows} rows{twice} need {width * len(doses)}. Ask for "
            "fewer with --copies, --rows or --repeats.",
            file=str(file),
        )
    others = twins_of_files(records, [(str(twins), _records(twins))]) if twins else None
    found = []
    for number, dose in enumerate(doses):
        start = number * width
        own = records[start : start + rows]
        forms = others[start : start + rows] if others else [[one] for one in records[start + rows : start + width]]
        name = f"{file.name.partition('.')[0]}-{number + 1}"
        published, key_file = folder / f"{name}.sealed.jsonl", folder / f"{name}{KEY_SUFFIX}"
        sealed = seal(
            own,
            forms,
            settings,
            Random(derive_seed(seed, f"lab/seal/{number}")),  # noqa: S311 - an experiment, which is to be repeatable
            source=file.name,
            source_sha256=hashlib.sha256(json.dumps(own).encode()).hexdigest(),
            published=published.name,
        )
        with writing(published):
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(published, sealed.content)
        write_key(key_file, sealed.key)
        found.append(SealedSlice(published, key_file, sealed.key, take(published, list(sealed.lines), copies=dose)))
    return found


def sealed_p(records: Iterable[RunRecord], slices: Sequence[SealedSlice]) -> Iterator[tuple[SealedSlice, str, float]]:
    """Yield the slice, the kind of test and log10 p of each finished run on a slice."""
    by_path = {str(path.resolve()): one for one in slices for path in (one.published, one.key_file)}
    for record in records:
        one = by_path.get(str(record.spec.scenario.arguments.get("path")))
        if one is not None:
            yield from ((one, kind, log10_p) for kind, log10_p in sealed_p_values(record))


def sealed_power(found: Iterable[tuple[SealedSlice, str, float]], alpha: float, about: str) -> ResultTable:
    """Return, by number of copies and kind of test, the median p-value and how many tests are below the level."""
    by_dose: dict[int, dict[str, list[float]]] = {}
    for one, kind, log10_p in found:
        by_dose.setdefault(one.injection.copies, {}).setdefault(kind, []).append(log10_p)
    kinds = [kind for kind in ("twin", "canary", "dye", "order") if any(kind in own for own in by_dose.values())]
    records: list[dict[str, Any]] = [
        {
            "copies": copies,
            "test": TESTS[kind],
            "tests": len(values := by_dose[copies].get(kind, [])),
            "found": sum(value <= math.log10(alpha) for value in values),
            "median log10 p": median(values) if values else None,
        }
        for copies in sorted(by_dose)
        for kind in kinds
    ]  # fmt: skip
    cells = {(record["copies"], record["test"]): record for record in records}
    return ResultTable(
        columns=[
            TableColumn(("copies",), numeric=True, repeated=True),
            *(TableColumn((TESTS[kind],), numeric=True) for kind in kinds),
        ],
        rows=[
            [TableCell(str(copies)), *(_cell(cells[copies, TESTS[kind]]) for kind in kinds)]
            for copies in sorted(by_dose)
        ],
        notes=[
            TableNote(
                f"Median p, and, of several sealed files, how many have p ≤ {alpha:g}. 0 copies: the model was not "
                f"trained on the file. {about}"
            )
        ],
        caption="Sealed data sets: p by number of copies in the training text.",
        fields=("copies", "test", "tests", "found", "median log10 p"),
        records=records,
        value=records,
    )


def _cell(record: Mapping[str, Any]) -> TableCell:
    if not record["tests"]:
        return TableCell()
    several = record["tests"] > 1
    detail = f"{record['found'] or 'none'} of {record['tests']}" if several else ""
    return TableCell(shown_p(record["median log10 p"]), detail=detail)


def _records(file: Path) -> list[Mapping[str, Any]]:
    return [row.record for row in read_rows(file, file=str(file))]
