"""Conversations in runs: each instance's turns follow its own answers, whatever becomes of the others."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.multi_turn import MultiTurn
from harness import Adapted, Adapter, Example, GenerateRequest, Message, Response
from harness.contracts.specs import Component, RunSpec
from harness.inference.model_pool import load_model
from harness.plugins.registry import Registry, default_registry
from harness.runs.evaluation import prepare
from harness.runs.plan import draw, plan
from harness.runs.rescoring import rescored
from harness.runs.runner import Settings, run_sweep
from harness.runs.sweep_state import SweepState
from harness.storage.example_files import read_examples
from harness.storage.results import RunRecord

COUNT = 40

SCENARIO = """\
name: talk
title: Talk
description: Made-up conversations.
citation: Made up for these tests.
taxonomy: {task: dialogue, what: numbers, who: nobody, when: now, language: English}
source: {files: {test: talk.jsonl}}
id: "{{ id }}"
input: "{{ turns[0] }}"
references: ["the"]
correct_index: 0
meta: {turns: "{{ turns }}"}
adapter: {method: multi_turn, max_tokens: 4}
metrics: [exact_match]
main_metric: exact_match
"""


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    (tmp_path / "talk.yaml").write_text(SCENARIO)
    rows = [{"id": f"{n}", "turns": [f"the house {n}", "and?", "so?"][: n % 3 + 1]} for n in range(COUNT)]
    (tmp_path / "talk.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return default_registry([tmp_path / "talk.yaml"])


def spec(model: str = "fake:0", arguments: dict[str, Any] | None = None, **changes: Any) -> RunSpec:
    adapter = Component(name="multi_turn", arguments={"max_tokens": 4, **changes.pop("adapter", {})})
    fields: dict[str, Any] = {
        "suite": "test",
        "scenario": Component(name="talk"),
        "adapter": adapter,
        "metrics": (Component(name="exact_match"),),
        "main_metric": "exact_match",
        "model": Component(name=model, arguments={"chat": True} if arguments is None else arguments),
        "eval_split": "test",
    }
    return RunSpec.model_validate({**fields, **changes})


Run = Callable[..., tuple[RunRecord, list[tuple[Example, str | None]]]]


@pytest.fixture
def run(tmp_path: Path, registry: Registry) -> Run:
    def run(one: RunSpec, state: SweepState | None = None, results: str = "results") -> Any:
        settings = Settings(tmp_path / results, tmp_path)
        (record,) = run_sweep([one], registry, settings, state)
        return record, [(example, error) for example, _, error in read_examples(record)]

    return run


def turns_of(example: Example) -> list[tuple[Message, ...]]:
    """Return the prompt of each turn, after checking that it goes on from the one before."""
    prompts: list[tuple[Message, ...]] = []
    for number, request in enumerate(example.requests):
        assert isinstance(request, GenerateRequest)
        assert not isinstance(request.prompt, str)
        assert request.origin is not None
        assert request.origin.turn == number
        if prompts:
            *before, answer, _ = request.prompt
            assert tuple(before) == prompts[-1]
            assert answer == Message("assistant", example.turns[number - 1])
        assert [turn.role for turn in request.prompt if turn.role != "system"][-1] == "user"
        prompts.append(request.prompt)
    return prompts


def test_every_turn_goes_on_from_the_models_own_answer(run: Run, registry: Registry) -> None:
    state = SweepState()
    record, examples = run(spec(), state)
    assert record.status == "ok"
    assert [example.instance.id for example, _ in examples] == [f"{n}" for n in range(COUNT)]
    for example, _ in examples:
        assert [prompt[-1].content for prompt in turns_of(example)] == example.instance.meta["turns"]
        assert example.prediction == example.turns[-1]
    assert sum(len(example.requests) for example, _ in examples) == sum(n % 3 + 1 for n in range(COUNT))
    assert state.answered == pytest.approx(COUNT)
    assert rescored(record, registry).stats == record.stats


def test_nothing_is_asked_twice(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "log"
    noted = spec(operational={"log": str(log)})
    _, first = run(noted)
    asked = log.read_text().splitlines()
    assert len(set(asked)) == len(asked) == sum(n % 3 + 1 for n in range(COUNT))
    for file in (tmp_path / "results" / "test").rglob("run.json"):
        file.unlink()
    _, again = run(noted)
    assert log.read_text().splitlines() == asked
    assert [example.turns for example, _ in again] == [example.turns for example, _ in first]


def test_each_sample_is_a_conversation_of_its_own(run: Run) -> None:
    record, examples = run(spec(adapter={"temperature": 1.0}, samples=3))
    assert record.status == "ok"
    assert [(example.instance.id, example.sample) for example, _ in examples] == [
        (f"{n}", sample) for n in range(COUNT) for sample in range(3)
    ]
    seeds = [request.seed for example, _ in examples for request in example.requests]  # type: ignore[union-attr]
    assert len(set(seeds)) == len(seeds)
    assert all(len(turns_of(example)) == len(example.instance.meta["turns"]) for example, _ in examples)
    assert len({example.turns for example, _ in examples if example.instance.id == "2"}) == 3


def test_a_turn_that_fails_or_is_declined_ends_its_conversation_alone(run: Run) -> None:
    arguments = {"chat": True, "fail_every": 9, "decline_every": 7}
    _, examples = run(spec(arguments=arguments, max_declined=1.0))
    failed = [example for example, error in examples if error is not None]
    declined = [example for example, _ in examples if example.declined]
    assert failed
    assert declined
    for example, error in examples:
        turns_of(example)
        bad = [response.error is not None or response.declined is not None for response in example.responses]
        assert bad.index(True) == len(bad) - 1 if any(bad) else len(bad) == len(example.instance.meta["turns"])
        assert (error is not None) == (example.responses[-1].error is not None)


def test_the_models_own_system_prompt_is_there_once(run: Run) -> None:
    _, examples = run(spec(arguments={"chat": True, "system_prompt": "Be kind."}))
    for example, _ in examples:
        for prompt in turns_of(example):
            assert [turn.content for turn in prompt if turn.role == "system"] == ["Be kind."]


def test_recorded_conversations_are_replayed(run: Run, tmp_path: Path) -> None:
    rows = [{"id": f"{n}", "turns": [f"answer {turn}" for turn in range(min(n % 3 + 1, 2))]} for n in range(COUNT)]
    (tmp_path / "said.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    _, examples = run(spec(f"replay:{tmp_path / 'said.jsonl'}"))
    for number, (example, error) in enumerate(examples):
        turns_of(example)
        assert example.turns == tuple(rows[number]["turns"])
        assert (error is None) == (number % 3 < 2)
        assert error is None or "has no turns[2] for id" in error


def test_a_model_that_takes_no_conversations_is_refused(tmp_path: Path, registry: Registry) -> None:
    (record,) = run_sweep([spec(arguments={})], registry, Settings(tmp_path / "results", tmp_path))
    assert record.status == "failed"
    assert record.error == "fake:0 does not take conversations; set chat: true."


def test_a_dry_run_counts_the_turns_that_follow(registry: Registry, tmp_path: Path) -> None:
    one = spec()
    planned = plan(draw(prepare(one, registry, tmp_path)), load_model(one.model, registry)).size
    turns = sum(n % 3 + 1 for n in range(COUNT))
    assert (planned.examples, planned.requests, planned.follow_ups) == (COUNT, turns, turns - COUNT)
    assert planned.max_completion_tokens == 4 * turns


@pytest.mark.parametrize("requests", [(), (GenerateRequest((Message("user", "x"),), 4),) * 2])
def test_an_adapter_that_follows_up_without_asking_more_fails_its_run(
    registry: Registry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, requests: tuple[GenerateRequest, ...]
) -> None:
    def same_or_others(self: Adapter, adapted: Adapted, responses: Sequence[Response]) -> Adapted:
        return replace(adapted, requests=requests or adapted.requests)

    monkeypatch.setattr(MultiTurn, "follow_up", same_or_others)
    (record,) = run_sweep([spec()], registry, Settings(tmp_path / "results", tmp_path))
    assert record.status == "failed"
    assert "'multi_turn' follows up on instance '0' without adding requests" in str(record.error)
