"""Models behind any server that speaks OpenAI's protocol: completions, chat, and scoring where the server can echo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

from pydantic import Field

from harness import (
    CheckpointSource,
    GenerateRequest,
    Model,
    ModelError,
    Prompt,
    Request,
    Response,
    SequenceRequest,
    Tool,
    backend,
    install_advice,
)
from harness.models.api.api_model import ApiModel
from harness.models.api.batches.interface import BatchInterface
from harness.models.api.batches.openai_batches import OpenAIBatches
from harness.models.api.calls import Calls, RequestFailedError
from harness.models.api.http_client import http_client
from harness.models.api.openai_generation import Generator
from harness.models.api.openai_scoring import EchoScorer
from harness.models.api.openai_server import OFFICIAL, Server
from harness.models.api.openai_tokens import LocalTokens, TokenSource, load_tokens, tokenizer_digest
from harness.models.api.retries import CannotAnswerError
from harness.models.api.settings import ApiSettings
from harness.models.tokens.conversations import with_tools
from harness.models.tokens.tokenizer import TextTokenizer

_NO_CHAT = ("davinci-002", "babbage-002", "gpt-3.5-turbo-instruct")
"""OpenAI's models that continue texts and do not chat."""
_ECHO = ("davinci-002", "babbage-002")
"""OpenAI's models whose completions can echo a prompt with its log-probabilities."""


def checkpoints(identifier: str, *, tokenizer: str | None = None, **_: object) -> list[CheckpointSource]:
    """Return the tokenizer that the entry of a model names."""
    return [CheckpointSource(tokenizer, weights=False)] if tokenizer else []


