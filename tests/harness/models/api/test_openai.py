"""The openai backend against a server in front of the fake model, whose answers are known exactly."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness import GenerateRequest, Message, Model, ModelError, Request, Response, ScoreRequest, SequenceRequest
from harness.contracts.plugins import Kind
from harness.errors import PluginError
from harness.models.api.openai import OpenAIModel
from harness.models.offline.fake import FakeModel
from harness.plugins.parameters import build, describe_parameters
from harness.plugins.registry import default_registry
from tests.harness.models.api_server import MODEL, FakeServer, Ways, serving, wait_until

pytest.importorskip("openai")

CONVERSATION = (Message("system", "be brief"), Message("user", "what is the house?"))
GENERATE = (
    GenerateRequest("the people of", 12),
    GenerateRequest("the people of", 12, stop=("e", "\n", "")),
    GenerateRequest("the people of", 8, top_logprobs=3),
    GenerateRequest("the people of", 8, temperature=0.7, completions=3, seed=11),
)
SCORE = (
    ScoreRequest("Question: what is the house?\nAnswer:", " A"),
    ScoreRequest("Question: what is the house?\nAnswer: ", "the river"),
    ScoreRequest("naïve 猫", " in the house"),
)
EMPTY = (ScoreRequest("", "the people"), ScoreRequest(" \n", "the people"))
SEQUENCES = (
    SequenceRequest(("the house. ", "a tree? ", "in the sea"), (2, 0, 1)),
    SequenceRequest(("the house. ", "a tree? ", "in the sea"), (0, 2), scored=1),
    SequenceRequest(("the house. ", "a tree? ", "in the sea"), (0, 2), scored=1, max_scored_tokens=2),
)


def ask(model: Model, requests: Sequence[Request]) -> list[Response]:
    answers = [(index, response) for index, response in model.answer(requests)]
    assert sorted(index for index, _ in answers) == list(range(len(requests)))
    return [response for _, response in sorted(answers, key=lambda answer: answer[0])]


def bare(response: Response) -> Response:
    """Without times and the count of the prompt's tokens, where a token before everything may count or not."""
    return replace(response, seconds=0.0, prompt_tokens=None)


def opened(server: FakeServer, **arguments: Any) -> OpenAIModel:
    return OpenAIModel(MODEL, OpenAIModel.Params(**{"base_url": server.url, "retry_delay": 0.01, **arguments}))


@pytest.fixture
def connect() -> Iterator[Callable[..., tuple[FakeServer, OpenAIModel]]]:
    """Return a function that starts a server with its ways and opens a model on it."""
    open_blocks: list[Callable[[], object]] = []

    def make(ways: Ways | None = None, **arguments: Any) -> tuple[FakeServer, OpenAIModel]:
        block = serving(ways)
        server = block.__enter__()
        model = opened(server, **arguments)
        open_blocks.extend((lambda: block.__exit__(None, None, None), model.close))
        return server, model

    yield make
    for close in reversed(open_blocks):
        close()


Connect = Callable[..., tuple[FakeServer, OpenAIModel]]


def test_completions_are_the_models(connect: Connect) -> None:
    _, model = connect()
    for one, other in zip(ask(model, GENERATE), ask(FakeModel("0"), GENERATE), strict=True):
        assert bare(one) == bare(other)


def test_greedy_completions_are_drawn_once(connect: Connect) -> None:
    server, model = connect()
    (response,) = ask(model, [GenerateRequest("the people of", 4, completions=3)])
    (expected,) = ask(FakeModel("0"), [GenerateRequest("the people of", 4)])
    assert response.completions == expected.completions * 3
    assert response.completion_tokens == 4
    assert not any("n" in body for _, body in server.bodies)


def test_conversations_go_through_chat(connect: Connect) -> None:
    server, model = connect()
    requests = [replace(request, prompt=CONVERSATION) for request in GENERATE]
    for one, other in zip(ask(model, requests), ask(FakeModel("0", chat=True), requests), strict=True):
        assert bare(one) == bare(other)
    assert {path for path, _ in server.bodies} <= {"/v1/chat/completions", "/v1/models", "/tokenize"}


