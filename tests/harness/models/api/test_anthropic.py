"""The anthropic backend against a server in front of the fake model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from harness import GenerateRequest, Message, Model, ModelError, Prompt, Request, Response, ScoreRequest
from harness.models.api.anthropic import AnthropicModel
from harness.models.offline.fake import FakeModel
from tests.harness.models.api_server import MODEL, FakeServer, Ways, serving

pytest.importorskip("anthropic")

CONVERSATION = (
    Message("system", "be brief"),
    Message("user", "what is the house?"),
    Message("assistant", "a tree"),
    Message("user", "and the sea?"),
)


def ask(model: Model, requests: Sequence[Request]) -> list[Response]:
    answers = dict(model.answer(requests))
    assert sorted(answers) == list(range(len(requests)))
    return [answers[index] for index in range(len(requests))]


def opened(server: FakeServer, **arguments: Any) -> AnthropicModel:
    return AnthropicModel(
        MODEL, AnthropicModel.Params(base_url=server.url.removesuffix("/v1"), retry_delay=0.01, **arguments)
    )


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with serving() as running:
        yield running


@pytest.fixture
def model(server: FakeServer) -> Iterator[AnthropicModel]:
    made = opened(server)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("prompt", "conversation"),
    [("the people of", (Message("user", "the people of"),)), (CONVERSATION, CONVERSATION)],
    ids=["text", "conversation"],
)
@pytest.mark.parametrize("stop", [(), ("e",), ("\n", "a", "")])
def test_what_it_says_is_what_the_model_says(
    model: AnthropicModel, prompt: Prompt, conversation: Prompt, stop: tuple[str, ...]
) -> None:
    (one,) = ask(model, [GenerateRequest(prompt, 12, stop=stop)])
    (other,) = ask(FakeModel("0", chat=True), [GenerateRequest(conversation, 12, stop=stop)])
    assert one.error is None
    assert one.completions == tuple(replace(said, logprob=None) for said in other.completions)
    assert (one.prompt_tokens, one.completion_tokens) == (other.prompt_tokens, other.completion_tokens)


def test_the_system_message_and_stops_go_where_the_api_wants_them(server: FakeServer, model: AnthropicModel) -> None:
    ask(model, [GenerateRequest(CONVERSATION, 5, stop=("\n", "END"))])
    ((path, body),) = server.bodies
    assert path == "/v1/messages"
    assert body["system"] == "be brief"
    assert [turn["role"] for turn in body["messages"]] == ["user", "assistant", "user"]
    assert body["stop_sequences"] == ["END"]  # the API refuses white space alone
    assert server.headers[0]["anthropic-version"]


def test_several_completions_are_several_calls(server: FakeServer, model: AnthropicModel) -> None:
    (response,) = ask(model, [GenerateRequest("the", 4, temperature=0.5, completions=3)])
    assert len(response.completions) == len(server.bodies) == 3
    assert response.completion_tokens == sum(completion.tokens or 0 for completion in response.completions)


def test_it_cannot_score(model: AnthropicModel) -> None:
    assert model.answers == {"generate"}
    for response in ask(model, [ScoreRequest("a", "b"), GenerateRequest("a", 1, top_logprobs=2)]):
        assert "Anthropic's API gives no log-probabilities" in (response.error or "")


def test_only_the_key_that_is_named_is_sent(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "of-anthropic")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "of-anthropic")
    monkeypatch.setenv("KEY_OF_THIS_TEST", "of-this-server")
    for arguments, expected in (({}, None), ({"api_key_env": "KEY_OF_THIS_TEST"}, "of-this-server")):
        model = opened(server, **arguments)
        ask(model, [GenerateRequest("the", 1)])
        model.close()
        assert server.headers[-1].get("x-api-key") == expected
        assert "authorization" not in server.headers[-1]


def test_a_wrong_key_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_OF_THIS_TEST", "a-wrong-key")
    with serving(Ways(key="right")) as server:
        model = opened(server, api_key_env="KEY_OF_THIS_TEST")
        with pytest.raises(ModelError, match="Is the right key in the environment") as caught:
            ask(model, [GenerateRequest("the", 1)] * 100)
        assert "a-wrong-key" not in str(caught.value)
        model.close()


def test_anthropics_own_server_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    model = AnthropicModel("some-model", AnthropicModel.Params())
    for _ in range(2):
        with pytest.raises(ModelError, match="Set ANTHROPIC_API_KEY"):
            ask(model, [GenerateRequest("the", 1)])
    model.close()


def test_the_fingerprint_has_what_changes_answers_and_no_more() -> None:
    url = "http://here"
    assert AnthropicModel("a", AnthropicModel.Params(base_url=url, timeout=2, window=99)).fingerprint() == {
        "backend": "anthropic",
        "version": 2,
        "server": url,
        "model": "a",
        "extra_body": {},
    }
