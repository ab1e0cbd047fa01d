"""Completions from an OpenAI-compatible server, by completions or by chat."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from harness import Completion, GenerateRequest, Prompt, Response, Served
from harness.models.api.backend import estimated_tokens
from harness.models.api.failures import CannotAnswerError
from harness.models.api.openai_answers import ChoicesAnswer
from harness.models.api.openai_completions import completion_of
from harness.models.api.openai_server import Server
from harness.models.api.openai_tokens import LocalTokens, TokenSource
from harness.models.api.spending import Cost
from harness.models.tokens.tokenized import Tokens

_MOST_STOPS = 4
"""OpenAI's own server takes no more; completions are cut at the others when they come."""

_MOST_SEED = 2**31 - 1
"""Servers differ in how large a seed may be; all take this one."""

Send = Callable[[Mapping[str, Any], Cost], Awaitable[ChoicesAnswer]]


class Generator:
    """Generates.

    Args:
        server: The server.
        tokens: Tokenizes; None where nothing does.
        window: The model's window; None where it is not known.
        official: Whether the server is OpenAI's own, which is stricter than others.
    """

    def __init__(self, server: Server, tokens: TokenSource | None, window: int | None, official: bool) -> None:
        self._server, self._tokens, self._window, self._official = server, tokens, window, official

    async def chat(self, request: GenerateRequest) -> Response:
        """Return what the model says in a conversation, or when it is told a text.

        Raises:
            CannotAnswerError: The server cannot.
            RequestFailedError: It did not.
        """
        prompt, top = request.prompt, request.top_logprobs
        cost = Cost(estimated_tokens(_text_of(prompt)), request.max_tokens)
        return await self._drawn(request, cost, lambda body, cost: self._server.chat(prompt, body, top, cost))

    async def complete(self, request: GenerateRequest) -> Response:
        """Return what continues a text; what does not fit the window beside the completion loses its beginning.

        Raises:
            CannotAnswerError: The server cannot.
            RequestFailedError: It did not.
        """
        prompt, truncated = await self._fitted(request)
        size = estimated_tokens(prompt) if isinstance(prompt, str) else len(prompt)
        top = request.top_logprobs
        cost = Cost(size, request.max_tokens)
        response = await self._drawn(
            request, cost, lambda body, cost: self._server.completions(prompt, body, top, cost)
        )
        return replace(response, truncated=truncated)

    async def _fitted(self, request: GenerateRequest) -> tuple[str | Tokens, bool]:
        text = _text_of(request.prompt)
        room = math.inf if self._window is None else self._window - request.max_tokens
        if self._tokens is None or (not isinstance(self._tokens, LocalTokens) and len(text.encode()) < room):
            return text, False  # No token is shorter than a byte, so it fits, and need not be tokenized to know.
        tokens = await self._tokens.prompt(request.prompt)
        if len(tokens) <= room:
            return (tokens if isinstance(self._tokens, LocalTokens) else text), False
        if room < 1:
            raise CannotAnswerError(
                f"max_tokens of {request.max_tokens} leaves no room in a window of {self._window} tokens"
            )
        return tokens[len(tokens) - int(room) :], True

    async def _drawn(self, request: GenerateRequest, cost: Cost, send: Send) -> Response:
        """Ask until there are as many completions as are wanted: some servers give one at a time.

        Greedy completions are all the same, so there is one to ask for.
        """
        wanted = 1 if request.temperature == 0 else request.completions
        completions: list[Completion] = []
        served: dict[Served, None] = {}
        spent = Cost()
        prompt_tokens: int | None = None
        while len(completions) < wanted:
            missing = wanted - len(completions)
            whole = Cost(cost.prompt, cost.completion * missing)
            answer = await send(self._settings(request, missing, len(completions)), whole)
            usage = answer.usage
            generated = usage.completion_tokens if usage is not None else None
            single = generated if len(answer.choices) == 1 else None
            completions += [
                completion_of(choice, usage, request.stop, request.top_logprobs, single)
                for choice in answer.choices[:missing]
            ]
            served.update(dict.fromkeys(answer.served))
            prompt_tokens = usage.prompt_tokens if usage is not None else None
            spent += Cost(0, generated if generated is not None else sum(c.tokens or 0 for c in completions))
        return Response(
            completions=tuple(completions) * (request.completions // wanted),
            prompt_tokens=prompt_tokens,
            completion_tokens=spent.completion,
            served=tuple(served),
        )

    def _settings(self, request: GenerateRequest, missing: int, drawn: int) -> dict[str, Any]:
        stop = [string for string in request.stop if string]
        settings: dict[str, Any] = {"max_tokens": request.max_tokens, "temperature": request.temperature}
        if stop:
            settings["stop"] = stop[:_MOST_STOPS] if self._official else stop
        if request.temperature > 0:
            settings["seed"] = (request.seed + drawn) & _MOST_SEED
        if missing > 1:
            settings["n"] = missing
        return settings


def _text_of(prompt: Prompt) -> str:
    return prompt if isinstance(prompt, str) else "\n".join(message.content for message in prompt)
