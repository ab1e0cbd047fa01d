"""``answer:`` from the sweep to the leaderboard: readings, their stats, what could not be read, and mistakes in it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.storage.results import RunRecord, read_run
from tests.harness.cli.conftest import Harness
from tests.harness.models.api_server import MODEL, FakeServer, Ways, serving
from tests.harness.models.thinking_server import Thinker

SUMS = """\
name: sums
title: Sums
description: Made-up sums.
citation: Made up for these tests.
taxonomy: {task: arithmetic, what: sums, who: nobody, when: now, language: English}
source: {files: {train: ./sums/train.jsonl, test: ./sums/test.jsonl}}
id: "{{ id }}"
input: "{{ id }} and {{ id }}?"
correct: "{{ sum }}"
meta: {chain_of_thought: "{{ why }}"}
adapter: {method: generation, max_tokens: 50, max_train_instances: 0, stop_sequences: []}
metrics: [exact_match]
main_metric: exact_match
eval_split: test
"""
# strict: right, wrong, nothing, nothing; flexible: right, right, right, nothing.
ANSWERS = ["1 + 1.\n#### 2", "#### 5\nNo, the answer is 4.", "It is 6.", "No idea."]


@pytest.fixture
def sums(folder: Path) -> Path:
    (folder / "sums").mkdir()
    (folder / "sums.yaml").write_text(SUMS)
    for split in ("train", "test"):
        first = 1 if split == "test" else 11
        rows = [{"id": str(n), "sum": str(2 * n), "why": f"{n} + {n} = {2 * n}."} for n in range(first, first + 4)]
        (folder / "sums" / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = [{"id": str(n), "text": text} for n, text in enumerate(ANSWERS, start=1)]
    (folder / "answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def write_sweep(folder: Path, run: dict[str, Any], model: Any = "replay:answers.jsonl") -> None:
    sweep = {"suite": "s", "plugins": ["./sums.yaml"], "models": [model], "runs": [{"scenario": "sums", **run}]}
    (folder / "s.yaml").write_text(json.dumps(sweep, indent=1))


def only_run(folder: Path) -> RunRecord:
    (file,) = (folder / "results" / "s").glob("*/run.json")
    return read_run(file.parent)


def stats(folder: Path) -> dict[str, float]:
    return {stat.metric: stat.mean for stat in only_run(folder).stats if stat.overall}


def examples(folder: Path) -> list[dict[str, Any]]:
    (file,) = (folder / "results" / "s").glob("*/examples.jsonl.gz")
    with gzip.open(file, "rt") as lines:
        return [json.loads(line) for line in lines]


def test_several_readings_give_several_stats(harness: Harness, sums: Path) -> None:
    readings = {"strict": {"after": "####", "until": "\n"}, "flexible": "number"}
    write_sweep(sums, {"adapter": {"answer": readings}, "metrics": ["exact_match", "efficiency"]})
    said = harness("run", "s.yaml")
    assert said.code == 0, said.err
    found = stats(sums)
    assert found["exact_match"] == 0.25
    assert found["exact_match (flexible)"] == 0.75
    assert found["unread"] == 0.5
    assert found["unread (flexible)"] == 0.25
    assert not any("flexible" in name for name in found if "runtime" in name or "token" in name)
    assert [example["readings"] for example in examples(sums)] == [
        {"strict": "2", "flexible": "2"},
        {"strict": "5", "flexible": "4"},
        {"strict": None, "flexible": "6"},
        {"strict": None, "flexible": None},
    ]
    assert [example["prediction"] for example in examples(sums)] == ["2", "5", "", ""]
    assert only_run(sums).efficiency["unread_examples"] == 2


def test_the_order_of_readings_matters(harness: Harness, sums: Path) -> None:
    readings = {"strict": {"after": "####", "until": "\n"}, "flexible": "number"}
    write_sweep(sums, {"adapter": {"answer": readings}, "metrics": ["exact_match"]})
    assert harness("run", "s.yaml").code == 0
    write_sweep(sums, {"adapter": {"answer": dict(reversed(readings.items()))}, "metrics": ["exact_match"]})
    said = harness("run", "s.yaml")
    assert said.code == 0, said.err
    assert "exact_match 0.750" in said.err


def test_a_reading_can_be_the_main_metric_and_be_compared(harness: Harness, sums: Path) -> None:
    readings = {"strict": {"after": "####"}, "flexible": "number"}
    write_sweep(sums, {"adapter": {"answer": readings}, "main_metric": "exact_match (flexible)"})
    assert harness("run", "s.yaml").code == 0
    run = only_run(sums)
    assert run.instance_scores is not None
    board = harness("leaderboard", "s")
    assert "Exact match · flexible" in board.out
    assert "0.750" in board.out
    assert "answers could not be read: Sums: 1 of 4" in board.out  # by that reading
    before = {stat.metric: stat.mean for stat in run.stats}
    folder = str(run.directory)
    assert harness("stats", folder).code == 0
    assert harness("score", folder).code == 0
    assert {stat.metric: stat.mean for stat in only_run(sums).stats} == before
    assert only_run(sums).instance_scores == run.instance_scores


def test_a_misspelt_reading_in_the_main_metric_is_a_mistake(harness: Harness, sums: Path) -> None:
    readings = {"strict": {"after": "####"}, "flexible": "number"}
    write_sweep(sums, {"adapter": {"answer": readings}, "main_metric": "exact_match (flexibel)"})
    said = harness("validate", "s.yaml")
    assert said.code == 2
    assert "runs[0].main_metric: is 'exact_match (flexibel)', which none of the run's metrics computes" in said.err
    assert "Did you mean 'exact_match (flexible)'" in said.err


def test_what_cannot_be_read_is_not_credited(harness: Harness, sums: Path) -> None:
    lines = [{"id": str(n), "text": str(2 * n)} for n in range(1, 5)]
    (sums / "answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    write_sweep(sums, {"adapter": {"answer": {"last": "answer is ([0-9]+)"}}})
    assert harness("run", "s.yaml").code == 0
    assert stats(sums) == {"exact_match": 0.0, "unread": 1.0}
    assert all(example["unread"] for example in examples(sums))


def test_without_the_setting_nothing_is_read_and_nothing_said_of_it(harness: Harness, sums: Path) -> None:
    write_sweep(sums, {})
    assert harness("run", "s.yaml").code == 0
    assert set(stats(sums)) == {"exact_match"}
    assert all("readings" not in example for example in examples(sums))


def test_examples_can_show_their_reasoning(harness: Harness, sums: Path) -> None:
    adapter = {
        "max_train_instances": 1,
        "output_prefix": "A: ",
        "chain_of_thought": True,
        "chain_of_thought_prefix": "Let's think step by step. ",
        "chain_of_thought_suffix": " The answer is ",
        "output_suffix": ".\n",
        "answer": "number",
    }
    write_sweep(sums, {"adapter": adapter})
    said = harness("run", "s.yaml")
    assert said.code == 0, said.err
    (request,) = examples(sums)[0]["requests"]
    assert "A: Let's think step by step. " in request["prompt"]
    assert ". The answer is " in request["prompt"]


@pytest.mark.parametrize(
    ("adapter", "said"),
    [
        ({"chain_of_thought": True, "max_tokens": 5}, "needs room for reasoning, and max_tokens is 5"),
        ({"answer": "leter"}, "adapter.answer: 'leter' is not one of the choices. Did you mean 'letter'?"),
        ({"answer": {"last": "answer is ("}}, "answer.last: is not a regular expression: missing )"),
        ({"answer": {"last": "[A-D]?"}}, "answer.last: matches the empty text"),
        ({"answer": {"lst": "x"}}, "answer.lst: is not a parameter. Did you mean 'last'?"),
        ({"answer": {"last": "a", "first": "b"}}, "chooses a part of the answer twice: by 'last' and by 'first'"),
        ({"answer": {"until": "."}}, "'until' needs 'after', which is not set"),
        ({"answer": {"json": "a..b"}}, "answer.json: 'a..b' is not a path such as"),
        ({"answer": {"a": {"read": "nummber"}}}, "answer.a.read: 'nummber' is not one of the choices."),
        ({"answer": {"after": "x", "steps": "lowr"}}, "'lowr' is not a step (did you mean 'lower'?)"),
        ({"answer": {"after": "####", "loose": "number"}}, "next to the name of one (loose)"),
        ({"answer": {"a b": "number"}}, "'a b' cannot be the name of a reading"),
        ({"answer": {}}, "answer: is empty"),
        ({"answer": {"after": ""}}, "answer.after: must have at least 1 character"),
        ({"answer": 5}, "answer: must be a mapping, not 5"),
    ],
)
def test_mistakes_name_file_line_and_key(harness: Harness, sums: Path, adapter: dict[str, Any], said: str) -> None:
    write_sweep(sums, {"adapter": adapter})
    shown = harness("validate", "s.yaml")
    assert shown.code == 2
    assert "s.yaml:" in shown.err
    assert "runs[0].adapter" in shown.err
    assert said in " ".join(shown.err.split())
    assert "Traceback" not in shown.err


def test_an_example_without_reasoning_is_named(harness: Harness, sums: Path) -> None:
    scenario = (sums / "sums.yaml").read_text().replace("meta: {chain_of_thought", "meta: {thoughts")
    (sums / "sums.yaml").write_text(scenario)
    write_sweep(sums, {"adapter": {"max_train_instances": 1, "chain_of_thought": True}})
    said = harness("run", "s.yaml")
    assert said.code == 1
    assert "has no text 'chain_of_thought' in its meta" in (only_run(sums).error or "")


def test_a_pattern_that_never_ends_fails_the_run_by_name(
    harness: Harness, sums: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.answers.reading.SECONDS", 0.2)
    (sums / "answers.jsonl").write_text(
        "".join(json.dumps({"id": str(n), "text": "a" * 5000 + "!"}) + "\n" for n in range(1, 5))
    )
    write_sweep(sums, {"adapter": {"answer": {"last": "(a|a|aa)+$"}}})
    assert harness("run", "s.yaml").code == 1
    error = only_run(sums).error
    assert error is not None
    assert "the pattern '(a|a|aa)+$' of `answer` takes more than" in error


CHOICE = {"scenario": "sample_multiple_choice", "adapter": {"method": "multiple_choice_joint", "max_tokens": 40}}


@pytest.fixture
def talker() -> Iterator[FakeServer]:
    """A chat server that gives no log-probabilities, and names the second option in a sentence."""
    pytest.importorskip("openai")

    def says(path: str, body: dict[str, Any]) -> tuple[int, Any] | None:
        if path != "/v1/chat/completions":
            return None
        if body.get("logprobs") or body.get("top_logprobs"):
            return 400, {"error": {"message": "logprobs are not supported", "param": "logprobs"}}
        message = {"role": "assistant", "content": "Let me see. I think it's **B**, not A."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 9, "completion_tokens": 9}
        return 200, {"model": MODEL, "choices": [choice], "usage": usage}

    with serving(Ways(says=says)) as server:
        yield server


def test_letters_are_read_from_a_server_without_log_probabilities(
    harness: Harness, folder: Path, talker: FakeServer
) -> None:
    metrics = ["multiple_choice_accuracy", "calibration"]
    run = {**CHOICE, "metrics": metrics, "main_metric": "multiple_choice_accuracy"}
    model = {"name": f"openai:{MODEL}", "base_url": talker.url, "max_retries": 0}
    (folder / "s.yaml").write_text(json.dumps({"suite": "s", "models": [model], "runs": [run]}))
    assert harness("validate", "s.yaml").code == 0
    said = harness("run", "s.yaml")
    assert said.code == 0, said.err
    found = stats(folder)
    right = sum(example["references"][1].get("correct", False) for example in examples(folder))
    assert found["multiple_choice_accuracy"] == pytest.approx(right / len(examples(folder)))
    assert "unread" not in found
    assert "ece_10_bin" not in found
    note = "ece_10_bin, ece_1_bin, platt_ece_10_bin, brier_score, selective_accuracy have no value"
    assert note in " ".join(said.err.split())
    assert all(not body.get("top_logprobs") for _, body in talker.bodies)
    run_json = only_run(folder).efficiency
    assert run_json["without_probability"] == len(examples(folder))


@pytest.mark.parametrize("mode", ["field", "marks"])
def test_letters_are_read_from_the_answer_and_not_from_the_reasoning(harness: Harness, folder: Path, mode: str) -> None:
    pytest.importorskip("openai")
    thinker = Thinker(mode, answer=lambda prompt: "The answer is (B).", thoughts="It is A.\nThe answer is (A).")
    with serving(Ways(logprobs=False, says=thinker.says)) as server:
        model = {"name": f"openai:{MODEL}", "base_url": server.url, "api": "chat", "reasoning": {}}
        run = {**CHOICE, "metrics": ["multiple_choice_accuracy"]}
        (folder / "s.yaml").write_text(json.dumps({"suite": "s", "models": [model], "runs": [run]}))
        said = harness("run", "s.yaml")
    assert said.code == 0, said.err
    assert {example["choice"] for example in examples(folder)} == {1}


def test_a_metric_without_value_for_another_reason_is_not_blamed_on_the_model(harness: Harness, folder: Path) -> None:
    run = {**CHOICE, "metrics": ["multiple_choice_accuracy", "platt_ece_10_bin"], "max_eval_instances": 3}
    (folder / "s.yaml").write_text(json.dumps({"suite": "s", "models": ["fake:0"], "runs": [run]}))
    said = harness("run", "s.yaml")
    assert said.code == 0, said.err
    assert "platt_ece_10_bin" not in stats(folder)
    assert "log-probabilities" not in said.err


def test_calibration_is_announced_as_impossible_where_the_backend_says_so(harness: Harness, folder: Path) -> None:
    run = {**CHOICE, "metrics": ["multiple_choice_accuracy", "brier_score"], "main_metric": "multiple_choice_accuracy"}
    sweep = {"suite": "s", "models": ["anthropic:some-model"], "runs": [run]}
    (folder / "s.yaml").write_text(json.dumps(sweep))
    said = harness("validate", "s.yaml")
    assert said.code == 0, said.err
    wanted = "brier_score has no value for 'anthropic:some-model': it needs log-probabilities of what a model writes"
    assert wanted in " ".join((said.err + said.out).split())
    (folder / "s.yaml").write_text(json.dumps({**sweep, "runs": [{**run, "main_metric": "brier_score"}]}))
    said = harness("validate", "s.yaml")
    assert said.code == 2
    assert "Name another main metric" in said.err


QUESTION = {
    "name": "several",
    "title": "Several",
    "description": "Made-up questions with several right answers.",
    "citation": "Made up for these tests.",
    "taxonomy": {"task": "question answering", "what": "x", "who": "x", "when": "now", "language": "English"},
    "source": {"files": {"test": "./several.jsonl"}},
    "id": "{{ id }}",
    "input": "Which?",
    "references": ["one", "two", "three", "four"],
    "correct": "{{ correct }}",
    "adapter": {"method": "multiple_choice_joint", "max_tokens": 20, "max_train_instances": 0, "multi_label": True},
    "metrics": ["multiple_choice_accuracy"],
    "main_metric": "multiple_choice_accuracy",
    "eval_split": "test",
}


def test_several_letters_are_compared_as_a_set(harness: Harness, folder: Path) -> None:
    said = {"a": "The answer is A and C.", "b": "AC", "c": "C, A", "d": "A", "e": "A, B, C", "f": "none"}
    rows = [{"id": name, "correct": ["one", "three"]} for name in said]
    (folder / "several.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "several.yaml").write_text(json.dumps(QUESTION))
    lines = [{"id": name, "text": text} for name, text in said.items()]
    (folder / "answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    sweep = {"suite": "s", "plugins": ["./several.yaml"], "models": ["replay:answers.jsonl"], "runs": ["several"]}
    (folder / "s.yaml").write_text(json.dumps(sweep))
    assert harness("run", "s.yaml").code == 0
    found = {example["id"]: example for example in examples(folder)}
    scores = {name: example["scores"]["multiple_choice_accuracy"] for name, example in found.items()}
    assert scores == {"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.0, "e": 0.0, "f": 0.0}
    assert found["a"]["choices"] == [0, 2]
    assert found["a"]["prediction"] == "one, three"
    assert found["f"]["unread"]
    before = stats(folder)
    assert harness("score", str(only_run(folder).directory)).code == 0
    assert stats(folder) == before