def test_a_server_without_completions_is_told_texts_in_a_chat(connect: Connect) -> None:
    _, model = connect(Ways(completions=False))
    told = [replace(request, prompt=(Message("user", "the people of"),)) for request in GENERATE]
    for one, other in zip(ask(model, GENERATE), ask(FakeModel("0", chat=True), told), strict=True):
        assert bare(one) == bare(other)


def test_a_server_that_gives_one_completion_at_a_time_is_asked_again(connect: Connect) -> None:
    server, model = connect(Ways(most_choices=1))
    (response,) = ask(model, [GenerateRequest("the people of", 5, temperature=1.0, completions=4, seed=2)])
    assert len(response.completions) == 4
    assert response.completion_tokens == 20
    seeds = [body["seed"] for path, body in server.bodies if body.get("temperature")]
    assert seeds == [2, 3, 4, 5]


def test_tokens_of_completions_that_come_one_at_a_time_are_counted_once(connect: Connect) -> None:
    tokens = [{"token": "a", "logprob": -0.5, "top_logprobs": []}] * 5
    choice = {"message": {"content": "aaaaa"}, "finish_reason": "length", "logprobs": {"content": tokens}}
    ways = Ways(says=lambda path, body: (200, {"choices": [choice]}) if "messages" in body else None)
    _, model = connect(ways)
    (response,) = ask(model, [GenerateRequest(CONVERSATION, 5, temperature=1.0, completions=4)])
    assert len(response.completions) == 4
    assert response.completion_tokens == 20


@pytest.mark.parametrize(
    ("details", "computed"),
    [({"cached_tokens": 64}, 41), ({"cached_tokens": 10**9}, 5), ({"cached_tokens": "?"}, 105), (None, 105), ([], 105)],
)
def test_tokens_of_the_server_s_prompt_cache_are_not_computed(connect: Connect, details: Any, computed: int) -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": details}
    answer = {"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}], "usage": usage}
    _, model = connect(Ways(says=lambda path, body: (200, answer) if "messages" in body else None))
    (response,) = ask(model, [GenerateRequest(CONVERSATION, 5)])
    assert (response.prompt_tokens, response.completion_tokens, response.computed_tokens) == (100, 5, computed)


@pytest.mark.parametrize(
    "ways",
    [Ways(), Ways(echo=1), Ways(bos="<s>"), Ways(tokenizes=True, echo=1)],
    ids=["texts", "longer", "marked", "tokens"],
)
def test_scores_are_the_models(connect: Connect, ways: Ways) -> None:
    _, model = connect(ways)
    requests: list[Request] = [*SCORE, *(EMPTY if ways.bos or ways.tokenizes else ())]
    for one, other in zip(ask(model, requests), ask(FakeModel("0"), requests), strict=True):
        assert bare(one) == bare(other)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.text("ab the\nA 猫", max_size=12), st.text("ab the\nA 猫", min_size=1, max_size=12)),
        min_size=1,
        max_size=8,
    )
)
def test_any_scores_are_the_models_where_tokens_are_known(
    shared: tuple[FakeServer, OpenAIModel], pairs: list[tuple[str, str]]
) -> None:
    requests = [ScoreRequest(context, continuation) for context, continuation in pairs]
    for one, other in zip(ask(shared[1], requests), ask(FakeModel("0"), requests), strict=True):
        assert (one.logprobs, one.greedy) == (other.logprobs, other.greedy)
        assert (one.error is None) == (other.error is None)


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[FakeServer, OpenAIModel]]:
    with serving(Ways(tokenizes=True)) as server:
        model = opened(server)
        yield server, model
        model.close()


