"""All requests of a call as one stream through a vLLM engine, tokenized while it computes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from harness import GenerateRequest, Request, Response
from harness.models.tokens.tokenizer import TextTokenizer
from harness.models.vllm.engine import Engine, Job
from harness.models.vllm.generation import generation_jobs
from harness.models.vllm.scoring import Row, Scoring

AT_ONCE = 4096
"""Requests that are tokenized and sorted together."""


@dataclass(slots=True)
class VllmStream:
    """Requests on their way through an engine; :meth:`answers` is called once."""

    engine: Engine
    """It has nothing else to do."""
    scoring: Scoring
    """Makes jobs of requests to score."""
    tokenizer: TextTokenizer
    """The model's."""
    window: int | None
    """Most tokens of prompt and completion together; None when unlimited."""
    requests: Sequence[tuple[int, Request]]
    """With their numbers; each can be answered."""
    _start: int = 0
    _jobs: deque[Job] = field(default_factory=deque)
    _rows: list[Row] = field(default_factory=list)
    _ready: deque[tuple[int, Response]] = field(default_factory=deque)

    def answers(self) -> Iterator[tuple[int, Response]]:
        """Yield each request's number with its response, as jobs finish."""
        while True:
            for answered in self.engine.run(self._pull):
                yield answered
                yield from self._drain()
            yield from self._drain()
            # Texts that begin alike came up, and nothing was computed with them before the engine had done the rest.
            if not self._rows:
                return
            self.scoring.check(self.scoring.unchecked(self._rows, self._block), self.engine)

    @property
    def _block(self) -> int:
        return int(self.engine.config.cache_config.block_size)

    def _drain(self) -> Iterator[tuple[int, Response]]:
        while self._ready:
            yield self._ready.popleft()

    def _pull(self) -> Job | None:
        """Return the next job, if there is one yet."""
        if self.scoring.again:
            return self.scoring.again.popleft()
        while not self._jobs:
            if self._rows:
                if self.scoring.unchecked(self._rows, self._block):
                    return None
                self._jobs.extend(self.scoring.jobs(self._rows))
                self._rows = []
            elif self._start < len(self.requests):
                self._plan(self.requests[self._start : self._start + AT_ONCE])
                self._start += AT_ONCE
            else:
                return None
        return self._jobs.popleft()

    def _plan(self, requests: Sequence[tuple[int, Request]]) -> None:
        refused, jobs = generation_jobs(
            [(index, request) for index, request in requests if isinstance(request, GenerateRequest)],
            self.tokenizer,
            self.window,
        )
        self._jobs.extend(jobs)
        self._ready.extend(refused)
        refused, self._rows = self.scoring.rows(
            [(index, request) for index, request in requests if not isinstance(request, GenerateRequest)]
        )
        self._ready.extend(refused)
