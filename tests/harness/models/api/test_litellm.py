"""The litellm backend, with the real library, against servers that speak three providers' protocols."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("litellm")

from harness import GenerateRequest, Message, ModelError, Reasoning, Request, Response, ScoreRequest, Tool
from harness.models.api.litellm import LiteLLMModel
from harness.models.api.litellm_library import known_price
from harness.models.offline.fake import FakeModel
from tests.harness.models.api_server import MODEL, FakeServer, Ways, serving

PROVIDERS = ("openai", "anthropic", "hosted_vllm")
REQUEST = GenerateRequest((Message("system", "be brief"), Message("user", "what is the house?")), 8)


def as_anthropic(answer: dict[str, Any]) -> dict[str, Any]:
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "stop_sequence": None, **answer}


def opened(server: FakeServer, provider: str, **settings: Any) -> LiteLLMModel:
    url = server.url.removesuffix("/v1") if provider in {"anthropic", "ollama_chat"} else server.url
    params = {"base_url": url, "retry_delay": 0.01, **settings}
    return LiteLLMModel(f"{provider}/{MODEL}", LiteLLMModel.Params(**params))


def ask(model: LiteLLMModel, *requests: Request) -> list[Response]:
    answers = dict(model.answer(requests))
    return [answers[index] for index in range(len(requests))]


Connect = Callable[..., tuple[FakeServer, LiteLLMModel]]


@pytest.fixture
def connect() -> Iterator[Connect]:
    close: list[Callable[[], object]] = []

    def make(provider: str, ways: Ways | None = None, **settings: Any) -> tuple[FakeServer, LiteLLMModel]:
        block = serving(ways)
        server = block.__enter__()
        answer = server.answer

        def whole(path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
            if path == "/api/chat":  # Ollama's
                status, given = answer("/v1/chat/completions", {**body, **body["options"], "max_tokens": 8})
                message = given["choices"][0]["message"]
                counts = {"prompt_eval_count": 5, "eval_count": 8}
                return status, {"model": MODEL, "message": message, "done": True, "done_reason": "length", **counts}
            if path == "/v1/messages":  # its texts come as blocks
                turns = [{**turn, "content": _text(turn["content"])} for turn in body["messages"]]
                body = {**body, "system": _text(body["system"]), "messages": turns}
            status, given = answer(path, body)
            return status, as_anthropic(given) if path == "/v1/messages" and status == 200 else given

        server.answer = whole  # type: ignore[method-assign]
        model = opened(server, provider, **settings)
        close.extend((lambda: block.__exit__(None, None, None), model.close))
        return server, model

    yield make
    for one in reversed(close):
        one()


def _text(system: Any) -> Any:
    return "".join(block["text"] for block in system) if isinstance(system, list) else system


@pytest.mark.parametrize("provider", PROVIDERS)
def test_it_says_what_the_model_says_and_counts_its_tokens(provider: str, connect: Connect) -> None:
    _, model = connect(provider)
    (answer,) = ask(model, REQUEST)
    (expected,) = dict(FakeModel("0", chat=True).answer([REQUEST])).values()
    assert answer.error is None
    assert answer.completions[0].text.strip() == expected.completions[0].text.strip()
    assert answer.completion_tokens == expected.completion_tokens
    assert answer.prompt_tokens


def test_ollama_is_asked_in_its_own_protocol(connect: Connect) -> None:
    server, model = connect("ollama_chat")
    (answer,) = ask(model, replace(REQUEST, stop=("END",)))
    assert answer.error is None
    assert (answer.prompt_tokens, answer.completion_tokens) == (5, 8)
    ((path, body),) = [(path, body) for path, body in server.bodies if path == "/api/chat"]
    assert path == "/api/chat"
    assert body["options"] == {"temperature": 0.0, "num_predict": 8, "stop": ["END"]}


def test_settings_reach_the_provider_under_its_names(connect: Connect) -> None:
    request = replace(REQUEST, temperature=0.7, top_p=0.9, stop=("END",), seed=5, completions=2)
    server, model = connect("openai")
    (answer,) = ask(model, request)
    (body,) = [body for path, body in server.bodies if path.endswith("/chat/completions")]
    assert (body["temperature"], body["top_p"], body["stop"], body["seed"], body["n"]) == (0.7, 0.9, ["END"], 5, 2)
    assert len(answer.completions) == 2
    assert answer.completions[0].logprob is not None
    server, model = connect("anthropic")
    (answer,) = ask(model, request)
    bodies = [body for path, body in server.bodies if path == "/v1/messages"]
    assert len(bodies) == len(answer.completions) == 2  # it gives one at a time, and takes no seed
    assert all((body["temperature"], body["top_p"], body["stop_sequences"]) == (0.7, 0.9, ["END"]) for body in bodies)
    assert _text(bodies[0]["system"]) == "be brief"


def test_reasoning_is_set_apart(connect: Connect) -> None:
    thoughts = [{"type": "thinking", "thinking": "It is a house.", "signature": "x"}, {"type": "text", "text": "Yes."}]
    told = as_anthropic(
        {"content": thoughts, "stop_reason": "end_turn", "usage": {"input_tokens": 9, "output_tokens": 7}}
    )
    _, model = connect("anthropic", Ways(says=lambda path, body: (200, told)))
    (answer,) = ask(model, replace(REQUEST, reasoning=Reasoning()))
    assert (answer.completions[0].text, answer.completions[0].reasoning) == ("Yes.", "It is a house.")


@pytest.mark.parametrize(
    ("provider", "changes", "named"),
    [
        ("anthropic", {"top_logprobs": 3}, "logprobs"),
        ("hosted_vllm", {"reasoning": Reasoning(effort="low"), "top_logprobs": 2}, ""),
        ("ollama_chat", {"top_logprobs": 3}, "logprobs"),
    ],
)
def test_what_a_provider_does_not_take_is_said_and_nothing_is_sent(
    provider: str, changes: dict[str, Any], named: str, connect: Connect
) -> None:
    server, model = connect(provider)
    (answer,) = ask(model, replace(REQUEST, **changes))
    if named:
        assert f"does not take {named}" in (answer.error or "")
        assert server.bodies == []
    else:
        assert answer.error is None


def test_a_parameter_of_the_users_that_the_provider_does_not_take_is_an_error(connect: Connect) -> None:
    server, model = connect("anthropic", extra_body={"frequency_penalty": 0.5})
    (answer,) = ask(model, REQUEST)
    assert "does not support parameters: ['frequency_penalty']" in (answer.error or "")
    assert server.bodies == []


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_it_is_throttled_and_retried_by_the_harness_alone(provider: str, connect: Connect) -> None:
    ways = Ways(behave=lambda number: "429 later" if number < 3 else "ok")
    server, model = connect(provider, ways)
    (answer,) = ask(model, REQUEST)
    assert answer.error is None
    assert len(server.bodies) == 4
    _, model = connect(provider, Ways(behave=lambda number: "500"), max_retries=2)
    (answer,) = ask(model, REQUEST)
    assert "status 500" in (answer.error or "")
    assert "after 3 tries" in (answer.error or "")


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize(
    ("status", "error", "said"),
    [
        (400, {"code": "context_length_exceeded", "message": "maximum context length is 5 tokens"}, "maximum context"),
        (400, {"type": "invalid_request_error", "message": "temperature: wrong"}, "temperature: wrong"),
    ],
)
def test_a_refusal_says_the_providers_reason(
    provider: str, status: int, error: dict[str, str], said: str, connect: Connect
) -> None:
    server, model = connect(provider, Ways(says=lambda path, body: (status, {"type": "error", "error": error})))
    (answer,) = ask(model, REQUEST)
    assert f"status {status}" in (answer.error or "")
    assert said in (answer.error or "")
    assert len(server.bodies) == 1


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_wrong_key_fails_the_run_and_is_not_shown(
    provider: str, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY_OF_THIS_TEST", "a-wrong-key-1234")
    _, model = connect(provider, Ways(key="right"), api_key_env="KEY_OF_THIS_TEST")
    with pytest.raises(ModelError, match="Is the right key in the environment") as caught:
        ask(model, REQUEST)
    assert "a-wrong-key" not in str(caught.value)


def test_a_providers_key_is_not_sent_to_another_address(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "HOSTED_VLLM_API_KEY"):
        monkeypatch.setenv(name, "of-the-provider")
    for provider in PROVIDERS:
        server, model = connect(provider)
        ask(model, REQUEST)
        assert not any("of-the-provider" in json.dumps(headers) for headers in server.headers)


def test_a_server_that_is_not_there_is_said(connect: Connect) -> None:
    for provider in ("openai", "anthropic"):
        model = LiteLLMModel(
            f"{provider}/x", LiteLLMModel.Params(base_url="http://127.0.0.1:9", retry_delay=0.001, max_retries=1)
        )
        with pytest.raises(ModelError, match="Is the server running, and is base_url right"):
            ask(model, REQUEST)
        model.close()


def test_obstacles_are_known_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MISTRAL_API_KEY", raising=False)

    def obstacle(name: str, asks: str = "generate", **settings: Any) -> str:
        model = LiteLLMModel(name, LiteLLMModel.Params(**settings))
        found = model.obstacle(frozenset({asks})) or ""
        model.close()
        return found

    assert "Set MISTRAL_API_KEY" in obstacle("mistral/mistral-large-latest")
    assert obstacle("mistral/x", base_url="http://localhost:1") == ""
    assert "litellm only generates" in obstacle("mistral/x", "score")
    assert "litellm knows no such provider" in obstacle("nothing/x")
    with pytest.raises(ModelError, match="remove `batch: true`"):
        LiteLLMModel("mistral/x", LiteLLMModel.Params(batch=True))


def test_it_cannot_score(connect: Connect) -> None:
    _, model = connect("openai")
    (answer,) = ask(model, ScoreRequest("a", "b"))
    assert "cannot score" in (answer.error or "")


def test_calls_of_tools_come_back(connect: Connect) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": '{"place": "sea"}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    told = {"choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}], "usage": {}}
    server, model = connect("openai", Ways(says=lambda path, body: (200, told)))
    assert model.tools
    tool = Tool("look", "Look around.", {"type": "object", "properties": {"place": {"type": "string"}}})
    (answer,) = ask(model, replace(REQUEST, tools=(tool,)))
    (given,) = answer.completions[0].tool_calls
    assert (given.name, given.arguments) == ("look", {"place": "sea"})
    assert server.bodies[0][1]["tools"][0]["function"]["name"] == "look"


def test_prices_are_litellms_where_they_are_one_number() -> None:
    import litellm

    price = known_price("mistral/mistral-large-latest")
    entry = litellm.model_cost["mistral/mistral-large-latest"]
    assert price is not None
    assert price.prompt == pytest.approx(entry["input_cost_per_token"] * 1e6)
    assert price.completion == pytest.approx(entry["output_cost_per_token"] * 1e6)
    assert known_price("mistral/of-nobody") is None
    assert known_price("nothing/x") is None
    tiered = next(
        name
        for name, one in litellm.model_cost.items()
        if name.startswith("gemini/") and "input_cost_per_token_above_200k_tokens" in one
    )
    assert known_price(tiered) is None


def test_importing_it_opens_no_connection_and_reads_no_env_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("MISTRAL_API_KEY=from-a-file\n")
    code = (
        "import os, socket\n"
        "def refuse(*a, **k): raise AssertionError('a connection')\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "from harness.models.api.litellm_library import load_litellm, known_price\n"
        "library = load_litellm(); assert known_price('mistral/mistral-large-latest')\n"
        "assert 'MISTRAL_API_KEY' not in os.environ and not library.drop_params and not library.callbacks\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize(
    "key", ["api_base", "base_url", "api_key", "model", "aws_bedrock_runtime_endpoint", "fallbacks"]
)
def test_extra_body_cannot_lead_a_key_elsewhere(key: str) -> None:
    with pytest.raises(ModelError, match=f"{key} cannot be in extra_body"):
        LiteLLMModel("openai/x", LiteLLMModel.Params(extra_body={key: "http://203.0.113.1"}))