def test_sequences_are_scored_where_tokens_are_known(connect: Connect) -> None:
    _, model = connect(Ways(tokenizes=True))
    for one, other in zip(ask(model, SEQUENCES), ask(FakeModel("0"), SEQUENCES), strict=True):
        assert bare(one) == bare(other)


def test_a_conversation_is_scored_where_the_server_puts_it_through_its_template(connect: Connect) -> None:
    _, model = connect(Ways(tokenizes=True))
    requests = [ScoreRequest(CONVERSATION, " A"), ScoreRequest(CONVERSATION, "the river")]
    for one, other in zip(ask(model, requests), ask(FakeModel("0", chat=True), requests), strict=True):
        assert bare(one) == bare(other)


@pytest.mark.parametrize(
    ("ways", "api", "chat"),
    [
        (Ways(), "auto", True),
        (Ways(chats=False), "auto", False),
        (Ways(chats=False), "chat", True),
        (Ways(), "completions", False),
    ],
)
def test_prompts_are_conversations_if_the_model_chats(connect: Connect, ways: Ways, api: str, chat: bool) -> None:
    _, model = connect(ways, api=api)
    assert model.chat is chat


def test_the_window_is_the_servers_with_room_for_the_scored_token(connect: Connect) -> None:
    _, model = connect(Ways(tokenizes=True, window=21))
    assert model.window == 21
    long = "the house and a tree in the sea and the river of light and water"
    requests: list[Request] = [
        ScoreRequest(long, " A"),
        ScoreRequest("a", f" {long} {long}"),
        SequenceRequest((f"{long} ", f"{long[4:]} "), (0, 1)),
        SequenceRequest((f"{long} ", "the sea"), (0, 1), scored=1),
    ]
    for one, other in zip(ask(model, requests), ask(FakeModel("0", window=19), requests), strict=True):
        assert bare(one) == bare(other)


def test_a_prompt_too_long_for_the_window_loses_its_beginning(connect: Connect) -> None:
    _, model = connect(Ways(tokenizes=True, window=20))
    request = GenerateRequest("the house and a tree in the sea and the river of light", 6)
    (one,), (other,) = ask(model, [request]), ask(FakeModel("0", window=20), [request])
    assert bare(one) == bare(other)
    assert one.truncated


