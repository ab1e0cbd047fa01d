"""Generation with an OpenAI-compatible server, by completions or by chat."""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from harness import Completion, GenerateRequest, Message, Prompt, Response
from harness.backends import Served, budget_of, estimated_tokens
from harness.models.api.openai_answers import ChoicesAnswer
from harness.models.api.openai_completion import completion_of
from harness.models.api.openai_messages import text_of, with_calls
from harness.models.api.openai_tokens import LocalTokens, TokenSource
from harness.models.api.retries import CannotAnswerError
from harness.models.api.spending import Cost
from harness.models.tokens.conversations import function_tools
from harness.models.tokens.tokenizer import Tokens

_MOST_STOPS = 4
"""Most stop sequences that OpenAI's own server takes; completions are cut at the others when they arrive."""

_MOST_SEED = 2**31 - 1
"""The largest seed that every server accepts."""

_CHOICE = ("top_p", "top_k", "min_p", "repetition_penalty")
"""Fields that choose tokens: ``top_p`` is OpenAI's, the others are vLLM's and SGLang's."""

Send = Callable[[Mapping[str, Any], Cost], Awaitable[ChoicesAnswer]]


class Chats(Protocol):
    """What answers in the form of OpenAI's protocol: a server, or a library in front of one."""

    async def completions(
        self, prompt: str | Tokens, settings: Mapping[str, Any], top: int, cost: Cost
    ) -> ChoicesAnswer:
        """Return continuations of a prompt, with log-probabilities if it has them."""

    async def chat(self, prompt: Prompt, settings: Mapping[str, Any], top: int, cost: Cost) -> ChoicesAnswer:
        """Return the model's messages in a conversation; a plain text becomes a user message."""


