"""Calls to a server, each made until it is answered or cannot be: paced, retried, paid for and counted."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from types import ModuleType
from typing import Any, TypeVar

from harness import ModelError, Redaction, derive_rng
from harness.models.api.account import Account, Limits
from harness.models.api.failures import Failure, UnusableAnswerError, failure_of
from harness.models.api.http_client import watch_sending
from harness.models.api.spending import Cost, Room, Spending, read_bill

T = TypeVar("T")

_KNOCKS = 3
"""So often a server is tried that has never answered and does not take connections."""

LONGEST_DELAY = 60.0
"""Most seconds between two tries, where the server names no other."""

PATIENCE = 600.0
"""A server that wants to be left alone for longer is not waited for."""

STREAK = 20
"""After so many calls that failed in a row, all their tries included, the server is held to be down."""

FIRST_STREAK = 3
"""As many, for a server that has never answered."""


_RAISE = (
    "Earlier runs with this response cache count as well. Raise the budget, or start again from 0 with "
    "`harness cache spending --reset`."
)


class RequestFailedError(Exception):
    """A request has no answer, for a reason that may be its own."""


class FilteredError(RequestFailedError):
    """A content filter withheld the answer, or did not let the question through."""


class RefusedError(RequestFailedError):
    """The server declined what its caller was not sure that it could do."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How calls are made."""

    timeout: float = 600.0
    """Seconds that one try may take, from the first byte sent to the last received."""
    max_retries: int = 8
    """How often a call is tried again."""
    retry_delay: float = 0.5
    """Seconds before the first retry; each further one waits twice as long, less a random part."""
    limits: Limits = field(default_factory=Limits)
    """What the server may be sent, by all models that share its account."""


