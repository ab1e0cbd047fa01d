"""A folder with a small scenario and a sweep, and the command as a user calls it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.cli import main

SCENARIO = """\
name: quiz
title: Quiz
description: Made-up yes/no questions.
citation: Made up for these tests.
taxonomy: {task: question answering, what: numbers, who: nobody, when: now, language: English}
source: {files: {train: ./quiz/train.jsonl, valid: ./quiz/valid.jsonl}}
id: "{{ id }}"
input: "Is {{ number }} even?"
references: ["Yes", "No"]
correct: "{{ 'Yes' if number % 2 == 0 else 'No' }}"
adapter: {method: generation, max_tokens: 2, max_train_instances: 2}
metrics: [exact_match]
main_metric: exact_match
eval_split: valid
"""

SWEEP = """\
suite: small
plugins: [./quiz.yaml]
models: ["fake:0", {name: "fake:1", log: asked}]
runs:
  - quiz
  - {scenario: quiz, perturbations: [lowercase]}
"""

METRIC = '''\
"""A metric that raises, and one that does not."""

from harness import Example, metric


@metric("raises", category="accuracy", source="Made up.")
def raises(example: Example) -> float:
    """Raises."""
    raise ValueError("no such thing")


@metric("length", category="accuracy", source="Made up.")
def length(example: Example) -> float:
    """Length of the prediction."""
    return float(len(example.prediction))
'''


@dataclass(frozen=True)
class Said:
    """What a command left behind."""

    code: int
    out: str
    err: str


Harness = Callable[..., Said]


def write_files(folder: Path) -> None:
    """Write a scenario with its data, a sweep of four runs, and metrics."""
    (folder / "quiz.yaml").write_text(SCENARIO)
    (folder / "sweep.yaml").write_text(SWEEP)
    (folder / "measures.py").write_text(METRIC)
    (folder / "quiz").mkdir()
    for split, count in (("train", 5), ("valid", 20)):
        rows = [json.dumps({"id": f"{split}-{number}", "number": number}) for number in range(count)]
        (folder / "quiz" / f"{split}.jsonl").write_text("\n".join(rows) + "\n")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: ``quiz.yaml`` with 20 evaluation instances, ``sweep.yaml`` and ``measures.py``."""
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    for variable in ("HARNESS_DATA_DIR", "HARNESS_RESULTS_DIR", "HARNESS_CACHE_DIR", "FORCE_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path


@pytest.fixture
def harness(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Harness:
    """Calls the command line in this process; an exception that a user would see as a traceback fails the test."""

    def call(*arguments: str) -> Said:
        monkeypatch.setattr(sys, "argv", ["harness", *arguments])
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as exit_:
            code = exit_.code if isinstance(exit_.code, int) else 0 if exit_.code is None else 1
        captured = capsys.readouterr()
        return Said(code, captured.out, captured.err)

    return call