class Generator:
    """Generates.

    Args:
        server: The server.
        tokens: Tokenizes prompts; None if nothing can.
        window: The model's window; None if unknown.
        official: True for OpenAI's own server, which is stricter than others.
    """

    def __init__(self, server: Chats, tokens: TokenSource | None, window: int | None, official: bool) -> None:
        self._server, self._tokens, self._window, self._official = server, tokens, window, official

    async def chat(self, request: GenerateRequest) -> Response:
        """Return the model's messages in a conversation; a plain text becomes a user message.

        Raises:
            CannotAnswerError: The server cannot.
            RequestFailedError: It did not.
        """
        prompt, top = self._turns(request), request.top_logprobs
        room = request.max_tokens + await self._budget(request)
        offered = json.dumps(function_tools(request.tools)) if request.tools else ""
        cost = Cost(estimated_tokens(text_of(prompt) + offered), room)
        return await self._drawn(request, cost, lambda body, cost: self._server.chat(prompt, body, top, cost))

    async def complete(self, request: GenerateRequest) -> Response:
        """Return continuations of a text, which loses its beginning if it does not fit the window with ``max_tokens``.

        Raises:
            CannotAnswerError: The server cannot.
            RequestFailedError: It did not.
        """
        prompt, truncated = await self._fitted(request)
        size = estimated_tokens(prompt) if isinstance(prompt, str) else len(prompt)
        top = request.top_logprobs
        room = request.max_tokens + await self._budget(request)
        cost = Cost(size, room)
        response = await self._drawn(
            request, cost, lambda body, cost: self._server.completions(prompt, body, top, cost)
        )
        return replace(response, truncated=truncated)

    def _turns(self, request: GenerateRequest) -> Prompt:
        """Return the conversation to send, which ends with the beginning of the answer, if it has one.

        Raises:
            CannotAnswerError: The server continues no answers.
        """
        if not request.prefill:
            return request.prompt
        if self._official:
            raise CannotAnswerError("OpenAI's server cannot continue the beginning of an answer, so leave out prefill")
        turns = (Message("user", request.prompt),) if isinstance(request.prompt, str) else request.prompt
        return (*turns, Message("assistant", request.prefill))

    async def _fitted(self, request: GenerateRequest) -> tuple[str | Tokens, bool]:
        text = text_of(request.whole_prompt)
        room = math.inf if self._window is None else self._window - request.max_tokens
        if self._tokens is None or (not isinstance(self._tokens, LocalTokens) and len(text.encode()) < room):
            return text, False  # No token is shorter than a byte, so it fits, and need not be tokenized to know.
        tokens = await self._tokens.prompt(request.whole_prompt)
        if len(tokens) <= room:
            return (tokens if isinstance(self._tokens, LocalTokens) else text), False
        if room < 1:
            raise CannotAnswerError(
                f"max_tokens of {request.max_tokens} leaves no room in a window of {self._window} tokens"
            )
        return tokens[len(tokens) - int(room) :], True

    async def _budget(self, request: GenerateRequest) -> int:
        """Return how many tokens of reasoning to ask for: the budget, or what the window leaves of it."""
        budget = budget_of(request)
        if self._window is None or not budget:
            return budget
        # No token is shorter than a byte.
        text = text_of(request.whole_prompt)
        size = len(text.encode()) if self._tokens is None else len(await self._tokens.prompt(request.whole_prompt))
        return max(0, min(budget, self._window - request.max_tokens - size))

    async def _drawn(self, request: GenerateRequest, cost: Cost, send: Send) -> Response:
        """Ask until there are enough completions, since some servers give one at a time.

        Greedy completions are all the same, so one is enough.
        """
        wanted = 1 if request.temperature == 0 else request.completions
        completions: list[Completion] = []
        served: dict[Served, None] = {}
        spent = Cost()
        prompt_tokens: int | None = None
        reused = 0
        while len(completions) < wanted:
            missing = wanted - len(completions)
            whole = Cost(cost.prompt, cost.completion * missing)
            answer = await send(self._settings(request, cost.completion, missing, len(completions)), whole)
            usage = answer.usage
            generated = usage.completion_tokens if usage is not None else None
            single = generated if len(answer.choices) == 1 else None
            given = [
                with_calls(await self._within(completion_of(choice, usage, request, single), request), choice, request)
                for choice in answer.choices[:missing]
            ]
            completions += given
            served.update(dict.fromkeys(answer.served))
            prompt_tokens = usage.prompt_tokens if usage is not None else None
            reused = min(usage.cached_tokens, prompt_tokens or 0) if usage is not None else 0
            spent += Cost(0, generated if generated is not None else sum(c.tokens or 0 for c in given))
        return Response(
            completions=tuple(completions) * (request.completions // wanted),
            prompt_tokens=prompt_tokens,
            completion_tokens=spent.completion,
            computed_tokens=None if prompt_tokens is None else prompt_tokens - reused + spent.completion,
            served=tuple(served),
        )

    async def _within(self, completion: Completion, request: GenerateRequest) -> Completion:
        """Return an answer cut to ``max_tokens`` by the tokenizer, where the server had more room for reasoning."""
        if self._tokens is None or request.reasoning is None or completion.logprob is not None:
            return completion
        if request.reasoning.keep or len(completion.text.encode()) <= request.max_tokens:
            return completion
        text = await self._tokens.truncate(completion.text, request.max_tokens)
        return completion if text == completion.text else replace(completion, text=text, finish_reason="length")

    def _settings(self, request: GenerateRequest, room: int, missing: int, drawn: int) -> dict[str, Any]:
        settings: dict[str, Any] = {"max_tokens": room, "temperature": request.temperature}
        if request.reasoning is None:
            if stop := [string for string in request.stop if string]:
                settings["stop"] = stop[:_MOST_STOPS] if self._official else stop
        else:  # stop sequences would end the reasoning, so the answer is cut at them when it arrives
            if self._official and request.temperature == 0:
                del settings["temperature"]  # OpenAI's reasoning models refuse it
            if request.reasoning.effort is not None:
                settings["reasoning_effort"] = request.reasoning.effort
        given = {name: value for name in _CHOICE if (value := getattr(request, name)) is not None}
        if unknown := given.keys() - {"top_p"} if self._official else ():
            them = "it" if len(unknown) == 1 else "them"
            raise CannotAnswerError(f"OpenAI's server does not support {' and '.join(sorted(unknown))}; remove {them}")
        settings |= given
        if request.temperature > 0:
            settings["seed"] = (request.seed + drawn) & _MOST_SEED
        if missing > 1:
            settings["n"] = missing
        if request.tools:
            settings["tools"] = function_tools(request.tools)
        return settings
