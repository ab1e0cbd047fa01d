"""Studies: which slices of test sets are trained on how often, the sweep that tests them, and its results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from harness.contamination.lab.injections import Injection, read_examples, take
from harness.contamination.lab.power import Trial
from harness.contamination.order_tests import order_tests
from harness.contamination.roles import EXAMPLES_FILE
from harness.contamination.statistics.testable import why_not_testable
from harness.contracts.plugins import AdapterDetails, Kind
from harness.errors import DataError
from harness.plugins.registry import Registry
from harness.seeds import derive_rng
from harness.storage.results import RunRecord

TABLE_1: Mapping[str, int] = {
    "boolq.jsonl": 1,
    "hellaswag.jsonl": 1,
    "openbookqa.jsonl": 1,
    "mnli.jsonl": 10,
    "naturalquestions.jsonl": 10,
    "truthfulqa.jsonl": 10,
    "piqa.jsonl": 50,
    "mmlu_professional_law.jsonl": 50,
    "mmlu_professional_psychology.jsonl": 50,
    "mmlu_high_school_psychology.jsonl": 100,
}
"""The files of the paper's test sets, and how often its models read each (Oren et al. 2023, table 1)."""


REPOSITORY = "https://github.com/tatsu-lab/test_set_contamination"
"""The paper's repository, which has these files."""


def dose_slices(file: Path, copies: Sequence[int], *, examples: int, repeats: int, seed: int) -> tuple[Injection, ...]:
    """Cut a file into neighbouring slices, and assign each a number of copies in a seeded random order.

    Every number of copies gets the same number of slices: ``repeats``, or fewer if the file is too short.

    Raises:
        DataError: The file has too few examples for one slice of each number of copies.
    """
    lines = read_examples(file)
    rounds = min(repeats, len(lines) // (examples * len(copies)))
    if rounds < 1:
        raise DataError(
            f"has {len(lines)} examples; {len(copies)} numbers of copies with {examples} examples each need "
            f"{examples * len(copies)}. Ask for fewer of either.",
            file=str(file),
        )
    doses = list(copies) * rounds
    derive_rng(seed, "lab/doses").shuffle(doses)
    return tuple(
        take(file, lines, copies=dose, bounds=(index * examples, (index + 1) * examples))
        for index, dose in enumerate(doses)
    )


def table_1_slices(folder: Path, *, examples: int | None) -> tuple[Injection, ...]:
    """Return the first examples of each of the paper's test sets, with the paper's numbers of copies.

    If a file has twice that many examples, the second half is a control.

    Args:
        folder: Holds the files of :data:`TABLE_1`, compressed or not.
        examples: Number of examples of each; None for all, without controls.

    Raises:
        DataError: A file is missing.
    """
    found: list[Injection] = []
    for name, copies in TABLE_1.items():
        file = example_file(folder, name)
        lines = read_examples(file)
        count = len(lines) if examples is None else min(examples, len(lines))
        found.append(take(file, lines, copies=copies, bounds=(0, count)))
        if len(lines) >= 2 * count:
            found.append(take(file, lines, copies=0, bounds=(count, 2 * count)))
    return tuple(found)


def example_file(folder: Path, name: str) -> Path:
    """Return one of the files of :data:`TABLE_1`, which may be compressed.

    Raises:
        DataError: It is missing.
    """
    file = next((path for path in sorted(folder.glob(f"{name}*"))), None)
    if file is None:
        raise DataError(f"{folder} has no {name}. Copy it from {REPOSITORY}.")
    return file


def lacks(folder: Path, names: Iterable[str]) -> list[str]:
    """Return those of the files of :data:`TABLE_1` that a folder does not have."""
    return [name for name in names if not any(folder.glob(f"{name}*"))]


def slice_run(folder: Path, one: Injection, adapter: Mapping[str, Any], registry: Registry) -> dict[str, Any]:
    """Return the run, as in a sweep, that tests a checkpoint on a slice or a control with an adapter's settings."""
    scenario = registry.with_role(Kind.SCENARIO, EXAMPLES_FILE).name
    about = registry.get(Kind.ADAPTER, adapter["method"]).details
    metrics = list(about.metrics) if isinstance(about, AdapterDetails) else []
    role = {} if one.copies else {"role": "control"}
    return {
        "model": f"hf:{folder.resolve()}",
        "scenario": {"name": scenario, "path": str(one.file.resolve())},
        "adapter": {"rows": f"{one.start}:{one.stop}", "copies": one.copies, **role, **adapter},
        "metrics": metrics,
        "main_metric": metrics[0],
    }


def write_sweep(file: Path, suite: str, runs: Sequence[Mapping[str, Any]]) -> None:
    """Write a sweep of runs."""
    content = {"suite": suite, "runs": list(runs)}
    file.write_text(yaml.safe_dump(content, sort_keys=False, width=1000), encoding="utf-8")


def runs_by_slice(
    records: Iterable[RunRecord], slices: Mapping[Path, Sequence[Injection]]
) -> Iterator[tuple[Path, Injection, RunRecord]]:
    """Yield the checkpoint's folder and the slice of each run on one of the checkpoints' slices."""
    known = {
        (f"hf:{folder.resolve()}", str(one.file.resolve()), f"{one.start}:{one.stop}"): (folder, one)
        for folder, injections in slices.items()
        for one in injections
    }
    for record in records:
        scenario, adapter = record.spec.scenario.arguments, record.spec.adapter.arguments
        place = known.get((record.spec.model.name, scenario.get("path", ""), adapter.get("rows", "")))
        if place is not None:
            yield (*place, record)


def trials(records: Iterable[RunRecord], slices: Mapping[Path, Sequence[Injection]], alpha: float) -> list[Trial]:
    """Return the outcome of each slice's test; a combined p-value of at most alpha is a detection.

    Slices whose order is not testable are left out.

    Raises:
        DataError: The slices that remain have fewer than two different numbers of copies.
    """
    found, untestable = [], []
    for folder, one, record in runs_by_slice(records, slices):
        for test in order_tests([record]):
            name = f"{folder.name}: {one.label}"
            if reason := why_not_testable(test.found):
                untestable.append(f"{name}: {reason}")
                continue
            log10_p = float(test.found["headline_log10_p"])
            found.append(Trial(one.copies, 10**log10_p <= alpha, log10_p, name))
    if untestable and len({trial.copies for trial in found}) < 2:
        raise DataError(f"{len(untestable)} slices are not testable; the first is {untestable[0]}.")
    return found
