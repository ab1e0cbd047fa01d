"""Results of a training that went back: they are moved out of the way, not deleted.

A training that is restarted from an earlier checkpoint, or begun anew under the same name, may reach the same steps
with other weights. What was measured before then belongs to a training that no longer exists: it is moved to
``RESULTS/.superseded``, which is a folder of results itself, and comes back when the same weights do.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from harness.contracts.specs import LONGEST_NAME, LONGEST_PART, RunSpec
from harness.errors import DataError
from harness.python.live_model import BACKEND, safe_name
from harness.storage.durable import make_folder, writing
from harness.storage.results import is_hidden, read_run, run_directory

FOLDER = ".superseded"
"""The folder in a folder of results; hidden folders are not read as results."""


def set_aside(
    results_dir: Path, suite: str, series: str, gone: Callable[[int], bool], *, keep: str = ""
) -> list[RunSpec]:
    """Move runs of a training away and return what they were.

    Args:
        results_dir: The results folder.
        suite: The suite.
        series: The training; only models that were evaluated in memory as its steps are looked at.
        gone: Returns whether the training no longer has what was evaluated at a step.
        keep: Name of a model whose runs stay.

    Raises:
        StorageError: A folder cannot be moved.
    """
    moved = []
    for folder, spec in _runs_of(results_dir, suite, series, gone):
        if spec.model.name != keep:
            _move(folder, results_dir / FOLDER / suite / folder.name)
            moved.append(spec)
    return moved


def has_runs(results_dir: Path, suite: str, series: str) -> bool:
    """Return True if a suite has runs of models in memory that are steps of a training."""
    return any(_runs_of(results_dir, suite, series, lambda _: True))


def bring_back(results_dir: Path, runs: Iterable[RunSpec]) -> None:
    """Move back what was measured with the models of some runs before a training went back.

    Raises:
        StorageError: A folder cannot be moved.
    """
    for spec in runs:
        there, here = run_directory(results_dir / FOLDER, spec), run_directory(results_dir, spec)
        if there.is_dir() and not here.exists():
            _move(there, here)


def _runs_of(
    results_dir: Path, suite: str, series: str, wanted: Callable[[int], bool]
) -> Iterator[tuple[Path, RunSpec]]:
    """Yield the folders and specs of a training's runs at some steps, by name.

    A suite may have thousands of runs, so only those whose names match are read.
    """
    names: list[str] = []
    with suppress(FileNotFoundError, NotADirectoryError):
        names = sorted(os.listdir(results_dir / suite))
    start = f"{BACKEND}-{safe_name(f'{series}-step-')}"
    for name in names:
        if is_hidden(Path(name)) or not _may_be_of(name, start, wanted):
            continue
        try:
            spec = read_run(results_dir / suite / name).spec
        except DataError:
            continue  # reading the results reports it
        place = spec.training_step
        if place and place.series == series and spec.model.name.startswith(f"{BACKEND}:") and wanted(place.step):
            yield results_dir / suite / name, spec


def _may_be_of(name: str, start: str, wanted: Callable[[int], bool]) -> bool:
    """Return False if a run's name shows that its model is not such a step; a long name may be cut off.

    The name of a run is ``SCENARIO,ADAPTER,live-SERIES-step-STEP-DIGEST`` with a digest (:attr:`RunSpec.name`).
    """
    readable = name.rpartition("-")[0]
    parts = readable.split(",")
    if len(parts) < 3:
        return False
    if len(readable) >= LONGEST_NAME or len(parts[2]) >= LONGEST_PART:
        return parts[2].startswith(start[: len(parts[2])])
    found = re.fullmatch(r"(\d+)-[0-9a-f]+", parts[2].removeprefix(start)) if parts[2].startswith(start) else None
    return found is not None and wanted(int(found[1]))


def _move(source: Path, target: Path) -> None:
    with writing(target):
        make_folder(target.parent)
        if target.exists():  # of the same weights
            shutil.rmtree(target)
        source.replace(target)
