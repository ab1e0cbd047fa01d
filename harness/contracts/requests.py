"""What a model is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


Prompt = str | tuple[Message, ...]
"""Plain text, or a conversation that the model puts through its own chat template."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a request comes from. It is no part of the question, and no part of the response cache's key.

    Attributes:
        instance: The instance's id.
        perturbation: The instance's perturbation.
        trial: The train trial, from 0.
        reference: Index of the reference that is scored, where each reference has a request of its own.
        role: What the answer is for: ``original`` everywhere but for an adapter's auxiliary questions.
        scenario: The scenario with its parameters, ``mmlu:subject=anatomy``; adapters leave it to the pipeline.
    """

    instance: str
    perturbation: str | None = None
    trial: int = 0
    reference: int | None = None
    role: str = "original"
    scenario: str = ""


@dataclass(frozen=True, slots=True)
class GenerateRequest:
    """Continue a prompt.

    Attributes:
        prompt: Text or conversation.
        max_tokens: Most tokens to generate for each completion.
        temperature: 0 is greedy decoding.
        stop: Strings that end a completion; the completion does not contain them.
        completions: How many completions to draw.
        seed: Seeds sampling when the temperature is above 0.
        top_logprobs: How many of the likeliest tokens to report at each generated position; 0 for none.
        origin: Where the request comes from.
    """

    kind: ClassVar[Literal["generate"]] = "generate"
    prompt: Prompt
    max_tokens: int
    temperature: float = 0.0
    stop: tuple[str, ...] = ()
    completions: int = 1
    seed: int = 0
    top_logprobs: int = 0
    origin: Origin | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ScoreRequest:
    """Log-likelihood of a continuation given a context.

    Context and continuation are tokenized together and split at the context's length, as
    lm-evaluation-harness does: whitespace at the end of the context moves to the continuation first. An empty
    context stands for the model's beginning-of-text token. A continuation longer than the model's window is scored
    in consecutive windows, each with as much of the preceding text as fits (rolling log-likelihood); a context too
    long to fit beside its continuation loses its beginning.

    Attributes:
        context: What stands before, text or conversation.
        continuation: What is scored.
        moments: Whether the response also has :attr:`Response.moments`; a model that cannot compute them answers with
            an error.
        origin: Where the request comes from.
    """

    kind: ClassVar[Literal["score"]] = "score"
    context: Prompt
    continuation: str
    moments: bool = False
    origin: Origin | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class SequenceRequest:
    """Log-likelihood of text segments, each tokenized once by itself, joined in a given order after one BOS token.

    A sequence longer than the model's window is scored in windows that each begin half a window after the last, where
    every token but those of the first window has at least half a window of text before it (Oren et al. 2023, their
    script's ``stride``); with ``scored``, the context loses its beginning instead.

    Attributes:
        segments: The texts; requests that only differ in order share this tuple.
        order: Different indices into ``segments``, in reading order; it need not name all of them.
        scored: How many segments at the end of the order are scored, the ones before being context only; None for all.
        head: With ``scored=1``, how many tokens of the last segment are read and scored; None for all of them.
        origin: Where the request comes from.
    """

    kind: ClassVar[Literal["score"]] = "score"
    segments: tuple[str, ...]
    order: tuple[int, ...]
    scored: int | None = None
    head: int | None = None
    origin: Origin | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.scored is not None and not 1 <= self.scored <= len(self.order):
            raise ValueError(f"scored is {self.scored}, of {len(self.order)} segments")
        if self.head is not None and (self.scored != 1 or self.head < 1):
            raise ValueError("head is a positive number of tokens of the one scored segment (scored=1)")


Request = GenerateRequest | ScoreRequest | SequenceRequest


Decline = Literal["refusal", "content_filter", "tool_call", "reasoning_cut_off"]
"""How a model or its provider can give no answer and say so."""

DECLINES: tuple[Decline, ...] = get_args(Decline)
"""Every kind of :data:`Decline`, in the order in which they are reported."""

FinishReason = Literal["stop", "length", "unknown"] | Decline
"""Why a completion ended."""


@dataclass(frozen=True, slots=True)
class Completion:
    """One generated text.

    Attributes:
        text: Decoded text, without stop string, end-of-text token and prompt.
        logprob: Sum of the natural log-probabilities of the text's tokens; None when the model gives none. An empty
            text has no tokens, so the 0 that their sum would be is None, too: it would read as certainty. A declined
            completion is not an answer that could have a probability, so it is None there as well.
        tokens: Number of generated tokens; None when unknown.
        finish_reason: ``stop`` (stop string or end of text), ``length`` (max_tokens reached), ``unknown``, or why the
            model did not answer: ``refusal`` (the model refused), ``content_filter`` (the provider withheld or cut the
            text), ``tool_call`` (the model called a tool instead of answering) or ``reasoning_cut_off`` (a reasoning
            model reached max_tokens before it wrote an answer).
        top_logprobs: For each generated position the likeliest tokens' texts and natural log-probabilities, as many
            as were asked for, likeliest first; empty when none were asked for.
        explanation: What model or provider says about a declined answer, such as the words of a refusal. It is not
            part of the text, and metrics do not see it.
    """

    text: str
    logprob: float | None = None
    tokens: int | None = None
    finish_reason: FinishReason = "unknown"
    top_logprobs: tuple[Mapping[str, float], ...] = ()
    explanation: str = ""

    def __post_init__(self) -> None:
        if (not self.text and self.logprob == 0.0) or self.declined is not None:
            object.__setattr__(self, "logprob", None)

    @property
    def declined(self) -> Decline | None:
        """Why the model or its provider gave no answer; None where the completion is an answer."""
        return next((kind for kind in DECLINES if kind == self.finish_reason), None)


@dataclass(frozen=True, slots=True)
class Served:
    """What a server says that it answered with.

    Attributes:
        model: The model's name; None when the server gives none.
        fingerprint: The server's configuration (OpenAI's ``system_fingerprint``); None when it gives none.
    """

    model: str | None = None
    fingerprint: str | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """A model's answer to one request.

    Attributes:
        completions: For a GenerateRequest, as many as were asked for.
        logprobs: For a ScoreRequest each scored token's natural log-probability, in reading order; for a
            SequenceRequest each scored segment's, in the order asked for: the sum over its scored tokens.
        moments: For a ScoreRequest that asks for them, at each scored position the mean and the standard deviation of
            the natural log-probability of a token drawn from the model's prediction (Min-K%++, Zhang et al. 2024).
        segment_tokens: For a SequenceRequest, the number of scored tokens of each scored segment, in that order.
        greedy: For a ScoreRequest, whether every token of the continuation was the model's first choice.
        prompt_tokens: Tokens of the prompt or context, as the model counts; None when unknown.
        completion_tokens: Tokens generated, or scored; None when unknown.
        seconds: This request's share of the model's wall time when it was answered, in seconds; 0.0 when unknown.
        truncated: Whether the model had to cut the request to fit its window.
        served: What the server says that it answered with, each different one once; empty without a server.
        cached: Whether it came from the response cache.
        imported: SHA-256 of the file from which it was imported into the response cache, in hexadecimal; None for an
            answer that the model gave here.
        error: Why there is no answer; then completions and logprobs are empty.
    """

    completions: tuple[Completion, ...] = ()
    logprobs: tuple[float, ...] | None = None
    moments: tuple[tuple[float, float], ...] = ()
    segment_tokens: tuple[int, ...] = ()
    greedy: bool | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float = 0.0
    truncated: bool = False
    served: tuple[Served, ...] = ()
    cached: bool = False
    imported: str | None = None
    error: str | None = None

    @property
    def declined(self) -> Decline | None:
        """Why the first of its completions that is not an answer is none; None where all of them are answers."""
        return next((kind for completion in self.completions if (kind := completion.declined)), None)
