"""Calls to a server, each repeated until it is answered or given up: rate-limited, budgeted and counted."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from types import ModuleType
from typing import Any, TypeVar

from harness import ModelError, derive_rng
from harness.backends import Redaction
from harness.models.api.http_client import watch_sending
from harness.models.api.rate_limits import Account
from harness.models.api.retries import CONNECT_RETRIES, Failure, UnusableAnswerError, failure_of, retry_delay
from harness.models.api.settings import ApiSettings
from harness.models.api.spending import Bill, Cost, Room, Spending, read_bill

T = TypeVar("T")

DOWN_AFTER = 20
"""Calls in a row that failed, all their retries included, after which the server counts as down."""
DOWN_AFTER_AT_FIRST = 3
"""The same for a server that has never answered."""

_RAISE = (
    "Earlier runs with this response cache count as well. Raise the budget, or start again from 0 with "
    "`harness cache spending --reset`."
)


class RequestFailedError(Exception):
    """A request has no answer; others may have one."""


class FilteredError(RequestFailedError):
    """A content filter withheld the answer or blocked the prompt."""


class RefusedError(RequestFailedError):
    """The server refused something that it may not support."""


class ThrottledError(RequestFailedError):
    """After all retries, the server still said that it receives too many requests."""


class Calls:
    """Makes a model's calls to its server. It belongs to one event loop, and is closed before that is."""

    batched = False
    """True if questions are asked in batches, so that an answer takes hours."""

    def __init__(
        self,
        name: str,
        library: ModuleType,
        account: Account,
        settings: ApiSettings,
        spending: Spending,
        redact: Redaction,
    ) -> None:
        self._name, self._library, self._account, self._settings = name, library, account, settings
        self._spending, self._redact = spending, redact
        self._rng = derive_rng(0, f"retries/{name}")
        self._counted = self._expected = self._read = 0
        self._changed = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._failed_in_a_row = 0
        self._answered = False
        self._down = ""
        account.join(settings, self._wake_soon, time.monotonic())

    @property
    def at_once(self) -> int:
        """The current limit on calls at once."""
        return self._account.concurrency.limit

    def close(self) -> None:
        """Leave the account to other models."""
        self._account.part(self._wake_soon, time.monotonic())

    def resume(self) -> None:
        """Try a server again that counts as down; one more failure is then enough."""
        if self._down:
            self._down, self._failed_in_a_row = "", self._down_after - 1

    async def call(
        self,
        send: Callable[[], Awaitable[Any]],
        read: Callable[[Any], T],
        expected: Cost,
        refused: Callable[[Failure], bool] = lambda failure: False,
        *,
        asks: bool = True,
        billed: bool = True,
    ) -> T:
        """Return the answer to a call, repeated until there is one or no hope of one.

        Every attempt is charged. An answer costs what the server counted, usable or not, else the expected cost. A
        timeout or broken connection after the request was sent costs the expected cost, a failure of the server (5xx
        but 503 and 529) the prompt, a refusal (3xx, 4xx, 503, 529) nothing.

        Args:
            send: Makes the call.
            read: Turns its result into the answer, or raises :class:`UnusableAnswerError`.
            expected: The most it may cost, as estimated; estimates of prompts that are too low on average are
                corrected.
            refused: Returns True for a failure that means that the server does not support the call.
            asks: False for a call that only finds out what the server supports: it is charged, but made whatever the
                budget, and does not show that questions can be answered.
            billed: False for a call that costs nothing; its answer is not looked into for usage.

        Raises:
            RefusedError: ``refused`` returned True.
            FilteredError: A content filter withheld the answer.
            ThrottledError: After all retries, the server still said that it receives too many requests.
            RequestFailedError: There is no answer.
            ModelError: No call to this server can be answered.
        """
        for attempt in count():
            failure = await self._attempt(send, read, expected, asks, billed)
            if not isinstance(failure, Failure):
                self._answered = self._answered or asks
                return failure
            if refused(failure):
                raise RefusedError(f"{self._name}: {failure.message}")
            delay = None if self._down else self._delay(failure, attempt)
            if delay is None:
                raise self._conclusion(failure, attempt)
            await asyncio.sleep(delay)
        raise AssertionError("count() ends")

    async def post(
        self,
        client: Any,
        path: str,
        body: Mapping[str, Any],
        read: Callable[[Any], T],
        expected: Cost,
        refused: Callable[[Failure], bool] = lambda failure: False,
        *,
        asks: bool = True,
    ) -> T:
        """Return the answer to a JSON body that is posted with the library's client; see :meth:`call`."""
        import httpx2

        return await self.call(
            lambda: client.post(path, cast_to=httpx2.Response, body=body), read, expected, refused, asks=asks
        )

    async def _attempt(
        self, send: Callable[[], Awaitable[Any]], read: Callable[[Any], T], expected: Cost, asks: bool, billed: bool
    ) -> T | Failure:
        cost = self._corrected(expected)
        await self._enter(cost, asks)
        sending, spent, known = watch_sending(), Cost(), False
        try:
            try:
                async with asyncio.timeout(self._settings.timeout):
                    raw = await send()
            except BaseException as error:
                spent = self._cost_unanswered(error, cost) if sending.begun else Cost()
                raise
            bill = read_bill(bytes(raw.content), cost) if billed else Bill(Cost())
            spent, known = bill.cost, True
            if bill.known:
                self._counted += 1
                self._expected += expected.prompt
                self._read += spent.prompt
            if bill.problem:
                raise UnusableAnswerError(bill.problem)
            answer = read(raw)
            self._failed_in_a_row = 0
            self._account.answered(time.monotonic())
            return answer
        except Exception as error:
            failure = self._failure(error)
            if failure is None:
                raise
            if failure.throttled:
                self._account.throttled(time.monotonic(), None if failure.too_long else failure.retry_after)
            return failure
        finally:
            self._spending.end(cost, spent, known=known and asks)
            self._account.leave(cost.tokens, spent.tokens)

    def _failure(self, error: Exception) -> Failure | None:
        return failure_of(error, self._library, self._redact, self._settings.timeout)

    def _cost_unanswered(self, error: BaseException, cost: Cost) -> Cost:
        """Return what to charge for a call that was sent and has no answer."""
        failure = self._failure(error) if isinstance(error, Exception) else None
        if failure is None or failure.status is None:
            return cost
        return Cost(cost.prompt, 0) if failure.status >= 500 and not failure.throttled else Cost()

    def _corrected(self, expected: Cost) -> Cost:
        """Return the cost with its prompt corrected by how far estimates have been too low so far.

        A server's tokens may be shorter than estimated, so that estimates are off by a factor; or its chat template may
        add tokens to every prompt. The smaller correction counts: a factor learned from a prompt of two words says
        nothing about a long one.
        """
        if not self._counted:
            return expected
        added = max(0, math.ceil((self._read - self._expected) / self._counted))
        scaled = expected.scaled(max(1.0, self._read / self._expected) if self._expected else 1.0)
        return Cost(min(scaled.prompt, expected.prompt + added), expected.completion)

    def _delay(self, failure: Failure, attempt: int) -> float | None:
        """Return the seconds before the next attempt; None for none."""
        most = self._settings.max_retries
        retries = min(CONNECT_RETRIES, most) if self._is_hopeless(failure) else most
        return retry_delay(failure, attempt, first=self._settings.retry_delay, retries=retries, rng=self._rng)

    def _conclusion(self, failure: Failure, attempt: int) -> Exception:
        tries = f" after {attempt + 1} tries" if attempt else ""
        message = f"{self._name}: {failure.message}{tries}"
        if self._is_hopeless(failure):
            return ModelError(f"{message}. {advice(failure)}")
        if failure.retry or failure.fatal:
            self._failed_in_a_row += 1
            if self._failed_in_a_row >= self._down_after and not self._down:
                self._down = f"{self._name}: {self._failed_in_a_row} calls failed in a row, so the rest are not made; "
                self._down += f"the last: {failure.message}"
                self._wake()
        if failure.throttled and not failure.fatal:
            return ThrottledError(message)
        return FilteredError(message) if failure.filtered else RequestFailedError(message)

    def _is_hopeless(self, failure: Failure) -> bool:
        return failure.fatal and not self._answered

    @property
    def _down_after(self) -> int:
        return DOWN_AFTER if self._answered else DOWN_AFTER_AT_FIRST

    async def _enter(self, cost: Cost, asks: bool) -> None:
        """Wait until limits and budget allow a call, and start it.

        Raises:
            RequestFailedError: No more calls are made.
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
        """Start a call and return 0.0; or return the seconds to wait, or None to wait for a change."""
        if self._down:
            raise RequestFailedError(self._down)
        room = self._spending.room(cost) if asks else Room.YES
        if room is Room.NO:
            raise self._beyond_budget()
        return None if room is Room.WAIT else self._account.enter(cost.tokens, time.monotonic())

    def _beyond_budget(self) -> RequestFailedError:
        return RequestFailedError(f"{self._name}: not sent, because it exceeds the budget: {self._spending}. {_RAISE}")

    def _wake_soon(self) -> None:
        self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def advice(failure: Failure) -> str:
    """Return what a user can do about a failure that every call would have."""
    if failure.status is None:
        return "Is the server running, and is base_url right?"
    if 300 <= failure.status < 400:
        return "If you trust that address, set base_url to it."
    if failure.status in {401, 403}:
        return "Is the right key in the environment? api_key_env names the variable that holds it."
    if failure.status == 404:
        return "Is there a model of that name at base_url, and does base_url end as the server wants it, as in /v1?"
    return "The account cannot pay for requests."
