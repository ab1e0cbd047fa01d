"""Apply a model's own settings to an adapter's requests, before the response cache sees them.

This is the only place that applies them. Precedence is described in :mod:`harness.contracts.model_settings`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from harness.contracts import (
    Adapted,
    Message,
    Prompt,
    Reasoning,
    Request,
    ScoreRequest,
    SequenceRequest,
    Tokenization,
)
from harness.contracts.messages import continued
from harness.contracts.model_settings import CUTOFFS, ModelSettings
from harness.errors import HarnessError

_SAMPLING = ("temperature", *CUTOFFS, "repetition_penalty")


class ConfiguredTokenization:
    """A model's tokenization for adapters that includes its own settings, such as a system prompt.

    Args:
        tokenization: The model.
        settings: Its own settings.
    """

    def __init__(self, tokenization: Tokenization, settings: ModelSettings) -> None:
        self._model, self._settings = tokenization, settings

    @property
    def window(self) -> int | None:
        return self._model.window

    @property
    def chat(self) -> bool:
        return self._model.chat

    @property
    def tools(self) -> bool:
        return self._model.tools

    @property
    def continues(self) -> bool:
        return self._model.continues

    def most_generated(self, max_tokens: int) -> int:
        bounds = self._settings.max_tokens
        return max_tokens if bounds is None else bounds.applied(max_tokens)

    def count_tokens(self, prompt: Prompt) -> int:
        whole = _with_system(prompt, self._settings)
        return self._model.count_tokens(continued(whole, self._settings.prefill or ""))

    def count_segments(self, segments: Sequence[str]) -> Sequence[int] | None:
        return self._model.count_segments(segments)

    def truncate(self, text: str, tokens: int) -> str:
        return self._model.truncate(text, tokens)


def check_settings(settings: ModelSettings, tokenization: Tokenization) -> None:
    """Refuse a system prompt that a model without a chat template would never see.

    Raises:
        HarnessError: There is one.
    """
    if settings.system_prompt is not None and not tokenization.chat:
        raise HarnessError(
            "the model's entry sets system_prompt, but the model has no chat template and would ignore it. "
            "Leave it out, or use a chat model."
        )


def with_settings(adapted: Adapted, settings: ModelSettings) -> Adapted:
    """Return an adapter's requests for an instance, each with the model's own settings."""
    requests = tuple(configured(request, settings) for request in adapted.requests)
    return adapted if requests == adapted.requests else replace(adapted, requests=requests)


def configured(request: Request, settings: ModelSettings) -> Request:
    """Return a request with the model's own settings.

    What greedy decoding ignores is left out, so that equal questions have equal keys in the response cache: the seed,
    and the settings that leave out unlikely tokens.
    """
    if isinstance(request, SequenceRequest):
        return request
    if isinstance(request, ScoreRequest):
        context = _with_system(request.context, settings)
        return request if context is request.context else replace(request, context=context)
    changes: dict[str, Any] = {name: value for name in _SAMPLING if (value := getattr(settings, name)) is not None}
    if settings.max_tokens is not None:
        changes["max_tokens"] = settings.max_tokens.applied(request.max_tokens)
    if settings.reasoning is not None:
        changes["reasoning"] = Reasoning(**settings.reasoning.model_dump())
    if settings.prefill is not None:
        changes["prefill"] = settings.prefill
    prompt = _with_system(request.prompt, settings)
    if prompt is not request.prompt:
        changes["prompt"] = prompt
    if changes.get("temperature", request.temperature) == 0:
        changes |= {"seed": 0, **dict.fromkeys(CUTOFFS)}
    changes = {name: value for name, value in changes.items() if getattr(request, name) != value}
    return replace(request, **changes) if changes else request


def _with_system(prompt: Prompt, settings: ModelSettings) -> Prompt:
    """Return a prompt with the model's system message; a later turn repeats the turns before it, and has it already."""
    if settings.system_prompt is None or isinstance(prompt, str):
        return prompt
    if prompt and prompt[0].role == "system":
        if f"{prompt[0].content}\n\n".startswith(f"{settings.system_prompt}\n\n"):
            return prompt
        return (Message("system", f"{settings.system_prompt}\n\n{prompt[0].content}"), *prompt[1:])
    return (Message("system", settings.system_prompt), *prompt)
