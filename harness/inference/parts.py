"""Parts of requests: what a replica gets at once. Their borders depend on the requests alone.

Requests are taken in blocks of 4,096, and a block is cut into parts of neighbours, which share prompts::

    9,000 requests = 4,096 + 4,096 + 808  ->  8 parts of 512, 8 of 512, 8 of 101

So a text is batched with the same other texts however many replicas there are, and 16-bit answers stay the same. A
block has fewer requests only where no more can come before something is answered.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from harness.contracts import Request

BLOCK = 4096
"""Requests that are divided into parts at once."""

PARTS = 8
"""Parts of a block of few requests: enough that several replicas end together."""

LARGEST, SMALLEST = 512, 16
"""Maximum and minimum number of requests in a part; smaller parts compute shared prefixes more often."""

LINGER_SECONDS = 1.0
"""Seconds that idle replicas wait for requests to complete a block when more are on their way."""


@dataclass(slots=True, eq=False)
class Part:
    """Neighbouring requests."""

    number: int
    """Its number, unlike that of any other part of the pool."""
    requests: dict[int, Request]
    """Those that are not answered, by their number."""
    deaths: int = 0
    """Replicas that died while they answered it, one after the other."""
    left_at_death: int = 0
    """Unanswered requests at the last death."""


def cut(requests: Sequence[tuple[int, Request]]) -> Iterator[dict[int, Request]]:
    """Yield a block of requests in parts; neighbours, which have much in common, stay together."""
    size = max(SMALLEST, min(LARGEST, -(-len(requests) // PARTS)))
    for start in range(0, len(requests), size):
        yield dict(requests[start : start + size])


class Parts:
    """The parts of the requests that a model is asked.

    Attributes:
        waiting: Parts that no replica has, in their order.
        open: All parts with unanswered requests, by number.

    Args:
        requests: The requests; they may end for now and go on later, as :meth:`harness.Model.answer` says. If they
            have an attribute ``exhausted``, it is True when no more will come before something is answered.
        first: The number of the first part.
    """

    def __init__(self, requests: Iterable[Request], first: int) -> None:
        self.waiting: deque[Part] = deque()
        self.open: dict[int, Part] = {}
        self._requests, self._coming = requests, enumerate(requests)
        self._block: list[tuple[int, Request]] = []
        self._taken_at = 0.0
        self.next = first

    @property
    def partial(self) -> bool:
        """True if requests were taken that do not make a block yet."""
        return bool(self._block)

    def take(self) -> None:
        """Take the requests that there are, and cut them into parts once they are a block, or no more can come."""
        while len(self._block) < BLOCK:
            found = next(self._coming, None)
            if found is None:
                break
            self._block.append(found)
            self._taken_at = time.monotonic()
        if len(self._block) == BLOCK or (self._block and (self._exhausted or self._lingered)):
            for requests in cut(self._block):
                part = Part(self.next, requests)
                self.open[part.number] = part
                self.waiting.append(part)
                self.next += 1
            self._block = []

    def again(self, parts: Iterable[Part]) -> None:
        """Let parts be answered next that a replica did not finish."""
        left = [part for part in parts if part.number in self.open and part not in self.waiting]
        self.waiting.extendleft(reversed(left))

    def answered(self, part: int, number: int) -> bool:
        """Note an answer; return False if the request was answered before."""
        found = self.open.get(part)
        if found is None or found.requests.pop(number, None) is None:
            return False
        if not found.requests:
            self.close(found)
        return True

    def close(self, part: Part) -> None:
        """Forget a part."""
        self.open.pop(part.number, None)
        if part in self.waiting:
            self.waiting.remove(part)

    @property
    def _exhausted(self) -> bool:
        return bool(getattr(self._requests, "exhausted", True))

    @property
    def _lingered(self) -> bool:
        return not self.open and time.monotonic() - self._taken_at > LINGER_SECONDS
