"""A language model made of hashes: exact, seeded log-probabilities in microseconds, without weights."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from harness import (
    Completion,
    GenerateRequest,
    Model,
    ModelError,
    Prompt,
    Request,
    Response,
    ScoreRequest,
    SequenceRequest,
    Tool,
    backend,
    derive_rng,
)
from harness.backends import DECLINES, Determinism
from harness.models.offline.hash_language import CLASSES, END, KNOWN, TextState, tokenize
from harness.models.tokens.conversations import prompt_of
from harness.models.tokens.scored_text import (
    NothingToScoreError,
    ScoredText,
    scored_continuation,
    scored_sequence,
)
from harness.models.tokens.stop_sequences import cut_at_stop, tokens_covering


@backend("fake", source="This harness: a stand-in for a real model in tests and rehearsals.")
class FakeModel(Model):
    """Answers everything with exact log-probabilities hashed from a seed; for tests and for rehearsing a sweep.

    The identifier is the seed: ``fake:0``.

    Args:
        identifier: The seed, any text.
        window: Most tokens of prompt and completion together; None for no limit.
        chat: True to accept conversations. It never calls a tool.
        delay: Seconds that each request takes.
        fail_every: One request in N, always the same ones, is answered with an error; 0 for none.
        decline_every: One request in N to generate, always the same ones, is declined, each kind in turn; 0 for none.
        log: A file to which the digest of every request is appended, one a line, before it is answered.

    Attributes:
        asked: The number of requests so far.
    """

    answers = frozenset({"generate", "score"})
    honours = Model.honours | {"prefill"}
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

    @property
    def tools(self) -> bool:
        return self._chat

    def obstacle(self, asks: frozenset[str]) -> str | None:
        if "chat" in asks and not self._chat:
            return f"fake:{self._seed} does not take conversations; set chat: true."
        return None

    @property
    def determinism(self) -> Determinism:
        return Determinism.EXACT

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

    def rendered(self, prompt: Prompt, tools: tuple[Tool, ...] = ()) -> str:
        return _text_of(prompt)  # which is all that it reads

    def count_segments(self, segments: Sequence[str]) -> Sequence[int]:
        return [len(tokenize(segment)) for segment in segments]

    def truncate(self, text: str, tokens: int) -> str:
        return "".join(tokenize(text)[: max(0, tokens)])

    def answer(self, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
        for index, request in enumerate(requests):
            self.asked += 1
            if self._log is not None:
                with self._log.open("a", encoding="ascii") as file:
                    file.write(f"{request_digest(request)}\n")
            if self._delay:
                time.sleep(self._delay)
            yield index, self._on_purpose(request) or self._respond(request)

    def _on_purpose(self, request: Request) -> Response | None:
        """Return the response to a request that is meant to fail or to be declined; None for any other."""
        if not self._fail_every and not self._decline_every:
            return None
        number = int(request_digest(request), 16)
        if self._fail_every and number % self._fail_every == 0:
            return Response(error=f"fake:{self._seed} fails one request in {self._fail_every} on purpose.")
        if not self._decline_every or number % self._decline_every or not isinstance(request, GenerateRequest):
            return None
        kind = DECLINES[number // self._decline_every % len(DECLINES)]
        said = f"fake:{self._seed} declines one request in {self._decline_every} on purpose."
        completion = Completion("", tokens=0, finish_reason=kind, explanation=said)
        prompt_tokens = self.count_tokens(request.whole_prompt)
        return Response((completion,) * request.completions, prompt_tokens=prompt_tokens, completion_tokens=0)

    def _respond(self, request: Request) -> Response:
        if not isinstance(prompt_of(request), str) and not self._chat:
            return Response(error=f"fake:{self._seed} does not take conversations; set chat: true.")
        if isinstance(request, GenerateRequest):
            return self._generate(request)
        try:
            return self._score(request) if isinstance(request, ScoreRequest) else self._score_sequence(request)
        except NothingToScoreError as error:
            return Response(error=str(error))

    def _generate(self, request: GenerateRequest) -> Response:
        tokens = tokenize(_text_of(request.whole_prompt))
        room = len(tokens) if self._window is None else max(0, self._window - request.max_tokens)
        kept = tokens[max(0, len(tokens) - room) :]
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
        logprob = sum(logprobs[: tokens_covering(tokens, len(text))], 0.0)
        return Completion(text, logprob, len(tokens), "stop" if stopped else "length", tuple(top))

    def _score(self, request: ScoreRequest) -> Response:
        if request.vocabulary_moments:
            return Response(error="fake: does not report the moments of the predicted distribution.")
        context = _text_of(request.context)
        before = tokenize(context.rstrip())
        after = tokenize(context + request.continuation)[len(before) :]
        response = self._read(scored_continuation([END, *before], after, self._window))
        return replace(response, prompt_tokens=len(before))

    def _score_sequence(self, request: SequenceRequest) -> Response:
        return self._read(scored_sequence(request, [*map(tokenize, request.segments)], END, self._window))

    def _read(self, text: ScoredText[str]) -> Response:
        logprobs: list[float] = []
        greedy = True
        for span in text.spans:
            state = TextState(self._seed, "".join(span.tokens[: -span.scored]))
            for token in span.tokens[-span.scored :]:
                distribution = state.next()
                logprobs.append(math.log(distribution.probability(token)))
                greedy = greedy and distribution.first() == token
                state.read(token)
        return text.response(logprobs, greedy=greedy, seconds=self._delay)


def request_digest(request: Request) -> str:
    """Return 16 hexadecimal digits of what is asked; where the request comes from does not matter."""
    return hashlib.sha256(json.dumps(_changed(request), default=_changed, sort_keys=True).encode()).hexdigest()[:16]


def _changed(value: Any) -> dict[str, Any]:
    """Return what differs from the defaults, so that a new field of requests changes no digest."""
    named = ((field.name, field.default) for field in fields(value) if field.name != "origin")
    return {name: given for name, default in named if (given := getattr(value, name)) != default}


def _text_of(prompt: Prompt) -> str:
    if isinstance(prompt, str):
        return prompt
    whole = "".join(f"<{message.role}>\n{message.content}\n" for message in prompt)
    return whole[:-1] if prompt and prompt[-1].role == "assistant" else f"{whole}<assistant>\n"
