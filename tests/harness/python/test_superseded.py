"""Results of a training that went back: which are moved, and at what cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.python.superseded import FOLDER, set_aside
from harness.storage.results import read_run
from tests.harness.cli.conftest import folder

__all__ = ["folder"]

RUNS: list[Any] = [{"scenario": "quiz", "adapter": "generation"}]


class Weights:
    """A model that is identified by a number."""

    def __init__(self, number: int) -> None:
        self.number = number

    def generate(self, requests: Sequence[harness.GenerateRequest]) -> list[str]:
        return ["Yes" for _ in requests]

    def fingerprint(self) -> dict[str, int]:
        return {"number": self.number}


def evaluated(number: int, series: str, step: int, runs: Sequence[Any] = RUNS) -> None:
    harness.evaluate(
        Weights(number),
        runs=runs,
        plugins=["quiz.yaml"],
        series=series,
        step=step,
        max_eval_instances=1,
        progress=False,
    )


def steps(path: str = "results") -> list[tuple[str, int]]:
    return sorted(
        (one.series, one.step) for record in harness.Results(path).records() if (one := record.spec.training_step)
    )


@pytest.mark.parametrize("series", ["run-7", "läuft über alles", "a" * 44, "b" * 80, "x" * 36, "run-7-step-1"])
def test_other_weights_replace_those_of_the_same_step_whatever_the_name(series: str, folder: Path) -> None:
    for number, step in ((1, 12), (2, 123), (3, 1), (4, 12)):
        evaluated(number, series, step)
    assert steps() == [(series, 1), (series, 12), (series, 123)]
    assert steps(f"results/{FOLDER}") == [(series, 12)]


def test_other_trainings_stay(folder: Path) -> None:
    others = ["run-7-step-3", "run 7", "run-70", "run", "c" * 79]
    for number, name in enumerate(["run-7", *others, "c" * 80]):
        evaluated(number, name, 3)
    evaluated(20, "run-7", 3)
    evaluated(20, "c" * 80, 3)
    assert steps(f"results/{FOLDER}") == [("c" * 80, 3), ("run-7", 3)]


def test_runs_with_long_names_are_moved_too(folder: Path) -> None:
    many = [
        "misspellings",
        "lowercase",
        "extra_space",
        "filler_words",
        "mild_mix",
        "contraction",
        "expansion",
        "gender",
    ]
    long = [{"scenario": "quiz", "adapter": "generation", "perturbations": many}]
    evaluated(1, "run-7", 3, long)
    evaluated(2, "run-7", 3, long)
    assert steps(f"results/{FOLDER}") == [("run-7", 3)]


def test_only_runs_whose_names_fit_are_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for step in range(5):
        evaluated(step, "run-7", step)
    read: list[str] = []

    def noting(directory: Path) -> Any:
        read.append(directory.name)
        return read_run(directory)

    monkeypatch.setattr("harness.python.superseded.read_run", noting)
    evaluated(9, "run-7", 9)
    assert read == []
    moved = set_aside(Path("results"), "python", "run-7", lambda step: step > 3)
    assert sorted(spec.training_step.step for spec in moved if spec.training_step) == [4, 9]
    assert len(read) == 2
