"""The size of a run before it is run: counted in full, or estimated from a sample."""

from __future__ import annotations

import json
import random
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.contracts import GenerateRequest, Model, Prompt, ScoreRequest
from harness.costs.token_estimate import estimated_tokens
from harness.inference.model_pool import load_model
from harness.plugins.registry import Registry, default_registry
from harness.runs.evaluation import Evaluation, prepare
from harness.runs.plan import CONFIDENT, FEWEST_INSTANCES, Plan, draw, plan, regressed
from harness.sweeps.load import load_sweep

SCENARIO = """\
name: notes
title: Notes
description: Made-up texts.
citation: Made up for these tests.
taxonomy: {task: question answering, what: words, who: nobody, when: now, language: English}
source: {files: {train: ./train.jsonl, valid: ./valid.jsonl}}
input: "{{ text }}"
references: "{{ options }}"
correct_index: "{{ 0 }}"
adapter: {method: generation, max_tokens: 7, max_train_instances: 2}
metrics: [exact_match]
main_metric: exact_match
eval_split: valid
"""


@pytest.fixture(scope="module")
def registry() -> Registry:
    return default_registry()


@dataclass(frozen=True)
class Prepared:
    evaluation: Evaluation
    model: Model


Prepare = Callable[..., Prepared]


@pytest.fixture
def prepared(tmp_path: Path, registry: Registry) -> Prepare:
    """Return a function that prepares a run with a given number of instances."""

    def make(
        rows: int, settings: str = "", *, options: int = 2, model: str = "fake:0", words: float = 60.0
    ) -> Prepared:
        rng = random.Random(rows)
        vocabulary = ["a", "of", "it's", "number", "government", "extraordinarily", "1,024"]

        def text() -> str:
            return " ".join(rng.choices(vocabulary, k=1 + round(rng.expovariate(1 / words))))

        for split, count in (("train", 10), ("valid", rows)):
            with (tmp_path / f"{split}.jsonl").open("w") as file:
                for _ in range(count):
                    print(json.dumps({"text": text(), "options": [f"{text()} {n}" for n in range(options)]}), file=file)
        (tmp_path / "notes.yaml").write_text(SCENARIO)
        (tmp_path / "sweep.yaml").write_text(
            f"suite: s\nplugins: [notes.yaml]\nmodels: ['{model}']\nruns: [{{scenario: notes{settings}}}]\n"
        )
        sweep, known = load_sweep(tmp_path / "sweep.yaml")
        (spec,) = sweep.runs
        return Prepared(prepare(spec, known, None), load_model(spec.model, known))

    return make


def counted(run: Prepared) -> dict[str, int]:
    """Return the size of a run, counted request by request."""
    size = dict.fromkeys(("examples", "requests", "prompt_tokens", "max_completion_tokens", "truncated"), 0)
    for adapted in run.evaluation.adapted(run.model):
        size["examples"] += 1
        size["truncated"] += adapted.truncated or bool(adapted.dropped_examples)
        for request in adapted.requests:
            size["requests"] += 1
            texts: tuple[Prompt, ...] = ()
            if isinstance(request, GenerateRequest):
                texts = (request.prompt,)
                size["max_completion_tokens"] += request.max_tokens * request.completions
            elif isinstance(request, ScoreRequest):
                texts = (request.context, request.continuation)
            size["prompt_tokens"] += sum(map(run.model.count_tokens, texts))
    return size


def sizes(found: Plan) -> dict[str, float]:
    names = ("examples", "requests", "prompt_tokens", "max_completion_tokens", "truncated")
    return {name: getattr(found.size, name) for name in names}


@pytest.mark.parametrize("settings", ["", ", perturbations: [lowercase], train_trials: 2", ", max_eval_instances: 5"])
def test_a_small_run_is_counted_in_full(prepared: Prepare, settings: str) -> None:
    run = prepared(20, settings)
    found = plan(draw(run.evaluation), run.model)
    assert sizes(found) == counted(run)
    assert not found.estimated
    assert found.error == 0.0


