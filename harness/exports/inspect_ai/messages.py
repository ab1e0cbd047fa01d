"""Conversations, completions and tools in inspect_ai's form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.contracts import Completion, FinishReason, GenerateRequest, Message, Prompt, Response, Tool, ToolCall

Json = dict[str, Any]

_REASONS: Mapping[FinishReason, str] = {
    "stop": "stop",
    "length": "max_tokens",
    "unfinished_reasoning": "max_tokens",
    "tool_call": "tool_calls",
    "content_filter": "content_filter",
    "refusal": "content_filter",
    "unknown": "unknown",
}

_SCHEMA_KEYS = frozenset(
    {"type", "format", "description", "default", "enum", "pattern", "minLength", "maxLength", "minimum", "maximum"}
)
"""Keys of a tool's JSON Schema that inspect_ai keeps, beside those that hold further schemas."""


def conversation(prompt: Prompt, key: str) -> list[Json]:
    """Return a prompt as messages; plain text is a turn of the user.

    Args:
        prompt: The prompt.
        key: Beginning of the messages' ids.
    """
    turns = (Message("user", prompt),) if isinstance(prompt, str) else prompt
    return [_turn(turn, f"{key}-{place}") for place, turn in enumerate(turns)]


def _turn(turn: Message, identifier: str) -> Json:
    value: Json = {"id": identifier, "content": turn.content, "role": turn.role}
    if turn.role == "user":
        value["source"] = "input"
    if turn.tool_calls:
        value["tool_calls"] = [_call(call) for call in turn.tool_calls]
    if turn.tool_call_id:
        value["tool_call_id"] = turn.tool_call_id
    return value


def _call(call: ToolCall) -> Json:
    value = {"id": call.id, "function": call.name, "type": "function"}
    if isinstance(call.arguments, str):
        return {**value, "arguments": {}, "parse_error": call.arguments}
    return {**value, "arguments": dict(call.arguments)}


def output(response: Response, model: str, key: str) -> Json:
    """Return a response to a prompt.

    inspect_ai has log-probabilities of single tokens only; the completion's is in its message's ``metadata``.
    """
    choices = [_choice(one, model, f"{key}-answer{place or ''}") for place, one in enumerate(response.completions)]
    value: Json = {"model": model, "choices": choices}
    value["completion"] = response.completions[0].text if response.completions else ""
    if (used := usage([response])) is not None:
        value["usage"] = used
    if response.seconds:
        value["time"] = response.seconds
    if response.error is not None:
        value["error"] = response.error
    return value


def usage(responses: Sequence[Response]) -> Json | None:
    """Return the tokens of some responses; None if none of them has a count."""
    if all(one.prompt_tokens is None and one.completion_tokens is None for one in responses):
        return None
    read = sum(one.prompt_tokens or 0 for one in responses)
    written = sum(one.completion_tokens or 0 for one in responses)
    value: Json = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
    thought = [c.reasoning_tokens for one in responses for c in one.completions if c.reasoning_tokens is not None]
    if thought:
        value["reasoning_tokens"] = sum(thought)
    return value


def _choice(completion: Completion, model: str, identifier: str) -> Json:
    content: Any = completion.text
    if completion.reasoning:
        content = [{"type": "reasoning", "reasoning": completion.reasoning}, {"type": "text", "text": completion.text}]
    message: Json = {"id": identifier, "content": content, "source": "generate", "role": "assistant", "model": model}
    if completion.tool_calls:
        message["tool_calls"] = [_call(call) for call in completion.tool_calls]
    known = {
        "logprob": completion.logprob,
        "tokens": completion.tokens,
        "top_logprobs": [dict(one) for one in completion.top_logprobs] or None,
    }
    if any(value is not None for value in known.values()):
        message["metadata"] = {name: value for name, value in known.items() if value is not None}
    value: Json = {"message": message, "stop_reason": _REASONS[completion.finish_reason]}
    if completion.finish_reason == "refusal" or completion.explanation:
        details = {"type": completion.finish_reason, "explanation": completion.explanation or None}
        value["stop_details"] = {name: item for name, item in details.items() if item is not None}
    return value


def settings(request: GenerateRequest) -> Json:
    """Return the settings of a call."""
    value: Json = {"temperature": request.temperature}
    reasoning = request.reasoning
    optional = {
        "max_tokens": request.max_tokens or None,
        "stop_seqs": list(request.stop) or None,
        "num_choices": request.completions if request.completions > 1 else None,
        "seed": request.seed or None,
        "logprobs": True if request.top_logprobs else None,
        "top_logprobs": request.top_logprobs or None,
        "top_p": request.top_p,
        "top_k": request.top_k,
        "reasoning_effort": reasoning.effort if reasoning is not None else None,
        "reasoning_tokens": reasoning.budget_tokens if reasoning is not None else None,
    }
    return {**value, **{name: item for name, item in optional.items() if item is not None}}


def tool_info(tool: Tool) -> Json:
    """Return a tool, with those parts of its JSON Schema that inspect_ai knows."""
    schema = _schema(tool.parameters)
    parameters = {
        "type": "object",
        "properties": schema.get("properties", {}),
        "required": schema.get("required", []),
        "additionalProperties": False,
    }
    return {"name": tool.name, "description": tool.description, "parameters": parameters}


def _schema(value: Mapping[str, Any]) -> Json:
    found = {key: item for key, item in value.items() if key in _SCHEMA_KEYS}
    if isinstance(properties := value.get("properties"), Mapping):
        found["properties"] = {key: _schema(item) for key, item in properties.items() if isinstance(item, Mapping)}
    if isinstance(items := value.get("items"), Mapping):
        found["items"] = _schema(items)
    if isinstance(options := value.get("anyOf"), list):
        found["anyOf"] = [_schema(item) for item in options if isinstance(item, Mapping)]
    if isinstance(required := value.get("required"), list):
        found["required"] = [str(name) for name in required]
    return found
