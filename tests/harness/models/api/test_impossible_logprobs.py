"""Log-probabilities that no model gives are refused; a token of which a model is certain is not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from harness import GenerateRequest, Request, Response, ScoreRequest, SequenceRequest
from harness.models.api.openai import OpenAIModel
from harness.models.api.openai_server import MOST_CERTAIN
from tests.harness.models.api_server import MODEL, FakeServer, Ways, serving

pytest.importorskip("openai")

Json = dict[str, Any]


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with serving(Ways(tokenizes=True)) as found:
        yield found


def ask(server: FakeServer, *requests: Request, **arguments: Any) -> list[Response]:
    model = OpenAIModel(MODEL, OpenAIModel.Params(base_url=server.url, max_retries=0, **arguments))
    try:
        return [response for _, response in sorted(model.answer(requests), key=lambda pair: pair[0])]
    finally:
        model.close()


def certain(server: FakeServer, *, echo: bool) -> None:
    """Make every log-probability of echoes, or of completions, 0."""

    def says(path: str, body: Json) -> tuple[int, Json] | None:
        if "completions" not in path or bool(body.get("echo")) is not echo:
            return None
        status, answer = server.answer(path, body)
        for choice in answer.get("choices", ()):
            given = choice["logprobs"] or {}
            if "token_logprobs" in given:
                given["token_logprobs"] = [None if one is None else 0.0 for one in given["token_logprobs"]]
                given["top_logprobs"] = [top and {next(iter(top)): 0.0} for top in given["top_logprobs"]]
            for position in given.get("content", ()):
                position |= {"logprob": 0.0, "top_logprobs": position["top_logprobs"][:1]}
        return status, answer

    server.ways.says = says


@pytest.mark.parametrize("tokenizes", [True, False])
def test_a_text_of_certain_tokens_is_refused(server: FakeServer, tokenizes: bool) -> None:
    server.ways.tokenizes = tokenizes
    certain(server, echo=True)
    (response,) = ask(server, ScoreRequest("the answer is", " of the sea"))
    assert response.logprobs is None
    assert response.error is not None
    assert "a log-probability of 0" in response.error
    assert "multiple_choice_joint" in response.error


def test_a_sequence_of_certain_tokens_is_refused(server: FakeServer) -> None:
    certain(server, echo=True)
    (response,) = ask(server, SequenceRequest(("the answer ", "of the sea"), (1, 0)))
    assert "a log-probability of 0" in (response.error or "")


def test_a_single_certain_token_is_believed(server: FakeServer) -> None:
    def says(path: str, body: Json) -> tuple[int, Json] | None:
        if not body.get("echo"):
            return None
        status, answer = server.answer(path, body)
        given = answer["choices"][0]["logprobs"]
        given["token_logprobs"][-1] = 0.0
        given["top_logprobs"][-1] = {given["tokens"][-1]: 0.0}
        return status, answer

    server.ways.says = says
    (response,) = ask(server, ScoreRequest("the answer is", " of"))
    assert response.error is None
    assert response.logprobs is not None
    assert response.logprobs[-1] == 0.0


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_a_server_that_is_certain_of_every_answer_is_refused(server: FakeServer, api: Any) -> None:
    certain(server, echo=False)
    few = [GenerateRequest(f"question {number}", 4) for number in range(MOST_CERTAIN // 2)]
    found = ask(server, *few, api=api, max_concurrency=1)
    assert found[0].error is None, "a short answer may be certain"
    assert "a log-probability of 0" in (found[-1].error or "")
    assert "extra_body: {logprobs: null}" in (found[-1].error or "")
    (response, *_) = ask(server, *few, api=api, extra_body={"logprobs": None})
    assert (response.error, response.completions[0].logprob) == (None, None)


def test_a_server_that_was_uncertain_once_is_believed(server: FakeServer) -> None:
    few = [GenerateRequest(f"question {number}", 4) for number in range(MOST_CERTAIN)]
    model = OpenAIModel(MODEL, OpenAIModel.Params(base_url=server.url, max_retries=0, api="completions"))
    try:
        assert all(response.error is None for _, response in model.answer(few[:1]))
        certain(server, echo=False)
        assert all(response.error is None for _, response in model.answer(few))
    finally:
        model.close()


def test_alternatives_that_are_all_certain_are_refused(server: FakeServer) -> None:
    def says(path: str, body: Json) -> tuple[int, Json] | None:
        if not body.get("top_logprobs"):
            return None
        status, answer = server.answer(path, body)
        for position in answer["choices"][0]["logprobs"]["content"]:
            position["top_logprobs"] = [{**top, "logprob": 0.0} for top in position["top_logprobs"]]
        return status, answer

    server.ways.says = says
    (response,) = ask(server, GenerateRequest("the answer is", 1, top_logprobs=4), api="chat")
    assert "add up to a probability of 4" in (response.error or "")
