"""Log-likelihoods from an OpenAI-compatible server, which echoes a prompt with its tokens' log-probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate

from harness import Response, ScoreRequest, SequenceRequest
from harness.backends import Served, estimated_tokens
from harness.models.api.openai_answers import TokenLogprobs, token_logprobs
from harness.models.api.openai_server import Server
from harness.models.api.openai_tokens import TokenSource
from harness.models.api.retries import CannotAnswerError, UnusableAnswerError
from harness.models.api.spending import Cost
from harness.models.tokens.scored_text import (
    NOTHING_TO_SCORE,
    NothingToScoreError,
    ScoredText,
    scored_continuation,
    scored_sequence,
)
from harness.models.tokens.tokenizer import Tokens

_RESERVED = 2
"""Tokens of the window that are not ours: the server reads the last scored token too, and vLLM keeps room for one that
it might generate. So a text has two tokens less room than with ``hf:``.
"""
_NAME_TOKENIZER = "set `tokenizer` to the model's, by folder or by name on the Hub"


class EchoScorer:
    """Scores by echo.

    Args:
        server: The server.
        max_tokens: The smallest ``max_tokens`` that it accepts, 0 or 1.
        tokens: The tokenizer; None if only the server can tokenize, and has no /tokenize.
        window: The model's window; None if unknown.
    """

    def __init__(self, server: Server, max_tokens: int, tokens: TokenSource | None, window: int | None) -> None:
        self._server, self._max_tokens, self._tokens = server, max_tokens, tokens
        self._reach = None if window is None else max(1, window - _RESERVED)

    async def score(self, request: ScoreRequest) -> Response:
        """Return the log-probabilities of a continuation's tokens.

        Raises:
            CannotAnswerError: This server cannot score it.
            RequestFailedError: It did not.
        """
        if request.vocabulary_moments:
            raise CannotAnswerError("servers do not report the moments of the predicted distribution; use hf:")
        if not request.continuation:
            raise CannotAnswerError(NOTHING_TO_SCORE)
        if self._tokens is None:
            return await self._score_text(request)
        before, after = await self._tokens.pair(request.context, request.continuation)
        return await self._read(partial(scored_continuation, before, after, self._reach))

    async def sequence(self, request: SequenceRequest) -> Response:
        """Return the log-probabilities of segments, each tokenized by itself.

        Raises:
            CannotAnswerError: This server cannot score them.
            RequestFailedError: It did not.
        """
        if self._tokens is None:
            raise CannotAnswerError(f"segments must be tokenized one by one, and this server cannot; {_NAME_TOKENIZER}")
        segments, prefix = await self._tokens.segments(request.segments), await self._tokens.prefix()
        return await self._read(partial(scored_sequence, request, segments, prefix, self._reach))

    async def _read(self, make: Callable[[], ScoredText[int]]) -> Response:
        try:
            text = make()
        except NothingToScoreError as error:
            raise CannotAnswerError(str(error)) from error
        logprobs: list[float] = []
        served: dict[Served, None] = {}
        greedy: bool | None = True
        for span in text.spans:
            given, by = await self._echo(span.tokens, Cost(len(span.tokens), self._max_tokens))
            served.update(dict.fromkeys(by))
            if len(given.tokens) not in {len(span.tokens), len(span.tokens) + self._max_tokens}:
                raise CannotAnswerError(f"the server echoed {len(given.tokens)} tokens of {len(span.tokens)} sent")
            _refuse_certainty(given.logprobs[: len(span.tokens)])
            values, likeliest = _scored(given, range(len(span.tokens) - span.scored, len(span.tokens)))
            logprobs += values
            greedy = None if likeliest is None else greedy and likeliest
        return text.response(logprobs, greedy=greedy, served=tuple(served))

    async def _score_text(self, request: ScoreRequest) -> Response:
        """Score without knowing token ids: a token is the continuation's if it ends after the context does."""
        if not isinstance(request.context, str):
            raise CannotAnswerError(f"a conversation needs the model's chat template; {_NAME_TOKENIZER}")
        text = request.context + request.continuation
        given, served = await self._echo(text, Cost(estimated_tokens(text), self._max_tokens))
        starts = token_starts(given, text)
        ends = [*starts[1:], len(text)]
        split = len(request.context.rstrip())
        echoed = [place for place, start in enumerate(starts) if 0 <= start < len(text)]
        scored = [place for place in echoed if ends[place] > split]
        _refuse_certainty([given.logprobs[place] for place in echoed])
        logprobs, greedy = _scored(given, scored)
        if not logprobs:
            raise CannotAnswerError(NOTHING_TO_SCORE)
        return Response(
            logprobs=logprobs,
            greedy=greedy,
            prompt_tokens=len(echoed) - len(scored),
            completion_tokens=len(scored),
            served=served,
        )

    async def _echo(self, prompt: str | Tokens, cost: Cost) -> tuple[TokenLogprobs, tuple[Served, ...]]:
        answer = await self._server.scored(prompt, self._max_tokens, cost)
        given = token_logprobs(answer.choices[0])
        if given is None:
            raise CannotAnswerError("the server echoed the prompt without log-probabilities")
        return given, answer.served


def token_starts(given: TokenLogprobs, text: str) -> list[int]:
    """Return where each echoed token begins in the text; special tokens before it have negative positions.

    The positions follow from the tokens' texts if these spell the text, else from the server's offsets.

    Raises:
        CannotAnswerError: Neither fits the text.
    """
    spelled = "".join(given.tokens)
    before = spelled.find(text)
    if before >= 0:
        return list(accumulate((len(token) for token in given.tokens), initial=-before))[: len(given.tokens)]
    if given.offsets and list(given.offsets) == sorted(given.offsets) and given.offsets[0] == 0:
        return list(given.offsets)
    raise CannotAnswerError(f"the server's tokens do not spell the text that was sent; {_NAME_TOKENIZER}")


def _refuse_certainty(echoed: Sequence[float | None]) -> None:
    """Refuse log-probabilities that are all 0; of a single token that may be true.

    Raises:
        CannotAnswerError: There are several, and all are 0.
    """
    known = [logprob for logprob in echoed if logprob is not None]
    if len(known) > 1 and not any(known):
        raise CannotAnswerError(
            f"the server gives all {len(known)} tokens of the text a log-probability of 0, hence a probability of 1, "
            "which no model does; it does not really compute them, so it cannot score. Use a server that does, such "
            "as vLLM's, or an adapter that generates, such as multiple_choice_joint"
        )


def _scored(given: TokenLogprobs, places: Sequence[int]) -> tuple[tuple[float, ...], bool | None]:
    """Return the log-probabilities at places, and whether all are the likeliest tokens'; None if unknown."""
    logprobs: list[float] = []
    greedy = True
    for place in places:
        logprob = given.logprobs[place]
        if logprob is None and place == 0:
            raise CannotAnswerError(f"the server does not score the first token of a text; {_NAME_TOKENIZER}")
        if logprob is None:
            raise UnusableAnswerError(f"no log-probability of token {place}")
        logprobs.append(logprob)
        greedy = greedy and bool(given.top) and logprob >= max(given.top[place].values(), default=0.0)
    return tuple(logprobs), greedy if given.top else None
