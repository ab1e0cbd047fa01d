"""The next-example test by one-token answers: what is asked, with and without a tokenizer, and when it ends.

| model                      | asked                                               | result                 |
|----------------------------|-----------------------------------------------------|------------------------|
| tokens known               | after the preceding examples, and after each token  | one token each         |
| tokens unknown             | the same, after every fourth character              | three tokens each      |
| knows the order            | until the evidence suffices                         | p = 1/evidence, small  |
| does not                   | everything                                          | p near 1               |
| only answers messages      | nothing without prefill                             | an error that says so  |
|                            | with it the same text, as its answer's beginning    | the same               |
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from adapters.next_example_greedy import NextExampleGreedy
from harness import Adapted, Completion, Example, GenerateRequest, HarnessError, Instance, ModelError, Response
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

    def truncate(self, text: str, tokens: int) -> str:
        raise AssertionError("nothing is known of its tokens")


class OnlyChats(NoTokenizer):
    """A model that answers messages."""

    continues = False


def remembers(text: str) -> str:
    """The next characters of the file, if the text was read there."""
    found = FILE.find(text[-60:])
    return FILE[found + len(text[-60:]) :][:4] if found >= 0 else " no"


def run(
    answer: Callable[[str], str],
    texts: Sequence[str] = TEXTS,
    model: FakeModel = NoTokenizer("0"),  # noqa: B008 - it has no state
    **settings: Any,
) -> tuple[dict[str, Any], int]:
    """Return the details of a run on a model that answers so, and the number of its questions."""
    adapter, metric, asked = NextExampleGreedy(NextExampleGreedy.Params(**settings)), Contamination(), 0
    data = [Instance(f"test-{number}", "", published=text) for number, text in enumerate(texts)]
    for adapted in adapter.adapt(data, (), model, trial=0, seed=0):
        responses = tuple(Response((Completion(answer(question(one)), tokens=1),)) for one in adapted.requests)
        adapter.predict(adapted, responses)
        metric.add(Example(adapted.instance, adapted.requests, responses))
        asked += len(responses)
    return dict(metric.details()), asked


def question(request: object) -> str:
    assert isinstance(request, GenerateRequest)
    assert (request.temperature, request.top_logprobs) == (0.0, 0)
    return request.prefill or str(request.prompt)


def first(model: FakeModel = NoTokenizer("0"), **settings: Any) -> Adapted:  # noqa: B008
    data = [Instance(f"test-{number}", "", published=text) for number, text in enumerate(TEXTS)]
    return next(iter(NextExampleGreedy(NextExampleGreedy.Params(**settings)).adapt(data, (), model, trial=0, seed=0)))


def about_the_second(adapted: Adapted) -> set[str]:
    """What is asked after the first example about the second one."""
    prompts = {question(request) for request in adapted.requests}
    whole = f"{TEXTS[0]}\n{TEXTS[1]}\n"
    return {prompt for prompt in prompts if whole.startswith(prompt) and prompt != whole}


def test_without_a_tokenizer_it_asks_after_every_fourth_character() -> None:
    adapted = first(tokens=4, neutral=1)
    assert about_the_second(adapted) == {f"{TEXTS[0]}\n{TEXTS[1][:cut]}" for cut in (0, 4, 8, 12)}
    assert {getattr(request, "max_tokens", 0) for request in adapted.requests} == {3}
    assert adapted.instance.meta["piece"] == 4


def test_with_a_tokenizer_it_asks_before_each_token() -> None:
    model = FakeModel("0")
    adapted = first(model, tokens=4, neutral=1)
    begun = [model.truncate(f"{TEXTS[1]}\n", tokens) for tokens in range(4)]
    assert begun[0] == ""
    assert len(set(begun)) == 4
    assert about_the_second(adapted) == {f"{TEXTS[0]}\n{one}" for one in begun}
    assert {getattr(request, "max_tokens", 0) for request in adapted.requests} == {1}
    assert first(model, tokens=4, cut="characters").instance.meta["piece"] == 4


def test_cutting_at_tokens_needs_a_tokenizer() -> None:
    with pytest.raises(HarnessError, match="the model's tokens are unknown"):
        first(cut="tokens")


def test_a_model_that_only_chats_is_refused_without_prefill() -> None:
    with pytest.raises(HarnessError, match=r"only answers messages.*prefill"):
        first(OnlyChats("0"))
    assert first(OnlyChats("0"), prefill="Continue the file.").requests


@pytest.mark.parametrize("model", [NoTokenizer("0"), FakeModel("0")], ids=["characters", "tokens"])
def test_a_model_that_knows_the_order_is_found_with_few_questions(model: FakeModel) -> None:
    known, few = run(remembers, model=model, tokens=8)
    _, every = run(remembers, model=model, tokens=8, stop=False)
    following = known["next_example"]
    assert known["headline_log10_p"] <= -3
    assert known["headline_log10_p"] == pytest.approx(-following["max_log10_E"])
    assert following["score"] == "greedy"
    assert few < every
    assert known["verdict"] == "depends on the published order"


def test_ranks_count_where_nothing_stops_the_test() -> None:
    found, _ = run(remembers, stop=False, tokens=8)
    assert found["next_example"]["top1_rate"] > 0.9
    assert found["next_example"]["log10_p_rank"] == found["headline_log10_p"]


def test_another_order_is_not_found() -> None:
    shuffled = list(TEXTS)
    Random(3).shuffle(shuffled)
    found, _ = run(remembers, shuffled, tokens=8)
    assert found["headline_log10_p"] > -2


def test_its_level_over_random_orders() -> None:
    """Of 60 orders of a file that the model knows in another one, 3 are expected below 0.05; 11 have p < 0.0002."""
    p_values = []
    for seed in range(60):
        shuffled = TEXTS[:16]
        Random(seed).shuffle(shuffled)
        p_values.append(run(remembers, shuffled, stop=False, neutral=1, tokens=6)[0]["headline_log10_p"])
    assert sum(value <= -1.301 for value in p_values) <= 10
    assert sum(value <= -0.222 for value in p_values) >= 15  # it rejects as often as it may, not never


def test_a_model_that_only_chats_begins_its_answer_with_the_text() -> None:
    plain, chat = first(tokens=8), first(prefill="Continue the file.", tokens=8)
    assert [question(one).rstrip() for one in plain.requests] == [question(one) for one in chat.requests]
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
            "adapter": {"method": "next_example_greedy", "tokens": 4, "alpha": 0.01},
            "metrics": ["contamination"],
        }
        model = {"name": f"openai:{MODEL}", "base_url": server.url, "budget_tokens": 100_000}
        sweep, registry = sweep_from_mapping({"suite": "greedy", "models": [model], "runs": [run]}, option="--data")
        (record,) = execute(sweep.runs, registry, Settings(tmp_path / "results"))
    assert record.status == "ok", record.error
    found = record.details["contamination"]["test"]["original"]
    assert found["headline_log10_p"] <= -2
    sent = [body for path, body in server.bodies if path == "/v1/completions"]
    assert {body["max_tokens"] for body in sent} == {1, 3}  # the first asks whether there are completions
    assert 0 < len({str(body["prompt"]) for body in sent}) <= found["cost"]["requests"]