@pytest.mark.parametrize("tokens", ["<html>Welcome</html>", {"tokens": "1 2"}, {"tokens": []}, {"ok": True}])
def test_a_tokenize_that_answers_something_else_is_done_without_and_told_once(
    tokens: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(Ways(says=lambda path, body: (200, tokens) if path == "/tokenize" else None)) as server:
        model = opened(server)
        began = time.monotonic()
        responses = ask(model, SCORE) + ask(model, SCORE)
        seconds = time.monotonic() - began
        model.close()
    for one, other in zip(responses, ask(FakeModel("0"), [*SCORE, *SCORE]), strict=True):
        assert one.error is None
        assert sum(one.logprobs or ()) == pytest.approx(sum(other.logprobs or ()))
    assert sum(path == "/tokenize" for path, _ in server.bodies) == 3
    (warning,) = [record.getMessage() for record in caplog.records]
    assert f"openai:{MODEL}" in warning
    assert "/tokenize does not answer as vLLM" in warning
    assert "`tokenizer`" in warning
    assert seconds < 5


def test_tokens_are_counted_by_the_server(connect: Connect) -> None:
    _, model = connect(Ways(tokenizes=True))
    fake = FakeModel("0", chat=True)
    assert model.count_tokens("the house and") == fake.count_tokens("the house and") + 1  # and the token before it
    assert model.count_segments(["the house", "", "a"]) == fake.count_segments(["the house", "", "a"])
    assert model.truncate("a tree in the sea", 3) == fake.truncate("a tree in the sea", 3)


def test_a_server_that_does_not_count_is_no_mistake(connect: Connect) -> None:
    _, model = connect()
    assert model.window is None
    assert model.count_tokens("the house") == 0
    assert model.count_segments(["the"]) is None
    assert model.truncate("the house", 1) == "the house"


@pytest.mark.parametrize(
    ("ways", "api", "expected"),
    [
        (Ways(), "auto", True),
        (Ways(completions=False), "auto", False),
        (Ways(completions=False), "completions", True),
        (Ways(), "chat", False),
    ],
)
def test_whether_texts_are_continued(connect: Connect, ways: Ways, api: str, expected: bool) -> None:
    assert connect(ways, api=api)[1].continues is expected


def test_what_cannot_be_scored_says_what_would_help(connect: Connect) -> None:
    _, model = connect()
    asked: list[Request] = [
        EMPTY[0],
        SEQUENCES[0],
        ScoreRequest(CONVERSATION, "x"),
        ScoreRequest("a", "b", vocabulary_moments=True),
    ]
    errors = [response.error or "" for response in ask(model, asked)]
    assert all("`tokenizer`" in error for error in errors[:3])
    assert "use hf:" in errors[3]


@pytest.mark.parametrize(
    ("ways", "api"), [(Ways(echo=None), "auto"), (Ways(completions=False), "auto"), (Ways(), "chat")]
)
def test_a_server_without_echo_cannot_score_but_generates(connect: Connect, ways: Ways, api: str) -> None:
    server, model = connect(ways, api=api)
    responses = ask(model, [*SCORE, GENERATE[0]])
    assert all("so it cannot score" in (response.error or "") for response in responses[:-1])
    assert responses[-1].error is None
    assert len(server.bodies) < 12  # what it can do is asked once


def test_a_server_that_refuses_logprobs_is_asked_without(connect: Connect) -> None:
    server, model = connect(Ways(logprobs=False))
    first, second, third = ask(model, [GENERATE[0]]) + ask(model, [GENERATE[1], GENERATE[2]])
    expected = ask(FakeModel("0"), GENERATE[:2])
    assert [first.completions[0].text, second.completions[0].text] == [other.completions[0].text for other in expected]
    assert first.completions[0].logprob is None
    assert "logprobs are not supported" in (third.error or "")
    assert sum("logprobs" in body for _, body in server.bodies) == 2


def test_errors_are_recorded_for_the_request_that_caused_them(connect: Connect) -> None:
    server, model = connect(Ways(window=30), window=40)
    responses = ask(model, [GenerateRequest("x " * 100, 5), *GENERATE])
    assert responses[0].error == f"openai:{MODEL}: status 400: context_length_exceeded: maximum context length exceeded"
    assert [response.error for response in responses[1:]] == [None] * len(GENERATE)
    assert sum(body.get("prompt") == "x " * 100 for _, body in server.bodies) == 1  # it was not tried again


# Settings


def test_extra_body_adds_fields_and_takes_them_away(connect: Connect) -> None:
    server, model = connect(extra_body={"top_k": 5, "temperature": None})
    ask(model, [GENERATE[0]])
    assert server.bodies[-1][1]["top_k"] == 5
    assert "temperature" not in server.bodies[-1][1]


def test_every_setting_that_changes_answers_is_in_the_fingerprint() -> None:
    url = "http://here/v1"
    models = [
        OpenAIModel("a", OpenAIModel.Params(base_url=url)),
        OpenAIModel("b", OpenAIModel.Params(base_url=url)),
        OpenAIModel("a", OpenAIModel.Params(base_url="http://there/v1")),
        OpenAIModel("a", OpenAIModel.Params(base_url=url, api="chat")),
        OpenAIModel("a", OpenAIModel.Params(base_url=url, window=100)),
        OpenAIModel("a", OpenAIModel.Params(base_url=url, extra_body={"top_k": 5})),
    ]
    prints = {json.dumps(model.fingerprint()) for model in models}
    assert len(prints) == len(models)
    same = OpenAIModel(
        "a",
        OpenAIModel.Params(base_url=f"{url}/", timeout=3, max_concurrency=4, budget_tokens=9, requests_per_minute=8),
    )
    assert same.fingerprint() == models[0].fingerprint()


@pytest.mark.parametrize(
    "arguments",
    [{"window": 2}, {"max_concurrency": 0}, {"timeout": float("nan")}, {"retry_delay": -1}, {"budget_tokens": 0}],
)
@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_settings_out_of_range_are_refused(name: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(PluginError, match=next(iter(arguments))):
        build(default_registry().get(Kind.BACKEND, name), "a", arguments=arguments)


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_every_setting_is_described(name: str) -> None:
    meanings = {key: meaning for key, *_, meaning in describe_parameters(default_registry().get(Kind.BACKEND, name))}
    assert {"base_url", "budget_money", "max_retries"} <= set(meanings)
    assert [key for key, meaning in meanings.items() if not meaning] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"base_url": "localhost:8000"}, "base_url is not an address"),
        ({"base_url": "http://me:hunter2@here/v1"}, "base_url must be an address alone"),
        ({"base_url": "http://here/v1?key=hunter2"}, "base_url must be an address alone"),
        ({"base_url": "http://here:99999/v1"}, "base_url is not an address"),
        ({"api_key_env": "NOT_SET_ANYWHERE"}, "api_key_env names NOT_SET_ANYWHERE, which is not set"),
        ({"headers_env": "NOT_SET_ANYWHERE"}, "headers_env names NOT_SET_ANYWHERE, which is not set"),
        ({"headers_env": "HEADERS_OF_THIS_TEST"}, "must hold a JSON object of headers"),
    ],
)
def test_mistakes_are_reported(arguments: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADERS_OF_THIS_TEST", '["hunter2"]')
    with pytest.raises(ModelError, match=message) as caught:
        OpenAIModel("a", OpenAIModel.Params(**{"base_url": "http://here/v1", **arguments}))
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("value", ["hunter2\u00e9", "hunter2\nX-Other: 1", "hunter2\x00"])
def test_headers_that_cannot_be_sent_are_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADERS_OF_THIS_TEST", json.dumps({"X-Team": value}))
    with pytest.raises(ModelError, match="HEADERS_OF_THIS_TEST contains characters") as caught:
        OpenAIModel("a", OpenAIModel.Params(base_url="http://here/v1", headers_env="HEADERS_OF_THIS_TEST"))
    assert "hunter2" not in str(caught.value)


def test_openais_own_server_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    model = OpenAIModel("gpt-4o-mini", OpenAIModel.Params())
    for _ in range(2):
        with pytest.raises(ModelError, match="Set OPENAI_API_KEY"):
            ask(model, GENERATE)
    model.close()


# Keys


def test_the_key_is_sent_to_the_server_it_is_for_and_shown_nowhere(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("KEY_OF_THIS_TEST", "a-secret-key")
    monkeypatch.setenv("HEADERS_OF_THIS_TEST", '{"X-Team": "another-secret"}')
    names = {"api_key_env": "KEY_OF_THIS_TEST", "headers_env": "HEADERS_OF_THIS_TEST"}
    server, model = connect(Ways(key="a-secret-key"), **names)
    assert ask(model, [GENERATE[0]])[0].error is None
    assert server.headers[-1]["authorization"] == "Bearer a-secret-key"
    assert server.headers[-1]["x-team"] == "another-secret"
    server.ways.key = "changed"
    shown = [*(str(response) for response in ask(model, GENERATE)), str(model.fingerprint()), str(model.description())]
    shown.append(caplog.text)
    assert "[key]" in shown[0]  # the server repeats the key in its message
    assert not [text for text in shown if "a-secret-key" in text or "another-secret" in text]


def test_openais_key_is_for_openai_alone(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(variable, "of-openai")
    server, model = connect()
    ask(model, [GENERATE[0]])
    assert not [value for headers in server.headers for value in headers.values() if "of-openai" in value]
    assert "authorization" not in server.headers[-1]


def test_a_wrong_key_fails_the_run_at_once(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_OF_THIS_TEST", "a-wrong-key")
    server, model = connect(Ways(key="right"), api_key_env="KEY_OF_THIS_TEST")
    with pytest.raises(ModelError, match="Is the right key in the environment") as caught:
        ask(model, [GenerateRequest(f"question {number}", 2) for number in range(500)])
    assert "a-wrong-key" not in str(caught.value)
    assert len(server.bodies) < 20


def test_a_model_that_does_not_exist_fails_the_run_at_once(connect: Connect) -> None:
    server, _ = connect()
    model = OpenAIModel("no-such-model", OpenAIModel.Params(base_url=server.url))
    with pytest.raises(ModelError, match=r"The model no-such-model does not exist.*Is there a model of that name"):
        ask(model, [GenerateRequest(f"question {number}", 2) for number in range(500)])
    assert len(server.bodies) < 40
    model.close()


def test_a_server_that_is_not_there_fails_the_run() -> None:
    model = OpenAIModel(MODEL, OpenAIModel.Params(base_url="http://127.0.0.1:9/v1", retry_delay=0.01))
    with pytest.raises(ModelError, match="Is the server running"):
        ask(model, [GenerateRequest(f"question {number}", 2) for number in range(50)])
    model.close()


# Pace and budget


def many(count: int) -> list[GenerateRequest]:
    return [GenerateRequest(f"question {number}", 2) for number in range(count)]


def test_calls_at_once_grow_while_the_server_keeps_up_and_keep_to_the_most(connect: Connect) -> None:
    server, model = connect(Ways(delay=0.05), max_concurrency=20)
    assert [response.error for response in ask(model, many(120))] == [None] * 120
    assert 10 < server.most_at_once <= 20


def test_calls_at_once_fall_when_the_server_throttles(connect: Connect) -> None:
    server, model = connect(Ways(delay=0.05))  # long enough that calls overlap on a busy machine
    server.ways.behave = lambda number: "429" if server.at_once > 4 and number > 5 else "ok"
    assert [response.error for response in ask(model, many(60))] == [None] * 60
    assert model._calls is not None
    assert model._calls.at_once < 8


def test_seconds_are_shares_of_the_wall_time(connect: Connect) -> None:
    _, model = connect(Ways(delay=0.02))
    began = time.monotonic()
    total = sum(response.seconds for response in ask(model, many(30)))
    assert 0.02 < total <= time.monotonic() - began


def test_requests_a_minute_are_kept(connect: Connect) -> None:
    server, model = connect(requests_per_minute=1200, api="completions")
    began = time.monotonic()
    ask(model, many(40))
    elapsed = time.monotonic() - began
    assert elapsed >= (len(server.bodies) - 20) / 20  # a second's worth at once, then 20 a second


def test_the_budget_in_tokens_stops_cleanly(connect: Connect) -> None:
    _, model = connect(budget_tokens=200, api="completions")
    responses = ask(model, many(100))
    answered = [response for response in responses if response.error is None]
    spent = sum((response.prompt_tokens or 0) + (response.completion_tokens or 0) for response in answered)
    assert 5 < len(answered) < 30
    assert spent <= 200 + 10 * 12  # what a prompt takes is a guess; ten may be under way
    refused = {response.error for response in responses if response.error is not None}
    assert all(
        error and "because it exceeds the budget" in error and "of 200 tokens are spent" in error for error in refused
    )
    assert all(response.error for response in ask(model, many(10)))


def test_the_budget_in_money_goes_by_the_table_of_prices(connect: Connect, tmp_path: Path) -> None:
    table = tmp_path / "prices.yaml"
    table.write_text(f'currency: EUR\nmodels: {{"openai:{MODEL}": {{prompt: 1000, completion: 1000}}}}\n')
    _, model = connect(budget_money=0.2, prices=str(table), api="completions")
    responses = ask(model, many(100))
    assert 5 < sum(response.error is None for response in responses) < 30
    assert "of 0.2 EUR are spent" in (responses[-1].error or "")


def test_without_a_price_a_budget_in_money_says_what_to_write_and_where(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"price, which is unknown.* `prices`") as caught:
        OpenAIModel("mine", OpenAIModel.Params(base_url="http://here/v1", budget_money=1.0))
    table = tmp_path / "prices.yaml"
    table.write_text(str(caught.value).partition("such as ")[2].removesuffix("."))
    OpenAIModel("mine", OpenAIModel.Params(base_url="http://here/v1", budget_money=1.0, prices=str(table))).close()
    with pytest.raises(
        ModelError, match=r'Add to .*prices\.yaml, under models, .*such as "openai:other": \{prompt: 1\.00'
    ):
        OpenAIModel("other", OpenAIModel.Params(base_url="http://here/v1", budget_money=1.0, prices=str(table)))


# Interrupts


def test_an_interrupt_ends_promptly_and_loses_no_answer(connect: Connect) -> None:
    server, model = connect(Ways(delay=0.02), timeout=60)
    server.ways.behave = lambda number: "ok" if number < 30 else "hang"
    answers: dict[int, Response] = {}

    def asked() -> int:
        return sum("prompt" in body and body["prompt"].startswith("question") for _, body in server.bodies[:30])

    def only_hanging_ones_are_left() -> bool:
        return len(server.bodies) > 34 and len(answers) == asked()

    threading.Thread(target=_interrupt_when, args=(only_hanging_ones_are_left,), daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        _keep(model.answer(many(500)), answers)
    began = time.monotonic()
    model.close()
    assert time.monotonic() - began < 25  # the calls that hang would take 30 s
    assert len(answers) == asked()


def _keep(stream: Iterator[tuple[int, Response]], answers: dict[int, Response]) -> None:
    for index, response in stream:
        answers[index] = response


def _interrupt_when(true: Callable[[], bool]) -> None:
    wait_until(true)
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGINT)


def test_a_consumer_that_stops_ends_the_calls(connect: Connect) -> None:
    server, model = connect(Ways(delay=0.01))
    answers = model.answer(many(500))
    next(answers)
    answers.close()  # type: ignore[attr-defined]
    seen = len(server.bodies)
    time.sleep(0.2)
    assert len(server.bodies) <= seen + 12
    assert ask(model, many(3))[0].error is None


def test_a_model_that_was_never_asked_closes() -> None:
    OpenAIModel(MODEL, OpenAIModel.Params(base_url="http://127.0.0.1:9/v1")).close()


@pytest.mark.slow
def test_a_sweep_over_a_server_gives_what_the_model_gives(tmp_path: Path) -> None:
    with serving(Ways(chats=False, tokenizes=True)) as server:
        (tmp_path / "sweep.yaml").write_text(
            f'suite: served\nmodels: [{{name: "openai:{MODEL}", base_url: "{server.url}"}}, "fake:0"]\n'
            "runs: [sample_multiple_choice, sample_generation]\n"
        )
        command = [sys.executable, "-m", "harness", "run", "sweep.yaml"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert "4 of 4 runs ok" in done.stdout + done.stderr
        asked = len(server.bodies)
        subprocess.run([*command, "--force"], cwd=tmp_path, capture_output=True, check=True)
        again = [path for path, body in server.bodies[asked:] if path == "/v1/completions" and body["max_tokens"] > 1]
        assert again == []  # every answer came from the response cache
    means: dict[str, list[dict[str, float]]] = {}
    for file in sorted((tmp_path / "results").rglob("run.json")):
        stats = {stat["metric"]: stat["mean"] for stat in json.loads(file.read_text())["stats"]}
        means.setdefault(file.parent.name.split(",")[0], []).append(stats)
    for one, other in means.values():
        # A server takes time, and counts the token that it puts before a text.
        differing = {name for name in one if one[name] != other.get(name)}
        assert differing <= {"seconds", "prompt_tokens", "tokens_per_second"}
        assert len(one) > len(differing)
