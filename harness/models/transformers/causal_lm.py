"""Requests in, responses out, for a causal language model that is in memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from harness import GenerateRequest, Request, Response, ScoreRequest, SequenceRequest
from harness.models.tokens.scored_text import segment_sums
from harness.models.tokens.tokenizer import TextTokenizer, Tokens
from harness.models.tokens.windows import Span, spans, strided_spans
from harness.models.transformers.batching import Budget
from harness.models.transformers.causal_generation import Draw, Drawn
from harness.models.transformers.causal_scoring import ScoredSpan, score_spans
from harness.models.transformers.model_runner import ModelRunner
from harness.models.transformers.packed_generation import generate
from harness.models.transformers.prefix_scoring import PrefixSharing

NO_MEMORY = "there is not enough memory for this request alone."
NO_NUMBERS = "the model's logits are not numbers; try dtype: float32."
NOTHING_TO_SCORE = "there is nothing to score: the continuation has no tokens of its own."

Numbered = Sequence[tuple[int, Request]]


@dataclass(frozen=True, slots=True)
class CausalLM:
    """A causal language model with its tokenizer and limits."""

    runner: ModelRunner
    """Runs the model."""
    tokenizer: TextTokenizer
    """Its tokenizer."""
    window: int | None
    """Most tokens of prompt and completion together; None when unlimited."""
    ends: frozenset[int]
    """Tokens that end a text."""
    budget: Budget
    """Limits of a batch."""
    sharing: PrefixSharing
    """Processes text that prompts share once, if the model supports it."""

    def answer(self, requests: Numbered) -> Iterator[tuple[int, Response]]:
        """Yield each request's number with its response, as batches are done."""
        tokenized = self._tokenize(requests)
        yield from ((index, Response(error=reason)) for index, reason in tokenized.refused)
        yield from self._score([one for one in tokenized.scores if not one.moments])
        yield from self._score([one for one in tokenized.scores if one.moments], moments=True)
        yield from self._generate(tokenized)

    def _tokenize(self, requests: Numbered) -> _Tokenized:
        found = _Tokenized()
        asked: list[tuple[int, Request]] = []
        self.tokenizer.ready(
            request.prompt if isinstance(request, GenerateRequest) else request.context
            for _, request in requests
            if not isinstance(request, SequenceRequest)
        )
        for index, request in requests:
            reason = self._objection(request)
            if reason is None:
                asked.append((index, request))
            else:
                found.refused.append((index, reason))
        pairs = [(index, request) for index, request in asked if isinstance(request, ScoreRequest)]
        found.scores += self._pairs(pairs)
        found.scores += (
            self._sequence(index, request) for index, request in asked if isinstance(request, SequenceRequest)
        )
        self._prompts([(index, one) for index, one in asked if isinstance(one, GenerateRequest)], found)
        return found

    def _objection(self, request: Request) -> str | None:
        if isinstance(request, SequenceRequest):
            return None
        try:
            self.tokenizer.render(request.prompt if isinstance(request, GenerateRequest) else request.context)
        except ValueError as error:
            return str(error)
        if isinstance(request, GenerateRequest):
            if request.max_tokens < 1 or request.completions < 1:
                return "max_tokens and completions must be at least 1."
            if self.window is not None and request.max_tokens >= self.window:
                return (
                    f"max_tokens is {request.max_tokens}, and the model's window holds {self.window} with the prompt."
                )
        return None

    def _score(self, asked: Sequence[_Asked], *, moments: bool = False) -> Iterator[tuple[int, Response]]:
        flat: list[Span[int]] = []
        owners: list[_Asked] = []
        for one in asked:
            if not one.continuation:
                yield one.index, Response(error=NOTHING_TO_SCORE)
                continue
            if one.strided:
                found = strided_spans((*one.context, *one.continuation), self.window)
            else:
                found, one.truncated = spans(one.context, one.continuation, self.window)
            one.answers = [None] * len(found)
            one.first = len(flat)
            flat += found
            owners += [one] * len(found)
        pad = self.tokenizer.prefix
        if moments:
            answers = score_spans(self.runner, flat, self.budget, pad=pad, moments=True)
        else:
            answers = self.sharing.score(flat, self.budget, pad=pad)
        for number, scored in answers:
            owner = owners[number]
            owner.answers[number - owner.first] = scored
            owner.done += 1
            if owner.done == len(owner.answers):
                yield owner.index, owner.response()

    def _pairs(self, requests: Sequence[tuple[int, ScoreRequest]]) -> Iterator[_Asked]:
        texts = [
            (self.tokenizer.render(request.context), request.continuation, isinstance(request.context, str))
            for _, request in requests
        ]
        for (index, request), (context, continuation) in zip(requests, self.tokenizer.pairs(texts), strict=True):
            yield _Asked(index, context, continuation, moments=request.vocabulary_moments)

    def _sequence(self, index: int, request: SequenceRequest) -> _Asked:
        segments = self.tokenizer.segments(request.segments)
        ordered = [segments[place] for place in request.order]
        start = 0 if request.scored is None else len(ordered) - request.scored
        scored = [segment[: request.max_scored_tokens] for segment in ordered[start:]]
        context = (self.tokenizer.prefix, *chain.from_iterable(ordered[:start]))
        lengths = tuple(map(len, scored))
        return _Asked(index, context, tuple(chain.from_iterable(scored)), lengths, strided=request.scored is None)

    def _prompts(self, asked: Sequence[tuple[int, GenerateRequest]], found: _Tokenized) -> None:
        prompts = self.tokenizer.prompts([request.prompt for _, request in asked])
        draws, writers = found.draws, found.writers
        for (index, request), prompt in zip(asked, prompts, strict=True):
            room = len(prompt) if self.window is None else self.window - request.max_tokens
            kept = prompt[-room:]
            # Greedy completions of one prompt are all the same.
            count = request.completions if request.temperature > 0 else 1
            writer = _Written(index, request, len(kept), len(kept) < len(prompt), len(draws), [None] * count)
            for number in range(count):
                purpose = f"completion={number}/{self.tokenizer.render(request.prompt)}"
                draws.append(
                    Draw(
                        prompt=kept,
                        max_tokens=request.max_tokens,
                        temperature=request.temperature,
                        stop=request.stop,
                        purpose=purpose,
                        seed=request.seed,
                        top=request.top_logprobs,
                    )
                )
                writers.append(writer)

    def _generate(self, tokenized: _Tokenized) -> Iterator[tuple[int, Response]]:
        drawn_ones = generate(self.sharing, self.runner, tokenized.draws, self.tokenizer, self.budget, ends=self.ends)
        for place, drawn in drawn_ones:
            writer = tokenized.writers[place]
            writer.answers[place - writer.first] = drawn
            writer.done += 1
            if writer.done == len(writer.answers):
                yield writer.index, writer.response()


