"""An OpenAI-compatible server: its endpoints, and which of them it turns out to support."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from itertools import count
from typing import Any, Literal, TypeVar

from harness import Prompt
from harness.models.api.answers import Answer, read_answer
from harness.models.api.calls import Calls, RefusedError
from harness.models.api.openai_answers import (
    WITHOUT_LOGPROBS,
    Choice,
    ChoicesAnswer,
    ModelsAnswer,
    TextAnswer,
    TokensAnswer,
    finish_of,
    token_logprobs,
)
from harness.models.api.openai_messages import messages
from harness.models.api.openai_tokens import ServerTokens
from harness.models.api.retries import CannotAnswerError, Failure, UnusableAnswerError
from harness.models.api.spending import Cost
from harness.models.tokens.tokenizer import Tokens

M = TypeVar("M", bound=Answer)
T = TypeVar("T")

OFFICIAL = "https://api.openai.com/v1"

_UNSUPPORTED = frozenset({400, 404, 405, 415, 422, 501})
"""Statuses by which servers refuse a call, or a field of it, that they do not know."""

MOST_CERTAIN = 32
"""A new server's first tokens with a log-probability of 0 after which it is not believed any more."""
_PROBES = 3
"""Attempts at a probe of /tokenize that is answered with something else."""

_LOG = logging.getLogger(__name__)

_PROBE = "One two"
_SHORT = {"prompt": _PROBE, "max_tokens": 1}
_SHORT_COST = Cost(2, 1)
_PROBE_TOKENS = 16
"""OpenAI's reasoning models refuse fewer."""
_TURN = {"messages": [{"role": "user", "content": _PROBE}], "max_tokens": 1}


