"""Any server that speaks OpenAI's protocol: completions, chat, and scoring where the server echoes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import ModuleType
from typing import Any, Literal, TypeVar

from harness import (
    GenerateRequest,
    ModelError,
    Prompt,
    Request,
    Response,
    SequenceRequest,
    backend,
    install_advice,
)
from harness.models.api.account import Limits
from harness.models.api.backend import ApiModel, Budget
from harness.models.api.calls import Calls, Pace, RequestFailedError
from harness.models.api.credentials import endpoint_from
from harness.models.api.failures import CannotAnswerError
from harness.models.api.http_client import http_client
from harness.models.api.openai_generation import Generator
from harness.models.api.openai_scoring import EchoScorer
from harness.models.api.openai_server import OFFICIAL, Server
from harness.models.api.openai_tokens import LocalTokens, TokenSource, load_tokens, tokenizer_digest
from harness.models.tokens.tokenized import TextTokenizer

INSTALL = install_advice("openai")

T = TypeVar("T")

_NO_CHAT = ("davinci-002", "babbage-002", "gpt-3.5-turbo-instruct")
"""OpenAI's models that continue texts and do not chat."""

_ECHO = ("davinci-002", "babbage-002")
"""OpenAI's models whose completions echo a prompt with its log-probabilities."""


