"""Examples from inspect_ai's samples, one for each sample and epoch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from harness.contracts import (
    Completion,
    Example,
    FinishReason,
    GenerateRequest,
    Instance,
    Message,
    Origin,
    Reasoning,
    Reference,
    Response,
    Tool,
    ToolCall,
)
from harness.imports.inspect_schema import ChatMessage, Choice, Output, Sample, SampleScore, Value

_REASONS: Mapping[str, FinishReason] = {
    "stop": "stop",
    "max_tokens": "length",
    "length": "length",
    "model_length": "length",
    "tool_calls": "tool_call",
    "content_filter": "content_filter",
}

_OUTPUT = TypeAdapter(Output)

# The default of inspect_ai's ``value_to_float``.
_VALUES: Mapping[str, float] = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_WORDS: Mapping[str, float] = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


def option_labels(count: int) -> tuple[str, ...]:
    """Return the labels of options, as inspect_ai's ``multiple_choice`` shows them: letters, then numbers from 1."""
    return tuple(chr(ord("A") + index) if index < 26 else str(index - 25) for index in range(count))


def number(value: Value | None) -> float | None:
    """Return a score as a number, as inspect_ai's default does; None for lists, mappings and what was not scored."""
    if value is None or isinstance(value, list | dict):
        return None
    if isinstance(value, str):
        if value in _VALUES:
            return _VALUES[value]
        if value.lower() in _WORDS:
            return _WORDS[value.lower()]
        try:
            value = float(value)
        except ValueError:
            return None
    return None if math.isnan(value) else float(value)


def score_of(sample: Sample, name: str, scorer: str) -> float | None:
    """Return a sample's score by its name in the results: a scorer's, or a key of a scorer that gives several."""
    scores = sample.scores or {}
    found = scores.get(name)
    if found is not None and not isinstance(found.value, dict):
        return number(found.value)
    several = scores.get(scorer)
    return number(several.value.get(name)) if several is not None and isinstance(several.value, dict) else None


def example_of(sample: Sample, settings: Mapping[str, Any], headline: str | None) -> Example:
    """Return a sample as an example.

    Args:
        sample: The sample.
        settings: The settings of generation, for calls that were not logged.
        headline: The scorer whose reading of the answer is the prediction; None for the first.
    """
    identifier = str(sample.id)
    origin = Origin(identifier)
    calls = dict(_calls(sample.events))
    requests: list[GenerateRequest] = []
    responses: list[Response] = []
    last = sample.output.choices[0].message.id if sample.output.choices else None
    for place, message in enumerate(sample.messages):
        if message.role != "assistant" or not (message.source == "generate" or message.id in calls):
            continue
        call = calls.get(message.id or "", {})
        output = call.get("output")
        if output is None:
            is_last = last is not None and message.id == last
            output = sample.output if is_last else Output(choices=[Choice(message=message)])
        requests.append(_request(sample.messages[:place], call, settings, origin, len(requests), output))
        responses.append(_response(output))
    if not requests and sample.messages:
        requests.append(_request(sample.messages, {}, settings, origin, 0, sample.output))
        responses.append(_response(sample.output))
    if sample.error is not None and responses and not responses[-1].completions:
        responses[-1] = Response(error=sample.error.message)
    answer, choice = _answer(sample, headline)
    completions = responses[-1].completions if responses else ()
    return Example(
        instance=Instance(
            id=identifier,
            input=_input(sample.input),
            references=tuple(_references(sample)),
            meta=sample.metadata,
        ),
        requests=tuple(requests),
        responses=tuple(responses),
        prediction=answer if answer is not None else completions[0].text if completions else "",
        predictions=tuple(one.text for one in completions) if len(completions) > 1 else (),
        choice=choice,
        unread=bool(sample.choices) and answer == "" and any(one.text for one in completions),
        labels=option_labels(len(sample.choices or ())),
        sample=sample.epoch - 1,
    )


