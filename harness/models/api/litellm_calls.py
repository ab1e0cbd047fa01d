"""Calls through litellm, in the form in which a server with OpenAI's protocol is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from harness import GenerateRequest, Prompt
from harness.models.api.answers import RawAnswer, read_answer
from harness.models.api.calls import Calls
from harness.models.api.http_client import mark_sent
from harness.models.api.litellm_library import load_litellm, provider_of
from harness.models.api.openai_answers import ChoicesAnswer, finish_of
from harness.models.api.openai_messages import messages
from harness.models.api.retries import CannotAnswerError, UnusableAnswerError
from harness.models.api.spending import Cost
from harness.models.tokens.tokenizer import Tokens

_OPTIONAL = frozenset({"stop", "n", "seed"})
"""Settings that are left out where the provider does not take them: the harness cuts at stop sequences itself and asks
again for more completions, and a seed makes answers repeatable at best.
"""
_NO_CONNECTION = ("Cannot connect to host", "Connection error", "Connection refused", "All connection attempts failed")


def supported(model: str) -> frozenset[str]:
    """Return the parameters of OpenAI's API that litellm can translate for a model.

    Raises:
        ModelError: litellm does not know the provider.
    """
    name, provider = provider_of(model)
    return frozenset(load_litellm().get_supported_openai_params(model=name, custom_llm_provider=provider) or ())


class LiteLLMServer:
    """A model that litellm reaches.

    Args:
        calls: Makes the calls.
        name: The model's, for messages.
        model: litellm's name of it.
        address: ``api_base`` and ``api_key``, where they are given.
        extra: More arguments of each call; None removes one.
        takes: What the provider takes.
    """

    def __init__(
        self,
        calls: Calls,
        name: str,
        model: str,
        address: Mapping[str, Any],
        extra: Mapping[str, Any],
        takes: frozenset[str],
    ) -> None:
        self._calls, self._name, self._model, self._address, self._extra = calls, name, model, address, extra
        self._takes = takes

    def unsupported(self, request: GenerateRequest) -> list[str]:
        """Return the settings of a request that the provider does not take."""
        wanted = {
            "temperature": "temperature" not in self._extra,
            "top_p": request.top_p is not None,
            "tools": bool(request.tools),
            "logprobs": request.top_logprobs > 0,
            "reasoning_effort": request.reasoning is not None and request.reasoning.effort is not None,
        }
        return [name for name, asked in wanted.items() if asked and name not in self._takes]

    async def chat(self, prompt: Prompt, settings: Mapping[str, Any], top: int, cost: Cost) -> ChoicesAnswer:
        """Return the model's messages in a conversation; a plain text becomes a user message."""
        asked = {key: value for key, value in settings.items() if key not in _OPTIONAL or key in self._takes}
        if "logprobs" in self._takes and (top or "top_logprobs" in self._takes):
            asked |= {"logprobs": True, **({"top_logprobs": top} if top else {})}
        body = {**asked, **self._extra}
        sent = {key: value for key, value in body.items() if value is not None}

        async def send() -> RawAnswer:
            mark_sent()
            return await self._completion(messages(prompt), sent)

        return await self._calls.call(send, self._read, cost)

    async def completions(
        self, prompt: str | Tokens, settings: Mapping[str, Any], top: int, cost: Cost
    ) -> ChoicesAnswer:
        """Refuse: litellm has conversations only."""
        raise CannotAnswerError("litellm continues no texts, it only chats")

    def _read(self, raw: Any) -> ChoicesAnswer:
        answer = read_answer(ChoicesAnswer, raw)
        for choice in answer.choices:
            finish_of(choice, answer.usage)
        return answer

    async def _completion(self, conversation: list[dict[str, Any]], sent: Mapping[str, Any]) -> RawAnswer:
        library = load_litellm()
        try:
            answer = await library.acompletion(
                model=self._model,
                messages=conversation,
                **{**self._address, **sent},
                num_retries=0,
                max_retries=0,
                drop_params=False,
            )
        except asyncio.CancelledError:
            raise
        except Exception as error:
            told = _told(error, library)
            raise told from (told.__cause__ or (None if told is error else error))
        return RawAnswer(answer.model_dump_json(warnings=False).encode())


def _told(error: Exception, library: Any) -> Exception:
    """Return an exception of litellm's with the server's reason and headers where those of openai's have them."""
    import openai

    said = str(getattr(error, "message", "") or error).partition("\nTraceback")[0]
    if isinstance(error, library.UnsupportedParamsError):
        return CannotAnswerError(said.partition(" To drop these")[0])
    if any(words in said for words in _NO_CONNECTION):
        return _no_connection(said)
    if isinstance(error, openai.APIConnectionError) and not isinstance(error, openai.APITimeoutError):
        return UnusableAnswerError(said)  # litellm could not read it
    if isinstance(error, openai.APIStatusError):
        code = "content_filter" if isinstance(error, library.ContentPolicyViolationError) else None
        error.body = {"code": code, "message": said} if code else {"message": said}
        headers = getattr(error, "litellm_response_headers", None)
        if headers is not None:
            error.response.headers.update(dict(headers))
    return error


def _no_connection(said: str) -> Exception:
    import httpx2
    import openai

    error = openai.APIConnectionError(message=said, request=httpx2.Request("POST", "http://provider"))
    error.__cause__ = httpx2.ConnectError(said)
    return error
