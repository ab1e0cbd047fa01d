"""What perturbations changed and which instances have no label is counted, kept in run.json and shown."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from harness import Example, Instance, Reference
from harness.errors import DataError
from harness.storage.instance_counts import InstanceCount, InstanceCounts, Perturbed
from harness.storage.results import read_run
from tests.harness.cli.conftest import Harness

ROWS = [
    {"q": "Who is with them?", "a": "Ann", "region": "north"},
    {"q": "Where is 12?", "a": "Bob", "region": ""},
    {"q": "Is 12 > 4?", "a": "Bob"},
    {"q": "Was he walking?", "a": "Cid", "region": ["north", "south"]},
]
SCENARIO = """\
name: people
title: People
description: Made up.
citation: Made up.
taxonomy: {task: question answering, what: people, who: nobody, when: now, language: English}
source: {files: {test: ./rows.jsonl}}
input: "{{ q }}"
correct: "{{ a }}"
meta: {region: "{{ region | default(none) }}"}
adapter: {method: generation, max_tokens: 2, max_train_instances: 0}
metrics: [exact_match]
main_metric: exact_match
"""


def example(id: str, text: str, answer: str, perturbation: str | None = None, trial: int = 0, **meta: str) -> Example:
    references = (Reference(answer, True),)
    return Example(Instance(id, text, references, perturbation=perturbation, meta=meta), trial=trial)


def test_instances_count_once_whatever_the_order_and_the_trials() -> None:
    count = InstanceCount()
    for trial in (0, 1):
        for one in (
            example("a", "X", "y", "caps", trial),
            example("a", "x", "y", None, trial, group="g"),
            example("b", "1", "Y", "caps", trial),
            example("b", "1", "y", None, trial),
            example("c", "1", "y", "caps", trial),
            example("c", "1", "y", None, trial, group=""),
        ):
            count.add(one, ["group"])
    assert count.total() == InstanceCounts(3, {"caps": Perturbed(3, 2)}, {"group": 2})
    assert TypeAdapter(InstanceCounts).validate_json(json.dumps(asdict(count.total())), strict=True) == count.total()
    assert count.total().sentences() == [
        "caps changed 2 of 3 instances.",
        "2 of 3 instances have no group and are in none of its groups.",
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        {"evaluated": 1, "perturbed": {"caps": {"copies": 1, "changed": 2}}, "unlabelled": {}},
        {"evaluated": 1, "perturbed": {"caps": {"copies": "1", "changed": 0}}, "unlabelled": {}},
        {"evaluated": 1, "perturbed": {"caps": {"copies": 1}}, "unlabelled": {}},
        {"evaluated": 1, "perturbed": {}, "unlabelled": {"g": -1}},
        {"evaluated": 1, "perturbed": [], "unlabelled": {}},
        {"evaluated": 1, "more": 2},
    ],
)
def test_counts_that_are_none_are_refused(harness: Harness, folder: Path, wrong: dict[str, object]) -> None:
    assert harness("run", "-r", "sample_reading", "-m", "fake:0").code == 0
    (file,) = (folder / "results").glob("*/*/run.json")
    file.write_text(json.dumps({**json.loads(file.read_text()), "instances": wrong}))
    with pytest.raises(DataError, match="not a run's record"):
        read_run(file.parent)


def test_a_run_counts_what_dialect_changes_and_who_has_no_label(harness: Harness, folder: Path) -> None:
    (folder / "people.yaml").write_text(SCENARIO)
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (folder / "fair.yaml").write_text(
        "suite: fair\nmodels: ['fake:0']\nruns:\n"
        "  - {scenario: ./people.yaml, perturbations: [fairness], groups: [region]}\n"
    )
    said = harness("run", "fair.yaml")
    assert said.code == 0, said.err
    (file,) = (folder / "results" / "fair").glob("*/run.json")
    counted = json.loads(file.read_text())["instances"]
    assert counted["perturbed"]["dialect"] == {"copies": 4, "changed": 3}
    assert counted["perturbed"]["gender"] == {"copies": 4, "changed": 1}
    assert counted["unlabelled"] == {"region": 2}
    shown = harness("stats", str(file.parent)).out
    assert "dialect changed 3 of 4 instances." in shown
    assert "2 of 4 instances have no region and are in none of its groups." in shown
    again = harness("score", str(file.parent))
    assert again.code == 0, again.err
    assert json.loads(file.read_text())["instances"] == counted
