"""A language model made of hashes: exact, seeded log-probabilities that cost microseconds and need no weights."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

from harness import (
    DECLINES,
    Completion,
    Decline,
    GenerateRequest,
    Model,
    ModelError,
    Prompt,
    Request,
    Response,
    ScoreRequest,
    SequenceRequest,
    backend,
    derive_rng,
)
from harness.models.offline.hash_language import CLASSES, END, KNOWN, TextState, tokenize
from harness.models.tokens.segments import segment_sums
from harness.models.tokens.stop_sequences import cut_at_stop
from harness.models.tokens.windows import Span, spans, strided_spans


@backend("fake", source="This harness: a stand-in for a real model in tests and rehearsals.")
class FakeModel(Model):
    """Answers everything with exact log-probabilities hashed from a seed; for tests and for rehearsing a sweep.

    The identifier is the seed: ``fake:0``.

    Args:
        identifier: The seed, any text.
        window: Most tokens of prompt and completion together; None for no limit.
        chat: Whether conversations are taken.
        delay: Seconds that each request takes.
        fail_every: One request in N, always the same ones, is answered with an error; 0 for none.
        decline_every: One request in N to generate, always the same ones, is declined, each kind in turn; 0 for none.
        log: A file to which the digest of every request is appended, one a line, before it is answered.

    Attributes:
        asked: How many requests it was asked.
    """

    answers = frozenset({"generate", "score"})
    operational = frozenset({"delay", "log"})

    def __init__(
        self,
        identifier: str,
        *,
        window: int | None = None,
        chat: bool = False,
        delay: float = 0.0,
        fail_every: int = 0,
        decline_every: int = 0,
        log: str | None = None,
    ) -> None:
        if window is not None and window < 2:
            raise ModelError(f"fake:{identifier}: window is {window}; it must hold at least 2 tokens.")
        self.asked = 0
        self._seed = identifier
        self._window = window
        self._chat = chat
        self._delay = delay
        self._fail_every = fail_every
        self._decline_every = decline_every
        self._log = Path(log) if log else None

    @property
    def window(self) -> int | None:
        return self._window

    @property
    def chat(self) -> bool:
        return self._chat

    def fingerprint(self) -> Mapping[str, Any]:
        return {
            "backend": "fake",
            "version": 1,
            "seed": self._seed,
            "window": self._window,
            "chat": self._chat,
            "fail_every": self._fail_every,
            "decline_every": self._decline_every,
        }

    def description(self) -> Mapping[str, Any]:
        return {
            "modality": "text",
            "architecture": "hash",
            "parameters": 0,
            "tokenizer": f"{len(KNOWN) + CLASSES} words and characters",
            "window": self._window,
            "access": "open",
        }

    def count_tokens(self, prompt: Prompt) -> int:
        return len(tokenize(_text_of(prompt)))

    def count_segments(self, segments: Sequence[str]) -> Sequence[int]:
        return [len(tokenize(segment)) for segment in segments]

    def truncate(self, text: str, tokens: int) -> str:
        return "".join(tokenize(text)[: max(0, tokens)])

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Response]]:
        for index, request in enumerate(requests):
            self.asked += 1
            chosen = self._log is not None or self._fail_every or self._decline_every
            digest = request_digest(request) if chosen else ""
            if self._log is not None:
                with self._log.open("a", encoding="ascii") as file:
                    file.write(f"{digest}\n")
            if self._delay:
                time.sleep(self._delay)
            if self._fail_every and int(digest, 16) % self._fail_every == 0:
                yield index, Response(error=f"fake:{self._seed} fails one request in {self._fail_every} on purpose.")
            elif self._decline_every and isinstance(request, GenerateRequest):
                turn, rest = divmod(int(digest, 16), self._decline_every)
                yield index, self._respond(request) if rest else self._declined(request, DECLINES[turn % len(DECLINES)])
            else:
                yield index, self._respond(request)

    def _declined(self, request: GenerateRequest, kind: Decline) -> Response:
        said = f"fake:{self._seed} declines one request in {self._decline_every} on purpose."
        completion = Completion("", tokens=0, finish_reason=kind, explanation=said)
        prompt = self.count_tokens(request.prompt)
        return Response((completion,) * request.completions, prompt_tokens=prompt, completion_tokens=0)

    def _respond(self, request: Request) -> Response:
        if isinstance(request, SequenceRequest):
            return self._score_sequence(request)
        prompt = request.prompt if isinstance(request, GenerateRequest) else request.context
        if not isinstance(prompt, str) and not self._chat:
            return Response(error=f"fake:{self._seed} takes no conversations; give it chat: true.")
        return self._generate(request) if isinstance(request, GenerateRequest) else self._score(request)

    def _generate(self, request: GenerateRequest) -> Response:
        tokens = tokenize(_text_of(request.prompt))
        room = len(tokens) if self._window is None else max(0, self._window - request.max_tokens)
        kept = tokens[len(tokens) - room :] if room < len(tokens) else tokens
        completions = tuple(self._complete("".join(kept), request, number) for number in range(request.completions))
        return Response(
            completions=completions,
            prompt_tokens=len(kept),
            completion_tokens=sum(completion.tokens or 0 for completion in completions),
            seconds=self._delay,
            truncated=len(kept) < len(tokens),
        )

    def _complete(self, prompt: str, request: GenerateRequest, number: int) -> Completion:
        rng = derive_rng(request.seed, f"{self._seed}/{number}/{prompt}") if request.temperature > 0 else None
        state = TextState(self._seed, prompt)
        tokens: list[str] = []
        logprobs: list[float] = []
        top: list[Mapping[str, float]] = []
        text, stopped = "", False
        while len(tokens) < request.max_tokens and not stopped:
            distribution = state.next()
            token = distribution.draw(rng, request.temperature) if rng else distribution.first()
            if request.top_logprobs:
                likeliest = distribution.likeliest(request.top_logprobs)
                top.append({token: math.log(share) for token, share in likeliest})
            logprobs.append(math.log(distribution.probability(token)))
            tokens.append(token)
            state.read(token)
            text, stopped = cut_at_stop(text + token, request.stop)
            stopped = stopped or token == END
        logprob = sum(logprobs[: _covering(tokens, len(text))], 0.0)
        return Completion(text, logprob, len(tokens), "stop" if stopped else "length", tuple(top))

    def _score(self, request: ScoreRequest) -> Response:
        context, continuation = _text_of(request.context), request.continuation
        kept = context.rstrip()
        whole = tokenize(context + continuation)
        before = tokenize(kept)
        after = whole[len(before) :]
        if not after:
            return Response(error="there is nothing to score: the continuation is empty.")
        if request.vocabulary_moments:
            return Response(error="fake: gives no moments of its predictions.")
        found, truncated = spans([END, *before], after, self._window)
        logprobs, greedy = self._read(found)
        return Response(
            logprobs=logprobs,
            greedy=greedy,
            prompt_tokens=len(before),
            completion_tokens=len(after),
            seconds=self._delay,
            truncated=truncated,
        )

    def _score_sequence(self, request: SequenceRequest) -> Response:
        segments = [tokenize(request.segments[index]) for index in request.order]
        start = 0 if request.scored is None else len(segments) - request.scored
        context = [END, *chain.from_iterable(segments[:start])]
        scored = [segment[: request.max_scored_tokens] for segment in segments[start:]]
        after = list(chain.from_iterable(scored))
        if not after:
            return Response(error="there is nothing to score: the segments are empty.")
        if request.scored is None:
            found, truncated = strided_spans([*context, *after], self._window), False
        else:
            found, truncated = spans(context, after, self._window)
        logprobs, _ = self._read(found)
        lengths = tuple(map(len, scored))
        return Response(
            logprobs=segment_sums(logprobs, lengths),
            segment_tokens=lengths,
            prompt_tokens=len(context),
            completion_tokens=len(logprobs),
            seconds=self._delay,
            truncated=truncated,
        )

    def _read(self, found: Sequence[Span[str]]) -> tuple[tuple[float, ...], bool]:
        """Return the log-probabilities of what the spans score, and whether all were first choices."""
        logprobs: list[float] = []
        greedy = True
        for span in found:
            state = TextState(self._seed, "".join(span.tokens[: -span.scored]))
            for token in span.tokens[-span.scored :]:
                distribution = state.next()
                logprobs.append(math.log(distribution.probability(token)))
                greedy = greedy and distribution.first() == token
                state.read(token)
        return tuple(logprobs), greedy


def _covering(tokens: Sequence[str], length: int) -> int:
    """Return how many tokens it takes to cover that many characters."""
    ends = accumulate(map(len, tokens), initial=0)
    return next(count for count, end in enumerate(ends) if end >= length)


def request_digest(request: Request) -> str:
    """Return 16 hexadecimal digits of what is asked; where the request comes from does not matter."""
    fields = {name: getattr(request, name) for name in request.__dataclass_fields__ if name != "origin"}
    return hashlib.sha256(json.dumps(fields, default=_plain, sort_keys=True).encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    return [value.role, value.content]


def _text_of(prompt: Prompt) -> str:
    if isinstance(prompt, str):
        return prompt
    turns = (f"<{message.role}>\n{message.content}\n" for message in prompt)
    return "".join(turns) + "<assistant>\n"