@pytest.mark.parametrize(
    "settings",
    [
        "",
        ", max_eval_instances: 250",
        ", perturbations: [lowercase, typos], train_trials: 3",
        ", adapter: {num_outputs: 3}",
        ", adapter: {method: multiple_choice_separate_original, max_train_instances: 1}",
        ", adapter: {method: multiple_choice_joint}",
    ],
)
def test_a_large_run_is_estimated(prepared: Prepare, settings: str) -> None:
    run = prepared(300, settings)
    found, exact = plan(draw(run.evaluation), run.model), counted(run)
    assert found.estimated
    assert found.counted < 200
    estimate = sizes(found)
    for name in ("examples", "requests", "max_completion_tokens"):
        assert estimate[name] == exact[name]
    assert 0 < found.error < 0.12 * exact["prompt_tokens"]
    assert estimate["prompt_tokens"] == pytest.approx(exact["prompt_tokens"], abs=1.5 * found.error)


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    """Texts of very different lengths, whose tokens vary in proportion to the length: nine in ten of a thousand."""
    held = 0
    for seed in range(1000):
        rng = random.Random(seed)
        lengths = [1 + rng.expovariate(1 / 400) for _ in range(300)]
        tokens = [200 + 0.25 * length * (1 + rng.gauss(0, 0.1)) for length in lengths]
        drawn = rng.sample(range(300), FEWEST_INSTANCES)
        sample = [lengths[place] for place in drawn], [tokens[place] for place in drawn]
        total, error = regressed(*sample, statistics.fmean(lengths), 300)
        held += abs(total - sum(tokens)) <= CONFIDENT * error
    assert 880 <= held <= 990


def test_what_is_equal_for_all_is_not_an_estimate() -> None:
    assert regressed([1, 5, 9], [4, 4, 4], 100, 50) == (200, 0.0)


def test_a_line_is_followed_exactly() -> None:
    total, error = regressed([1, 5, 9], [12, 20, 28], 7, 10)
    assert total == pytest.approx(240)
    assert error == pytest.approx(0, abs=1e-9)


def test_shortened_prompts_are_estimated(prepared: Prepare) -> None:
    run = prepared(900, model="fake:0,window=256", words=100.0)
    found, exact = plan(draw(run.evaluation), run.model), counted(run)
    assert exact["truncated"] > 100
    assert found.size.truncated == pytest.approx(exact["truncated"], rel=0.15)
    assert found.size.prompt_tokens == pytest.approx(exact["prompt_tokens"], rel=0.05)


def test_of_many_requests_some_are_counted(prepared: Prepare) -> None:
    run = prepared(30, ", adapter: {method: multiple_choice_separate_original}", options=40)
    asked = 0
    count = run.model.count_tokens

    def noted(prompt: Prompt) -> int:
        nonlocal asked
        asked += 1
        return count(prompt)

    exact = counted(run)
    run.model.count_tokens = noted  # type: ignore[method-assign]
    found = plan(draw(run.evaluation), run.model)
    assert found.size.requests == exact["requests"] == 30 * 40
    assert found.size.prompt_tokens == pytest.approx(exact["prompt_tokens"], rel=0.03)
    assert asked < exact["requests"]


def test_a_model_without_a_tokenizer_has_estimated_tokens(prepared: Prepare) -> None:
    run = prepared(3)
    run.model.count_tokens = lambda prompt: 0  # type: ignore[method-assign]
    found = plan(draw(run.evaluation), run.model)
    prompts = [request.prompt for one in run.evaluation.adapted(run.model) for request in one.requests]  # type: ignore[union-attr]
    assert found.size.prompt_tokens == sum(map(estimated_tokens, map(str, prompts)))
    assert not found.tokens_known


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 1), ("abcdefgh", 3), ("abcdefgh" * 100, 201), ("né", 2), ("日本", 3)]
)
def test_estimated_tokens(text: str, tokens: int) -> None:
    assert estimated_tokens(text) == tokens
