"""Requests to a model, and its responses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Literal, get_args

from harness.contracts.messages import Prompt, Tool, ToolCall, continued


class _Pickled:
    """Is pickled as its class with its values: three times as fast as what dataclasses with slots do."""

    __slots__ = ()

    def __reduce__(self) -> tuple[type[Any], tuple[Any, ...]]:
        kind: Any = type(self)
        return kind, _values(kind)(self)


@cache
def _values(kind: type[Any]) -> Callable[[Any], tuple[Any, ...]]:
    return attrgetter(*(one.name for one in fields(kind)))


@dataclass(frozen=True, slots=True)
class Origin(_Pickled):
    """Where a request comes from; not part of the question, nor of the response cache's key."""

    instance: str
    """The instance's id."""
    perturbation: str | None = None
    """The instance's perturbation."""
    trial: int = 0
    """The train trial, from 0."""
    reference: int | None = None
    """Index of the reference that is scored, where each reference has a request of its own."""
    role: str = "original"
    """The answer's purpose: ``original``, except for an adapter's auxiliary questions."""
    turn: int = 0
    """The number of the turn, from 0, for a method that asks again with the model's own answers."""
    scenario: str = ""
    """The scenario with its parameters, ``mmlu:subject=anatomy``; adapters leave it to the pipeline."""


Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How much a model should reason, in the words of the servers that take it."""


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A model's reasoning before its answer: the marks around it, its budget, and its place in the results."""

    open: str | None = None
    """Mark that begins the reasoning in the model's text; empty where the prompt's end has it already. Default: as the
    checkpoint's chat template has it, else the marks of well-known models.
    """
    close: str | None = None
    """Mark that ends the reasoning; named together with ``open``."""
    budget_tokens: int | None = None
    """Most tokens of reasoning, beyond a task's ``max_tokens``. Default: 16,384."""
    effort: Effort | None = None
    """How much to reason, for models that take it: ``reasoning_effort`` of OpenAI-compatible servers and chat
    templates, a thinking budget for Anthropic.
    """
    keep: bool = False
    """True to leave the reasoning and its marks in the answer's text."""


@dataclass(frozen=True, slots=True)
class GenerateRequest(_Pickled):
    """Continue a prompt."""

    kind: ClassVar[Literal["generate"]] = "generate"
    prompt: Prompt
    """Text or conversation."""
    max_tokens: int
    """Maximum number of tokens to generate for each answer; reasoning before it does not count."""
    temperature: float = 0.0
    """0 is greedy decoding."""
    stop: tuple[str, ...] = ()
    """Strings that end an answer, which does not contain them; in reasoning they end nothing."""
    completions: int = 1
    """Number of completions to draw."""
    seed: int = 0
    """Seeds sampling when the temperature is above 0; 0 for the engine's choice, which differs for each instance."""
    top_logprobs: int = 0
    """Number of likeliest tokens to report at each generated position; 0 for none."""
    top_p: float | None = None
    """Sample from the likeliest tokens whose probabilities add up to this; None for all tokens."""
    top_k: int | None = None
    """Sample from this many of the likeliest tokens; None for all."""
    min_p: float | None = None
    """Sample from tokens at least this share as likely as the likeliest; None for all."""
    repetition_penalty: float | None = None
    """Divisor of the positive logits, and factor of the negative ones, of tokens in the prompt or the completion; None
    for no penalty.
    """
    prefill: str = ""
    """How the model's answer begins: the model continues it, and completions do not contain it."""
    tools: tuple[Tool, ...] = ()
    """Tools that the model may call instead of writing text; their calls are then answers."""
    reasoning: Reasoning | None = None
    """How the model reasons before it answers; None if the model's entry does not say."""
    origin: Origin | None = field(default=None, compare=False)
    """Where the request comes from."""

    @property
    def whole_prompt(self) -> Prompt:
        """The prompt with the beginning of the model's answer."""
        return continued(self.prompt, self.prefill)


