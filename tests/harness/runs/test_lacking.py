"""Missing data are found without reading those that are there, where the scenario says that this suffices."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.runs.lacking import lacking_data
from harness.sweeps.load import load_sweep

QUIZ = """
name: quiz
description: Questions.
source: {files: {train: train.jsonl, test: test.jsonl}}
input: "{{ question }}"
correct: "{{ answer }}"
adapter: {method: generation}
metrics: [exact_match]
"""
EXAMPLES = "examples: [{question: '1 + 1?', answer: '2'}]\n"
PYTHON = """
from harness import Data, Instance, Reference, Source, Split, scenario

@scenario("quiz", title="Quiz", source="made", taxonomy={"task": "t"}, adapter={"method": "generation"},
          data=Source(files={"train": "train.jsonl", "test": "test.jsonl"}), metrics=("exact_match",),
          main_metric="exact_match")
def quiz(data: Data):
    \"\"\"Questions, of which the first are examples.\"\"\"
    for row in data.rows(Split.TEST):
        split = Split.TRAIN if row.number == 1 else Split.TEST
        yield Instance(str(row.number), row["question"], (Reference(row["answer"], True),), split)
"""


def lacking(folder: Path, shots: int = 5) -> str:
    (plugin,) = folder.glob("quiz.*")
    entry = f"{{scenario: quiz, max_train_instances: {shots}}}"
    sweep = folder / "sweep.yaml"
    sweep.write_text(f"suite: s\nmodels: ['fake:0']\nplugins: [{plugin.name}]\nruns:\n  - {entry}\n")
    found, registry = load_sweep(sweep)
    return lacking_data(found.runs[0], registry, folder)


def test_a_scenario_file_without_train_files_has_no_examples_whatever_its_other_files_hold(tmp_path: Path) -> None:
    (tmp_path / "quiz.yaml").write_text(QUIZ)
    (tmp_path / "test.jsonl").write_text("{damaged")
    said = lacking(tmp_path)
    assert "no data for split 'train'" in said
    assert said.endswith("Or use no few-shot examples: max_train_instances: 0.")
    assert lacking(tmp_path, shots=0) == ""
    (tmp_path / "test.jsonl").unlink()
    (tmp_path / "train.jsonl").write_text("{damaged")
    assert "no data for split 'test'" in lacking(tmp_path)


@pytest.mark.parametrize(("name", "content"), [("quiz.yaml", QUIZ + EXAMPLES), ("quiz.py", PYTHON)])
def test_examples_may_come_from_elsewhere(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    (tmp_path / "test.jsonl").write_text('{"question": "2 + 2?", "answer": "4"}\n' * 2)
    assert lacking(tmp_path) == ""
