"""The real data sets have the rows, labels, first and last examples of the official ones: rows.yaml."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from harness import Instance, Split
from harness.contracts.plugins import Kind, ScenarioDetails
from harness.plugins.parameters import build
from harness.plugins.registry import Registry
from tests.scenarios.row_facts import ROWS, facts

Read = Callable[..., list[Instance]]

CASES = [
    pytest.param(
        name,
        case,
        id=",".join([name, *map(str, case.get("arguments", {}).values())]),
        marks=[pytest.mark.slow] if entry.get("slow") else [],
    )
    for name, entry in ROWS.items()
    for case in entry["cases"]
]
SLOW = ("narrative_qa", "nfcorpus")
ONE_OF_MANY = {"arc", "bbq", "boolq", "civil_comments", "hellaswag", "imdb", "mmlu", "openbookqa", "piqa", "raft"}
ONE_OF_MANY |= {"blimp", "crows_pairs", "lsat_qa", "med_qa", "superglue", "truthful_qa", "winobias", "winogender"}


@pytest.mark.parametrize(("name", "case"), CASES)
def test_rows_labels_and_ends(read: Read, name: str, case: Mapping[str, Any]) -> None:
    instances = read(name, **case.get("arguments", {}))
    splits = {split: [one for one in instances if one.split == split] for split in Split}
    found = {str(split): facts(part) for split, part in splits.items() if part}
    assert found == {key: value for key, value in case.items() if key != "arguments"}
    assert len({instance.id for instance in instances}) == len(instances)
    assert all(instance.input.strip() or instance.references for instance in instances)


@pytest.mark.parametrize(("name", "case"), CASES)
def test_answers(read: Read, name: str, case: Mapping[str, Any]) -> None:
    for instance in read(name, **case.get("arguments", {})):
        if name in ONE_OF_MANY:
            assert len(instance.correct) == 1, instance
            assert len(instance.references) >= 2, instance
        assert all(reference.text.strip() for reference in instance.references), instance


@pytest.mark.parametrize("name", ROWS)
def test_a_difference_from_the_official_numbers_is_explained(name: str) -> None:
    entry = ROWS[name]
    counts: Counter[str] = Counter()
    for case in entry["cases"]:
        counts.update({split: part["rows"] for split, part in case.items() if split != "arguments"})
    assert (dict(counts) != entry["official"]) == ("note" in entry), f"{dict(counts)} are at hand"


@pytest.mark.parametrize("name", [name for name, entry in ROWS.items() if entry["data"] == "full"])
def test_an_official_evaluation_split_is_whole(name: str, registry: Registry) -> None:
    """The other splits may be cut, and a release without splits may be split here: then their sum is whole."""
    details = registry.get(Kind.SCENARIO, name).details
    assert isinstance(details, ScenarioDetails)
    official, split = ROWS[name]["official"], str(details.eval_split)
    parts = [case[key]["rows"] for case in ROWS[name]["cases"] for key in case if key != "arguments"]
    if split not in official:
        assert sum(parts) == sum(official.values())
        return
    evaluated = sum(case[split]["rows"] for case in ROWS[name]["cases"])
    empty = {"bold": 5}
    assert evaluated + empty.get(name, 0) == official[split]


def test_the_table_is_sorted_and_has_no_other_keys() -> None:
    assert list(ROWS) == sorted(ROWS)
    for name, entry in ROWS.items():
        assert entry.keys() <= {"data", "official", "note", "slow", "cases"}, name
        assert entry["data"] in {"full", "part", "stand-in", "generated"}, name


@pytest.mark.parametrize(("name", "case"), CASES)
def test_the_default_adapters_examples_are_there(registry: Registry, name: str, case: Mapping[str, Any]) -> None:
    """Where the train split is at hand at all."""
    details = registry.get(Kind.SCENARIO, name).details
    assert isinstance(details, ScenarioDetails)
    arguments = case.get("arguments", {})
    settings = details.adapter(**arguments) if callable(details.adapter) else details.adapter
    shown = _adapter_settings(registry, settings).get("max_train_instances", 0)
    assert "train" not in case or case["train"]["rows"] >= shown


def _adapter_settings(registry: Registry, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings of an adapter; building it checks those that are given."""
    given = {key: value for key, value in settings.items() if key != "method"}
    adapter = build(registry.get(Kind.ADAPTER, settings["method"]), arguments=given)
    return dict(adapter.params.model_dump())


@pytest.mark.parametrize("name", ["bbq", "raft", *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)])
def test_what_is_drawn_or_shuffled_is_the_same_at_every_reading(read: Read, read_again: Read, name: str) -> None:
    arguments = ROWS[name]["cases"][0].get("arguments", {})
    assert read(name, **arguments) == read_again(name, **arguments)