@dataclass(frozen=True, slots=True)
class ScoreRequest(_Pickled):
    """Log-likelihood of a continuation given a context.

    Context and continuation are tokenized together and split at the context's length, as
    lm-evaluation-harness does: whitespace at the end of the context moves to the continuation first. With an empty
    context, the continuation follows the model's beginning-of-text token. A continuation longer than the model's window
    is scored in consecutive windows, each with as much of the preceding text as fits (rolling log-likelihood); a
    context that does not fit into the window with its continuation loses its beginning.
    """

    kind: ClassVar[Literal["score"]] = "score"
    context: Prompt
    """The text or conversation that precedes the continuation."""
    continuation: str
    """The text to score."""
    vocabulary_moments: bool = False
    """True to ask for :attr:`Response.vocabulary_moments` as well; a model that cannot compute them answers with an
    error.
    """
    origin: Origin | None = field(default=None, compare=False)
    """Where the request comes from."""


@dataclass(frozen=True, slots=True)
class SequenceRequest(_Pickled):
    """Log-likelihood of text segments, each tokenized once by itself, joined in a given order after one BOS token.

    A sequence longer than the model's window is scored in windows that each begin half a window after the last, where
    every token but those of the first window has at least half a window of text before it (Oren et al. 2023, their
    script's ``stride``); with ``scored``, the context loses its beginning instead.
    """

    kind: ClassVar[Literal["score"]] = "score"
    segments: tuple[str, ...]
    """The texts; requests that only differ in order share this tuple."""
    order: tuple[int, ...]
    """Different indices into ``segments``, in reading order; it need not name all of them."""
    scored: int | None = None
    """Number of segments at the end of the order to score, the ones before being context only; None for all."""
    max_scored_tokens: int | None = None
    """With ``scored=1``, the number of tokens of the last segment that are read and scored; None for all of them."""
    origin: Origin | None = field(default=None, compare=False)
    """Where the request comes from."""

    def __post_init__(self) -> None:
        if self.scored is not None and not 1 <= self.scored <= len(self.order):
            raise ValueError(f"scored is {self.scored}, of {len(self.order)} segments")
        if self.max_scored_tokens is not None and (self.scored != 1 or self.max_scored_tokens < 1):
            raise ValueError("max_scored_tokens is a positive number of tokens of the one scored segment (scored=1)")


Request = GenerateRequest | ScoreRequest | SequenceRequest


Decline = Literal["refusal", "content_filter", "tool_call"]
"""How a model or its provider can decline to answer."""

DECLINES: tuple[Decline, ...] = get_args(Decline)
"""Every kind of :data:`Decline`, in the order in which they are reported."""

Ended = Literal["stop", "length", "unknown", "unfinished_reasoning"]
"""How a completion can end that nobody declined."""

FinishReason = Ended | Decline
"""Why a completion ended."""

FINISH_REASONS: tuple[FinishReason, ...] = (*get_args(Ended), *DECLINES)
"""Every :data:`FinishReason`."""


