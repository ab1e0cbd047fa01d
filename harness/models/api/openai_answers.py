"""The answers of an OpenAI-compatible server: their schemas, and why a completion ended.

Sources of :func:`finish_of`: OpenAI's API reference (``finish_reason``, ``refusal``, ``tool_calls``,
``completion_tokens_details``); ``reasoning_content`` and ``reasoning`` are fields of DeepSeek, vLLM and OpenRouter, and
``error`` is OpenRouter's; ``abort`` is vLLM's and SGLang's; ``insufficient_system_resource`` is DeepSeek's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from harness.backends import FinishReason
from harness.models.api.answers import Answer, Checked, Count, error_text
from harness.models.api.retries import UnusableAnswerError

LogProb = Annotated[float, Field(le=1e-3, allow_inf_nan=False)]

_BROKEN = frozenset({"error", "abort", "insufficient_system_resource"})
_TOOLS = frozenset({"tool_calls", "function_call"})

WITHOUT_LOGPROBS = "to go on without log-probabilities, give the model `extra_body: {logprobs: null}`"


class CompletionDetails(Checked):
    """The usage of generated tokens."""

    reasoning_tokens: Count | None = None


class Usage(Checked):
    """The server's count of tokens."""

    prompt_tokens: Count | None = None
    prompt_tokens_details: Any = None
    completion_tokens: Count | None = None
    completion_tokens_details: CompletionDetails | None = None

    @property
    def cached_tokens(self) -> int:
        """Tokens of the prompt that were taken from the server's prompt cache; 0 if it does not say."""
        details = self.prompt_tokens_details
        tokens = details.get("cached_tokens") if isinstance(details, dict) else None
        return max(0, tokens) if isinstance(tokens, int) else 0

    @property
    def reasoning_tokens(self) -> int:
        """Generated tokens of reasoning, which are not in the text."""
        details = self.completion_tokens_details
        return details.reasoning_tokens or 0 if details is not None else 0


class TopLogprob(Checked):
    """A token and its log-probability."""

    token: str
    logprob: LogProb


class ContentLogprob(TopLogprob):
    """One generated position of a chat's answer."""

    top_logprobs: tuple[TopLogprob, ...] = Field(default=(), strict=False)


class Logprobs(Checked):
    """Log-probabilities in the form of completions (``tokens`` and so on) or of chat (``content``)."""

    tokens: list[str] | None = None
    token_logprobs: list[LogProb | None] | None = None
    top_logprobs: list[dict[str, LogProb] | None] | None = None
    text_offset: list[int] | None = None
    content: list[ContentLogprob] | None = None


class Message(Checked):
    """A chat's answer."""

    content: str | None = None
    refusal: str | None = None
    tool_calls: list[Any] | None = None
    function_call: Any = None
    reasoning_content: Any = None
    reasoning: Any = None

    @property
    def reasoned(self) -> bool:
        """True if the server returns reasoning with the answer."""
        return bool(self.reasoning_content or self.reasoning)

    @property
    def thoughts(self) -> str:
        """The text of the reasoning that the server returns."""
        given = (self.reasoning_content, self.reasoning)
        return next((text.strip() for text in given if isinstance(text, str) and text), "")


class Choice(Checked):
    """One completion, of either API."""

    text: str | None = None
    message: Message | None = None
    finish_reason: str | None = None
    logprobs: Logprobs | None = None
    error: Any = None


class _OpenAIAnswer(Answer):
    usage: Usage | None = None


class ChoicesAnswer(_OpenAIAnswer):
    """An answer to a request for completions or a chat."""

    choices: Annotated[list[Choice], Field(min_length=1)]


class TokensAnswer(_OpenAIAnswer):
    """The answer of vLLM's /tokenize."""

    tokens: list[Count]
    max_model_len: Count | None = None


class TextAnswer(_OpenAIAnswer):
    """The answer of vLLM's /detokenize."""

    prompt: str


class ListedModel(Checked):
    """A model of the server; ``max_model_len`` is vLLM's."""

    id: str
    max_model_len: Count | None = None


class ModelsAnswer(_OpenAIAnswer):
    """The server's list of models."""

    data: list[ListedModel]


def finish_of(choice: Choice, usage: Usage | None) -> FinishReason:
    """Return why a choice ended.

    Args:
        choice: The server's.
        usage: The tokens of the whole answer, where the server counts them.

    Raises:
        UnusableAnswerError: It holds an error, or neither text nor a reason for having none.
    """
    # Gemini's OpenAI-compatible endpoint appends a category: "content_filter: RECITATION".
    stated = (choice.finish_reason or "").partition(":")[0].strip()
    if choice.error:
        raise UnusableAnswerError(f"an error in place of a completion: {error_text(choice.error)}")
    if stated in _BROKEN:
        raise UnusableAnswerError(f"the server gave up on the completion (finish_reason {choice.finish_reason!r})")
    message = choice.message
    if choice.text is None and message is None:
        raise UnusableAnswerError("a choice with neither text nor message")
    content = choice.text if message is None else message.content
    if stated == "content_filter":
        return "content_filter"
    if stated == "refusal" or (message is not None and message.refusal):
        return "refusal"
    if stated in _TOOLS or (message is not None and not content and (message.tool_calls or message.function_call)):
        return "tool_call"
    reasoned = (message is not None and message.reasoned) or (usage is not None and usage.reasoning_tokens > 0)
    if not content and stated == "length" and (message is not None or reasoned):  # all its tokens are hidden
        return "unfinished_reasoning"
    if content is None and not (stated == "stop" and reasoned):
        given = f"finish_reason {choice.finish_reason!r}"
        raise UnusableAnswerError(f"the answer's text is null, and {given} does not explain why")
    if not content and not stated:
        raise UnusableAnswerError("the answer is empty and has no finish_reason")
    return "stop" if stated == "stop" else "length" if stated == "length" else "unknown"


@dataclass(frozen=True, slots=True)
class TokenLogprobs:
    """Tokens with their log-probabilities, from either API."""

    tokens: tuple[str, ...]
    """Their texts."""
    logprobs: tuple[float | None, ...]
    """Natural log-probabilities; None for a first token, which nothing predicts."""
    top: tuple[Mapping[str, float], ...] = ()
    """The likeliest tokens at each position; empty if not given."""
    offsets: tuple[int, ...] = ()
    """Where each begins in the text, as the server counts; empty if not given."""


def token_logprobs(choice: Choice) -> TokenLogprobs | None:
    """Return a choice's log-probabilities; None if it has none.

    Raises:
        UnusableAnswerError: Its lists have different lengths.
    """
    given = choice.logprobs
    if given is None:
        return None
    if given.content is not None:
        return TokenLogprobs(
            tuple(position.token for position in given.content),
            tuple(position.logprob for position in given.content),
            tuple({top.token: top.logprob for top in position.top_logprobs} for position in given.content),
        )
    if given.tokens is None or given.token_logprobs is None:
        return None
    for other in (given.token_logprobs, given.top_logprobs, given.text_offset):
        if other is not None and len(other) != len(given.tokens):
            raise UnusableAnswerError(f"{len(given.tokens)} tokens, but {len(other)} log-probabilities or offsets")
    return TokenLogprobs(
        tuple(given.tokens),
        tuple(given.token_logprobs),
        tuple(top or {} for top in given.top_logprobs or ()),
        tuple(given.text_offset or ()),
    )
