"""What a model wrote, as one answer or as a conversation of several turns, with calls of tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.contracts import Completion, Example, GenerateRequest, Message, Prompt, ToolCall

Json = dict[str, Any]


def interaction(example: Example) -> tuple[str, Json]:
    """Return the schema's ``interaction_type`` with ``output`` or ``messages``.

    Args:
        example: Its requests generate or score texts.
    """
    generated = [request for request in example.requests if isinstance(request, GenerateRequest)]
    calls = any(one.tool_calls for response in example.responses for one in response.completions)
    if generated and (calls or any(request.tools for request in generated)):
        return "agentic", {"messages": _messages(example)}
    if len(generated) > 1:
        return "multi_turn", {"messages": _messages(example)}
    completions = [one for response in example.responses for one in response.completions]
    output: Json = {"raw": [one.text for one in completions] or [example.prediction]}
    if any(one.reasoning for one in completions):
        output["reasoning_trace"] = [one.reasoning for one in completions]
    return "single_turn", {"output": output}


def _messages(example: Example) -> list[Json]:
    """Return the last request's conversation, with the model's last answer; earlier answers are part of it."""
    generated = [
        (request, response)
        for request, response in zip(example.requests, example.responses, strict=False)
        if isinstance(request, GenerateRequest)
    ]
    request, response = generated[-1]
    turns = [_message(index, message) for index, message in enumerate(_turns(request.prompt))]
    for completion in response.completions[:1]:
        turns.append(_answer(len(turns), completion))
    return turns


def _turns(prompt: Prompt) -> tuple[Message, ...]:
    return (Message("user", prompt),) if isinstance(prompt, str) else prompt


def _message(index: int, message: Message) -> Json:
    turn: Json = {"turn_idx": index, "role": message.role, "content": message.content}
    if message.tool_calls:
        turn["tool_calls"] = _calls(index, message.tool_calls)
    if message.tool_call_id:
        turn["tool_call_id"] = [message.tool_call_id]
    return turn


def _answer(index: int, completion: Completion) -> Json:
    turn: Json = {"turn_idx": index, "role": "assistant", "content": completion.text}
    if completion.reasoning:
        turn["reasoning_trace"] = completion.reasoning
    if completion.tool_calls:
        turn["tool_calls"] = _calls(index, completion.tool_calls)
    return turn


def _calls(index: int, calls: tuple[ToolCall, ...]) -> list[Json]:
    return [
        {"id": call.id or f"{index}-{number}", "name": call.name, "arguments": _arguments(call.arguments)}
        for number, call in enumerate(calls)
    ]


def _arguments(arguments: Mapping[str, Any] | str) -> dict[str, str]:
    """Return a call's arguments, each as a text, as the schema wants them."""
    from harness.exports.every_eval_ever.aggregate import text

    if isinstance(arguments, str):
        return {"": arguments}
    return {name: text(value) for name, value in arguments.items()}
