"""Runs whose labels would be equal also show the settings in which they differ."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from harness.contracts import Split
from harness.contracts.specs import Component, RunSpec
from harness.storage.run_labels import distinctions


def spec(model: str = "fake:0", subject: str = "law", **changes: Any) -> RunSpec:
    adapter = {"max_train_instances": 5, "instructions": "Answer.", **changes.pop("adapter", {})}
    return RunSpec(
        suite="s",
        scenario=Component(name="mmlu", arguments={"subject": subject}),
        adapter=Component(name="generation", arguments=adapter),
        metrics=(Component(name="exact_match"),),
        main_metric="exact_match",
        model=Component(name=model),
        eval_split=Split.TEST,
        **changes,
    )


def label(one: RunSpec) -> str:
    return f"{one.scenario.label} by {one.adapter.name} with {one.model.name}"


def test_runs_that_the_label_tells_apart_need_nothing_more() -> None:
    assert distinctions([spec(), spec(subject="art"), spec(model="fake:1")], label) == ["", "", ""]


def test_equal_runs_get_equal_texts() -> None:
    assert distinctions([spec(), spec()], label) == ["", ""]


def test_shots_seed_and_prompt_tell_runs_apart() -> None:
    runs = [
        spec(),
        spec(adapter={"max_train_instances": 0}),
        spec(seed=1),
        spec(adapter={"instructions": "Think, then answer."}),
    ]
    assert distinctions(runs, label) == [
        " [max_train_instances=5, instructions=Answer., seed=0]",
        " [max_train_instances=0, instructions=Answer., seed=0]",
        " [max_train_instances=5, instructions=Answer., seed=1]",
        " [max_train_instances=5, instructions=Think, then answer., seed=0]",
    ]


def test_only_what_differs_is_named_and_only_among_runs_of_one_label() -> None:
    runs = [spec(), spec(seed=1), spec(subject="art"), spec(subject="art", max_eval_instances=10)]
    assert distinctions(runs, label) == [
        " [seed=0]", " [seed=1]", " [max_eval_instances=None]", " [max_eval_instances=10]",
    ]  # fmt: skip


def test_perturbations_and_metrics_are_named() -> None:
    runs = [spec(), spec(perturbations=(Component(name="typos"), Component(name="dialect")))]
    assert distinctions(runs, label) == [" [perturbations=none]", " [perturbations=typos+dialect]"]


def test_long_prompts_that_look_alike_when_shortened_are_told_apart_by_the_digest() -> None:
    runs = [spec(adapter={"instructions": "x" * 50 + middle + "y" * 50}) for middle in "ab"]
    first, second = distinctions(runs, label)
    assert first != second
    assert runs[0].digest in first


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.text(max_size=40)), max_size=6))
def test_different_specs_never_share_label_and_distinction(rows: list[tuple[int, int, str]]) -> None:
    runs = [spec(f"fake:{model}", seed=seed, adapter={"instructions": text}) for model, seed, text in rows]
    shown = [label(run) + distinction for run, distinction in zip(runs, distinctions(runs, label), strict=True)]
    for one, text in zip(runs, shown, strict=True):
        for other, against in zip(runs, shown, strict=True):
            assert (text == against) == (one.name == other.name)


def test_true_is_not_one() -> None:
    runs = [spec(adapter={"chat": True}), spec(adapter={"chat": 1})]
    assert distinctions(runs, label) == [" [chat=True]", " [chat=1]"]
