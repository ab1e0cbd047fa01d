"""How much one server is sent: calls at once, and requests and tokens a minute, over all models with the same key.

The token bucket is our own because aiolimiter's belongs to one event loop, while each model here has its own, and takes
no corrections: what an answer really cost is known only afterwards. It also cannot change its rate when a model with
other limits joins.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from harness.models.api.adaptive_concurrency import AdaptiveConcurrency
from harness.models.api.settings import ApiSettings

Wake = Callable[[], None]


class Account:
    """The rate limits of all models in this process that call one server with one key.

    The lowest limits of any open model apply to all of them, since a server counts per key. Minute limits survive the
    last model's closing, because the next one may open within the same minute; the number of calls at once starts over.

    Each model has an event loop in its own thread, so every method may be called from any thread. The caller passes the
    time, in seconds.

    Attributes:
        concurrency: Controls the number of calls at once; read only.
    """

    def __init__(self) -> None:
        self.concurrency = AdaptiveConcurrency(ApiSettings().max_concurrency)
        self._lock = threading.Lock()
        self._models: dict[Wake, ApiSettings] = {}
        self._requests: TokenBucket | None = None
        self._tokens: TokenBucket | None = None
        self._active = 0
        self._waiting = 0

    def join(self, limits: ApiSettings, wake: Wake, now: float) -> None:
        """Add a model until it :meth:`part`; ``wake`` is called, from any thread, when a wait may be over."""
        with self._lock:
            if not self._models:
                self.concurrency = AdaptiveConcurrency(limits.max_concurrency)
            self._models[wake] = limits
            self._apply_lowest(now)

    def part(self, wake: Wake, now: float) -> None:
        """Remove a model; its calls under way may still :meth:`leave`."""
        with self._lock:
            self._models.pop(wake, None)
            if self._models:
                self._apply_lowest(now)
                self._wake()

    @contextmanager
    def queueing(self) -> Iterator[None]:
        """Count the caller as waiting, so that it is woken when a call leaves."""
        with self._lock:
            self._waiting += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting -= 1

    def enter(self, tokens: int, now: float) -> float | None:
        """Start a call of about that many tokens and return 0.0, if limits allow it now.

        Otherwise return the seconds to wait, or None if another call must leave first.
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
        """End a call that was expected to take ``tokens`` and took ``spent``."""
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
        """Count a call that the server refused because of its load, before it leaves."""
        with self._lock:
            self.concurrency.throttled(now, retry_after)

    def _apply_lowest(self, now: float) -> None:
        models = self._models.values()
        self.concurrency.allow(min(limits.max_concurrency for limits in models))
        self._requests = _bucket(self._requests, [limits.requests_per_minute for limits in models], now)
        self._tokens = _bucket(self._tokens, [limits.tokens_per_minute for limits in models], now)

    def _wake(self) -> None:
        for wake in self._models:
            wake()


_accounts: dict[tuple[str, bytes], Account] = {}
_lock = threading.Lock()


def account_of(server: str, secrets: Sequence[str]) -> Account:
    """Return the account of a server and its secrets: within this process, the same one for the same two."""
    # A digest, so that a debugger or a dump of this dictionary shows no key.
    digest = hashlib.sha256("\0".join(secrets).encode()).digest()
    with _lock:
        return _accounts.setdefault((server, digest), Account())


@dataclass(slots=True)
class TokenBucket:
    """A token bucket that holds one second's worth of its rate, so that bursts are at most that long.

    A call that costs more than the bucket holds leaves it in debt: it gives nothing until it has filled again. The
    caller passes the time, in seconds.
    """

    per_minute: float
    """The rate at which it fills."""
    _level: float = field(init=False)
    _filled: float | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._level = self._size

    @property
    def _size(self) -> float:
        return max(1.0, self.per_minute / 60)

    def wait(self, amount: float, now: float) -> float:
        """Return the seconds until an amount is available; for more than the bucket holds, until it is full."""
        self._fill(now)
        missing = min(amount, self._size) - self._level
        return max(0.0, missing * 60 / self.per_minute)

    def take(self, amount: float, now: float) -> None:
        """Take an amount, even if that means debt."""
        self._fill(now)
        self._level -= amount

    def correct(self, difference: float) -> None:
        """Give back what was taken too much, or take more if the difference is negative."""
        self._level = min(self._size, self._level + difference)

    def change(self, per_minute: float, now: float) -> None:
        """Change the rate from now on; the level stays."""
        self._fill(now)
        self.per_minute = per_minute

    def _fill(self, now: float) -> None:
        elapsed = 0.0 if self._filled is None else max(0.0, now - self._filled)
        self._level = min(self._size, self._level + elapsed * self.per_minute / 60)
        self._filled = now


def _bucket(bucket: TokenBucket | None, rates: Sequence[float | None], now: float) -> TokenBucket | None:
    lowest = min((rate for rate in rates if rate is not None), default=None)
    if lowest is None:
        return None
    if bucket is None:
        return TokenBucket(lowest)
    bucket.change(lowest, now)
    return bucket
