"""What one server takes from this process with one key, whichever and however many models ask it."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from harness.models.api.adaptive_concurrency import AdaptiveConcurrency
from harness.models.api.token_bucket import TokenBucket

Wake = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server may be sent."""

    max_concurrency: int = 200
    """Most calls at once."""
    requests_per_minute: float | None = None
    """Most tries a minute; None for no limit."""
    tokens_per_minute: float | None = None
    """Most tokens a minute; None for no limit."""


class Account:
    """The calls at once, and the requests and tokens a minute, of all models that ask one server with one key.

    The lowest limits that an open model names hold for every open model: a server counts what comes with a key, not
    which model of ours it is for. What a minute has had is remembered when the last model closes, since the next may be
    opened within it; how many calls the server kept up with is found out anew.

    Models have loops in threads of their own, so every method may be called from any thread. The caller tells the time,
    in seconds.

    Attributes:
        concurrency: Calls at once; to be read only.
    """

    def __init__(self) -> None:
        self.concurrency = AdaptiveConcurrency(Limits().max_concurrency)
        self._lock = threading.Lock()
        self._models: dict[Wake, Limits] = {}
        self._requests: TokenBucket | None = None
        self._tokens: TokenBucket | None = None
        self._active = 0
        self._waiting = 0

    def join(self, limits: Limits, wake: Wake, now: float) -> None:
        """Count a model in, until it :meth:`part`; ``wake`` is called, from any thread, when waiting may be over."""
        with self._lock:
            if not self._models:
                self.concurrency = AdaptiveConcurrency(limits.max_concurrency)
            self._models[wake] = limits
            self._agree(now)

    def part(self, wake: Wake, now: float) -> None:
        """Count a model out; what it has under way may still :meth:`leave`."""
        with self._lock:
            self._models.pop(wake, None)
            if self._models:
                self._agree(now)
                self._wake()

    @contextmanager
    def queueing(self) -> Iterator[None]:
        """Count somebody as waiting, who is woken when a call leaves."""
        with self._lock:
            self._waiting += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting -= 1

    def enter(self, tokens: int, now: float) -> float | None:
        """Take a place for a call of so many tokens, and return 0.0.

        If there is none, return the seconds to wait for one, or None if a call must leave first.
        """
        with self._lock:
            if self._active >= self.concurrency.limit:
                return None
            wait = max(0.0, self.concurrency.paused_until - now)
            if self._requests:
                wait = max(wait, self._requests.wait(1, now))
            if self._tokens:
                wait = max(wait, self._tokens.wait(tokens, now))
            if wait:
                return wait
            self._active += 1
            if self._requests:
                self._requests.take(1, now)
            if self._tokens:
                self._tokens.take(tokens, now)
            return 0.0

    def leave(self, tokens: int, spent: int) -> None:
        """Free the place of a call that was thought to take so many tokens, and took others."""
        with self._lock:
            self._active -= 1
            if self._tokens:
                self._tokens.correct(tokens - spent)
            if self._waiting:
                self._wake()

    def answered(self, now: float) -> None:
        """Count a call that was answered, before it leaves."""
        with self._lock:
            saturated = self._waiting > 0 or self._active >= self.concurrency.limit
            self.concurrency.succeeded(now, saturated=saturated)

    def throttled(self, now: float, retry_after: float | None = None) -> None:
        """Count a call that was refused as too much, before it leaves."""
        with self._lock:
            self.concurrency.throttled(now, retry_after)

    def _agree(self, now: float) -> None:
        named = self._models.values()
        self.concurrency.allow(min(limits.max_concurrency for limits in named))
        self._requests = _bucket(self._requests, [limits.requests_per_minute for limits in named], now)
        self._tokens = _bucket(self._tokens, [limits.tokens_per_minute for limits in named], now)

    def _wake(self) -> None:
        for wake in self._models:
            wake()


_accounts: dict[tuple[str, bytes], Account] = {}
_lock = threading.Lock()


def account_of(server: str, secrets: Sequence[str]) -> Account:
    """Return the account of a server and all that is sent to open it: the same for the same, within this process."""
    # A digest, so that no key stands in what a debugger or a dump of the process's variables shows.
    digest = hashlib.sha256("\0".join(secrets).encode()).digest()
    with _lock:
        return _accounts.setdefault((server, digest), Account())


def _bucket(bucket: TokenBucket | None, named: Sequence[float | None], now: float) -> TokenBucket | None:
    lowest = min((rate for rate in named if rate is not None), default=None)
    if lowest is None:
        return None
    if bucket is None:
        return TokenBucket(lowest)
    bucket.change(lowest, now)
    return bucket