class Calls:
    """Makes a model's calls to its server; it lives in one event loop, and is closed before that is.

    Args:
        name: The model's, for messages.
        library: The client, ``openai`` or ``anthropic``.
        account: What the server takes, from other models as well.
        pace: How calls are made.
        spending: What may be spent.
        redact: Takes secrets out of messages.
    """

    def __init__(
        self, name: str, library: ModuleType, account: Account, pace: Pace, spending: Spending, redact: Redaction
    ) -> None:
        self._name, self._library, self._account, self._pace = name, library, account, pace
        self._spending, self._redact = spending, redact
        self._rng = derive_rng(0, f"retries/{name}")
        self._counted = self._expected = self._read = 0
        self._changed = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._streak = 0
        self._answered = False
        self._down = ""
        account.join(pace.limits, self._wake_soon, time.monotonic())

    @property
    def at_once(self) -> int:
        """How many calls the server is sent at once, now."""
        return self._account.concurrency.limit

    def close(self) -> None:
        """Leave the account to the others."""
        self._account.part(self._wake_soon, time.monotonic())

    def resume(self) -> None:
        """Give a server that was held to be down another chance; one more failure is enough then."""
        if self._down:
            self._down, self._streak = "", self._most - 1

    @property
    def _most(self) -> int:
        return STREAK if self._answered else FIRST_STREAK

    async def call(
        self,
        send: Callable[[], Awaitable[Any]],
        read: Callable[[Any], T],
        expected: Cost,
        refused: Callable[[Failure], bool] = lambda failure: False,
        *,
        asks: bool = True,
    ) -> T:
        """Return what a call gives, tried until it succeeds or cannot.

        Every try is charged: what is answered by the server's own count, usable or not, and without a count by what was
        expected; a timeout or a connection that breaks after the request was sent by what was expected; a failure of
        the server (5xx but 503 and 529) by its prompt; refusals (3xx, 4xx, 503, 529) by nothing.

        Args:
            send: Makes the call.
            read: Turns what it returned into the answer; raises
                :class:`harness.models.api.failures.UnusableAnswerError`.
            expected: What it may cost at most, as far as is known; estimates of prompts that turn out to be too low on
                average are corrected.
            refused: Whether a failure says that the server does not do such a thing, which the caller is prepared for.
            asks: Whether it puts a question to the model, so that its answer shows that questions can be put. Others
                find out what the server can do; they are charged, but made without regard to the budget.

        Raises:
            RefusedError: So it did.
            FilteredError: A content filter stands between the question and its answer.
            RequestFailedError: There is no answer.
            ModelError: No call can have one.
        """
        for attempt in count():
            failure = await self._attempt(send, read, expected, asks)
            if not isinstance(failure, Failure):
                self._answered = self._answered or asks
                return failure
            if refused(failure):
                raise RefusedError(f"{self._name}: {failure.message}")
            delay = self._delay(failure, attempt)
            if delay is None:
                raise self._conclusion(failure, attempt)
            await asyncio.sleep(delay)
        raise AssertionError("count() ends")

    async def _attempt(
        self, send: Callable[[], Awaitable[Any]], read: Callable[[Any], T], expected: Cost, asks: bool
    ) -> T | Failure:
        cost = self._corrected(expected)
        await self._enter(cost, asks)
        sending, spent, known = watch_sending(), Cost(), False
        try:
            try:
                async with asyncio.timeout(self._pace.timeout):
                    raw = await send()
            except BaseException as error:
                spent = self._lost(error, cost) if sending.begun else Cost()
                raise
            bill = read_bill(bytes(raw.content), cost)
            spent, known = bill.cost, True
            if bill.known:
                self._counted += 1
                self._expected += expected.prompt
                self._read += spent.prompt
            if bill.problem:
                raise UnusableAnswerError(bill.problem)
            answer = read(raw)
            self._streak = 0
            self._account.answered(time.monotonic())
            return answer
        except Exception as error:
            failure = failure_of(error, self._library, self._redact, self._pace.timeout)
            if failure is None:
                raise
            if failure.throttled:
                patient = (failure.retry_after or 0.0) <= PATIENCE
                self._account.throttled(time.monotonic(), failure.retry_after if patient else None)
            return failure
        finally:
            self._spending.end(cost, spent, known=known and asks)
            self._account.leave(cost.tokens, spent.tokens)

    def _lost(self, error: BaseException, cost: Cost) -> Cost:
        """Return what to charge for a call that was sent and has no answer."""
        failure = None
        if isinstance(error, Exception):
            failure = failure_of(error, self._library, self._redact, self._pace.timeout)
        if failure is None or failure.status is None:
            return cost
        return Cost(cost.prompt, 0) if failure.status >= 500 and not failure.throttled else Cost()

    def _corrected(self, expected: Cost) -> Cost:
        """Return the cost with its prompt corrected by how far estimates were too low so far.

        A server's tokens may be shorter than estimated, so that estimates are off by a factor, or its chat template may
        add a number of tokens to every prompt. The smaller correction counts: a factor learned from a prompt of two
        words says nothing about a long one.
        """
        if not self._counted:
            return expected
        added = max(0, math.ceil((self._read - self._expected) / self._counted))
        scaled = expected.scaled(max(1.0, self._read / self._expected) if self._expected else 1.0)
        return Cost(min(scaled.prompt, expected.prompt + added), expected.completion)

    def _delay(self, failure: Failure, attempt: int) -> float | None:
        """Return how long to wait for another try; None for no other try."""
        patience_ends = (failure.retry_after or 0.0) > PATIENCE
        retries = min(_KNOCKS, self._pace.max_retries) if self._hopeless(failure) else self._pace.max_retries
        if not failure.retry or patience_ends or attempt >= retries or self._down:
            return None
        longest = min(LONGEST_DELAY, self._pace.retry_delay * 2.0**attempt)
        return (failure.retry_after or 0.0) + longest * self._rng.uniform(0.5, 1.0)

    def _conclusion(self, failure: Failure, attempt: int) -> Exception:
        tries = f" after {attempt + 1} tries" if attempt else ""
        message = f"{self._name}: {failure.message}{tries}"
        if self._hopeless(failure):
            return ModelError(f"{message}. {_advice(failure)}")
        if failure.retry or failure.of_all:
            self._streak += 1
            if self._streak >= self._most and not self._down:
                self._down = f"{self._name}: {self._streak} calls failed in a row, so the rest are not made; "
                self._down += f"the last: {failure.message}"
                self._wake()
        return FilteredError(message) if failure.filtered else RequestFailedError(message)

    def _hopeless(self, failure: Failure) -> bool:
        return failure.of_all and not self._answered

    async def _enter(self, cost: Cost, asks: bool) -> None:
        """Wait for a place, and take it.

        Raises:
            RequestFailedError: No further call is made.
        """
        with self._account.queueing():
            while (wait := self._wait(cost, asks)) != 0.0:
                changed = self._changed
                try:
                    async with asyncio.timeout(wait):
                        await changed.wait()
                except TimeoutError:
                    continue
        self._spending.begin(cost)

    def _wait(self, cost: Cost, asks: bool) -> float | None:
        """Take a free place and return 0.0; else return the seconds to wait, or None to wait for a change."""
        if self._down:
            raise RequestFailedError(self._down)
        room = self._spending.room(cost) if asks else Room.YES
        if room is Room.NO:
            raise RequestFailedError(
                f"{self._name}: not sent, because it exceeds the budget: {self._spending}. {_RAISE}"
            )
        return None if room is Room.WAIT else self._account.enter(cost.tokens, time.monotonic())

    def _wake_soon(self) -> None:
        self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def _advice(failure: Failure) -> str:
    if failure.status is None:
        return "Is the server running, and is base_url right?"
    if 300 <= failure.status < 400:
        return "If you trust that address, set base_url to it."
    if failure.status in {401, 403}:
        return "Is the right key in the environment? api_key_env names the variable that holds it."
    if failure.status == 404:
        return "Is there a model of that name at base_url, and does base_url end as the server wants it, as in /v1?"
    return "The account cannot pay for requests."
