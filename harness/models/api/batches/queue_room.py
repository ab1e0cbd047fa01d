"""How much to submit to a provider whose batch queue is full.

OpenAI limits the tokens in batches that have not ended, Anthropic the requests. A batch that would exceed the limit is
refused as a whole. The limit is not known beforehand, and other programs may use the same account::

    refused ──► half as many requests, one batch at a time ──► admitted ──► twice as many ──► ... ──► as many as fit
                  ▲         │ refused again
                  └─────────┘ at once if the queue has none of our batches; else when one has ended, or after a while

A single request that is refused is also submitted again only after a while.
"""

from __future__ import annotations

from dataclasses import dataclass

LONGEST_WAIT = 3600.0
"""Most seconds between two attempts."""
GIVE_UP_SECONDS = 24 * 3600.0
"""Seconds before the harness gives up if every batch is refused while none of ours is in the queue. Batches of other
programs end within that time.
"""


@dataclass(slots=True)
class QueueRoom:
    """Estimates from refusals how many requests fit into a provider's queue; times are in seconds."""

    poll: float
    """Seconds before the second attempt; each later wait is twice as long as the one before."""
    most: int | None = None
    """Largest number of requests in the next batch; None if no limit is known."""
    why: str = ""
    """What the provider said at the last refusal."""
    _first: int = 0
    _refusals: int = 0
    _next: float = 0.0
    _full_since: float | None = None

    def refused(self, number: int, submitted: int, requests: int, others: bool, now: float, why: str) -> None:
        """Note that a batch was refused because the queue is full.

        Args:
            number: The batch's number.
            submitted: The number of the last submitted batch. Later refusals of batches up to this one are ignored.
            requests: Number of the batch's requests.
            others: True if the queue has other batches of ours.
            now: The time.
            why: What the provider said.
        """
        if number < self._first:
            return
        self._first, self.why = submitted + 1, why
        self.most = max(1, requests // 2)
        if others:
            self._full_since = None
        elif self._full_since is None:
            self._full_since = now
        if others or requests == 1:
            self._next = now + min(self.poll * 2.0**self._refusals, LONGEST_WAIT)
            self._refusals = min(self._refusals + 1, 32)
        else:
            self._next = now

    def admitted(self, number: int, most: int) -> None:
        """Note that a batch is in the queue.

        Args:
            number: The batch's number.
            most: Largest number of requests in a batch while the queue is not full.
        """
        if number >= self._first:
            self._refusals, self._next, self._full_since = 0, 0.0, None
            if self.most is not None:
                self.most = None if 2 * self.most >= most else 2 * self.most

    def ended(self) -> None:
        """Note that a batch of ours has left the queue."""
        self._refusals, self._next = 0, 0.0

    def is_due(self, now: float) -> bool:
        """Return whether it is time for the next attempt."""
        return now >= self._next

    def is_hopeless(self, now: float) -> bool:
        """Return whether everything has been refused for so long that it is time to give up."""
        return self._full_since is not None and now - self._full_since > GIVE_UP_SECONDS