class Server:
    """One model on one server; what the server supports is asked once, when it is first needed.

    Args:
        client: ``openai.AsyncOpenAI``.
        calls: Makes the calls.
        name: The model's, ``openai:`` and its name on the server.
        base_url: The server's address.
        extra_body: More fields for each request for completions; None removes a field.
        template: More variables of the chat template, for requests with a conversation.

    Attributes:
        tokens: The model's tokens, if the server :meth:`tokenizes`.
    """

    def __init__(
        self,
        client: Any,
        calls: Calls,
        name: str,
        base_url: str,
        extra_body: Mapping[str, Any],
        template: Mapping[str, Any],
    ) -> None:
        self._client, self._calls, self._name, self._base_url, self._extra = client, calls, name, base_url, extra_body
        self._model = name.partition(":")[2]
        self._template = {"chat_template_kwargs": dict(template)} if template else {}
        self._found: dict[str, asyncio.Task[Any]] = {}
        self._logprobs = True
        self._believed, self._certain = False, 0
        self.tokens = ServerTokens(self.tokenize, self.detokenize)

    async def text_api(self) -> Literal["completions", "chat"]:
        """Return how plain texts are continued: by completions where the server has them, else by chat."""
        found = await self._once("completions", lambda: self._supports("/completions", _SHORT))
        return "completions" if found else "chat"

    async def chats(self) -> bool:
        """Return whether the model takes conversations; vLLM refuses them if it has no chat template."""
        return await self._once("chat", lambda: self._supports("/chat/completions", _TURN))

    async def echo(self) -> int | None:
        """Return the smallest ``max_tokens``, 0 or 1, with which the server scores a text; None if it cannot."""
        return await self._once("echo", self._find_echo)

    async def tokenizes(self) -> bool:
        """Return whether the server has vLLM's /tokenize (next to /v1)."""
        return await self._once("tokenize", self._find_tokenize)

    async def window(self) -> int | None:
        """Return the model's window from the list of models, where vLLM gives it; None for a list without it."""
        return await self._once("window", self._find_window)

    async def tokenize(self, prompt: Prompt, special: bool) -> Tokens:
        """Return the tokens of a text, or of a conversation by the model's chat template."""
        body: dict[str, Any] = {"add_special_tokens": special}
        if isinstance(prompt, str):
            body["prompt"] = prompt
        else:
            goes_on = _continued(prompt) or {"add_generation_prompt": True}
            body |= {"messages": messages(prompt), **goes_on, **self._template, "add_special_tokens": False}
        return tuple((await self._post(TokensAnswer, self._tokenize_url, body, Cost(), asks=False)).tokens)

    async def detokenize(self, tokens: Tokens) -> str:
        """Return the text of tokens, special ones included."""
        url = self._tokenize_url.replace("/tokenize", "/detokenize")
        return (await self._post(TextAnswer, url, {"tokens": list(tokens)}, Cost(), asks=False)).prompt

    async def scored(self, prompt: str | Tokens, max_tokens: int, cost: Cost) -> ChoicesAnswer:
        """Return a prompt with the log-probabilities of its tokens."""
        body = {"prompt": _plain(prompt), "max_tokens": max_tokens, "echo": True, "logprobs": 1, "temperature": 0}
        return await self._post(ChoicesAnswer, "/completions", {**body, **self._extra}, cost)

    async def completions(
        self, prompt: str | Tokens, settings: Mapping[str, Any], top: int, cost: Cost
    ) -> ChoicesAnswer:
        """Return continuations of a prompt, with log-probabilities if the server has them."""
        body = {"prompt": _plain(prompt), **settings}
        return await self._with_logprobs("/completions", body, {"logprobs": max(1, top)}, top, cost)

    async def chat(self, prompt: Prompt, settings: Mapping[str, Any], top: int, cost: Cost) -> ChoicesAnswer:
        """Return the model's messages in a conversation; a plain text becomes a user message."""
        body = {"messages": messages(prompt), **settings, **_continued(prompt), **self._template}
        if self._base_url == OFFICIAL:
            body["max_completion_tokens"] = body.pop("max_tokens")
        asking = {"logprobs": True, **({"top_logprobs": top} if top else {})}
        return await self._with_logprobs("/chat/completions", body, asking, top, cost)

    async def _with_logprobs(
        self, path: str, body: Mapping[str, Any], asking: Mapping[str, Any], top: int, cost: Cost
    ) -> ChoicesAnswer:
        """Ask with log-probabilities; if the server refuses them and they are optional, never ask with them again."""
        if self._calls.batched and not top:
            await self._once("logprobs", lambda: self._find_logprobs(path, asking))
        if self._logprobs or top:
            try:
                return await self._post(
                    ChoicesAnswer,
                    path,
                    {**body, **asking, **self._extra},
                    cost,
                    refused=partial(_no_logprobs, top),
                    check=self._check_choices,
                )
            except RefusedError:
                self._logprobs = False
        return await self._post(ChoicesAnswer, path, {**body, **self._extra}, cost, check=self._check_choices)

    async def _find_logprobs(self, path: str, asking: Mapping[str, Any]) -> None:
        """Ask once, directly, whether the server gives log-probabilities: a batch would tell a day later.

        The answer decides the bodies of all requests, by which they are found in batches that were submitted earlier.
        """
        body = {**(_TURN if path.startswith("/chat") else _SHORT), "max_tokens": _PROBE_TOKENS}
        if self._base_url == OFFICIAL:
            body["max_completion_tokens"] = body.pop("max_tokens")
        without = False

        def refused(failure: Failure) -> bool:
            nonlocal without
            without = _no_logprobs(0, failure)
            return without or failure.status in {400, 422}

        cost = Cost(_SHORT_COST.prompt, _PROBE_TOKENS)
        try:
            await self._post(ChoicesAnswer, path, {**body, **asking, **self._extra}, cost, refused, asks=False)
        except RefusedError:
            self._logprobs = not without

    def _check_choices(self, answer: ChoicesAnswer) -> None:
        """Refuse an answer that holds no proper completions, while the call can still be retried."""
        for choice in answer.choices:
            finish_of(choice, answer.usage)
            if not self._believed:
                self._doubt(choice)

    def _doubt(self, choice: Choice) -> None:
        """Refuse log-probabilities that have always been 0; those of a short answer may be."""
        given = token_logprobs(choice)
        known = [] if given is None else [logprob for logprob in given.logprobs if logprob is not None]
        self._believed, self._certain = any(known), self._certain + len(known)
        if not self._believed and self._certain >= MOST_CERTAIN:
            raise CannotAnswerError(
                f"the server has given all {self._certain} tokens so far a log-probability of 0, which means a "
                f"probability of 1, so they are not log-probabilities; {WITHOUT_LOGPROBS}"
            )

    async def _find_echo(self) -> int | None:
        for max_tokens in (0, 1):
            body = {"prompt": _PROBE, "max_tokens": max_tokens, "echo": True, "logprobs": 1, "temperature": 0}
            try:
                answer = await self._post(
                    ChoicesAnswer, "/completions", {**body, **self._extra}, _SHORT_COST, _unsupported
                )
            except RefusedError:
                continue
            given = token_logprobs(answer.choices[0])
            if given is not None and _PROBE in "".join(given.tokens) and None not in given.logprobs[1:]:
                return max_tokens
        return None

    async def _find_window(self) -> int | None:
        try:
            listed = await self._get(ModelsAnswer, "/models")
        except RefusedError:
            return None
        return next((model.max_model_len for model in listed.data if model.id == self._model), None)

    async def _once(self, what: str, find: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return the result of a search that all callers share; after a failure, the next caller searches again."""
        task: asyncio.Task[T] | None = self._found.get(what)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = self._found[what] = asyncio.create_task(find())
        return await asyncio.shield(task)

    async def _find_tokenize(self) -> bool:
        attempts, problem = count(1), ""

        def refused(failure: Failure) -> bool:
            nonlocal problem
            problem = failure.message if failure.unusable else ""
            return _unsupported(failure) or (failure.unusable and next(attempts) >= _PROBES)

        def check(answer: TokensAnswer) -> None:
            if not answer.tokens:
                raise UnusableAnswerError(f"no tokens for {_PROBE!r}")

        try:
            await self._post(
                TokensAnswer, self._tokenize_url, {"prompt": _PROBE}, Cost(), refused, check=check, asks=False
            )
        except RefusedError:
            if problem:
                _LOG.warning(
                    "%s: %s does not answer as vLLM's does (%s). The harness continues without it. To tokenize as the "
                    "model does, set `tokenizer` to a folder or a name on the Hub.",
                    *(self._name, self._tokenize_url, problem),
                )
            return False
        return True

    async def _supports(self, path: str, body: Mapping[str, Any]) -> bool:
        try:
            await self._post(ChoicesAnswer, path, body, _SHORT_COST, _unsupported, asks=False)
        except RefusedError:
            return False
        return True

    @property
    def _tokenize_url(self) -> str:
        return f"{self._base_url.removesuffix('/v1')}/tokenize"

    async def _post(
        self,
        kind: type[M],
        path: str,
        body: Mapping[str, Any],
        cost: Cost,
        refused: Callable[[Failure], bool] = lambda failure: False,
        *,
        check: Callable[[M], None] = lambda answer: None,
        asks: bool = True,
    ) -> M:
        sent = {key: value for key, value in {"model": self._model, **body}.items() if value is not None}

        def read(raw: Any) -> M:
            answer = read_answer(kind, raw)
            check(answer)
            return answer

        return await self._calls.post(self._client, path, sent, read, cost, refused, asks=asks)

    async def _get(self, kind: type[M], path: str) -> M:
        import httpx2

        return await self._calls.call(
            lambda: self._client.get(path, cast_to=httpx2.Response),
            partial(read_answer, kind),
            Cost(),
            _unsupported,
            asks=False,
        )


def _continued(prompt: Prompt) -> dict[str, bool]:
    """Return the fields by which vLLM and SGLang continue a conversation's last turn, if it is the assistant's."""
    if isinstance(prompt, str) or not prompt or prompt[-1].role != "assistant" or prompt[-1].tool_calls:
        return {}
    return {"continue_final_message": True, "add_generation_prompt": False}


def _plain(prompt: str | Tokens) -> str | list[int]:
    return prompt if isinstance(prompt, str) else list(prompt)


def _unsupported(failure: Failure) -> bool:
    return failure.status in _UNSUPPORTED


def _no_logprobs(top: int, failure: Failure) -> bool:
    return not top and failure.status is not None and failure.status < 500 and "logprob" in failure.message.lower()
