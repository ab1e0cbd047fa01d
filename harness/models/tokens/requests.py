"""Requests to a model from a checkpoint: why one cannot be answered, and requests to score, in tokens."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from harness import GenerateRequest, Request, Response, ScoreRequest, SequenceRequest
from harness.models.tokens.conversations import prompt_of
from harness.models.tokens.scored_text import (
    NothingToScoreError,
    ScoredText,
    scored_continuation,
    scored_sequence,
)
from harness.models.tokens.thoughts import effort_objection
from harness.models.tokens.tokenizer import TextTokenizer

NO_NUMBERS = "the model's logits are not numbers; try dtype: float32."


def objection(request: Request, tokenizer: TextTokenizer, window: int | None) -> str | None:
    """Return why a request cannot be answered; None if it can."""
    try:
        tokenizer.render(prompt_of(request))
    except ValueError as error:
        return str(error)
    if isinstance(request, GenerateRequest):
        if request.max_tokens < 1 or request.completions < 1:
            return "max_tokens and completions must be at least 1."
        if (refused := effort_objection(request)) is not None:
            return refused
        if window is not None and request.max_tokens >= window:
            return f"max_tokens is {request.max_tokens}, and the model's window holds {window} with the prompt."
    return None


@dataclass(slots=True)
class PendingScore:
    """A request to score, while its spans are answered one by one."""

    index: int
    """The request's number."""
    text: ScoredText[int]
    """Its tokens and spans."""
    wants_moments: bool = False
    """True to report the vocabulary's moments as well."""
    seconds: float = 0.0
    """Seconds spent on it so far."""
    computed: int = 0
    """Tokens that were computed for it so far."""
    error: str | None = None
    """Why it has no answer; None if it may have one."""
    logprobs: list[tuple[float, ...]] = field(init=False)
    """The log-probabilities of each span's scored tokens; empty until they are known."""
    _moments: list[tuple[tuple[float, float], ...]] = field(init=False)
    _greedy: bool = True
    _missing: int = field(init=False)

    def __post_init__(self) -> None:
        self._missing = len(self.text.spans)
        self.logprobs = [()] * self._missing
        self._moments = [()] * self._missing

    def take(
        self,
        place: int,
        logprobs: tuple[float, ...],
        *,
        greedy: bool,
        seconds: float,
        computed: int = 0,
        moments: tuple[tuple[float, float], ...] = (),
    ) -> list[tuple[int, Response]]:
        """Add the answer to a span, with the number of its tokens that were computed for this request.

        Returns:
            The request's number and response once all spans are answered.
        """
        self.logprobs[place], self._moments[place] = logprobs, moments
        self._greedy = self._greedy and greedy
        self.seconds += seconds
        self.computed += computed
        self._missing -= 1
        return [] if self._missing else [(self.index, self._response())]

    def fail(self, place: int, reason: str) -> list[tuple[int, Response]]:
        """Take the reason why a span has no answer; returns what :meth:`take` returns."""
        self.error = reason
        return self.take(place, (), greedy=False, seconds=0.0)

    def _response(self) -> Response:
        logprobs = tuple(chain.from_iterable(self.logprobs))
        if self.error is not None:
            return Response(error=self.error)
        if any(math.isnan(logprob) for logprob in logprobs):
            return Response(error=NO_NUMBERS)
        response = self.text.response(logprobs, greedy=self._greedy, seconds=self.seconds)
        moments = tuple(chain.from_iterable(self._moments))
        return replace(response, vocabulary_moments=moments, computed_tokens=self.computed)


def pending_scores(
    requests: Sequence[tuple[int, ScoreRequest | SequenceRequest]], tokenizer: TextTokenizer, window: int | None
) -> tuple[list[tuple[int, Response]], list[PendingScore]]:
    """Return error responses to the requests that leave nothing to score, and the others in tokens, in order."""
    pairs = {index: request for index, request in requests if isinstance(request, ScoreRequest)}
    texts = [
        (tokenizer.render(request.context), request.continuation, isinstance(request.context, str))
        for request in pairs.values()
    ]
    tokens = dict(zip(pairs, tokenizer.pairs(texts), strict=True))
    refused: list[tuple[int, Response]] = []
    pending: list[PendingScore] = []
    for index, request in requests:
        try:
            if isinstance(request, ScoreRequest):
                text = scored_continuation(*tokens[index], window)
                pending.append(PendingScore(index, text, request.vocabulary_moments))
            else:
                segments = tokenizer.segments(request.segments)
                pending.append(PendingScore(index, scored_sequence(request, segments, tokenizer.prefix, window)))
        except NothingToScoreError as error:
            refused.append((index, Response(error=str(error))))
    return refused, pending
