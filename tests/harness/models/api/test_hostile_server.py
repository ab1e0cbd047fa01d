"""Whatever a server does, every request ends in exactly one answer or failure, and the answers are right."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from harness import GenerateRequest, Model, ModelError, Request, Response, ScoreRequest
from harness.models.api import http_client
from harness.models.api.anthropic import AnthropicModel
from harness.models.api.api_model import ApiModel
from harness.models.api.openai import OpenAIModel
from harness.models.offline.fake import FakeModel
from tests.harness.models.api_server import MISBEHAVIOUR, MODEL, FakeServer, Ways, serving

pytest.importorskip("openai")
pytest.importorskip("anthropic")

SLOW = {"hang", "trickle", "much junk", "429 wait"}
QUICK = sorted(set(MISBEHAVIOUR) - SLOW - {"redirect"})
NOT_TRIED_AGAIN = {"400", "418", "429 long", "redirect"}
BACKENDS = ["openai", "anthropic"]


def opened(backend: str, server: FakeServer, **arguments: Any) -> ApiModel:
    pace = {"retry_delay": 0.001, "timeout": 20.0, "max_retries": 2, **arguments}
    if backend == "openai":
        return OpenAIModel(MODEL, OpenAIModel.Params(base_url=server.url, **pace))
    return AnthropicModel(MODEL, AnthropicModel.Params(base_url=server.url.removesuffix("/v1"), **pace))


def questions(backend: str, count: int) -> list[Request]:
    generate: list[Request] = [GenerateRequest(f"question {number}", 4, stop=("e",)) for number in range(count)]
    if backend == "openai":
        generate[1::3] = [ScoreRequest(f"question {number}", " of the sea") for number in range(1, count, 3)]
    return generate


def ask(model: Model, requests: Sequence[Request]) -> list[Response]:
    """Ask, and make sure that each request has exactly one answer."""
    answers: dict[int, Response] = {}
    for index, response in model.answer(requests):
        assert index not in answers
        answers[index] = response
    assert sorted(answers) == list(range(len(requests)))
    return [answers[index] for index in range(len(requests))]


def right(backend: str, requests: Sequence[Request], responses: Sequence[Response]) -> int:
    """Return how many were answered, after making sure that they were answered rightly and the rest say why not."""
    told = [_told(request) for request in requests] if backend == "anthropic" else list(requests)
    expected = [response for _, response in FakeModel("0").answer(told)]
    for one, other in zip(responses, expected, strict=True):
        if one.error is None:
            assert [completion.text for completion in one.completions] == [
                completion.text for completion in other.completions
            ]
            assert one.logprobs == other.logprobs
        else:
            assert not one.completions
            assert one.logprobs is None
            assert MODEL in one.error
            assert len(one.error) < 600
    return sum(response.error is None for response in responses)


def _told(request: Request) -> Request:
    """Return a question as the model reads it in a conversation."""
    assert isinstance(request, GenerateRequest)
    return replace(request, prompt=f"<user>\n{request.prompt}\n<assistant>\n")


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(script=st.lists(st.sampled_from(["ok", *QUICK]), max_size=80), stays=st.sampled_from(["ok", *QUICK]))
def test_every_request_ends_once_whatever_the_server_does(backend: str, script: list[str], stays: str) -> None:
    # A server that refuses the first completion is taken for one that only chats, and answers otherwise.
    assume(backend == "anthropic" or script[:1] != ["400"])
    ways = Ways(behave=lambda number: script[number] if number < len(script) else stays)
    requests = questions(backend, 24)
    with serving(ways) as server:
        model = opened(backend, server)
        answered = right(backend, requests, ask(model, requests))
        if stays == "ok" and not set(script) - {"ok"}:
            assert answered == len(requests)
        model.close()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("behaviour", [name for name in MISBEHAVIOUR if name not in NOT_TRIED_AGAIN])
def test_one_try_that_fails_costs_no_answer(backend: str, behaviour: str) -> None:
    with serving(Ways(behave=lambda number: behaviour if number == 5 else "ok")) as server:
        # On a busy machine a right answer, too, may take longer than half a second.
        slow = behaviour in {"hang", "trickle"}
        model = opened(backend, server, timeout=0.5 if slow else 60.0, max_retries=9 if slow else 2)
        requests = questions(backend, 12)
        assert right(backend, requests, ask(model, requests)) == len(requests)
        model.close()


@pytest.mark.parametrize("behaviour", sorted(NOT_TRIED_AGAIN))
def test_what_cannot_succeed_is_asked_once_and_recorded(behaviour: str) -> None:
    with serving(Ways(behave=lambda number: behaviour if number == 5 else "ok")) as server:
        model = opened("anthropic", server)
        requests = questions("anthropic", 12)
        first = ask(model, requests[:1])  # a server that has answered nothing yet is taken for one that cannot
        assert right("anthropic", requests, [*first, *ask(model, requests[1:])]) == len(requests) - 1
        assert len(server.bodies) == len(requests)
        model.close()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("behaviour", ["drop", "500", "half json", "429", "hang", "trickle", "418"])
def test_a_server_that_never_answers_is_given_up(backend: str, behaviour: str) -> None:
    with serving(Ways(behave=lambda number: behaviour)) as server:
        model = opened(backend, server, timeout=0.2)
        began = time.monotonic()
        assert right(backend, questions(backend, 200), ask(model, questions(backend, 200))) == 0
        assert time.monotonic() - began < 100
        if behaviour != "418":  # which may be each request's own fault
            assert len(server.bodies) < 150
        model.close()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_server_that_comes_back_is_asked_again(backend: str) -> None:
    with serving() as server:
        model = opened(backend, server)
        requests = questions(backend, 100)
        assert right(backend, requests[:3], ask(model, requests[:3])) == 3
        server.ways.behave = lambda number: "503"
        responses = ask(model, requests)
        assert right(backend, requests, responses) == 0
        assert any("so the rest are not made" in (response.error or "") for response in responses)
        server.ways.behave = lambda number: "ok"
        time.sleep(0.01)
        assert right(backend, requests, ask(model, requests)) == len(requests)
        model.close()


def test_answers_without_end_are_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "MAX_ANSWER_BYTES", 100_000)
    with serving(Ways(behave=lambda number: "junk")) as server:
        model = opened("openai", server)
        (response,) = ask(model, questions("openai", 1))
        assert "longer than" in (response.error or "")
        model.close()


def test_retry_after_is_honoured() -> None:
    moments: list[float] = []

    def behave(number: int) -> str:
        moments.append(time.monotonic())
        return "429 wait" if number == 4 else "ok"

    with serving(Ways(behave=behave)) as server:
        model = opened("anthropic", server, max_concurrency=1)
        requests = questions("anthropic", 8)
        assert right("anthropic", requests, ask(model, requests)) == 8
        assert moments[5] - moments[4] > 0.5
        model.close()


def test_a_key_that_is_revoked_on_the_way_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_OF_THIS_TEST", "a-secret-key")

    def revoke(number: int) -> str:
        server.ways.key = "another" if number >= 60 else "a-secret-key"
        return "ok"

    with serving(Ways(key="a-secret-key", delay=0.01, behave=revoke)) as server:
        model = opened("openai", server, api_key_env="KEY_OF_THIS_TEST")
        requests = questions("openai", 300)
        responses = ask(model, requests)
        assert 0 < right("openai", requests, responses) < 300
        assert not [response for response in responses if "a-secret-key" in str(response)]
        assert len(server.bodies) < 300  # the rest were not asked
        model.close()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_wrong_address_fails_the_run(backend: str) -> None:
    with serving(Ways(completions=False)) as server:
        lost = replace(server, url=server.url.replace("/v1", "/nowhere"))
        model = opened(backend, lost)
        with pytest.raises(ModelError, match="Is there a model of that name at base_url"):
            ask(model, [GenerateRequest("x", 1)] * 20)
        model.close()