@dataclass(frozen=True, slots=True)
class Completion(_Pickled):
    """One generated text."""

    text: str
    """Decoded text of the answer, without reasoning, stop string, end-of-text token and prompt."""
    logprob: float | None = None
    """Sum of the natural log-probabilities of the text's tokens; None if the model does not give them. Also None for an
    empty text, whose sum of 0 would look like certainty, and for a declined completion, which is not an answer.
    """
    tokens: int | None = None
    """Number of generated tokens, including those of reasoning; None when unknown."""
    finish_reason: FinishReason = "unknown"
    """``stop`` (stop string or end of text), ``length`` (max_tokens reached), ``unfinished_reasoning`` (the model was
    still reasoning when it ran out of tokens: there is no answer, and the text is empty), ``unknown``, or why the model
    declined: ``refusal`` (the model refused), ``content_filter`` (the provider withheld or cut the text) or
    ``tool_call`` (the model called a tool instead of answering; an answer where tools were offered, see
    ``tool_calls``).
    """
    top_logprobs: tuple[Mapping[str, float], ...] = ()
    """For each position of the answer, the requested number of likeliest tokens with their natural log-probabilities,
    likeliest first; empty if none were requested.
    """
    explanation: str = ""
    """The model's or provider's explanation of a declined answer, such as a refusal's wording. It is not part of the
    text, and metrics do not see it.
    """
    tool_calls: tuple[ToolCall, ...] = ()
    """The model's calls of tools, in its order; empty if the request offers none."""
    reasoning: str = ""
    """What the model thought before its answer, without marks; empty if nothing or unknown. Metrics that do not ask for
    it do not see it.
    """
    reasoning_tokens: int | None = None
    """Number of generated tokens of reasoning, with its marks; None when unknown."""
    unannounced_mark: str = ""
    """The mark by which reasoning was found in the text, where neither the model's settings nor its chat template
    announced any; empty otherwise.
    """

    def __post_init__(self) -> None:
        if (not self.text and self.logprob == 0.0) or self.declined is not None or self.unfinished_reasoning:
            object.__setattr__(self, "logprob", None)

    @property
    def declined(self) -> Decline | None:
        """Why the model or its provider declined to answer; None if the completion is an answer."""
        if self.tool_calls and self.finish_reason == "tool_call":
            return None
        return next((kind for kind in DECLINES if kind == self.finish_reason), None)

    @property
    def unfinished_reasoning(self) -> bool:
        """True if the model ran out of tokens while it was still reasoning."""
        return self.finish_reason == "unfinished_reasoning"


@dataclass(frozen=True, slots=True)
class Served:
    """The model and configuration that a server reports to have used."""

    model: str | None = None
    """The model's name; None when the server gives none."""
    fingerprint: str | None = None
    """The server's configuration (OpenAI's ``system_fingerprint``); None when it gives none."""


@dataclass(frozen=True, slots=True)
class Response(_Pickled):
    """A model's answer to one request."""

    completions: tuple[Completion, ...] = ()
    """For a GenerateRequest, the requested number of completions."""
    logprobs: tuple[float, ...] | None = None
    """For a ScoreRequest each scored token's natural log-probability, in reading order; for a SequenceRequest each
    scored segment's, in the requested order: the sum over its scored tokens.
    """
    vocabulary_moments: tuple[tuple[float, float], ...] = ()
    """For a ScoreRequest that asks for them, at each scored position the mean and the standard deviation of the natural
    log-probability of a token drawn from the model's prediction (Min-K%++, Zhang et al. 2024).
    """
    segment_tokens: tuple[int, ...] = ()
    """For a SequenceRequest, the number of scored tokens of each scored segment, in that order."""
    greedy: bool | None = None
    """For a ScoreRequest, True if every token of the continuation was the model's first choice."""
    prompt_tokens: int | None = None
    """Number of tokens of the prompt or context, counted by the model; None if unknown."""
    completion_tokens: int | None = None
    """Number of tokens generated or scored; None if unknown."""
    computed_tokens: int | None = field(default=None, compare=False)
    """Tokens of prompt and completion that the model computed for this request, without a prefix that it had already
    read for another request (a prefix cache). If a text is read in overlapping windows, the tokens of each window
    count. None if unknown, or if all tokens were computed. Stored neither in the response cache nor with the examples.
    """
    seconds: float = 0.0
    """This request's share of the model's wall time, in seconds; 0.0 if unknown."""
    truncated: bool = False
    """True if the model had to cut the request to fit its window."""
    served: tuple[Served, ...] = ()
    """The models that the server says it used, each once; empty without a server."""
    batched: bool = False
    """True if it was asked through a provider's batch interface, which has prices of its own."""
    cached: bool = False
    """True if it came from the response cache."""
    imported: str | None = None
    """SHA-256 of the file from which it was imported into the response cache, in hexadecimal; None for an answer that
    the model gave here.
    """
    other_gpu: str | None = None
    """The kind of GPU that gave it, if that is not the one here; None for any other answer."""
    error: str | None = None
    """Why the request failed; completions and logprobs are then empty. None for an answer."""

    @property
    def declined(self) -> Decline | None:
        """Why the first declined completion was declined; None if all completions are answers."""
        return next((kind for completion in self.completions if (kind := completion.declined)), None)
