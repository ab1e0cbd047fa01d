"""Results of a training that went back: they are moved out of the way, not deleted.

A training that is restarted from an earlier checkpoint, or begun anew under the same name, may reach the same steps
with other weights. What was measured before then belongs to a training that no longer exists: it is moved to
``RESULTS/.superseded``, which is a folder of results itself, and comes back when the same weights do.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from harness.contracts.specs import RunSpec
from harness.errors import DataError
from harness.python.live_model import BACKEND
from harness.storage.durable import make_folder, writing
from harness.storage.results import read_run, run_directory, suite_directories

FOLDER = ".superseded"
"""The folder in a folder of results; hidden folders are not read as results."""


def set_aside(results_dir: Path, suite: str, series: str, gone: Callable[[RunSpec], bool]) -> list[RunSpec]:
    """Move runs of a training away and return what they were.

    Args:
        results_dir: The results folder.
        suite: The suite.
        series: The training; only models that were evaluated in memory as its steps are looked at.
        gone: Returns whether a run's model is no longer a part of the training.

    Raises:
        StorageError: A folder cannot be moved.
    """
    moved = []
    for folder in suite_directories(results_dir / suite):
        if f"{BACKEND}-" not in folder.name:
            continue
        try:
            spec = read_run(folder).spec
        except DataError:
            continue  # whoever reads the results is told
        place = spec.training_step
        if place and place.series == series and spec.model.name.startswith(f"{BACKEND}:") and gone(spec):
            _move(folder, results_dir / FOLDER / suite / folder.name)
            moved.append(spec)
    return moved


def bring_back(results_dir: Path, runs: Iterable[RunSpec]) -> None:
    """Move back what was measured with the models of some runs before a training went back.

    Raises:
        StorageError: A folder cannot be moved.
    """
    for spec in runs:
        there, here = run_directory(results_dir / FOLDER, spec), run_directory(results_dir, spec)
        if there.is_dir() and not here.exists():
            _move(there, here)


def _move(source: Path, target: Path) -> None:
    with writing(target):
        make_folder(target.parent)
        if target.exists():  # of the same weights
            shutil.rmtree(target)
        source.replace(target)
