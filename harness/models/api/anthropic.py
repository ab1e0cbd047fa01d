"""Anthropic's models, through the messages API."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from harness import (
    Completion,
    GenerateRequest,
    Message,
    Reasoning,
    Request,
    Response,
    ToolCall,
    backend,
    install_advice,
)
from harness.backends import DECLINES, DEFAULT_BUDGET, Effort, FinishReason, estimated_tokens, marks_of, split_reasoning
from harness.models.api.answers import Answer, Checked, Count, read_answer
from harness.models.api.anthropic_messages import split_system, tools_of
from harness.models.api.api_model import ApiModel
from harness.models.api.batches.anthropic_batches import AnthropicBatches
from harness.models.api.batches.interface import BatchInterface
from harness.models.api.calls import Calls
from harness.models.api.http_client import http_client
from harness.models.api.openai_messages import text_of
from harness.models.api.retries import CannotAnswerError, UnusableAnswerError
from harness.models.api.settings import ApiSettings
from harness.models.api.spending import Cost
from harness.models.tokens.stop_sequences import cut_at_stop

_REASONS: Mapping[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
    "tool_use": "tool_call",
}
_UNFINISHED = frozenset({"pause_turn", "compaction"})
"""The server waits for a request to continue, which happens only with the server's own tools."""
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})
_BUDGETS: Mapping[Effort, int] = {
    "minimal": 1_024,
    "low": 4_096,
    "medium": 8_192,
    "high": 16_384,
    "xhigh": 32_768,
    "max": 65_536,
}
"""Budgets of thinking for words that other servers take."""
_LEAST_BUDGET = 1_024
"""The least budget of thinking that the API takes."""


class _Block(Checked):
    type: str
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    input: Any = None


class _OutputDetails(Checked):
    thinking_tokens: Count | None = None


class _Usage(Checked):
    input_tokens: Count
    output_tokens: Count
    output_tokens_details: _OutputDetails | None = None

    @property
    def thinking_tokens(self) -> int | None:
        details = self.output_tokens_details
        return None if details is None else details.thinking_tokens


class _Answer(Answer):
    content: list[_Block]
    stop_reason: str | None = None
    stop_details: Any = None
    usage: _Usage

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.content if block.type == "text")

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        used = (block for block in self.content if block.type == "tool_use")
        return tuple(
            ToolCall(block.name, block.input if isinstance(block.input, Mapping) else str(block.input), block.id)
            for block in used
        )

    @property
    def thoughts(self) -> str:
        return "\n\n".join(block.thinking.strip() for block in self.content if block.type == "thinking")

    @property
    def thought(self) -> bool:
        return any(block.type in _THOUGHTS for block in self.content)


