"""Scoring with a vLLM engine, which reads the common beginning of several texts once.

    text                the cat sat on the mat       scored: "the mat"
    prompt              the cat sat on the           logprob of "the": from the prompt's log-probabilities
    generated, 1 token                         mat   logprob of "mat": one of those asked for at this position

A prompt is a text without its last token, so texts that differ only in their last token (the labels of a question)
share one prompt. The prompt's log-probabilities are counted from its end, since none are computed for what was read
from the prefix cache. If the cache may have covered scored tokens, the prompt is sent again without it.
"""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

from harness import Response, ScoreRequest, SequenceRequest
from harness.models.tokens.requests import PendingScore, pending_scores
from harness.models.tokens.scored_text import ScoredText
from harness.models.tokens.tokenizer import TextTokenizer, Tokens
from harness.models.tokens.windows import Span
from harness.models.vllm.engine import MOST_LOGPROBS, Engine, Job

TOLERANCES = {"float32": 1e-3, "float16": 0.05, "bfloat16": 0.25}
"""Largest difference of a log-probability with and without the cache, in nats: kernels round differently by batch."""

CHECKED_PAIRS = 2
"""Pairs of texts on which both ways are compared before the cache is trusted."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """The span number ``place`` of a request."""

    asked: PendingScore
    place: int
    span: Span[int]


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """Spans with the same prompt; they differ in their last token, or in the number of scored tokens."""

    prompt: Tokens
    parts: tuple[_Part, ...]

    @property
    def scored(self) -> int:
        return max(part.span.scored for part in self.parts)


class Scoring:
    """Turns requests to score into jobs, and outputs into responses.

    Attributes:
        again: Jobs to repeat, before any others.
        shares: True while the prefix cache is used.
    """

    def __init__(self, name: str, tokenizer: TextTokenizer, window: int | None, dtype: str) -> None:
        self.again: deque[Job] = deque()
        self.shares = True
        self._name = name
        self._tokenizer = tokenizer
        self._window = window
        self._tolerance = TOLERANCES.get(dtype, max(TOLERANCES.values()))
        self._checked = False

    def rows(
        self, requests: Sequence[tuple[int, ScoreRequest | SequenceRequest]]
    ) -> tuple[list[tuple[int, Response]], list[Row]]:
        """Return error responses to requests with nothing to score, and prompts for the others, sorted by tokens."""
        refused, pending = pending_scores(requests, self._tokenizer, self._window)
        parts: dict[Tokens, list[_Part]] = {}
        for asked in pending:
            for place, span in enumerate(asked.text.spans):
                parts.setdefault(span.tokens[:-1], []).append(_Part(asked, place, span))
        return refused, [Row(prompt, tuple(parts[prompt])) for prompt in sorted(parts)]

    def jobs(self, rows: Sequence[Row]) -> list[Job]:
        """Return the jobs of prompts."""
        if self.shares:
            return [job for row in rows for job in self._shared(row)]
        return [self._plain(part) for row in rows for part in row.parts]

    def unchecked(self, rows: Sequence[Row], block: int) -> list[Row]:
        """Return prompts on which to compare both ways first; none if that was done, or if nothing is shared."""
        if self._checked:
            return []
        alike = [
            (before, row)
            for before, row in pairwise(rows)
            if before.prompt[:block] == row.prompt[:block] and block <= len(row.prompt) - row.scored
        ]
        longest = sorted(alike, key=lambda pair: -pair[1].scored)
        # The first of a pair fills the cache that the second reads.
        return list(dict.fromkeys(chain.from_iterable([*longest[:CHECKED_PAIRS], *alike[:CHECKED_PAIRS]])))

    def _shared(self, row: Row) -> Iterator[Job]:
        """Yield the jobs of a row, each for at most :data:`MOST_LOGPROBS` last tokens."""
        ends = list(dict.fromkeys(part.span.tokens[-1] for part in row.parts))
        for start in range(0, len(ends), MOST_LOGPROBS):
            some = frozenset(ends[start : start + MOST_LOGPROBS])
            yield self._ends(Row(row.prompt, tuple(part for part in row.parts if part.span.tokens[-1] in some)), True)

    def _ends(self, row: Row, cached: bool) -> Job:
        def take(output: Any, seconds: float) -> list[tuple[int, Response]]:
            found = None if isinstance(output, str) else read_row(output, row.prompt, row.scored)
            if found is None and not isinstance(output, str):
                self.again.append(self._ends(row, False))
                for part in row.parts:
                    part.asked.seconds += seconds / len(row.parts)
                row.parts[0].asked.computed += _read_tokens(output, row.prompt)
                return []
            answered: list[tuple[int, Response]] = []
            for number, part in enumerate(row.parts):
                if found is None:
                    answered += part.asked.fail(part.place, output)
                else:
                    logprobs, greedy = found.of(part.span)
                    answered += part.asked.take(
                        part.place,
                        logprobs,
                        greedy=greedy,
                        seconds=seconds / len(row.parts),
                        computed=1 if number else 1 + _read_tokens(output, row.prompt),
                    )
            return answered

        ends = list(dict.fromkeys(part.span.tokens[-1] for part in row.parts))
        return Job(row.prompt, _params(ends, row.scored, cached), take)

    def _plain(self, part: _Part) -> Job:
        """Return the job that reads a whole span by itself, without its last token if it is too long for a prompt."""
        if self._window is not None and len(part.span.tokens) > self._window:
            return self._ends(Row(part.span.tokens[:-1], (part,)), False)

        def take(output: Any, seconds: float) -> list[tuple[int, Response]]:
            if isinstance(output, str):
                return part.asked.fail(part.place, output)
            rows = prompt_rows(output, part.span.tokens, part.span.scored) or [(math.nan, False)] * part.span.scored
            logprobs, greedy = tuple(logprob for logprob, _ in rows), all(first for _, first in rows)
            return part.asked.take(
                part.place, logprobs, greedy=greedy, seconds=seconds, computed=_read_tokens(output, part.span.tokens)
            )

        return Job(part.span.tokens, _params([], part.span.scored + 1, False), take)

    def check(self, rows: Sequence[Row], engine: Engine) -> None:
        """Answer prompts with and without the cache; if they differ, stop using the cache, and log a warning."""
        self._checked = True
        found: list[list[PendingScore]] = []
        for shared in (True, False):
            first = [row.parts[0].span for row in rows]
            copies = [_Part(PendingScore(0, ScoredText((), (), [span])), 0, span) for span in first]
            waiting = deque(
                self._ends(Row(part.span.tokens[:-1], (part,)), True) if shared else self._plain(part)
                for part in copies
            )
            for _ in engine.run(lambda waiting=waiting: self._next(waiting)):  # type: ignore[misc]
                pass
            found.append([part.asked for part in copies])
        # What is refused is refused both ways, and its request's own error says why.
        apart = max(
            (
                abs(one - other)
                for fast, plain in zip(*found, strict=True)
                if fast.error is None and plain.error is None
                for one, other in zip(chain(*fast.logprobs), chain(*plain.logprobs), strict=True)
            ),
            default=0.0,
        )
        if not apart <= self._tolerance:
            self.shares = False
            _log.warning(
                "%s: log-probabilities read with the prefix cache differ by %.2g nats from those read without; "
                "the cache is not used for scoring, which is slower.",
                self._name,
                apart,
            )

    def _next(self, waiting: deque[Job]) -> Job | None:
        source = self.again or waiting
        return source.popleft() if source else None


@dataclass(frozen=True, slots=True)
class RowLogprobs:
    """The log-probabilities of one prompt."""

    before: list[tuple[float, bool]]
    """For each scored token but the last, its log-probability, and True if it is the likeliest."""
    ends: dict[int, float]
    """The log-probabilities of the last tokens that were asked for."""
    first: int
    """The likeliest last token."""

    def of(self, span: Span[int]) -> tuple[tuple[float, ...], bool]:
        """Return a span's log-probabilities, and True if all its tokens are the likeliest."""
        before = self.before[len(self.before) - (span.scored - 1) :]
        end = span.tokens[-1]
        logprobs = (*(logprob for logprob, _ in before), self.ends[end])
        return logprobs, end == self.first and all(first for _, first in before)


