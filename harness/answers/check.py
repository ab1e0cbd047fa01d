"""Check that a response fits its request: its kind, the numbers of completions and log-probabilities, token counts."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.answers.reasoning import DEFAULT_BUDGET
from harness.contracts import (
    FINISH_REASONS,
    Completion,
    GenerateRequest,
    Prompt,
    Request,
    Response,
    ScoreRequest,
    SequenceRequest,
    ToolCall,
)
from harness.errors import shown

HIDDEN_TOKENS = 65_536
"""Tokens that a prompt may have beyond the request's text: templates and instructions that a server adds."""

REASONING_TOKENS = 262_144
"""Tokens that a completion may have beyond its limit: some servers do not count reasoning in the limit."""

_TOKENS_PER_BYTE = 4
"""A tokenizer's normalisation can make a text longer, and each byte is at most one token then."""

_TIMES_ASKED = 10
_CERTAIN = 1e-3
"""Rounding can make a log-probability this much larger than 0."""


def most_tokens(text_bytes: int, asked: int) -> tuple[int, int]:
    """Return the most tokens of prompt and of completion that are plausible.

    Args:
        text_bytes: UTF-8 bytes of the prompt.
        asked: Tokens of all completions that may be generated.
    """
    return _TOKENS_PER_BYTE * text_bytes + HIDDEN_TOKENS, _TIMES_ASKED * asked + REASONING_TOKENS


def misfit(request: Request, response: Response) -> str | None:
    """Return why a response does not fit its request; None if it does, or if it is an error."""
    if response.error is not None:
        return None if isinstance(response.error, str) else "its error is not text"
    try:
        _check(request, response)
    except (_MisfitError, ValueError, TypeError, AttributeError, OverflowError) as problem:
        return str(problem)
    except RecursionError:
        return "it is nested too deeply"
    return None


class _MisfitError(Exception):
    """A response does not fit its request; the message says how."""


def _check(request: Request, response: Response) -> None:
    if isinstance(request, GenerateRequest):
        _absent(response, "logprobs", "vocabulary_moments", "segment_tokens")
        _number_of("completions", response.completions, request.completions)
        for completion in response.completions:
            _check_completion(completion, request)
        size, asked = _size(request.prompt), _asked_tokens(request)
    elif isinstance(request, ScoreRequest):
        _absent(response, "completions", "segment_tokens")
        size = _size(request.context) + _size(request.continuation)
        asked = _TOKENS_PER_BYTE * size + 1
        _check_logprobs(response.logprobs)
        logprobs = response.logprobs or ()
        if not 1 <= len(logprobs) <= asked:
            raise _MisfitError(f"{len(logprobs):,} log-probabilities for {size:,} bytes")
        _number_of(
            "vocabulary_moments", response.vocabulary_moments, len(logprobs) if request.vocabulary_moments else 0
        )
        for mean, deviation in response.vocabulary_moments:
            if not (_is_number(mean) and _is_number(deviation) and deviation >= 0):
                raise _MisfitError(f"moments of {shown((mean, deviation))}")
    else:
        _absent(response, "completions", "vocabulary_moments")
        scored = _check_segments(request, response)
        size = asked = scored
    most_prompt, most_completion = most_tokens(size, asked)
    _count("prompt_tokens", response.prompt_tokens, most_prompt)
    _count("completion_tokens", response.completion_tokens, most_completion)
    # Windows overlap by half, so almost every token is read twice, and each completion may read its prompt again.
    readings = 2 + len(response.completions)
    _count("computed_tokens", response.computed_tokens, readings * (most_prompt + most_completion))
    if not _is_number(response.seconds) or response.seconds < 0:
        raise _MisfitError(f"seconds of {shown(response.seconds)}")
    for name in ("truncated", "cached"):
        if not isinstance(getattr(response, name), bool):
            raise _MisfitError(f"{name} of {shown(getattr(response, name))}")
    for served in response.served:
        if not all(name is None or isinstance(name, str) for name in (served.model, served.fingerprint)):
            raise _MisfitError(f"served by {shown(served)}")
    if response.greedy is not None and not isinstance(response.greedy, bool):
        raise _MisfitError(f"greedy of {shown(response.greedy)}")


