"""What is written of requests, responses and examples is read back as it was."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness import (
    Completion,
    Example,
    GenerateRequest,
    Instance,
    Message,
    Origin,
    Prompt,
    Reasoning,
    Reference,
    Request,
    Response,
    ScoreRequest,
    SequenceRequest,
    Split,
    Tool,
    ToolCall,
)
from harness.backends import Served
from harness.contracts import FINISH_REASONS, ROLES
from harness.storage.encoding import decode_example, decode_response, encode_example, encode_request, encode_response

logprob = st.floats(max_value=0, allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)
json_objects = st.dictionaries(st.text(), json_values, max_size=2)
calls = st.lists(st.builds(ToolCall, st.text(), json_objects | st.text(), st.text()), max_size=2).map(tuple)
tools = st.lists(st.builds(Tool, st.text(), st.text(), json_objects), max_size=2).map(tuple)
prompts: st.SearchStrategy[Prompt] = st.text() | st.lists(
    st.builds(Message, st.sampled_from(ROLES), st.text(), calls, st.text())
).map(tuple)
completions = st.builds(
    Completion,
    text=st.text(),
    logprob=st.none() | logprob,
    tokens=st.none() | st.integers(0, 9),
    finish_reason=st.sampled_from(FINISH_REASONS),
    top_logprobs=st.lists(st.dictionaries(st.text(), logprob)).map(tuple),
    explanation=st.text(),
    tool_calls=calls,
    reasoning=st.text(),
    reasoning_tokens=st.none() | st.integers(0, 9),
    unannounced_mark=st.sampled_from(["", "<think>"]),
)
responses = st.builds(
    Response,
    completions=st.lists(completions).map(tuple),
    logprobs=st.none() | st.lists(logprob).map(tuple),
    segment_tokens=st.lists(st.integers(0, 9)).map(tuple),
    greedy=st.none() | st.booleans(),
    prompt_tokens=st.none() | st.integers(0, 9),
    seconds=st.floats(0, 9),
    truncated=st.booleans(),
    served=st.lists(st.builds(Served, st.none() | st.text(), st.none() | st.text())).map(tuple),
    error=st.none() | st.text(),
)


def requests(origin: Origin) -> st.SearchStrategy[Request]:
    return (
        st.builds(
            GenerateRequest,
            prompt=prompts,
            max_tokens=st.integers(1, 9),
            temperature=st.floats(0, 2),
            stop=st.lists(st.text()).map(tuple),
            completions=st.integers(1, 5),
            seed=st.integers(),
            top_logprobs=st.integers(0, 5),
            tools=tools,
            reasoning=st.none() | st.builds(Reasoning, budget_tokens=st.none() | st.integers(1, 9), keep=st.booleans()),
            origin=st.just(origin),
        )
        | st.builds(ScoreRequest, prompts, st.text(), st.booleans(), st.just(origin))
        | st.builds(
            SequenceRequest,
            st.just(("a", "b")),
            st.permutations([0, 1]).map(tuple),
            st.just(1),
            st.none() | st.integers(1, 9),
            st.just(origin),
        )
    )


@st.composite
def examples(draw: st.DrawFn) -> Example:
    instance = Instance(
        id=draw(st.text(min_size=1)),
        input=draw(st.text()),
        references=tuple(draw(st.lists(st.builds(Reference, st.text(), st.booleans(), st.none() | st.integers(0, 3))))),
        split=draw(st.sampled_from(Split)),
        perturbation=draw(st.none() | st.just("typos")),
        meta=draw(st.dictionaries(st.text(), st.integers() | st.text())),
    )
    trial = draw(st.integers(0, 3))
    origin = Origin(instance.id, instance.perturbation, trial, draw(st.none() | st.integers(0, 3)), "calibration", 1)
    return Example(
        instance=instance,
        requests=tuple(draw(st.lists(requests(origin), max_size=3))),
        responses=tuple(draw(st.lists(responses, max_size=3))),
        prediction=draw(st.text()),
        predictions=tuple(draw(st.lists(st.text()))),
        choice=draw(st.none() | st.integers(0, 3)),
        choice_scores=draw(st.none() | st.lists(logprob).map(tuple)),
        probability=draw(st.none() | st.floats(0, 1)),
        unread=draw(st.booleans()),
        labels=("A", "B"),
        trial=trial,
        train_instances=("train-1",),
        dropped_examples=draw(st.integers(0, 3)),
        truncated=draw(st.booleans()),
    )


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])  # on a busy machine
@given(examples())
def test_an_example_survives_the_file(example: Example) -> None:
    value = json.loads(json.dumps(encode_example(example)))
    read = decode_example(value)
    assert read == example
    assert value.get("declined") == example.declined
    assert value.get("unfinished_reasoning", False) == example.unfinished_reasoning
    # Origins are left out of a request's equality, so they are compared by themselves.
    assert [request.origin for request in read.requests] == [request.origin for request in example.requests]


def test_an_empty_prediction_is_written_too() -> None:
    assert encode_example(Example(Instance("test-1", "Q")))["prediction"] == ""


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(responses)
def test_a_response_survives_the_cache(response: Response) -> None:
    assert decode_response(json.loads(json.dumps(encode_response(response)))) == response


def test_what_was_cached_or_computed_is_not_written() -> None:
    assert encode_response(Response(prompt_tokens=9, computed_tokens=2, cached=True)) == {"prompt_tokens": 9}


def test_a_question_does_not_say_where_it_comes_from() -> None:
    request = GenerateRequest("Q:", 5, origin=Origin("test-1", trial=2))
    assert encode_request(request) == {"ask": "generate", "prompt": "Q:", "max_tokens": 5}


def test_orders_of_the_same_texts_are_written_with_the_texts_once() -> None:
    texts = tuple(f"a text of some length, number {number}" for number in range(20))
    asked = tuple(SequenceRequest(texts, (*range(k, 20), *range(k)), origin=Origin("shard")) for k in range(20))
    other = SequenceRequest(("another",), (0,), origin=Origin("shard"))
    example = Example(Instance("shard", ""), (*asked, other), (Response(),) * 21)
    value = encode_example(example)
    assert json.dumps(value).count(texts[3]) == 1
    assert decode_example(json.loads(json.dumps(value))) == example
    first, second = decode_example(value).requests[:2]
    assert isinstance(first, SequenceRequest)
    assert isinstance(second, SequenceRequest)
    assert first.segments is second.segments
