"""Requests, responses and examples as JSON values, for the response cache and for examples.jsonl.gz.

Fields at their default are left out, except an example's prediction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from harness.contracts import (
    Completion,
    Example,
    GenerateRequest,
    Instance,
    Judgement,
    Message,
    Origin,
    Prompt,
    Reasoning,
    Reference,
    Request,
    Response,
    ScoreRequest,
    SequenceRequest,
    Served,
    Split,
    Tool,
    ToolCall,
)

Json = dict[str, Any]

_OWN = [field.name for field in fields(Example) if field.name not in ("instance", "requests", "responses")]


def encode_request(request: Request) -> Json:
    """Return a request as JSON values, without its origin, which does not affect the answer."""
    if isinstance(request, GenerateRequest):
        rest = _changed(request, "prompt", "tools", "reasoning", "origin")
        if request.tools:
            rest["tools"] = [_changed(tool) for tool in request.tools]
        if request.reasoning is not None:
            rest["reasoning"] = _changed(request.reasoning)
        return {"ask": "generate", "prompt": _encode_prompt(request.prompt), **rest}
    if isinstance(request, ScoreRequest):
        rest = _changed(request, "context", "continuation", "origin")
        return {
            "ask": "score",
            "context": _encode_prompt(request.context),
            "continuation": request.continuation,
            **rest,
        }
    return {"ask": "sequence", "segments": list(request.segments), **encode_order(request)}


def encode_order(request: SequenceRequest) -> Json:
    """Return what distinguishes a sequence from others of the same segments, as JSON values."""
    return {"order": list(request.order), **_changed(request, "segments", "order", "origin")}


def decode_request(value: Mapping[str, Any], origin: Origin | None = None) -> Request:
    """Return the request that :func:`encode_request` made JSON of."""
    match value["ask"]:
        case "generate":
            rest = {key: item for key, item in value.items() if key not in {"ask", "prompt", "stop", "tools"}}
            stop, tools = tuple(value.get("stop", ())), tuple(Tool(**tool) for tool in value.get("tools", ()))
            if "reasoning" in rest:
                rest["reasoning"] = Reasoning(**rest["reasoning"])
            return GenerateRequest(
                prompt=_decode_prompt(value["prompt"]), stop=stop, tools=tools, origin=origin, **rest
            )
        case "score":
            vocabulary_moments = value.get("vocabulary_moments", False)
            return ScoreRequest(_decode_prompt(value["context"]), value["continuation"], vocabulary_moments, origin)
        case _:
            segments, order = value["segments"], tuple(value["order"])
            segments = segments if isinstance(segments, tuple) else tuple(segments)
            return SequenceRequest(segments, order, value.get("scored"), value.get("max_scored_tokens"), origin)


def encode_response(response: Response) -> Json:
    """Return a response as JSON values, without ``cached`` and ``computed_tokens``, which differ between starts."""
    value = _changed(response, "completions", "served", "cached", "computed_tokens")
    if response.completions:
        value["completions"] = [_encode_completion(completion) for completion in response.completions]
    if response.served:
        value["served"] = [_changed(served) for served in response.served]
    return value


def decode_response(value: Mapping[str, Any], *, cached: bool = False) -> Response:
    """Return the response that :func:`encode_response` made JSON of."""
    rest = dict(value)
    completions = tuple(_decode_completion(item) for item in rest.pop("completions", ()))
    if (logprobs := rest.get("logprobs")) is not None:
        rest["logprobs"] = tuple(logprobs)
    if vocabulary_moments := rest.get("vocabulary_moments"):
        rest["vocabulary_moments"] = tuple((mean, deviation) for mean, deviation in vocabulary_moments)
    if segments := rest.get("segment_tokens"):
        rest["segment_tokens"] = tuple(segments)
    served = tuple(Served(**item) for item in rest.pop("served", ()))
    return Response(completions=completions, served=served, cached=cached, **rest)


def encode_example(example: Example) -> Json:
    """Return an example as JSON values, complete enough to compute every metric again."""
    instance = example.instance
    value: Json = {"id": instance.id, "split": str(instance.split)}
    if instance.perturbation is not None:
        value["perturbation"] = instance.perturbation
    value["input"] = instance.input
    if instance.references:
        value["references"] = [_changed(reference) for reference in instance.references]
    if instance.meta:
        value["meta"] = dict(instance.meta)
    texts: dict[tuple[str, ...], int] = {}
    value["requests"] = [_encode_asked(request, texts) for request in example.requests]
    if texts:
        # Orders of the same texts share them, in the file as in memory.
        value["segments"] = [list(segments) for segments in texts]
    value["responses"] = [encode_response(response) for response in example.responses]
    if example.declined is not None:
        value["declined"] = example.declined
    if example.unfinished_reasoning:
        value["unfinished_reasoning"] = True
    value["prediction"] = example.prediction  # also where it is empty, which is an answer too
    value.update(_changed(example, "instance", "requests", "responses", "prediction", "readings", "model"))
    if example.readings:
        value["readings"] = dict(example.readings)
    return value


def decode_example(value: Mapping[str, Any]) -> Example:
    """Return the example that :func:`encode_example` made JSON of."""
    perturbation, trial = value.get("perturbation"), value.get("trial", 0)
    instance = Instance(
        id=value["id"],
        input=value["input"],
        references=tuple(Reference(**reference) for reference in value.get("references", ())),
        split=Split(value["split"]),
        perturbation=perturbation,
        meta=value.get("meta", {}),
    )
    own: dict[str, Any] = {name: value[name] for name in _OWN if name in value}
    own |= {name: tuple(item) for name, item in own.items() if isinstance(item, list)}
    texts = [tuple(segments) for segments in value.get("segments", ())]
    return Example(
        instance=instance,
        requests=tuple(_decode_asked(asked, texts, instance.id, perturbation, trial) for asked in value["requests"]),
        responses=tuple(decode_response(response) for response in value["responses"]),
        **own,
    )


def encode_judgement(judgement: Judgement) -> Json:
    """Return what a judge said as JSON values."""
    return {"judge": judgement.judge, **_changed(judgement, "judge")}


def _encode_asked(request: Request, texts: dict[tuple[str, ...], int]) -> Json:
    if isinstance(request, SequenceRequest):
        of = texts.setdefault(request.segments, len(texts))
        value: Json = {"ask": "sequence", "of": of, **encode_order(request)}
    else:
        value = encode_request(request)
    if request.origin is not None:
        if request.origin.reference is not None:
            value["reference"] = request.origin.reference
        if request.origin.role != "original":
            value["role"] = request.origin.role
        if request.origin.turn:
            value["turn"] = request.origin.turn
    return value


def _decode_asked(
    value: Mapping[str, Any],
    texts: Sequence[tuple[str, ...]],
    instance: str,
    perturbation: str | None,
    trial: int,
) -> Request:
    question = dict(value)
    reference, role = question.pop("reference", None), question.pop("role", "original")
    turn = question.pop("turn", 0)
    if "of" in question:
        question["segments"] = texts[question["of"]]
    return decode_request(question, Origin(instance, perturbation, trial, reference, role, turn))


def _encode_completion(completion: Completion) -> Json:
    value = _changed(completion, "tool_calls")
    if completion.tool_calls:
        value["tool_calls"] = [_changed(call) for call in completion.tool_calls]
    return value


def _decode_completion(value: Mapping[str, Any]) -> Completion:
    rest = dict(value)
    top, calls = tuple(rest.pop("top_logprobs", ())), _decode_calls(rest.pop("tool_calls", ()))
    return Completion(**rest, top_logprobs=top, tool_calls=calls)


def _decode_calls(value: Sequence[Mapping[str, Any]]) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(**call) for call in value)


def _encode_prompt(prompt: Prompt) -> str | list[Json]:
    return prompt if isinstance(prompt, str) else [_encode_message(message) for message in prompt]


def _encode_message(message: Message) -> Json:
    value = _changed(message, "tool_calls")
    if message.tool_calls:
        value["tool_calls"] = [_changed(call) for call in message.tool_calls]
    return value


def _decode_prompt(value: str | list[Any]) -> Prompt:
    if isinstance(value, str):
        return value
    return tuple(Message(**{**turn, "tool_calls": _decode_calls(turn.get("tool_calls", ()))}) for turn in value)


_DEFAULTS: dict[type, tuple[tuple[str, Any], ...]] = {}


def _changed(item: Any, *without: str) -> Json:
    """Return the fields of a dataclass object that are not at their default, tuples as they are."""
    kind = type(item)
    if kind not in _DEFAULTS:
        _DEFAULTS[kind] = tuple((field.name, field.default) for field in fields(kind))
    return {
        name: value
        for name, default in _DEFAULTS[kind]
        if name not in without and (value := getattr(item, name)) != default
    }
