"""Scenario files with several prompts: what a prompt changes, and what is said when it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.contracts.plugins import Kind, ScenarioDetails
from harness.data.scenario_file import load_scenario_file
from harness.errors import SpecError
from harness.plugins.parameters import describe_parameters
from harness.plugins.registry import Registry
from tests.scenarios.conftest import read_from

QUIZ = """\
name: quiz
title: Quiz
description: Sums.
source: {files: {train: ./quiz.jsonl, test: ./quiz.jsonl}}
input: "{{ question }}"
references: ["{{ right }}", "{{ wrong }}"]
correct_index: 0
meta: {kind: sum}
adapter: {method: multiple_choice_joint, max_train_instances: 2}
metrics: [multiple_choice_accuracy]
prompt: lettered
prompts:
  written:
    description: The answer is written.
    input: "What is {{ question }}"
    correct: "{{ right }}"
    adapter: {method: generation, max_tokens: 5}
    metrics: [exact_match, f1_score]
  fixed:
    description: Two examples belong to the prompt.
    filter: "{{ question != '2 + 2?' }}"
    examples:
      - {question: "1 + 1?", right: "2", wrong: "3"}
      - {question: "2 + 2?", right: "4", wrong: "3"}
"""


def load(folder: Path, text: str = QUIZ) -> ScenarioDetails:
    (folder / "quiz.jsonl").write_text(
        '{"question": "2 + 2?", "right": "4", "wrong": "5"}\n{"question": "3 + 3?", "right": "6", "wrong": "7"}\n'
    )
    (folder / "quiz.yaml").write_text(text)
    registry = Registry()
    registry.load_path(folder / "quiz.yaml")
    details = registry.get(Kind.SCENARIO, "quiz").details
    assert isinstance(details, ScenarioDetails)
    return details


def read(folder: Path, **arguments: str) -> list[tuple[str, str, list[tuple[str, bool]]]]:
    load(folder)
    registry = Registry()
    registry.load_path(folder / "quiz.yaml")
    return [
        (str(one.split), one.input, [(reference.text, reference.correct) for reference in one.references])
        for one in read_from(registry, folder, "quiz", arguments)
    ]


def test_a_prompt_changes_what_it_says_and_nothing_else(tmp_path: Path) -> None:
    details = load(tmp_path)
    assert details.named_prompts == ("lettered", "written", "fixed")
    written = details.asked("written")
    assert written.adapter == {"method": "generation", "max_tokens": 5}
    assert (written.metrics, written.main_metric, written.options) == (
        ("exact_match", "f1_score"),
        "exact_match",
        False,
    )
    fixed = details.asked("fixed")
    assert (fixed.adapter, fixed.metrics, fixed.options) == (details.adapter, details.metrics, True)
    assert details.asked("lettered") == details
    options = [("4", True), ("5", False)]
    assert read(tmp_path)[0] == read(tmp_path, prompt="lettered")[0] == ("train", "2 + 2?", options)
    assert read(tmp_path, prompt="written")[0] == ("train", "What is 2 + 2?", [("4", True)])


def test_rows_of_a_prompt_are_the_train_split_and_are_not_filtered(tmp_path: Path) -> None:
    found = read(tmp_path, prompt="fixed")
    assert [(split, text) for split, text, _ in found] == [("train", "1 + 1?"), ("train", "2 + 2?"), ("test", "3 + 3?")]


def test_the_parameter_lists_the_prompts_with_their_meaning(tmp_path: Path) -> None:
    load(tmp_path)
    registry = Registry()
    registry.load_path(tmp_path / "quiz.yaml")
    [(name, kind, default, meaning)] = describe_parameters(registry.get(Kind.SCENARIO, "quiz"))
    assert (name, kind, default) == ("prompt", "'lettered' | 'written' | 'fixed'", "'lettered'")
    assert "``written``: The answer is written." in meaning


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("description: The answer is written.", "", 13, "description"),
        ('    input: "What', '    inputs: "What', 15, "'input'"),
        ('{{ question }}"\n    correct', '{{ question }"\n    correct', 15, "is not a template"),
        ('correct: "{{ right }}"', "correct_index: 0", 13, "no references that it could count"),
        ("  fixed:", "  lettered:", 1, "which is the name of its own prompt"),
        ("metrics: [exact_match, f1_score]", "metrics: exact_match", 18, "list"),
    ],
)
def test_mistakes_have_their_line(tmp_path: Path, old: str, new: str, line: int, message: str) -> None:
    assert old in QUIZ
    (tmp_path / "quiz.yaml").write_text(QUIZ.replace(old, new, 1))
    with pytest.raises(SpecError) as caught:
        load_scenario_file(tmp_path / "quiz.yaml")
    text = "\n".join(map(str, caught.value.diagnostics))
    assert message in text
    assert f"quiz.yaml:{line}:" in text


def test_a_parameter_cannot_have_the_name_prompt(tmp_path: Path) -> None:
    wrong = QUIZ + "parameters: {prompt: {choices: [a, b]}}\n"
    (tmp_path / "quiz.yaml").write_text(wrong)
    with pytest.raises(SpecError, match="both prompts and a parameter named 'prompt'"):
        load_scenario_file(tmp_path / "quiz.yaml")