@backend(
    "openai",
    source="OpenAI's API, https://platform.openai.com/docs/api-reference, and vLLM's of the same form.",
    needs=("openai",),
    install=INSTALL,
)
class OpenAIModel(ApiModel):
    """A model of OpenAI's, or of any server with the same protocol (vLLM, SGLang, llama.cpp, …) at ``base_url``.

    The identifier is the model's name on the server: ``openai:gpt-4o-mini``, or
    ``{name: "openai:Qwen/Qwen3-0.6B", base_url: "http://localhost:8000/v1"}``.

    Generation goes through completions, or through chat for conversations and for models that only chat. Scoring
    needs a server whose completions echo a prompt with its log-probabilities, as vLLM's do; with another each request
    to score ends in an error that says so. A continuation's tokens are told from its context's by the model's
    tokenizer, if one is named or the server has /tokenize; otherwise by where the echoed tokens stand in the text, and
    then a token that spans the two is the continuation's, and what does not fit the window is refused by the server,
    not cut.

    Calls at once begin with 8, double while the server keeps up, and fall by a fifth when it answers 429 or 503; a
    Retry-After is honoured. A call is tried again after 408, 409, 425, 429, 5xx, a broken connection, a timeout or an
    unusable answer; any other failure is recorded for the request that caused it. A wrong key and a model that does not
    exist fail the run.

    A budget counts every start with the same response cache. A call is charged by the server's count of tokens, whether
    its answer is usable or not. Without a plausible count it is charged by an estimate, one token for four characters
    of the prompt and all of ``max_tokens``; a call that was sent and timed out or broke off is charged alike, and one
    that failed with 5xx by its prompt. Calls go out one by one until their size is known. When the budget has no room
    for another request, the rest fail with that reason, and what was answered is kept: raise the budget, or count from
    0 again with ``harness cache spending --reset``.

    An answer may be declined: a refusal, ``content_filter`` (also a prompt that is turned down with status 400), a tool
    call, or reasoning that reached ``max_tokens`` before the answer. A null text without such a reason, an error with
    status 200 and a completion that the server gave up on are failures, which are tried again. Log-probabilities
    that no model gives, such as 0 for every token of a text, are refused.

    Models that one process asks at the same time, on one server with the same key and headers (a judge beside a model),
    share their calls at once and their limits a minute: a server counts what comes with a key. The lowest limit that
    any of them names holds for all; a budget is each model's own.

    The key comes from the environment: ``OPENAI_API_KEY`` for OpenAI's server, and for others only what ``api_key_env``
    names. No key is written or shown anywhere.

    Args:
        identifier: The model's name on the server.
        base_url: Where the server is, most often ending in ``/v1``; None for OPENAI_BASE_URL, else OpenAI's own.
        api: ``chat``: prompts are conversations, and plain texts are what the user says. ``completions``: neither.
            ``auto``: prompts are conversations if the model chats, and plain texts are continued if the server has
            completions.
        tokenizer: A transformers tokenizer, by folder or name on the Hub; prompts are then sent as token ids.
        window: Most tokens of prompt and completion together; None for what vLLM's list of models says.
        extra_body: Further fields of each request, such as ``{"reasoning_effort": "low"}``; null leaves a field out.
        max_concurrency: Most calls at once to the server, other models' included.
        requests_per_minute: Most calls a minute to the server, retries and other models' included.
        tokens_per_minute: Most tokens a minute, of prompts and completions, other models' included.
        budget_tokens: Most tokens of this model, in all runs and starts with the same response cache together.
        budget_money: Most money for them, in the currency of the table of prices.
        prices: A table of prices, as for ``harness run --prices``, that goes before the harness's own.
        timeout: Seconds that a call may take.
        max_retries: How often a call is tried again.
        retry_delay: Seconds before the first retry; each further one waits twice as long, up to a minute.
        api_key_env: The variable of the environment that holds the key.
        headers_env: A variable of the environment that holds further headers, as a JSON object.
    """

    answers = frozenset({"generate", "score"})

    def __init__(
        self,
        identifier: str,
        *,
        base_url: str | None = None,
        api: Literal["auto", "completions", "chat"] = "auto",
        tokenizer: str | None = None,
        window: int | None = None,
        extra_body: dict[str, Any] | None = None,
        max_concurrency: int = 200,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        budget_tokens: int | None = None,
        budget_money: float | None = None,
        prices: str | None = None,
        timeout: float = 600.0,
        max_retries: int = 8,
        retry_delay: float = 0.5,
        api_key_env: str | None = None,
        headers_env: str | None = None,
    ) -> None:
        name = f"openai:{identifier}"
        self._model = identifier
        endpoint = endpoint_from(name, base_url, api_key_env, headers_env, official=OFFICIAL, prefix="OPENAI")
        if window is not None and window < 3:
            raise ModelError(f"{name}: window is {window}; it must hold at least 3 tokens.")
        limits = Limits(max_concurrency, requests_per_minute, tokens_per_minute)
        pace = Pace(timeout, max_retries, retry_delay, limits)
        super().__init__(name, endpoint, pace, Budget(budget_tokens, budget_money, prices))
        self._api, self._tokenizer_name, self._given_window = api, tokenizer, window
        self._extra_body = extra_body or {}
        self._client: Any = None
        self._server: Server | None = None

    @property
    def window(self) -> int | None:
        if self._given_window is not None or self._endpoint.official:
            return self._given_window
        return self._thread.run(self._window())

    @property
    def chat(self) -> bool:
        if self._api != "auto":
            return self._api == "chat"
        return not self._model.startswith(_NO_CHAT) if self._endpoint.official else self._thread.run(self._chats())

    def obstacle(self, asks: frozenset[str]) -> str | None:
        if "score" not in asks or not self._endpoint.official or self._model.startswith(_ECHO):
            return None
        return (
            f"{self._name}: OpenAI's server gives no log-probabilities of a prompt, which scoring needs. Use a method "
            "that generates, such as multiple_choice_joint, or name a server that does, such as vLLM's, as base_url."
        )

    def fingerprint(self) -> Mapping[str, Any]:
        return {
            "backend": "openai",
            "version": 2,
            "server": self._endpoint.url,
            "model": self._model,
            "api": self._api,
            "tokenizer": tokenizer_digest(self._tokenizer_name) if self._tokenizer_name else None,
            "window": self._given_window,
            "extra_body": self._extra_body,
        }

    def description(self) -> Mapping[str, Any]:
        known = {"modality": "text", "server": self._endpoint.url, "window": self._given_window}
        if self._tokenizer_name:
            known["tokenizer"] = self._tokenizer_name
        if self._endpoint.official:
            # A fine-tuned model's name says whose it is: ft:base:organization:….
            known |= {"access": "API", **({} if self._model.startswith("ft:") else {"creator": "OpenAI"})}
        return known

    def count_tokens(self, prompt: Prompt) -> int:
        if self._tokenizer is not None:
            return self._local(lambda tokenizer: tokenizer.count(prompt))
        known = self._thread.run(self._counted([prompt], True))
        return known[0] if known else 0

    def count_segments(self, segments: Sequence[str]) -> Sequence[int] | None:
        if self._tokenizer is not None:
            known = self._tokenizer.encode(segments, special=False)
            return [len(known[segment]) for segment in segments]
        return self._thread.run(self._counted(segments, False))

    def truncate(self, text: str, tokens: int) -> str:
        if self._tokenizer is not None:
            return self._tokenizer.truncate(text, tokens)
        low, high = 0, len(text)
        while low < high:
            middle = (low + high + 1) // 2
            counts = self.count_segments([text[:middle]])
            if counts is None:
                return text
            low, high = (middle, high) if counts[0] <= tokens else (low, middle - 1)
        return text[:low]

    def _local(self, use: Callable[[TextTokenizer], T]) -> T:
        if self._tokenizer is None:
            raise AssertionError("asked without a tokenizer")
        try:
            return use(self._tokenizer)
        except ValueError as error:
            raise ModelError(f"{self._name}: {error}") from error

    @cached_property
    def _tokenizer(self) -> TextTokenizer | None:
        return None if self._tokenizer_name is None else load_tokens(self._tokenizer_name)

    def _library(self) -> ModuleType:
        try:
            import openai
        except ImportError as error:
            raise ModelError(f"{self._name}: the package openai is not installed: {INSTALL}.") from error
        return openai

    def _open(self, calls: Calls) -> None:
        openai: Any = self._library()
        if self._endpoint.official and self._endpoint.key is None:
            raise ModelError(f"{self._name}: no key. Set OPENAI_API_KEY, or name another server as base_url.")
        own = {header.lower() for header in self._endpoint.headers}
        foreign = set() if self._endpoint.official else {"openai-organization", "openai-project"}
        without = (foreign | (set() if self._endpoint.key else {"authorization"})) - own
        self._client = openai.AsyncOpenAI(
            api_key=self._endpoint.key or "none",
            base_url=self._endpoint.url,
            max_retries=0,
            default_headers=dict(self._endpoint.headers),
            timeout=self._pace.timeout,
            http_client=http_client(openai, without),
        )
        self._server = Server(self._client, calls, self._model, self._endpoint.url, self._extra_body)

    async def _close_client(self) -> None:
        if self._client is not None:
            await self._client.close()

    async def _ask(self, request: Request) -> Response:
        if isinstance(request, GenerateRequest):
            chats = self._api == "chat" or not isinstance(request.prompt, str)
            if not chats and self._api == "auto":
                chats = await self._connected.text_api() == "chat"
            generator = Generator(
                self._connected, await self._tokens(), await self._known_window(), self._endpoint.official
            )
            return await (generator.chat(request) if chats else generator.complete(request))
        echo = None if self._api == "chat" else await self._connected.echo()
        if echo is None:
            raise CannotAnswerError(
                f"the server at {self._endpoint.url} gives no log-probabilities of a text that it is sent (completions "
                "with echo), so it cannot score; ask a server that can, such as vLLM's, use hf: or vllm:, or an "
                "adapter that generates, such as multiple_choice_joint"
            )
        scorer = EchoScorer(self._connected, echo, await self._tokens(), await self._known_window())
        return await (scorer.sequence(request) if isinstance(request, SequenceRequest) else scorer.score(request))

    @property
    def _connected(self) -> Server:
        if self._server is None:
            raise AssertionError("asked before it was opened")
        return self._server

    async def _tokens(self) -> TokenSource | None:
        if self._tokenizer is not None:
            return LocalTokens(self._tokenizer)
        if self._endpoint.official or not await self._connected.tokenizes():
            return None
        return self._connected.tokens

    async def _known_window(self) -> int | None:
        if self._given_window is not None or self._endpoint.official:
            return self._given_window
        return await self._connected.window()

    async def _window(self) -> int | None:
        await self._opened()
        try:
            return await self._known_window()
        except RequestFailedError as error:
            raise ModelError(f"{error}. `window` says what the server should.") from error

    async def _chats(self) -> bool:
        await self._opened()
        try:
            return await self._connected.chats()
        except RequestFailedError as error:
            raise ModelError(f"{error}. `api` says whether the model chats.") from error

    async def _counted(self, prompts: Sequence[Prompt], special: bool) -> list[int] | None:
        await self._opened()
        try:
            tokens = await self._tokens()
            return None if tokens is None else [len(await tokens.encode(prompt, special)) for prompt in prompts]
        except (RequestFailedError, CannotAnswerError) as error:
            raise ModelError(str(error)) from error