def _check_completion(completion: Completion, request: GenerateRequest) -> None:
    if not isinstance(completion.text, str):
        raise _MisfitError(f"a completion's text is {shown(completion.text)}")
    if completion.finish_reason not in FINISH_REASONS:
        raise _MisfitError(f"a finish_reason of {shown(completion.finish_reason)}")
    for name in ("explanation", "reasoning", "unannounced_mark"):
        if not isinstance(getattr(completion, name), str):
            raise _MisfitError(f"{name} of {shown(getattr(completion, name))}")
    if completion.text and completion.unfinished_reasoning and not (request.reasoning and request.reasoning.keep):
        raise _MisfitError(f"a text of {shown(completion.text)} after reasoning that did not end")
    most = most_tokens(0, _asked_tokens(request))[1]
    if not isinstance(completion.tool_calls, tuple | list):
        raise _MisfitError(f"tool_calls are {shown(completion.tool_calls)}")
    if completion.tool_calls and not request.tools:
        raise _MisfitError("calls of tools, where none were offered")
    if len(completion.tool_calls) > most:
        raise _MisfitError(f"{len(completion.tool_calls):,} calls of tools")
    for call in completion.tool_calls:
        _check_call(call)
    _count("a completion's tokens", completion.tokens, most)
    _count("a completion's reasoning_tokens", completion.reasoning_tokens, most)
    if completion.logprob is not None:
        _check_logprobs([completion.logprob])
    if not request.top_logprobs:
        _number_of("top_logprobs", completion.top_logprobs, 0)
    if len(completion.top_logprobs) > most:
        raise _MisfitError(f"{len(completion.top_logprobs):,} top_logprobs")
    for position in completion.top_logprobs:
        if not isinstance(position, Mapping) or len(position) > request.top_logprobs:
            raise _MisfitError(f"top_logprobs of {shown(position)}, where {request.top_logprobs} were asked for")
        _check_logprobs(position.values())


def _check_call(call: ToolCall) -> None:
    if not (isinstance(call.name, str) and isinstance(call.id, str) and isinstance(call.arguments, Mapping | str)):
        raise _MisfitError(f"a call of a tool is {shown(call)}")
    if isinstance(call.arguments, Mapping):
        try:
            json.dumps(call.arguments, allow_nan=False)
        except (ValueError, TypeError, RecursionError) as error:
            raise _MisfitError(f"a call's arguments are not JSON values ({error})") from None
        if not _named(call.arguments):
            raise _MisfitError(f"a call's arguments are {shown(call.arguments)}; their names must be texts")


def _named(value: object) -> bool:
    """Return True if the keys of all objects in a JSON value are texts."""
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _named(item) for key, item in value.items())
    return not isinstance(value, list | tuple) or all(map(_named, value))


def _asked_tokens(request: GenerateRequest) -> int:
    budget = (request.reasoning.budget_tokens if request.reasoning is not None else None) or DEFAULT_BUDGET
    return request.max_tokens * request.completions + budget * (request.completions - (request.reasoning is None))


def _check_segments(request: SequenceRequest, response: Response) -> int:
    """Check the scores and token counts of the segments, and return the size of all segments in bytes."""
    scored = len(request.order) if request.scored is None else request.scored
    _check_logprobs(response.logprobs)
    _number_of("log-probabilities of segments", response.logprobs or (), scored)
    _number_of("segment_tokens", response.segment_tokens, scored)
    size = sum(_size(request.segments[index]) for index in request.order)
    for tokens in response.segment_tokens:
        _count("segment_tokens", tokens, _TOKENS_PER_BYTE * size + 1)
    return size


def _absent(response: Response, *names: str) -> None:
    for name in names:
        if getattr(response, name) not in ((), None):
            raise _MisfitError(f"{name}, which were not asked for")


def _number_of(what: str, given: Sequence[Any], wanted: int) -> None:
    if not isinstance(given, tuple | list):
        raise _MisfitError(f"{what} are {shown(given)}")
    if len(given) != wanted:
        raise _MisfitError(f"{len(given):,} {what}, where {wanted:,} were asked for")


def _check_logprobs(given: Iterable[Any] | None) -> None:
    if given is None or isinstance(given, str):
        raise _MisfitError("no log-probabilities")
    for logprob in given:
        # Minus infinity is the log-probability of what a model rules out.
        if isinstance(logprob, bool) or not isinstance(logprob, int | float) or not logprob <= _CERTAIN:
            raise _MisfitError(f"a log-probability of {shown(logprob)}")


def _count(what: str, given: object, most: int) -> None:
    if given is None:
        return
    if isinstance(given, bool) or not isinstance(given, int) or given < 0:
        raise _MisfitError(f"{what} of {shown(given)}")
    if given > most:
        raise _MisfitError(f"{what} of {shown(given)}; at most {most:,} are plausible for this request")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _size(prompt: Prompt) -> int:
    texts = [prompt] if isinstance(prompt, str) else [message.content for message in prompt]
    return sum(len(text.encode("utf-8", "replace")) for text in texts)