@backend(
    "anthropic",
    source="Anthropic's messages API, https://docs.anthropic.com/en/api/messages.",
    needs=("anthropic",),
    install=install_advice("anthropic"),
)
class AnthropicModel(ApiModel):
    """A model of Anthropic's: ``anthropic:claude-haiku-4-5``.

    A plain text is sent as a user message; a conversation's system messages go where the API wants them. The API gives
    no log-probabilities, so the model generates and cannot score. Several completions take as many calls. Concurrency,
    retries, limits and budget work as for ``openai:``. Declined answers are the stop reasons ``refusal`` and
    ``tool_use``, and output blocked by a content filter.

    A model thinks if its entry has ``reasoning``: the request then has ``thinking`` with the named budget (at least
    1,024 tokens), or one for the named effort, and ``max_tokens`` grows by the budget. Stop sequences are not sent, as
    they would end thoughts; the answer is cut at them, and at the task's ``max_tokens`` by the share of its characters
    that the API's count of tokens allows. The temperature is sent only if it is above 0, as thinking takes no other
    than 1. ``extra_body: {thinking: {type: adaptive}, output_config: {effort: high}}`` takes precedence, for models
    that choose their budget themselves.

    Empty content without a reason and ``pause_turn`` are failures. The key comes from the environment:
    ``ANTHROPIC_API_KEY`` for Anthropic's server, and for others only the variable that ``api_key_env`` names. Keys are
    never written or shown.
    """

    class Params(ApiSettings):
        """The settings of a model of Anthropic's."""

    answers = frozenset({"generate"})
    honours = ApiModel.honours | {"top_p", "top_k", "prefill"}
    gives_logprobs = False
    backend = "anthropic"
    official_url = "https://api.anthropic.com"

    @property
    def window(self) -> int | None:
        return self._settings.window

    @property
    def chat(self) -> bool:
        return True

    @property
    def tools(self) -> bool:
        return True

    @property
    def continues(self) -> bool:
        return False

    def fingerprint(self) -> Mapping[str, Any]:
        return {
            "backend": "anthropic",
            "version": 2,
            "server": self._endpoint.url,
            "model": self._model,
            "extra_body": self._settings.extra_body,
        }

    def description(self) -> Mapping[str, Any]:
        known = {"modality": "text", "server": self._endpoint.url, "window": self._settings.window}
        return {**known, "creator": "Anthropic", "access": "API"} if self._endpoint.official else known

    def _connect(self, library: Any, calls: Calls) -> Any:
        key, headers = self._endpoint.key, self._endpoint.headers
        without = {"authorization"} | (set() if key else {"x-api-key"})
        return library.AsyncAnthropic(
            api_key=key or "none",
            base_url=self._endpoint.url,
            max_retries=0,
            # As a header too: the client prefers what it finds in the environment to api_key.
            default_headers={**({"X-Api-Key": key} if key else {}), **headers},
            timeout=self._settings.timeout,
            http_client=http_client(library, without - {header.lower() for header in headers}),
        )

    def _batch_interface(self, client: Any, calls: Calls) -> BatchInterface:
        return AnthropicBatches(client, calls, self._settings.timeout)

    async def _ask(self, request: Request) -> Response:
        if not isinstance(request, GenerateRequest):
            raise CannotAnswerError("Anthropic's API gives no log-probabilities, so it cannot score")
        if request.top_logprobs:
            raise CannotAnswerError("Anthropic's API gives no log-probabilities, so no top_logprobs")
        wanted = 1 if request.temperature == 0 else request.completions
        asked = await asyncio.gather(*(self._message(request) for _ in range(wanted)), return_exceptions=True)
        # Only now, as no call may go on after its question has failed: a batch would wait for it for ever.
        if (error := next((one for one in asked if isinstance(one, BaseException)), None)) is not None:
            raise error
        answers = [one for one in asked if not isinstance(one, BaseException)]
        completions = tuple(_completion(answer, request) for answer in answers)
        return Response(
            completions=completions * (request.completions // wanted),
            prompt_tokens=answers[0].usage.input_tokens,
            completion_tokens=sum(answer.usage.output_tokens for answer in answers),
            served=tuple(dict.fromkeys(chain.from_iterable(answer.served for answer in answers))),
        )

    async def _message(self, request: GenerateRequest) -> _Answer:
        body = {"model": self._model, **_body(request), **self._settings.extra_body}
        sent = {key: value for key, value in body.items() if value is not None}
        text = text_of(request.prompt) + (json.dumps(body["tools"]) if body.get("tools") else "")
        calls = self._calls
        if calls is None:
            raise AssertionError("asked before it was opened")
        cost = Cost(estimated_tokens(text), body["max_tokens"] or request.max_tokens)
        return await calls.post(self._client, "/v1/messages", sent, _read, cost)


def _body(request: GenerateRequest) -> dict[str, Any]:
    system, turns = split_system(_turns(request))
    budget = _budget(request.reasoning)
    # The API refuses stop strings of whitespace, and all of them would end thoughts; the answer is cut when it arrives.
    stop = [string for string in request.stop if string.strip()] if request.reasoning is None else []
    return {
        "messages": turns,
        "max_tokens": request.max_tokens + budget,
        "temperature": request.temperature if not budget or request.temperature > 0 else None,
        "top_p": request.top_p,
        "top_k": request.top_k,
        "system": system or None,
        "stop_sequences": stop or None,
        "tools": tools_of(request.tools) or None,
        "thinking": {"type": "enabled", "budget_tokens": budget} if budget else None,
    }


def _budget(reasoning: Reasoning | None) -> int:
    """Return the budget of thinking; 0 for none.

    Raises:
        CannotAnswerError: It is less than the API takes.
    """
    if reasoning is None or reasoning.effort == "none":
        return 0
    budget = reasoning.budget_tokens
    if budget is not None and budget < _LEAST_BUDGET:
        raise CannotAnswerError(
            f"budget_tokens of reasoning is {budget}; Anthropic's API takes at least {_LEAST_BUDGET:,}"
        )
    return budget or (DEFAULT_BUDGET if reasoning.effort is None else _BUDGETS[reasoning.effort])


def _turns(request: GenerateRequest) -> tuple[Message, ...]:
    """Return the conversation to send; the last turn is the beginning of the answer, if it has one."""
    turns = (Message("user", request.prompt),) if isinstance(request.prompt, str) else request.prompt
    return (*turns, Message("assistant", request.prefill)) if request.prefill else turns


def _read(raw: Any) -> _Answer:
    answer = read_answer(_Answer, raw)
    _finish_of(answer)
    return answer


def _finish_of(answer: _Answer) -> FinishReason:
    """Return why an answer ended.

    An answer without content is valid if the model ended its turn at once, as the API's guide to stop reasons
    describes.

    Raises:
        UnusableAnswerError: It has neither content nor a reason for having none.
        CannotAnswerError: It is not finished.
    """
    stated = answer.stop_reason or ""
    if stated in _UNFINISHED:
        raise CannotAnswerError(f"the server stopped before the answer was complete (stop_reason {stated!r})")
    reason = _REASONS.get(stated, "unknown")
    if reason in DECLINES or answer.text or answer.tool_calls:
        return reason
    if reason == "length" and answer.thought:
        return "unfinished_reasoning"
    if not (stated == "stop_sequence" or (stated == "end_turn" and answer.usage.output_tokens)):
        raise UnusableAnswerError(
            f"the answer has no content, and stop_reason {answer.stop_reason!r} does not explain why"
        )
    return reason


def _completion(answer: _Answer, request: GenerateRequest) -> Completion:
    reasoning, thoughts = request.reasoning, answer.thoughts
    marked = None if thoughts else split_reasoning(answer.text, marks_of(reasoning))
    written = answer.text.lstrip() if answer.thought else answer.text
    text, cut = cut_at_stop(written if marked is None else marked.answer or "", request.stop)
    reason = _finish_of(answer)
    reason = "stop" if cut and reason in {"length", "unknown"} else reason
    used, thinking = answer.usage.output_tokens, answer.usage.thinking_tokens
    if reasoning is not None and thinking is not None and used - thinking > request.max_tokens:
        most = len(written) * request.max_tokens // (used - thinking)
        if most < len(text):
            text, reason = text[:most], "length"
    details = answer.stop_details if isinstance(answer.stop_details, Mapping) else {}
    completion = Completion(
        text,
        tokens=used,
        finish_reason="unfinished_reasoning" if marked is not None and marked.answer is None else reason,
        explanation=str(details.get("explanation") or ""),
        reasoning=thoughts if marked is None else marked.reasoning,
        reasoning_tokens=thinking or None,
        tool_calls=answer.tool_calls if request.tools else (),
    )
    if marked is not None and reasoning is None:
        return replace(completion, unannounced_mark=marked.marks.open or marked.marks.close)
    if reasoning is None or not reasoning.keep or not completion.reasoning:
        return completion
    marks = marks_of(reasoning)[0]
    kept = answer.text if marked is not None else f"{marks.open}\n{thoughts}\n{marks.close}\n\n{text}"
    return replace(completion, text=kept)