def read_row(output: Any, prompt: Tokens, scored: int) -> RowLogprobs | None:
    """Return an output's log-probabilities; None if some may be in the part that came from the cache.

    Args:
        output: A ``vllm.RequestOutput`` to the :func:`_params` of the same number of scored tokens.
        prompt: The prompt's tokens.
        scored: Number of scored tokens, one of which follows the prompt.
    """
    if (output.num_cached_tokens or 0) > len(prompt) - scored:
        return None
    before = prompt_rows(output, prompt, scored - 1)
    written = output.outputs[0]
    if before is None:
        return None
    return RowLogprobs(
        before, dict(zip(written.logprobs.token_ids, written.logprobs.logprobs, strict=True)), written.token_ids[0]
    )


def _read_tokens(output: Any, prompt: Tokens) -> int:
    """Return how many tokens of a prompt the engine computed instead of taking them from its prefix cache."""
    return len(prompt) - (output.num_cached_tokens or 0)


def prompt_rows(output: Any, prompt: Tokens, count: int) -> list[tuple[float, bool]] | None:
    """Return the log-probabilities of a prompt's last tokens, and True where one ranks first; None if cached."""
    if not count:
        return []
    flat = output.prompt_logprobs
    starts = flat.start_indices[-count:]
    if [flat.token_ids[start] for start in starts] != list(prompt[-count:]):
        return None
    return [(flat.logprobs[start], flat.ranks[start] == 1) for start in starts]


def _params(ends: list[int], scored: int, cached: bool) -> Any:
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    return SamplingParams(
        max_tokens=1,
        temperature=0.0,
        detokenize=False,
        flat_logprobs=True,
        logprobs=len(ends) or None,
        logprob_token_ids=ends or None,
        prompt_logprobs=0 if scored > 1 else None,
        skip_reading_prefix_cache=not cached,
        output_kind=RequestOutputKind.FINAL_ONLY,
    )
