"""What must come back when a run is exported and imported again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.contracts import Example, GenerateRequest, Message, Prompt, Response, ScoreRequest


def text_of(prompt: Prompt) -> str:
    """The prompt's text; formats differ in whether plain text is a turn of the user."""
    turns = (Message("user", prompt),) if isinstance(prompt, str) else prompt
    return "\n".join(f"{turn.role}: {turn.content}" for turn in turns)


def asked(example: Example) -> list[Any]:
    """Everything that was asked."""
    found: list[Any] = []
    for request in example.requests:
        if isinstance(request, GenerateRequest):
            found.append((text_of(request.whole_prompt), request.max_tokens, request.temperature, request.stop))
        elif isinstance(request, ScoreRequest):
            found.append((text_of(request.context), request.continuation))
    return found


def answered(responses: tuple[Response, ...]) -> list[Any]:
    """Everything that was answered: texts, reasoning, log-probabilities, tokens, reasons, errors."""
    return [(one.completions, one.logprobs, one.prompt_tokens, one.completion_tokens, one.error) for one in responses]


def key(example: Example) -> tuple[Any, ...]:
    """Identifies an example within its run."""
    return example.instance.id, example.instance.perturbation, example.trial, example.sample


def said(example: Example) -> Mapping[str, Any]:
    """The instance and what the model said about it."""
    return {
        "input": example.instance.input,
        "references": example.instance.references,
        "asked": asked(example),
        "answered": answered(example.responses),
        "prediction": example.prediction.strip(),
        "choice": example.choice,
    }
