"""The exact prompts of a run, before it is run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from typing import Any

from harness.contracts import (
    Adapted,
    GenerateRequest,
    Message,
    Model,
    Prompt,
    Request,
    ScoreRequest,
    Tool,
)
from harness.runs.evaluation import Evaluation


def first_prompts(evaluation: Evaluation, model: Model, instances: int) -> Iterator[Adapted]:
    """Yield the requests of the first instances.

    Raises:
        HarnessError: The settings do not fit the data or the model.
    """
    return islice(evaluation.adapted(model), instances)


def prompt_lines(evaluation: Evaluation, model: Model) -> Iterator[dict[str, Any]]:
    """Yield a run's requests as JSON values, with the keys that ``replay:`` uses to find predictions.

    Raises:
        HarnessError: The settings do not fit the data or the model.
    """
    several = evaluation.adapter.train_trials > 1
    for adapted in evaluation.adapted(model):
        about: dict[str, Any] = {"scenario": evaluation.spec.scenario.label, "id": adapted.instance.id}
        if adapted.instance.perturbation is not None:
            about["perturbation"] = adapted.instance.perturbation
        if several:
            about["trial"] = adapted.trial
        for request in adapted.requests:
            prompt, scored = question(request)
            shown = (
                prompt if isinstance(prompt, str) else [{"role": one.role, "content": one.content} for one in prompt]
            )
            if isinstance(request, GenerateRequest):
                yield {**about, "prompt": shown, "max_tokens": request.max_tokens, "stop": list(request.stop)}
            else:
                reference = None if request.origin is None else request.origin.reference
                yield {**about, "prompt": shown, "continuation": scored, "reference": reference}


def read_by(model: Model, request: Request) -> str:
    """Return a request's prompt as the model reads it, chat template and special tokens included, where that is known.

    Raises:
        HarnessError: The chat template refuses the conversation.
    """
    prompt, _ = question(request)
    rendered = None
    if isinstance(request, GenerateRequest):
        rendered = model.rendered(prompt, request.tools)
    elif isinstance(request, ScoreRequest):
        rendered = model.rendered(prompt)
    return readable(prompt) if rendered is None else rendered


def readable(prompt: Prompt) -> str:
    """Return a prompt as text for people; a conversation with its roles."""
    if isinstance(prompt, str):
        return prompt
    return "\n".join(_turn(message) for message in prompt)


def question(request: Request) -> tuple[Prompt, str]:
    """Return a request's prompt and, if it is to be scored, the text to score."""
    if isinstance(request, GenerateRequest):
        return request.whole_prompt, ""
    if isinstance(request, ScoreRequest):
        return request.context, request.continuation
    texts = [request.segments[index] for index in request.order]
    start = 0 if request.scored is None else len(texts) - request.scored
    return "".join(texts[:start]), "".join(texts[start:])


def tool_text(tool: Tool) -> str:
    """Return a tool's definition as one line of JSON."""
    return json.dumps(asdict(tool), ensure_ascii=False)


def _turn(message: Message) -> str:
    calls = [f"calls {call.name} with {json.dumps(call.arguments, ensure_ascii=False)}" for call in message.tool_calls]
    return "\n".join([f"<{message.role}>", *filter(None, [message.content]), *calls])
