"""Requests in, responses out, for a causal language model that is in memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness import GenerateRequest, Request, Response, ScoreRequest, SequenceRequest
from harness.models.tokens.conversations import prompt_of, with_tool_calls
from harness.models.tokens.requests import NO_NUMBERS, PendingScore, objection, pending_scores
from harness.models.tokens.thoughts import thinking_of
from harness.models.tokens.tokenizer import TextTokenizer
from harness.models.transformers.batching import Budget
from harness.models.transformers.causal_generation import Draw, Drawn
from harness.models.transformers.causal_scoring import score_spans
from harness.models.transformers.model_runner import ModelRunner
from harness.models.transformers.packed_generation import generate
from harness.models.transformers.prefix_scoring import PrefixSharing
from harness.models.transformers.sampling import Sampling

NO_MEMORY = "there is not enough memory for this request alone."

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
        self.tokenizer.ready(prompt_of(request) for _, request in requests)
        prompts: list[tuple[int, GenerateRequest]] = []
        texts: list[tuple[int, ScoreRequest | SequenceRequest]] = []
        for index, request in requests:
            if (reason := objection(request, self.tokenizer, self.window)) is not None:
                yield index, Response(error=reason)
            elif isinstance(request, GenerateRequest):
                prompts.append((index, request))
            else:
                texts.append((index, request))
        refused, pending = pending_scores(texts, self.tokenizer, self.window)
        yield from refused
        yield from self._score([one for one in pending if not one.wants_moments])
        yield from self._score([one for one in pending if one.wants_moments], moments=True)
        yield from self._generate(prompts)

    def _score(self, asked: Sequence[PendingScore], *, moments: bool = False) -> Iterator[tuple[int, Response]]:
        parts = [(one, place, span) for one in asked for place, span in enumerate(one.text.spans)]
        spans, pad = [span for _, _, span in parts], self.tokenizer.prefix
        if moments:
            answers = score_spans(self.runner, spans, self.budget, pad=pad, moments=True)
        else:
            answers = self.sharing.score(spans, self.budget, pad=pad)
        for number, scored in answers:
            one, place, _ = parts[number]
            if scored is None:
                yield from one.fail(place, NO_MEMORY)
            else:
                yield from one.take(
                    place,
                    scored.logprobs,
                    greedy=scored.greedy,
                    seconds=scored.seconds,
                    computed=scored.computed,
                    moments=scored.moments,
                )

    def _generate(self, asked: Sequence[tuple[int, GenerateRequest]]) -> Iterator[tuple[int, Response]]:
        draws: list[Draw] = []
        writers: list[_Written] = []
        prompts = self.tokenizer.prompts([prompt_of(request) for _, request in asked])
        for (index, request), prompt in zip(asked, prompts, strict=True):
            room = len(prompt) if self.window is None else self.window - request.max_tokens
            kept = prompt[-room:]
            # Greedy completions of one prompt are all the same.
            count = request.completions if request.temperature > 0 else 1
            text = self.tokenizer.render(prompt_of(request))
            thinking = thinking_of(request, text, kept, self.tokenizer, self.window)
            writer = _Written(index, request, len(kept), len(kept) < len(prompt), len(draws), [None] * count)
            for number in range(count):
                purpose = f"completion={number}/{text}"
                draws.append(
                    Draw(
                        prompt=kept,
                        max_tokens=request.max_tokens,
                        sampling=Sampling.of(request),
                        stop=request.stop,
                        purpose=purpose,
                        seed=request.seed,
                        top=request.top_logprobs,
                        thinking=thinking,
                    )
                )
                writers.append(writer)
        for place, drawn in generate(self.sharing, self.runner, draws, self.tokenizer, self.budget, ends=self.ends):
            writer = writers[place]
            writer.answers[place - writer.first] = drawn
            writer.done += 1
            if writer.done == len(writer.answers):
                yield writer.index, writer.response()


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
        completions = tuple(with_tool_calls(answer.completion, self.request) for answer in drawn)
        return Response(
            completions=completions
            if len(drawn) == self.request.completions
            else completions * self.request.completions,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=sum(completion.tokens or 0 for completion in completions),
            computed_tokens=sum(answer.computed for answer in drawn),
            seconds=sum(answer.seconds for answer in drawn),
            truncated=self.truncated,
        )