def _calls(events: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the model's calls by the id of the message that they gave; graders' messages are in no conversation."""
    for event in events:
        if event.get("event") != "model":
            continue
        try:
            output = _OUTPUT.validate_python(event.get("output") or {})
        except ValidationError:
            continue  # the sample has its last output itself
        if output.choices and output.choices[0].message.id:
            yield output.choices[0].message.id, {**event, "output": output}


def _input(written: str | Sequence[ChatMessage]) -> str:
    """Return the question: of a conversation, the user's turn if there is one only."""
    if isinstance(written, str):
        return written
    asked = [turn for turn in written if turn.role == "user"]
    if len(asked) == 1:
        return _texts(asked[0])[0]
    return "\n\n".join(f"{turn.role}: {_texts(turn)[0]}" for turn in written)


def _texts(message: ChatMessage) -> tuple[str, str]:
    """Return a turn's text and its reasoning."""
    if isinstance(message.content, str):
        return message.content, ""
    text, reasoning = [], []
    for part in message.content:
        if part.get("type") == "text":
            text.append(str(part.get("text", "")))
        elif part.get("type") == "reasoning":
            reasoning.append(str(part.get("reasoning", "")))
        else:
            text.append(f"[{part.get('type')}]")
    return "".join(text), "".join(reasoning)


def _references(sample: Sample) -> Iterator[Reference]:
    targets = [sample.target] if isinstance(sample.target, str) else list(sample.target)
    if not sample.choices:
        yield from (Reference(target, correct=True) for target in targets)
        return
    correct = _correct(targets, sample.choices)
    yield from (Reference(option, index in correct) for index, option in enumerate(sample.choices))


def _correct(targets: Sequence[str], options: Sequence[str]) -> frozenset[int]:
    """Return the indices of the right options, whose labels or texts the targets are.

    Labels come first, as in ``multiple_choice``, also where they are texts of options as well.
    """
    labels = option_labels(len(options))
    if all(target in labels for target in targets):
        return frozenset(labels.index(target) for target in targets)
    return frozenset(index for index, option in enumerate(options) if option in targets)


def _answer(sample: Sample, headline: str | None) -> tuple[str | None, int | None]:
    """Return the answer that was read, and the option if it is one of several."""
    scores = sample.scores or {}
    score: SampleScore | None = scores.get(headline or "") or next(iter(scores.values()), None)
    if score is None or score.answer is None:
        return None, None
    labels = option_labels(len(sample.choices or ()))
    if sample.choices and score.answer in labels:
        choice = labels.index(score.answer)
        return sample.choices[choice], choice
    return score.answer, None


def _request(
    turns: Sequence[ChatMessage],
    call: Mapping[str, Any],
    settings: Mapping[str, Any],
    origin: Origin,
    turn: int,
    output: Output,
) -> GenerateRequest:
    config = {**settings, **{key: value for key, value in (call.get("config") or {}).items() if value is not None}}
    effort, budget = config.get("reasoning_effort"), config.get("reasoning_tokens")
    return GenerateRequest(
        prompt=tuple(_message(one) for one in turns),
        # 0 stands for the provider's default, which logs do not contain.
        max_tokens=int(config.get("max_tokens") or 0),
        temperature=float(1.0 if config.get("temperature") is None else config["temperature"]),
        stop=tuple(str(text) for text in config.get("stop_seqs") or ()),
        completions=max(1, int(config.get("num_choices") or len(output.choices) or 1)),
        seed=int(config.get("seed") or 0),
        top_logprobs=int(config.get("top_logprobs") or 0),
        top_p=config.get("top_p"),
        top_k=config.get("top_k"),
        tools=tuple(
            Tool(str(tool["name"]), str(tool.get("description", "")), tool.get("parameters") or {})
            for tool in call.get("tools") or ()
        ),
        reasoning=Reasoning(effort=effort, budget_tokens=budget) if effort or budget else None,
        origin=Origin(origin.instance, turn=turn),
    )


def _message(turn: ChatMessage) -> Message:
    return Message(turn.role, _texts(turn)[0], _tool_calls(turn), turn.tool_call_id or "")


def _tool_calls(turn: ChatMessage) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(
            one.function,
            one.arguments
            if isinstance(one.arguments, dict) and not one.parse_error
            else one.parse_error or str(one.arguments),
            one.id,
        )
        for one in turn.tool_calls or ()
    )


def _response(output: Output) -> Response:
    usage = output.usage
    completions = tuple(_completion(choice, output) for choice in output.choices)
    if usage is None:
        return Response(completions, seconds=float(output.time or 0.0))
    read = usage.input_tokens + (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
    return Response(
        completions,
        prompt_tokens=read,
        completion_tokens=usage.output_tokens,
        seconds=float(output.time or 0.0),
        error=output.error if not completions else None,
    )


def _completion(choice: Choice, output: Output) -> Completion:
    text, reasoning = _texts(choice.message)
    tokens = choice.logprobs.content if choice.logprobs is not None else []
    alone = output.usage if len(output.choices) == 1 else None
    explanation = choice.stop_details.explanation if choice.stop_details is not None else None
    reason = _REASONS.get(choice.stop_reason, "unknown")
    if reason == "content_filter" and choice.stop_details is not None and choice.stop_details.type == "refusal":
        reason = "refusal"
    elif reason == "length" and reasoning and not text:
        reason = "unfinished_reasoning"
    return Completion(
        text=text,
        # Where the model reasons, the log does not say which tokens are the answer's.
        logprob=math.fsum(token.logprob for token in tokens) if tokens and not reasoning else None,
        tokens=alone.output_tokens if alone is not None else len(tokens) or None,
        finish_reason=reason,
        top_logprobs=tuple(
            {top.token: float(top.logprob) for top in token.top_logprobs or ()}
            for token in (tokens if not reasoning and any(token.top_logprobs for token in tokens) else ())
        ),
        explanation=(explanation or output.error or "") if reason in ("content_filter", "refusal") else "",
        tool_calls=_tool_calls(choice.message),
        reasoning=reasoning,
        reasoning_tokens=alone.reasoning_tokens if alone is not None else None,
    )