@backend(
    "openai",
    source="OpenAI's API, https://platform.openai.com/docs/api-reference, and vLLM's of the same form.",
    needs=("openai",),
    install=install_advice("openai"),
    checkpoints=checkpoints,
)
class OpenAIModel(ApiModel):
    """A model of OpenAI's, or of any server with the same protocol (vLLM, SGLang, llama.cpp, …) at ``base_url``.

    The identifier is the model's name on the server: ``openai:gpt-4o-mini``, or
    ``{name: "openai:Qwen/Qwen3-0.6B", base_url: "http://localhost:8000/v1"}``.

    Generation uses completions, or chat for conversations and for models that only chat. Scoring needs a server whose
    completions can echo a prompt with its log-probabilities, as vLLM's can; with any other, requests to score fail with
    an error that says so. A continuation's tokens are separated from its context's by the model's tokenizer, if
    ``tokenizer`` names it or the server has /tokenize. Otherwise they are separated by position in the text: a token
    that spans both belongs to the continuation, and the server refuses what does not fit the window instead of cutting.

    Concurrency starts at 8 calls, doubles while the server keeps up, and drops by a fifth when it answers 429 or 503;
    Retry-After is honoured. A call is repeated after 408, 409, 425, 429, 5xx, a broken connection, a timeout or an
    unusable answer. Any other failure is recorded for its request; a wrong key or an unknown model fails the run.

    A budget covers every start with the same response cache. A call costs the tokens that the server counted, whether
    its answer is usable or not. Without a plausible count, or after a timeout or broken connection, it costs an
    estimate: a token for four characters of the prompt, and all of ``max_tokens``. A 5xx costs the prompt. Calls go out
    one at a time until their size is known. When the budget has no room for another request, the remaining ones fail
    with that reason and all answers are kept: raise the budget, or start again from 0 with ``harness cache spending
    --reset``.

    A model whose entry has ``reasoning`` is given the budget in addition to ``max_tokens``, as far as a known window
    leaves room for it, and ``reasoning_effort`` where an effort is named. Stop sequences are not sent, as they would
    end the reasoning, nor is a temperature of 0 to OpenAI's own server. The answer is cut at the stop sequences when it
    arrives, and at ``max_tokens`` by the server's tokens, by a tokenizer (``tokenizer``, or the server's), or by the
    share of its characters that the server's count of tokens allows; without any of these it is not cut there.
    Reasoning is what the server returns in ``reasoning_content`` or ``reasoning``, or what marks in the text surround.
    A model that reasons although its entry does not say so is asked as usual; where its reasoning did not end, the
    request is sent again with the default budget, and a warning says so.

    An answer may be declined: a refusal, ``content_filter`` (including a prompt rejected with status 400) or a tool
    call. A null text without such a reason, an error with status
    200 and a completion that the server gave up on are failures, and are retried. Log-probabilities that no model
    gives, such as 0 for every token of a text, are refused.

    Models in one process that use one server with the same key and headers (a judge next to a model, say) share
    concurrency and minute limits, because a server counts per key; the lowest limit of any of them applies. Each model
    has its own budget.

    The key comes from the environment: ``OPENAI_API_KEY`` for OpenAI's server, and for others only the variable that
    ``api_key_env`` names. Keys are never written or shown.
    """

    class Params(ApiSettings):
        """The settings of a model behind an OpenAI-compatible server."""

        api: Literal["auto", "completions", "chat"] = "auto"
        """``chat``: prompts are conversations, and a plain text is a user message. ``completions``: prompts are plain
        texts. ``auto``: prompts are conversations if the model chats, and plain texts are continued if the server has
        completions.
        """
        chat_template_kwargs: dict[str, Any] = Field(default_factory=dict)
        """More variables of the server's chat template, such as ``{"enable_thinking": false}``, for servers that take
        them (vLLM, SGLang, llama.cpp); OpenAI's does not.
        """
        tokenizer: str | None = None
        """A transformers tokenizer, by folder or name on the Hub; prompts are then sent as token ids."""

    answers = frozenset({"generate", "score"})
    honours = Model.honours | {"top_p", "top_k", "min_p", "repetition_penalty", "prefill"}
    backend = "openai"
    official_url = OFFICIAL

    def __init__(self, identifier: str, params: Params) -> None:
        super().__init__(identifier, params)
        self._params = params
        self._connected: Server | None = None
        if params.chat_template_kwargs and params.api == "completions":
            raise ModelError(
                f"{self._name}: chat_template_kwargs is set, but with api: completions no chat template is used."
            )
        if self._endpoint.official:
            self.honours = Model.honours | {"top_p"}
            if params.chat_template_kwargs:
                raise ModelError(
                    f"{self._name}: OpenAI's server does not take chat_template_kwargs; remove them, or set base_url."
                )

    @property
    def window(self) -> int | None:
        if self._params.window is not None or self._endpoint.official:
            return self._params.window
        return self._thread.run(self._server_window())

    @property
    def chat(self) -> bool:
        if self._params.api != "auto":
            return self._params.api == "chat"
        if self._endpoint.official:
            return not self._model.startswith(_NO_CHAT)
        return self._thread.run(self._server_chats())

    @property
    def tools(self) -> bool:
        return self.chat

    @property
    def continues(self) -> bool:
        if self._params.api != "auto":
            return self._params.api == "completions"
        if self._endpoint.official:
            return self._model.startswith(_NO_CHAT)
        return self._thread.run(self._server_continues())

    @property
    def scores(self) -> bool:
        if self._params.api == "chat" or self._params.batch:
            return False
        if self._endpoint.official:
            return self._model.startswith(_ECHO)
        return self._thread.run(self._server_echoes())

    def obstacle(self, asks: frozenset[str]) -> str | None:
        completes = self._params.api == "completions" or (self._endpoint.official and self._model.startswith(_NO_CHAT))
        if "chat" in asks and completes and self._params.api != "chat":
            return (
                f"{self._name} only continues texts, but the method's prompts are conversations. Use a model "
                "that chats, with `api: chat`, or a method that continues a text, such as generation."
            )
        if "score" not in asks or not self._endpoint.official or self._model.startswith(_ECHO):
            return super().obstacle(asks)
        return (
            f"{self._name}: OpenAI's server gives no log-probabilities of a prompt, which scoring needs. Use a method "
            "that generates, such as multiple_choice_joint, or set base_url to a server that does, such as vLLM's."
        )

    def fingerprint(self) -> Mapping[str, Any]:
        return {
            "backend": "openai",
            "version": 2,
            "server": self._endpoint.url,
            "model": self._model,
            "api": self._params.api,
            "tokenizer": tokenizer_digest(self._params.tokenizer) if self._params.tokenizer else None,
            "window": self._params.window,
            "extra_body": self._params.extra_body,
            **({"chat_template_kwargs": template} if (template := self._params.chat_template_kwargs) else {}),
        }

    def description(self) -> Mapping[str, Any]:
        known = {"modality": "text", "server": self._endpoint.url, "window": self._params.window}
        if self._params.tokenizer:
            known["tokenizer"] = self._params.tokenizer
        if self._endpoint.official:
            # The name of a fine-tuned model says whose it is: ft:base:organization:….
            known |= {"access": "API", **({} if self._model.startswith("ft:") else {"creator": "OpenAI"})}
        return known

    def count_tokens(self, prompt: Prompt) -> int:
        if self._tokenizer is not None:
            try:
                return self._tokenizer.count(prompt)
            except ValueError as error:
                raise ModelError(f"{self._name}: {error}") from error
        if self._endpoint.official:  # which has no way to count
            return 0
        counts = self._thread.run(self._counted([prompt], special=True))
        return counts[0] if counts else 0

    def rendered(self, prompt: Prompt, tools: tuple[Tool, ...] = ()) -> str | None:
        if self._tokenizer is not None:
            try:
                return self._tokenizer.special_text(with_tools(prompt, tools))
            except ValueError as error:
                raise ModelError(f"{self._name}: {error}") from error
        return None if self._endpoint.official or tools else self._thread.run(self._server_rendered(prompt))

    def count_segments(self, segments: Sequence[str]) -> Sequence[int] | None:
        if self._tokenizer is not None:
            tokens = self._tokenizer.encode(segments, special=False)
            return [len(tokens[segment]) for segment in segments]
        return None if self._endpoint.official else self._thread.run(self._counted(segments, special=False))

    def truncate(self, text: str, tokens: int) -> str:
        if self._tokenizer is not None:
            return self._tokenizer.truncate(text, tokens)
        if self._endpoint.official:
            return text
        if (cut := self._thread.run(self._server_cut(text, tokens))) is not None:
            return cut
        low, high = 0, len(text)
        while low < high:
            middle = (low + high + 1) // 2
            counts = self.count_segments([text[:middle]])
            if counts is None:
                return text
            low, high = (middle, high) if counts[0] <= tokens else (low, middle - 1)
        return text[:low]

    @cached_property
    def _tokenizer(self) -> TextTokenizer | None:
        if self._params.tokenizer is None:
            return None
        return load_tokens(self._params.tokenizer, self._params.chat_template_kwargs)

    def _connect(self, library: Any, calls: Calls) -> Any:
        own = {header.lower() for header in self._endpoint.headers}
        foreign = set() if self._endpoint.official else {"openai-organization", "openai-project"}
        without = (foreign | (set() if self._endpoint.key else {"authorization"})) - own
        client = library.AsyncOpenAI(
            api_key=self._endpoint.key or "none",
            base_url=self._endpoint.url,
            max_retries=0,
            default_headers=dict(self._endpoint.headers),
            timeout=self._params.timeout,
            http_client=http_client(library, without),
        )
        template = self._params.chat_template_kwargs
        self._connected = Server(client, calls, self._name, self._endpoint.url, self._params.extra_body, template)
        return client

    def _batch_interface(self, client: Any, calls: Calls) -> BatchInterface:
        return OpenAIBatches(client, calls, self._endpoint.url, self._params.timeout)

    async def _ask(self, request: Request) -> Response:
        if isinstance(request, GenerateRequest):
            if request.tools and self._params.api == "completions":
                raise CannotAnswerError("completions do not take tools; only chats do (`api: chat`)")
            chats = self._params.api == "chat" or not isinstance(request.prompt, str) or bool(request.tools)
            if not chats and self._params.api == "auto":
                chats = await self._server.text_api() == "chat"
            tokens, window = await self._tokens(), await self._known_window()
            generator = Generator(self._server, tokens, window, self._endpoint.official)
            return await (generator.chat(request) if chats else generator.complete(request))
        echo = None if self._params.api == "chat" else await self._server.echo()
        if echo is None:
            raise CannotAnswerError(
                f"the server at {self._endpoint.url} does not echo a prompt with its log-probabilities, so it cannot "
                "score; use a server that can, such as vLLM's, the backends hf: or vllm:, or an adapter that "
                "generates, such as multiple_choice_joint"
            )
        scorer = EchoScorer(self._server, echo, await self._tokens(), await self._known_window())
        return await (scorer.sequence(request) if isinstance(request, SequenceRequest) else scorer.score(request))

    @property
    def _server(self) -> Server:
        if self._connected is None:
            raise AssertionError("asked before it was opened")
        return self._connected

    async def _tokens(self) -> TokenSource | None:
        if self._tokenizer is not None:
            return LocalTokens(self._tokenizer)
        if self._endpoint.official or not await self._server.tokenizes():
            return None
        return self._server.tokens

    async def _known_window(self) -> int | None:
        if self._params.window is not None or self._endpoint.official:
            return self._params.window
        return await self._server.window()

    async def _server_window(self) -> int | None:
        await self._opened()
        try:
            return await self._known_window()
        except RequestFailedError as error:
            raise ModelError(f"{error}. Set `window` to the model's context length.") from error

    async def _server_chats(self) -> bool:
        await self._opened()
        try:
            return await self._server.chats()
        except RequestFailedError as error:
            raise ModelError(f"{error}. Set `api` to say whether the model chats.") from error

    async def _server_continues(self) -> bool:
        await self._opened()
        try:
            return await self._server.text_api() == "completions"
        except RequestFailedError as error:
            raise ModelError(f"{error}. Set `api` to say whether the model continues texts.") from error

    async def _server_echoes(self) -> bool:
        await self._opened()
        try:
            return await self._server.echo() is not None
        except RequestFailedError as error:
            raise ModelError(str(error)) from error

    async def _server_cut(self, text: str, tokens: int) -> str | None:
        await self._opened()
        try:
            source = await self._tokens()
            if source is None:
                return text
            cut = await source.truncate(text, max(0, tokens))
            exact = text.startswith(cut) and len(await source.encode(cut, False)) <= tokens
        except (RequestFailedError, CannotAnswerError) as error:
            raise ModelError(str(error)) from error
        return cut if exact else None

    async def _server_rendered(self, prompt: Prompt) -> str | None:
        await self._opened()
        try:
            tokens = await self._tokens()
            return None if tokens is None else await self._server.detokenize(await tokens.encode(prompt, True))
        except (RequestFailedError, CannotAnswerError) as error:
            raise ModelError(str(error)) from error

    async def _counted(self, prompts: Sequence[Prompt], *, special: bool) -> list[int] | None:
        await self._opened()
        try:
            tokens = await self._tokens()
            return None if tokens is None else [len(await tokens.encode(prompt, special)) for prompt in prompts]
        except (RequestFailedError, CannotAnswerError) as error:
            raise ModelError(str(error)) from error