@dataclass(slots=True)
class _Asked:
    """A request to score, while its spans come back."""

    index: int
    context: Tokens
    continuation: Tokens
    segment_tokens: tuple[int, ...] = ()
    strided: bool = False
    moments: bool = False
    truncated: bool = False
    first: int = 0
    done: int = 0
    answers: list[ScoredSpan | None] = field(default_factory=list)

    def response(self) -> Response:
        scored = [answer for answer in self.answers if answer is not None]
        logprobs = tuple(logprob for answer in scored for logprob in answer.logprobs)
        if len(scored) < len(self.answers):
            return Response(error=NO_MEMORY)
        if any(math.isnan(logprob) for logprob in logprobs):
            return Response(error=NO_NUMBERS)
        return Response(
            logprobs=segment_sums(logprobs, self.segment_tokens) if self.segment_tokens else logprobs,
            vocabulary_moments=tuple(pair for answer in scored for pair in answer.moments),
            segment_tokens=self.segment_tokens,
            greedy=None if self.segment_tokens else all(answer.greedy for answer in scored),
            prompt_tokens=len(self.context),
            completion_tokens=len(self.continuation),
            seconds=sum(answer.seconds for answer in scored),
            truncated=self.truncated,
        )


@dataclass(slots=True)
class _Written:
    """A request to generate, while its completions come back."""

    index: int
    request: GenerateRequest
    prompt_tokens: int
    truncated: bool
    first: int
    answers: list[Drawn | None]
    done: int = 0

    def response(self) -> Response:
        drawn = [answer for answer in self.answers if answer is not None]
        if len(drawn) < len(self.answers):
            return Response(error=NO_MEMORY)
        if any(math.isnan(answer.completion.logprob or 0.0) for answer in drawn):
            return Response(error=NO_NUMBERS)
        completions = tuple(answer.completion for answer in drawn)
        return Response(
            completions=completions
            if len(drawn) == self.request.completions
            else completions * self.request.completions,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=sum(completion.tokens or 0 for completion in completions),
            seconds=sum(answer.seconds for answer in drawn),
            truncated=self.truncated,
        )


@dataclass(slots=True)
class _Tokenized:
    """Requests as tokens: what is refused and why, what is to be scored, what is to be written and for whom."""

    refused: list[tuple[int, str]] = field(default_factory=list)
    scores: list[_Asked] = field(default_factory=list)
    draws: list[Draw] = field(default_factory=list)
    writers: list[_Written] = field(default_factory=list)
