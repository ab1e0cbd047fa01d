"""Heads begin with the model that has most to do, and with its longest runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.contracts.specs import RunSpec
from harness.executors.job_order import dealing_order, run_seconds
from harness.plugins.registry import Registry
from harness.runs.settings import Settings
from harness.sweeps.load import sweep_from_mapping

SCENARIO = """\
name: {name}
title: Made up
description: Made-up questions.
citation: Made up for these tests.
taxonomy: {{task: question answering, what: numbers, who: nobody, when: now, language: English}}
source: {{files: {{test: ./{name}.jsonl}}}}
input: "{{{{ question }}}}"
references: ["Yes", "No"]
correct: "Yes"
adapter: {{method: generation, max_tokens: 5, max_train_instances: 0}}
metrics: [exact_match]
main_metric: exact_match
"""


@pytest.fixture
def scenarios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three scenarios: ten short texts, ten long ones, and five thousand short ones."""
    monkeypatch.chdir(tmp_path)
    for name, rows, words in (("short", 10, 5), ("long", 10, 900), ("many", 5000, 5)):
        (tmp_path / f"{name}.yaml").write_text(SCENARIO.format(name=name))
        lines = (json.dumps({"question": f"{number} " + "word " * words}) for number in range(rows))
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n")


def sweep(models: list[Any], runs: list[Any]) -> tuple[list[RunSpec], Registry]:
    found, registry = sweep_from_mapping({"suite": "s", "models": models, "runs": runs})
    return list(found.runs), registry


def order(runs: list[RunSpec], registry: Registry) -> list[tuple[str, str]]:
    dealt = dealing_order(runs, run_seconds(runs, registry, Settings(Path("results"))))
    assert sorted(run.name for run in dealt) == sorted(run.name for run in runs)
    return [(run.model.name, run.scenario.name) for run in dealt]


@pytest.mark.usefixtures("scenarios")
def test_the_longest_runs_come_first_whatever_order_they_are_written_in() -> None:
    runs, registry = sweep(["fake:0"], ["./short.yaml", "./long.yaml", "./many.yaml"])
    expected = [("fake:0", "many"), ("fake:0", "long"), ("fake:0", "short")]
    assert order(runs, registry) == expected
    assert order(runs[::-1], registry) == expected


@pytest.mark.usefixtures("scenarios")
def test_perturbed_copies_and_generated_tokens_count() -> None:
    entries = [
        "./short.yaml",
        {"scenario": "./short.yaml", "adapter": {"max_tokens": 500}},
        {"scenario": "./short.yaml", "perturbations": ["lowercase", "typos"]},
    ]
    runs, registry = sweep(["fake:0"], entries)
    dealt = dealing_order(runs, run_seconds(runs, registry, Settings(Path("results"))))
    assert dealt == [runs[1], runs[2], runs[0]]


@pytest.mark.usefixtures("scenarios")
def test_the_model_with_most_to_do_comes_first() -> None:
    large = {"name": "fake:2", "about": {"parameters": 70_000_000_000}}
    runs, registry = sweep(["fake:0", "fake:1", large], ["./short.yaml", "./long.yaml"])
    assert [model for model, _ in order(runs, registry)] == ["fake:2"] * 2 + ["fake:0"] * 2 + ["fake:1"] * 2


@pytest.mark.usefixtures("scenarios")
def test_a_scenario_that_cannot_be_read_is_no_error_here() -> None:
    Path("long.jsonl").unlink()
    runs, registry = sweep(["fake:0"], ["./long.yaml", "./short.yaml"])
    assert len(order(runs, registry)) == 2
