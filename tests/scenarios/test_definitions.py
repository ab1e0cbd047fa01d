"""What every scenario that comes with the harness says of itself."""

from __future__ import annotations

import re
import typing
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from harness.contracts.plugins import Kind, ScenarioDetails
from harness.plugins.parameters import build, given_names, parameters_of
from harness.plugins.registry import Registry
from harness.sweeps.shorthand import parse_entry
from scenarios.raft import _adapter as raft_adapter
from scenarios.raft import _subsets as raft_subsets

BENCHMARKS = {
    "arc",
    "bbq",
    "boolq",
    "civil_comments",
    "gsm8k",
    "hellaswag",
    "humaneval",
    "imdb",
    "mmlu",
    "narrative_qa",
    "natural_qa",
    "openbookqa",
    "piqa",
    "raft",
    "truthful_qa",
}


def test_the_benchmarks_are_there(built_in: Mapping[str, ScenarioDetails]) -> None:
    assert set(built_in) >= BENCHMARKS | {"wikitext", "nfcorpus"}


def test_every_scenario_says_what_it_is_and_where_its_data_come_from(
    built_in: Mapping[str, ScenarioDetails], registry: Registry
) -> None:
    for name, details in built_in.items():
        assert details.title, name
        assert set(details.taxonomy) == {"task", "what", "who", "when", "language"}, name
        assert all(details.taxonomy.values()), name
        if details.data.sample or details.data.anywhere:  # a file of the user's is described by the user
            continue
        assert re.search(r"\b(19|20)\d\d\b", registry.get(Kind.SCENARIO, name).source), name
        if details.data.files or details.data.hub:
            assert details.data.url.startswith("https://"), name
            assert details.data.licence, name


def test_hub_revisions_are_commits(built_in: Mapping[str, ScenarioDetails]) -> None:
    for name, details in built_in.items():
        if details.data.hub is not None:
            assert re.fullmatch("[0-9a-f]{40}", details.data.hub.revision), name
            assert details.eval_split in details.data.hub.splits, name


def test_default_adapters_and_metrics_exist_and_fit(
    built_in: Mapping[str, ScenarioDetails], registry: Registry
) -> None:
    asked = [
        (name, details.asked(prompt)) for name, details in built_in.items() for prompt in details.named_prompts or ("",)
    ]
    for name, details in asked:
        parameters = parameters_of(registry.get(Kind.SCENARIO, name)).model_fields
        arguments = {
            key: [*typing.get_args(field.annotation), ""][0] if field.is_required() else field.default
            for key, field in parameters.items()
            if key != "prompt"
        }
        settings = dict(details.adapter(**arguments) if callable(details.adapter) else details.adapter)
        build(registry.get(Kind.ADAPTER, settings.pop("method")), arguments=settings)
        metrics = [
            member for metric in details.metrics for member in registry.expand(Kind.METRIC, parse_entry(metric).name)
        ]
        assert "efficiency" in metrics, name
        given = [stat for metric in metrics for stat in given_names(registry.get(Kind.METRIC, metric))]
        assert any(fnmatchcase(details.main_metric, stat) for stat in [*metrics, *given]), name


@pytest.mark.parametrize("subset", sorted(raft_subsets()))
def test_raft_subsets(subset: str, registry: Registry) -> None:
    details = raft_subsets()[subset]
    instructions = raft_adapter(subset=subset)["instructions"]
    for number, label in enumerate(details["labels"], start=1):
        assert f"\n{number}. {label}\n" in instructions
    assert instructions.endswith(f"{len(details['labels'])}. {details['labels'][-1]}\n")


def test_raft_has_the_eleven_subsets(registry: Registry) -> None:
    choices = typing.get_args(parameters_of(registry.get(Kind.SCENARIO, "raft")).model_fields["subset"].annotation)
    assert list(choices) == sorted(raft_subsets())
    assert len(choices) == 11
    assert len(raft_subsets()["banking_77"]["labels"]) == 77


def test_the_tags_are_those_of_the_page(built_in: Mapping[str, ScenarioDetails]) -> None:
    """A closed list: a new tag needs a line on the page."""
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "tags.md").read_text("utf-8")
    listed = set(re.findall(r"^\| `([a-z0-9-]+)` \|", page, re.MULTILINE))
    (boards,) = re.findall(r"^Leaderboards: (.*)\. Such", page, re.MULTILINE)
    declared = {name: set(details.tags) for name, details in built_in.items()}
    assert set().union(*declared.values()) == listed | set(re.findall(r"`([a-z0-9-]+)`", boards))
    assert {name for name, tags in declared.items() if not tags} == {
        name for name, details in built_in.items() if details.data.sample or details.data.anywhere
    }
    for name, details in built_in.items():
        task = details.taxonomy["task"].replace(" ", "-")
        assert task not in details.tags, f"{name} says its task twice"


@pytest.mark.parametrize(
    ("board", "size"),
    [("helm-lite", 10), ("helm-capabilities", 5), ("helm-safety", 5), ("open-llm-v1", 6), ("open-llm-v2", 6)],
)
def test_boards_are_complete(board: str, size: int, registry: Registry) -> None:
    assert len(registry.tags()[board]) == size
