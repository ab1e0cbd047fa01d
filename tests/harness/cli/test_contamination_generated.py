"""``harness contamination test`` of models without log-probabilities: chosen by itself, with calls and price first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.harness.models.api_server import MODEL, FakeServer, Ways, serving

pytest.importorskip("openai")

WORDS = ("amber", "birch", "comet", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty", "kelp", "lagoon")
TEXTS = [" ".join(Random(number).choices(WORDS, k=5)) for number in range(14)]
FILE = "".join(f"{text}\n" for text in TEXTS)


def remembers(path: str, body: dict[str, Any]) -> tuple[int, Any] | None:
    """A server that gives no log-probabilities, and a model that knows the file."""
    if path != "/v1/completions":
        return None
    if body.get("logprobs") is not None or body.get("echo"):
        return 400, {"error": {"message": "logprobs are not supported"}}
    end = body["prompt"][-60:]
    found = FILE.find(end)
    text = FILE[found + len(end) :][:4] if found >= 0 else " no"
    choice = {"index": 0, "text": text, "finish_reason": "length", "logprobs": None}
    return 200, {"model": MODEL, "choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 1}}


def write_file(folder: Path) -> None:
    (folder / "file.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))


@pytest.fixture
def server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    write_file(folder)
    with serving(Ways(chats=False, echo=None, logprobs=False, says=remembers)) as found:
        monkeypatch.setenv("OPENAI_BASE_URL", found.url)
        yield found


ASKED = ("contamination", "test", f"openai:{MODEL}", "--data", "file.jsonl")


@pytest.mark.slow
def test_it_is_chosen_by_itself_and_says_what_it_costs_first(harness: Any, folder: Path, server: FakeServer) -> None:
    prices = folder / "prices.yaml"
    prices.write_text("currency: USD\nmodels: {'openai:*': {prompt: 1, completion: 2}}\n")
    said = harness(*ASKED, "--prices", str(prices), "--json")
    assert f"openai:{MODEL} returns no log-probabilities of a text" in said.err
    assert " USD)" in said.err
    assert said.err.index("calls") < said.err.index("1 of 1 runs ok")
    assert said.code == 0
    (test,) = json.loads(said.out)["models"][0]["tests"]
    assert test["next_example"]["score"] == "greedy"
    assert test["headline_log10_p"] <= -3
    assert test["verdict"] == "depends on the published order"


def test_options_of_the_tests_with_log_probabilities_are_refused(harness: Any, server: FakeServer) -> None:
    said = harness(*ASKED, "--shuffles", "4", "--context", "100")
    assert said.code == 2
    assert "--shuffles, --context: only for models that return log-probabilities" in said.err
    assert not [path for path, body in server.bodies if body.get("prompt", "").startswith(TEXTS[0])]


def test_a_model_that_only_chats_is_refused(harness: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_file(folder)
    with serving(Ways(completions=False, echo=None)) as found:
        monkeypatch.setenv("OPENAI_BASE_URL", found.url)
        said = harness(*ASKED)
        assert said.code == 2
        assert "only answers messages" in said.err
        assert "--prefill" in said.err


@pytest.mark.slow
def test_models_with_and_without_log_probabilities_are_tested_together(harness: Any, server: FakeServer) -> None:
    said = harness("contamination", "test", "fake:0", *ASKED[2:], "--context", "300", "--json")
    assert said.code == 0
    scored, generated = (model["tests"][0] for model in json.loads(said.out)["models"])
    assert "shard_scores" in scored
    assert generated["next_example"]["score"] == "greedy"
    assert said.err.count("returns no log-probabilities") == 1
