"""The samples: small, sound, marked as samples, and short enough for the quickstart's models."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from harness.contracts.plugins import Kind, ScenarioDetails
from harness.data.source import open_data
from harness.plugins.parameters import build
from harness.plugins.registry import Registry, default_registry

SAMPLES = {
    "sample_multiple_choice": (40, 10),
    "sample_reading": (30, 8),
    "sample_sentiment": (30, 8),
    "sample_generation": (24, 8),
}


@pytest.fixture(scope="module")
def registry() -> Registry:
    return default_registry()


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_has_its_instances_and_says_that_it_is_a_sample(registry: Registry, name: str) -> None:
    plugin = registry.get(Kind.SCENARIO, name)
    assert isinstance(plugin.details, ScenarioDetails)
    data = open_data(plugin.details, {}, name=name, data_dir=None)
    instances = list(build(plugin, data, arguments={})())
    assert Counter(instance.split.value for instance in instances) == dict(
        zip(("test", "train"), SAMPLES[name], strict=True)
    )
    assert data.provenance()["sample"] is True
    assert all(instance.correct for instance in instances)
    inputs = [instance.input for instance in instances]
    assert len(set(inputs)) == len(inputs)
    assert max(map(len, inputs)) < 120


def test_multiple_choice_offers_four_answers_of_which_one_is_right_at_balanced_places() -> None:
    path = Path(__file__).parents[2] / "scenarios" / "samples" / "multiple_choice_test.jsonl"
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert all(len(set(record["options"])) == 4 for record in records)
    assert Counter(record["options"].index(record["answer"]) for record in records) == {0: 10, 1: 10, 2: 10, 3: 10}


def test_a_published_line_is_what_json_dumps_makes_of_its_record() -> None:
    """So that a text rebuilt from the records is the text that was published."""
    for file in (Path(__file__).parents[2] / "scenarios" / "samples").glob("*.jsonl"):
        for line in file.read_text(encoding="utf-8").splitlines():
            assert json.dumps(json.loads(line), ensure_ascii=False) == line


@pytest.mark.parametrize(("name", "label"), [("reading", "answer"), ("sentiment", "label")])
def test_labels_balance(name: str, label: str) -> None:
    path = Path(__file__).parents[2] / "scenarios" / "samples" / f"{name}_test.jsonl"
    counts = Counter(json.loads(line)[label] for line in path.read_text(encoding="utf-8").splitlines())
    assert set(counts.values()) == {15}
