"""The real data sets have as many instances as published, with unique and stable ids and with answers."""

from __future__ import annotations

import typing
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from harness import Instance
from harness.contracts.plugins import Kind, ScenarioDetails
from harness.plugins.parameters import build, parameters_of
from harness.plugins.registry import Registry

Read = Callable[..., list[Instance]]

# (scenario, arguments, published instances by split). Where the data folder has a cut, it is its rows; where HELM
# splits one file, its parts: 20 % of 817, halves of 3,610, 10 and 40 of 50, all but 1,000.
COUNTS: list[tuple[str, dict[str, Any], dict[str, int]]] = [
    ("arc", {"subset": "challenge"}, {"train": 1119, "valid": 299, "test": 1172}),
    ("arc", {"subset": "easy"}, {"train": 2251, "valid": 570, "test": 2376}),
    ("bbq", {"subject": "Age"}, {"train": 2680, "test": 1000}),
    ("bbq", {"subject": "Disability_status"}, {"train": 556, "test": 1000}),
    ("bbq", {"subject": "Nationality"}, {"train": 2080, "test": 1000}),
    ("bbq", {"subject": "Physical_appearance"}, {"train": 576, "test": 1000}),
    ("bbq", {"subject": "Religion"}, {"train": 200, "test": 1000}),
    ("bbq", {"subject": "Sexual_orientation"}, {"train": 173, "test": 691}),
    ("boolq", {}, {"train": 2000, "valid": 3270}),
    ("civil_comments", {"edition": "toxic_spans"}, {"train": 7939, "test": 2000}),
    ("gsm8k", {}, {"train": 7473, "test": 1319}),
    ("hellaswag", {}, {"valid": 10042}),
    ("humaneval", {}, {"test": 164}),
    ("imdb", {}, {"train": 2000, "valid": 25000}),
    ("mmlu", {"subject": "abstract_algebra"}, {"train": 5, "valid": 11, "test": 100}),
    ("mmlu", {"subject": "professional_law"}, {"train": 5, "valid": 170, "test": 1534}),
    ("narrative_qa", {"edition": "tokenised"}, {"train": 115, "test": 355}),
    ("natural_qa", {}, {"train": 1805, "valid": 1805}),
    ("nfcorpus", {}, {"train": 200, "valid": 324, "test": 323}),
    ("openbookqa", {}, {"train": 4957, "valid": 500, "test": 500}),
    ("piqa", {}, {"train": 2000, "valid": 1838}),
    ("raft", {"subset": "banking_77"}, {"train": 10, "test": 40}),
    ("raft", {"subset": "tai_safety_research"}, {"train": 10, "test": 40}),
    ("truthful_qa", {}, {"train": 163, "valid": 654}),
    ("wikitext", {}, {"valid": 60, "test": 60}),
]
LARGE = {"hellaswag", "imdb", "narrative_qa", "nfcorpus"}
CASES = [
    pytest.param(*case, id=",".join([case[0], *case[1].values()]), marks=[pytest.mark.slow] if case[0] in LARGE else [])
    for case in COUNTS
]
ONE_OF_MANY = {"arc", "bbq", "boolq", "civil_comments", "hellaswag", "imdb", "mmlu", "openbookqa", "piqa", "raft"}


@pytest.mark.parametrize(("name", "arguments", "counts"), CASES)
def test_instances_by_split(read: Read, name: str, arguments: dict[str, Any], counts: dict[str, int]) -> None:
    instances = read(name, **arguments)
    assert Counter(str(instance.split) for instance in instances) == counts
    assert len({instance.id for instance in instances}) == len(instances)
    assert all(instance.input.strip() for instance in instances)


@pytest.mark.parametrize(("name", "arguments", "counts"), CASES)
def test_answers(read: Read, name: str, arguments: dict[str, Any], counts: dict[str, int]) -> None:
    for instance in read(name, **arguments):
        if name in ONE_OF_MANY | {"truthful_qa"}:
            assert len(instance.correct) == 1, instance
            assert len(instance.references) >= 2, instance
        elif name != "wikitext":
            assert instance.correct, instance
        assert all(reference.text.strip() for reference in instance.references), instance


@pytest.mark.parametrize(("name", "arguments", "counts"), CASES)
def test_examples_are_there_where_the_default_adapter_shows_some(
    read: Read, registry: Registry, name: str, arguments: dict[str, Any], counts: dict[str, int]
) -> None:
    details = registry.get(Kind.SCENARIO, name).details
    assert isinstance(details, ScenarioDetails)
    settings = details.adapter(**arguments) if callable(details.adapter) else details.adapter
    policy = _adapter_settings(registry, settings)
    shown = policy.get("max_train_instances", 0)
    assert sum(instance.split == "train" for instance in read(name, **arguments)) >= shown
    assert any(instance.split == details.eval_split for instance in read(name, **arguments))


def _adapter_settings(registry: Registry, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings of an adapter; building it checks those that are given."""
    given = {key: value for key, value in settings.items() if key != "method"}
    adapter = build(registry.get(Kind.ADAPTER, settings["method"]), arguments=given)
    return dict(adapter.params.model_dump())


@pytest.mark.parametrize("name", ["bbq", "narrative_qa", "nfcorpus", "raft"])
def test_what_is_drawn_or_shuffled_is_the_same_at_every_reading(read: Read, read_again: Read, name: str) -> None:
    arguments = next(arguments for case, arguments, _ in COUNTS if case == name)
    assert read(name, **arguments) == read_again(name, **arguments)


@pytest.mark.slow
def test_mmlu_whole(read: Read, registry: Registry) -> None:
    subjects = typing.get_args(parameters_of(registry.get(Kind.SCENARIO, "mmlu")).model_fields["subject"].annotation)
    counts: Counter[str] = Counter()
    for subject in subjects:
        instances = read("mmlu", subject=subject)
        counts.update(str(instance.split) for instance in instances)
        assert all(len(instance.references) == 4 and len(instance.correct) == 1 for instance in instances)
    assert len(subjects) == 57
    assert counts == {"train": 285, "valid": 1531, "test": 14042}
