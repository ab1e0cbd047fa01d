"""Which answers fit their requests, and what becomes of those that do not."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import (
    Completion,
    GenerateRequest,
    Model,
    Reasoning,
    Request,
    Response,
    ScoreRequest,
    SequenceRequest,
    Tool,
    ToolCall,
)
from harness.answers.check import misfit, most_tokens
from harness.inference.cache import ResponseCache
from harness.inference.caching_model import CachingModel
from harness.models.offline.fake import FakeModel
from harness.storage.encoding import decode_response, encode_response

GENERATE = GenerateRequest("the people of", 6, temperature=1.0, completions=2, top_logprobs=2)
PLAIN = GenerateRequest("the people of", 6)
OFFERED = replace(PLAIN, tools=(Tool("weather"),))
CALL = ToolCall("weather", {"city": "Bern"}, "call-1")
SCORE = ScoreRequest("the people of", " the house")
MOMENTS = ScoreRequest("the people of", " the house", vocabulary_moments=True)
SEQUENCE = SequenceRequest(("the house. ", "a tree? ", "in the sea"), (2, 0, 1), scored=2)
REQUESTS: list[Request] = [GENERATE, PLAIN, SCORE, SEQUENCE]


def answer(request: Request) -> Response:
    ((_, response),) = FakeModel("0").answer([request])
    assert response.error is None
    return response


def completion(**changed: Any) -> tuple[Completion, ...]:
    return (replace(answer(PLAIN).completions[0], **changed),)


@given(st.text(max_size=40), st.text(min_size=1, max_size=40), st.integers(1, 30), st.integers(1, 3), st.integers(0, 4))
def test_what_a_model_answers_fits(text: str, more: str, tokens: int, completions: int, top: int) -> None:
    asked: list[Request] = [
        GenerateRequest(text, tokens, temperature=1.0, completions=completions, top_logprobs=top),
        ScoreRequest(text, more),
        SequenceRequest((text + "a", more), (1, 0)),
    ]
    for index, response in FakeModel("0").answer(asked):
        assert misfit(asked[index], response) is None


def test_calls_of_offered_tools_are_answers() -> None:
    for call in (CALL, replace(CALL, arguments="{half"), replace(CALL, name="another")):
        response = Response(completion(text="", tool_calls=(call,), finish_reason="tool_call"))
        assert misfit(OFFERED, response) is None
        assert response.declined is None
    assert Response(completion(text="", finish_reason="tool_call")).declined == "tool_call"


def test_a_failure_fits_every_request() -> None:
    assert all(misfit(request, Response(error="no")) is None for request in REQUESTS)


@pytest.mark.parametrize(
    ("request_", "changed", "problem"),
    [
        (PLAIN, {"completions": ()}, "0 completions, where 1 were asked for"),
        (PLAIN, {"completions": answer(PLAIN).completions * 3}, "3 completions, where 1"),
        (PLAIN, {"completions": "ab"}, "completions are 'ab'"),
        (PLAIN, {"completions": completion(text=None)}, "text is None"),
        (PLAIN, {"completions": completion(text=7)}, "text is 7"),
        (PLAIN, {"completions": completion(tokens=-1)}, "tokens of -1"),
        (PLAIN, {"completions": completion(tokens=10**15)}, "tokens of 1000000000000000; at most 262,204"),
        (PLAIN, {"completions": completion(tokens=2.5)}, "tokens of 2.5"),
        (PLAIN, {"completions": completion(logprob="low")}, "a log-probability of 'low'"),
        (PLAIN, {"completions": completion(logprob=float("nan"))}, "a log-probability of nan"),
        (PLAIN, {"completions": completion(logprob=3.0)}, "a log-probability of 3.0"),
        (PLAIN, {"completions": completion(top_logprobs=({"a": -1.0},))}, "1 top_logprobs, where 0"),
        (GENERATE, {"completions": completion(top_logprobs=("ab",)) * 2}, "top_logprobs of 'ab'"),
        (PLAIN, {"completions": completion(finish_reason=None)}, "finish_reason of None"),
        (PLAIN, {"completions": completion(tool_calls=(CALL,))}, "calls of tools, where none were offered"),
        (OFFERED, {"completions": completion(tool_calls="weather")}, "tool_calls are 'weather'"),
        (OFFERED, {"completions": completion(tool_calls=(ToolCall(None, {}),))}, "a call of a tool is"),  # type: ignore[arg-type]
        (OFFERED, {"completions": completion(tool_calls=(ToolCall("weather", [1]),))}, "a call of a tool is"),  # type: ignore[arg-type]
        (OFFERED, {"completions": completion(tool_calls=(replace(CALL, arguments={"a": float("nan")}),))}, "not JSON"),
        (OFFERED, {"completions": completion(tool_calls=(replace(CALL, arguments={"a": {1: 2}}),))}, "must be texts"),
        (OFFERED, {"completions": completion(tool_calls=(CALL,) * 300_000)}, "300,000 calls of tools"),
        (PLAIN, {"completions": completion(reasoning=None)}, "reasoning of None"),
        (PLAIN, {"completions": completion(reasoning_tokens=-1)}, "reasoning_tokens of -1"),
        (PLAIN, {"completions": completion(unannounced_mark=1)}, "unannounced_mark of 1"),
        (PLAIN, {"completions": completion(finish_reason="unfinished_reasoning")}, "after reasoning that did not end"),
        (PLAIN, {"logprobs": (-1.0,)}, "logprobs, which were not asked for"),
        (PLAIN, {"prompt_tokens": 10**399}, "prompt_tokens of about 2 to the power of 1326; at most"),
        (PLAIN, {"computed_tokens": -1}, "computed_tokens of -1"),
        (PLAIN, {"prompt_tokens": 10**6}, "prompt_tokens of 1000000; at most 65,588 are plausible"),
        (PLAIN, {"completion_tokens": 10**6}, "completion_tokens of 1000000"),
        (PLAIN, {"completion_tokens": True}, "completion_tokens of True"),
        (PLAIN, {"seconds": float("inf")}, "seconds of inf"),
        (PLAIN, {"seconds": -1.0}, "seconds of -1.0"),
        (PLAIN, {"seconds": 10**400}, ""),
        (PLAIN, {"truncated": "no"}, "truncated of 'no'"),
        (SCORE, {"logprobs": None}, "no log-probabilities"),
        (SCORE, {"logprobs": ()}, "0 log-probabilities for 23 bytes"),
        (SCORE, {"logprobs": (-1.0,) * 1000}, "1,000 log-probabilities for 23 bytes"),
        (SCORE, {"logprobs": ("-1",)}, "a log-probability of '-1'"),
        (SCORE, {"logprobs": "ab"}, "no log-probabilities"),
        (SCORE, {"logprobs": 5}, ""),
        (SCORE, {"greedy": "yes"}, "greedy of 'yes'"),
        (SCORE, {"completions": completion()}, "completions, which were not asked for"),
        (SCORE, {"vocabulary_moments": ((0.0, 1.0),)}, "1 vocabulary_moments, where 0"),
        (MOMENTS, {}, "0 vocabulary_moments"),
        (SEQUENCE, {"logprobs": (-1.0,)}, "1 log-probabilities of segments, where 2"),
        (SEQUENCE, {"segment_tokens": (1, 2, 3)}, "3 segment_tokens, where 2"),
        (SEQUENCE, {"segment_tokens": (1, "2")}, "segment_tokens of '2'"),
    ],
)
def test_what_does_not_fit_is_named(request_: Request, changed: dict[str, Any], problem: str) -> None:
    asked = SCORE if request_ == MOMENTS else request_
    found = misfit(request_, replace(answer(asked), **changed))
    assert found is not None
    assert problem in found


def test_another_kinds_answer_does_not_fit() -> None:
    for request in REQUESTS:
        for other in REQUESTS:
            fits = misfit(request, answer(other)) is None
            assert fits is (request is other)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
NAMES = [
    "completions",
    "logprobs",
    "vocabulary_moments",
    "segment_tokens",
    "greedy",
    "prompt_tokens",
    "completion_tokens",
    "seconds",
]


@given(st.sampled_from(REQUESTS), st.sampled_from(NAMES), JSON)
def test_any_value_in_a_cache_is_used_or_asked_again(request_: Request, name: str, value: Any) -> None:
    try:
        response = decode_response({**encode_response(answer(request_)), name: value})
    except (ValueError, TypeError, KeyError, AttributeError):
        return
    misfit(request_, response)  # which must not raise


@pytest.mark.parametrize("depth", [600, 2_000])
def test_arguments_that_are_nested_too_deeply_are_a_misfit(depth: int) -> None:
    arguments: dict[str, Any] = {}
    for _ in range(depth):
        arguments = {"a": arguments}
    found = completion(text="", tool_calls=(replace(CALL, arguments=arguments),), finish_reason="tool_call")
    problem = str(misfit(OFFERED, replace(answer(OFFERED), completions=found)))
    assert "nested too deeply" in problem or "recursion" in problem


def test_plausible_counts_grow_with_the_request() -> None:
    assert most_tokens(0, 1)[0] > 10_000  # of a template
    assert most_tokens(1000, 10) < most_tokens(10**6, 10**5)


class Given(Model):
    """Gives prepared answers."""

    answers = frozenset({"generate", "score"})

    def __init__(self, *prepared: Response) -> None:
        self.prepared = list(prepared)
        self.asked = 0

    def fingerprint(self) -> Mapping[str, Any]:
        return {"given": 1}

    def answer(self, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
        for index, _ in enumerate(requests):
            self.asked += 1
            yield index, self.prepared.pop(0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "responses.sqlite"


@pytest.mark.parametrize("kept", [True, False])
def test_what_does_not_fit_is_a_failure_and_not_kept(path: Path, kept: bool) -> None:
    cache = ResponseCache(path)
    client = CachingModel(
        Given(replace(answer(PLAIN), prompt_tokens=10**399), answer(PLAIN)), "given:x", cache if kept else None
    )
    (first,) = client.ask([PLAIN])
    assert first.error is not None
    assert first.error.startswith("given:x: the answer does not fit its request: prompt_tokens of about 2 to the power")
    assert first.completions == ()
    assert len(cache) == 0
    (second,) = client.ask([PLAIN])
    assert second.completions == answer(PLAIN).completions
    cache.close()


@pytest.mark.parametrize(
    "value",
    [
        b"{}",
        b"[]",
        b"null",
        b"5",
        b'"text"',
        b'{"completions": [5]}',
        b'{"completions": [{"text": 5}]}',
        b'{"completions": [{}]}',
        b'{"completions": {"text": "a"}}',
        b'{"completions": [{"text": "a", "top_logprobs": 5}]}',
        b'{"logprobs": "abc"}',
        b'{"logprobs": [NaN]}',
        b'{"unheard_of": 1}',
        b'{"prompt_tokens": ' + b"9" * 400 + b"}",
        b'{"prompt_tokens": ' + b"9" * 5000 + b"}",
        b"[" * 100_000,
        b"not JSON",
        b"\xff\xfe",
    ],
)
@pytest.mark.parametrize("request_", REQUESTS, ids=["generate", "plain", "score", "sequence"])
def test_a_cached_value_of_a_wrong_shape_is_asked_again_and_replaced(
    path: Path, request_: Request, value: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    _damage(path, request_, zlib.compress(value))
    cache = ResponseCache(path)
    model = Given(answer(request_))
    (response,) = CachingModel(model, "given:x", cache).ask([request_])
    assert (model.asked, response.cached) == (1, False)
    (again,) = CachingModel(model, "given:x", cache).ask([request_])
    assert (model.asked, again.cached) == (1, True)
    assert replace(again, cached=False, seconds=0.0) == replace(answer(request_), seconds=0.0)
    with caplog.at_level(logging.WARNING):
        cache.close()
    assert [record.getMessage().partition(" in ")[0] for record in caplog.records] == ["1 answer"]
    assert "could not be used and were requested again" in caplog.text


@pytest.mark.parametrize("value", [b"no zlib", zlib.compress(b"{}")[:-3], None, "text", 5])
def test_a_value_that_does_not_decompress_is_asked_again(path: Path, value: Any) -> None:
    if value is None:
        value = zlib.compress(bytes(300 << 20), 1)
    _damage(path, PLAIN, value)
    cache = ResponseCache(path)
    (response,) = CachingModel(Given(answer(PLAIN)), "given:x", cache).ask([PLAIN])
    assert response.error is None
    cache.close()


def test_many_values_of_a_wrong_shape_are_one_warning(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    requests: list[Request] = [GenerateRequest(f"question {number}", 3) for number in range(30)]
    cache = ResponseCache(path)
    CachingModel(FakeModel("0"), "fake:0", cache).ask(requests)
    cache.ask("UPDATE responses SET value = ?", (zlib.compress(b"{}"),))
    responses = CachingModel(FakeModel("0"), "fake:0", cache).ask(requests)
    assert not any(response.cached or response.error for response in responses)
    with caplog.at_level(logging.WARNING):
        cache.close()
    (record,) = caplog.records
    assert record.getMessage() == (
        f"30 answers in the response cache {path} could not be used and were requested again. The most common reason: "
        "0 completions, where 1 were asked for."
    )


def _damage(path: Path, request: Request, value: object) -> None:
    cache = ResponseCache(path)
    CachingModel(Given(answer(request)), "given:x", cache).ask([request])
    cache.ask("UPDATE responses SET value = ?", (value,))
    cache.close()


def test_a_budget_for_reasoning_makes_more_tokens_plausible() -> None:
    tokens = 1_000_000
    generous = replace(PLAIN, reasoning=Reasoning(budget_tokens=tokens))
    response = replace(answer(PLAIN), completions=completion(tokens=tokens), completion_tokens=tokens)
    assert misfit(generous, response) is None
    assert misfit(PLAIN, response) is not None


class Thinks(Model):
    answers = frozenset({"generate"})

    def fingerprint(self) -> Mapping[str, Any]:
        return {}

    def answer(self, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
        for index, _ in enumerate(requests):
            yield index, Response((Completion("<think>Hm</think>Yes", -1.0, 9, "stop"),))


def test_reasoning_in_a_text_of_any_backend_is_set_apart(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path / "responses.sqlite")
    for _ in range(2):
        (response,) = CachingModel(Thinks(), "thinks:1", cache).ask([PLAIN])
        (found,) = response.completions
        assert (found.text, found.reasoning, found.unannounced_mark) == ("Yes", "Hm", "<think>")
    assert response.cached
    cache.close()
