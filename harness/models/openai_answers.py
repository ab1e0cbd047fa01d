"""What an OpenAI-compatible server answers, checked before it is believed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness import Completion
from harness.models.api_failures import CannotAnswerError, UnusableAnswerError
from harness.models.spending import Cost
from harness.models.stop_sequences import cut_at_stop

LogProb = Annotated[float, Field(le=1e-3, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]
M = TypeVar("M", bound="Answer")

_QUOTED = 2000
"""Bytes of an unusable answer that its message begins with; it is cut when secrets have been taken out."""


class _Checked(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class Usage(_Checked):
    """Tokens as the server counts them."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None


class TopLogprob(_Checked):
    """A token and its log-probability."""

    token: str
    logprob: LogProb


class ContentLogprob(TopLogprob):
    """One generated position of a chat's answer."""

    top_logprobs: list[TopLogprob] = []


class Logprobs(_Checked):
    """Log-probabilities in the form of completions (``tokens`` and so on) or of chat (``content``)."""

    tokens: list[str] | None = None
    token_logprobs: list[LogProb | None] | None = None
    top_logprobs: list[dict[str, LogProb] | None] | None = None
    text_offset: list[int] | None = None
    content: list[ContentLogprob] | None = None


class Message(_Checked):
    """A chat's answer."""

    content: str | None = None


class Choice(_Checked):
    """One completion, of either form."""

    text: str | None = None
    message: Message | None = None
    finish_reason: str | None = None
    logprobs: Logprobs | None = None


class Answer(_Checked):
    """What every answer may have."""

    usage: Usage | None = None


class ChoicesAnswer(Answer):
    """An answer to a request for completions or a chat."""

    choices: Annotated[list[Choice], Field(min_length=1)]


class TokensAnswer(Answer):
    """What vLLM's /tokenize answers."""

    tokens: list[Count]
    max_model_len: Count | None = None


class TextAnswer(Answer):
    """What vLLM's /detokenize answers."""

    prompt: str


class ListedModel(_Checked):
    """A model that the server has; ``max_model_len`` is vLLM's."""

    id: str
    max_model_len: Count | None = None


class ModelsAnswer(Answer):
    """Which models the server has."""

    data: list[ListedModel]


def read_answer(kind: type[M], raw: Any) -> M:
    """Return the answer in an HTTP response.

    Raises:
        UnusableAnswerError: It is no JSON, or not of that form.
    """
    body = bytes(raw.content)
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        shown = body[:_QUOTED].decode("utf-8", "replace")
        problem = f"{place}: {first['msg']}" if place else first["msg"]
        raise UnusableAnswerError(f"{problem}; it begins {shown!r}" if body else "empty body") from None


@dataclass(frozen=True, slots=True)
class TokenLogprobs:
    """Tokens with their log-probabilities, whichever form they came in.

    Attributes:
        tokens: Their texts.
        logprobs: Natural log-probabilities; None for a first token that nothing predicts.
        top: For each the likeliest tokens; empty where none were given.
        offsets: Where each begins in the text, as the server counts; empty where it does not say.
    """

    tokens: tuple[str, ...]
    logprobs: tuple[float | None, ...]
    top: tuple[Mapping[str, float], ...] = ()
    offsets: tuple[int, ...] = ()


def token_logprobs(choice: Choice) -> TokenLogprobs | None:
    """Return a choice's log-probabilities; None where it has none.

    Raises:
        UnusableAnswerError: Its lists do not fit together.
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


def cost_of(answer: Answer, expected: Cost) -> Cost:
    """Return what an answer did cost, by its own account; what was expected where it gives none."""
    if answer.usage is None or answer.usage.prompt_tokens is None:
        return expected
    return Cost(answer.usage.prompt_tokens, answer.usage.completion_tokens or 0)


def completion_of(choice: Choice, stop: Sequence[str], top_logprobs: int, tokens: int | None) -> Completion:
    """Return the harness's completion of a choice.

    Servers differ in what they count: the log-probability is that of the tokens that cover the text, as for other
    backends, where they spell it; else that of all tokens.

    Args:
        choice: The server's.
        stop: Where it ends, if the server did not see to it.
        top_logprobs: How many were asked for.
        tokens: How many tokens were generated, as the server counts; None for as many as have log-probabilities.

    Raises:
        UnusableAnswerError: It has no text.
        CannotAnswerError: It lacks the log-probabilities that were asked for.
    """
    if choice.text is None and choice.message is None:
        raise UnusableAnswerError("a choice with neither text nor message")
    whole = choice.text if choice.message is None else choice.message.content or ""
    text, cut = cut_at_stop(whole or "", stop)
    known = token_logprobs(choice)
    if top_logprobs and (known is None or len(known.top) != len(known.tokens)):
        raise CannotAnswerError("the server gives no top_logprobs, which were asked for")
    logprob: float | None = None
    top: tuple[Mapping[str, float], ...] = ()
    if known is not None:
        logprob = _covering_sum(known, text)
        top = tuple(dict(_likeliest(position, top_logprobs)) for position in known.top) if top_logprobs else ()
        tokens = len(known.tokens) if tokens is None else tokens
    reason: Literal["stop", "length", "unknown"] = "unknown"
    if cut or choice.finish_reason == "stop":
        reason = "stop"
    elif choice.finish_reason == "length":
        reason = "length"
    return Completion(text, logprob, tokens, reason, top)


def _covering_sum(known: TokenLogprobs, text: str) -> float | None:
    if any(logprob is None for logprob in known.logprobs):
        return None
    logprobs = [logprob for logprob in known.logprobs if logprob is not None]
    if not "".join(known.tokens).startswith(text):
        return sum(logprobs, 0.0)
    ends = accumulate(map(len, known.tokens), initial=0)
    return sum(logprobs[: next(count for count, end in enumerate(ends) if end >= len(text))], 0.0)


def _likeliest(top: Mapping[str, float], most: int) -> list[tuple[str, float]]:
    return sorted(top.items(), key=lambda pair: -pair[1])[:most]
