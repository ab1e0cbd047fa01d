"""The next-example test by one-token answers: what is asked, with and without a tokenizer, and when it ends.

| model                      | asked                                               | result                 |
|----------------------------|-----------------------------------------------------|------------------------|
| any                        | after the preceding examples, and after each word   | one token each         |
| knows the order            | until the evidence suffices                         | p = 1/evidence, small  |
| does not                   | everything                                          | p near 1               |
| without a tokenizer, chats | the same text, as the beginning of its answer       | the same               |
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from adapters.next_example_greedy import NextExampleGreedy
from harness import Adapted, Completion, Example, GenerateRequest, Instance, ModelError, Response
from harness.cli.run import execute
from harness.models.offline.fake import FakeModel
from harness.runs.runner import Settings
from harness.sweeps.load import sweep_from_mapping
from metrics.contamination import Contamination
from tests.harness.models.api_server import MODEL, Ways, serving

WORDS = ("amber", "birch", "comet", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty", "kelp", "lagoon")
TEXTS = [" ".join(Random(number).choices(WORDS, k=12)) for number in range(40)]
FILE = "".join(f"{text}\n" for text in TEXTS)


class NoTokenizer(FakeModel):
    """A model behind a server that tells nothing."""

    def count_tokens(self, prompt: Any) -> int:
        return 0

    def count_segments(self, segments: Sequence[str]) -> None:  # type: ignore[override]
        return None


def remembers(text: str) -> str:
    """The next characters of the file, if the text was read there."""
    found = FILE.find(text[-60:])
    return FILE[found + len(text[-60:]) :][:4] if found >= 0 else " no"


def run(answer: Callable[[str], str], texts: Sequence[str] = TEXTS, **settings: Any) -> tuple[dict[str, Any], int]:
    """Return the details of a run on a model that answers so, and the number of its questions."""
    adapter, metric, asked = NextExampleGreedy(NextExampleGreedy.Params(**settings)), Contamination(), 0
    data = [Instance(f"test-{number}", "", published=text) for number, text in enumerate(texts)]
    for adapted in adapter.adapt(data, (), NoTokenizer("0"), trial=0, seed=0):
        responses = tuple(Response((Completion(answer(question(one)), tokens=1),)) for one in adapted.requests)
        adapter.predict(adapted, responses)
        metric.add(Example(adapted.instance, adapted.requests, responses))
        asked += len(responses)
    return dict(metric.details()), asked


def question(request: object) -> str:
    assert isinstance(request, GenerateRequest)
    assert (request.max_tokens, request.temperature, request.top_logprobs) == (1, 0.0, 0)
    return request.prefill or str(request.prompt)


def first(**settings: Any) -> Adapted:
    data = [Instance(f"test-{number}", "", published=text) for number, text in enumerate(TEXTS)]
    return next(
        iter(NextExampleGreedy(NextExampleGreedy.Params(**settings)).adapt(data, (), NoTokenizer("0"), trial=0, seed=0))
    )


def test_it_asks_after_the_preceding_examples_and_after_each_word() -> None:
    adapted = first(words=4, neutral=1)
    prompts = [question(request) for request in adapted.requests]
    after_first = [prompt for prompt in prompts if prompt.startswith(TEXTS[0]) and TEXTS[1] not in prompt]
    words = TEXTS[1].split()
    for count in range(4):
        assert f"{TEXTS[0]}\n{' '.join(words[:count])}".rstrip() in after_first
    assert all(prompt == prompt.rstrip() for prompt in prompts)
    assert len(prompts) % 4 == 0


def test_a_model_that_knows_the_order_is_found_with_few_questions() -> None:
    known, few = run(remembers)
    _, every = run(remembers, stop=False)
    following = known["next_example"]
    assert known["headline_log10_p"] <= -3
    assert known["headline_log10_p"] == pytest.approx(-following["max_log10_E"])
    assert following["score"] == "greedy"
    assert few < every / 2
    assert known["verdict"] == "depends on the published order"


def test_ranks_count_where_nothing_stops_the_test() -> None:
    found, _ = run(remembers, stop=False)
    assert found["next_example"]["top1_rate"] > 0.9
    assert found["next_example"]["log10_p_rank"] == found["headline_log10_p"]


def test_another_order_is_not_found() -> None:
    shuffled = list(TEXTS)
    Random(3).shuffle(shuffled)
    found, _ = run(remembers, shuffled)
    assert found["headline_log10_p"] > -2


def test_its_level_over_random_orders() -> None:
    """Of 60 orders of a file that the model knows in another one, 3 are expected below 0.05; 11 have p < 0.0002."""
    p_values = []
    for seed in range(60):
        shuffled = TEXTS[:16]
        Random(seed).shuffle(shuffled)
        p_values.append(run(remembers, shuffled, stop=False, neutral=1, words=6)[0]["headline_log10_p"])
    assert sum(value <= -1.301 for value in p_values) <= 10
    assert sum(value <= -0.222 for value in p_values) >= 15  # it rejects as often as it may, not never


def test_a_model_that_only_chats_begins_its_answer_with_the_text() -> None:
    plain, chat = first(), first(prefill="Continue the file.")
    assert [question(one) for one in plain.requests] == [question(one) for one in chat.requests]
    assert all(isinstance(one, GenerateRequest) and one.prompt == "Continue the file." for one in chat.requests)


def test_an_answer_that_is_missing_is_an_error() -> None:
    adapter = NextExampleGreedy(NextExampleGreedy.Params())
    adapted = first()
    with pytest.raises(ModelError, match="gave no answer"):
        adapter.predict(adapted, [Response() for _ in adapted.requests])


@pytest.mark.slow
def test_through_a_server_without_log_probabilities(tmp_path: Path) -> None:
    """The whole road, with a budget, behind a server that refuses log-probabilities and tells no tokens."""
    pytest.importorskip("openai")

    def says(path: str, body: dict[str, Any]) -> tuple[int, Any] | None:
        if path != "/v1/completions":
            return None
        if body.get("logprobs") is not None or body.get("echo"):
            return 400, {"error": {"message": "logprobs are not supported"}}
        choice = {"index": 0, "text": remembers(body["prompt"]), "finish_reason": "length", "logprobs": None}
        return 200, {"model": MODEL, "choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 1}}

    file = tmp_path / "test_set.jsonl"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS), encoding="utf-8")
    with serving(Ways(chats=False, echo=None, logprobs=False, says=says)) as server:
        run = {
            "scenario": {"name": "published_file", "path": str(file)},
            "adapter": {"method": "next_example_greedy", "words": 4, "alpha": 0.01},
            "metrics": ["contamination"],
        }
        model = {"name": f"openai:{MODEL}", "base_url": server.url, "budget_tokens": 100_000}
        sweep, registry = sweep_from_mapping({"suite": "greedy", "models": [model], "runs": [run]}, option="--data")
        (record,) = execute(sweep.runs, registry, Settings(tmp_path / "results"))
    assert record.status == "ok", record.error
    found = record.details["contamination"]["test"]["original"]
    assert found["headline_log10_p"] <= -2
    sent = [body for path, body in server.bodies if path == "/v1/completions"]
    assert all(body["max_tokens"] == 1 for body in sent)
    assert 0 < len({str(body["prompt"]) for body in sent}) <= found["cost"]["requests"]
