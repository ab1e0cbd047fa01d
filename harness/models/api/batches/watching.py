"""One batch from its submission to its last result."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from harness import ModelError
from harness.models.api.batches.interface import BatchInterface, Line, Look
from harness.models.api.batches.ledger import Batch, BatchLedger, Item, Result
from harness.models.api.calls import RefusedError, RequestFailedError, ThrottledError
from harness.models.api.retries import UnusableAnswerError
from harness.models.api.settings import ApiSettings
from harness.models.api.spending import Cost, read_bill

T = TypeVar("T")

OUTAGE_SECONDS = 6 * 3600.0
"""Seconds for which checks of a batch may fail before the harness stops waiting."""
MISSED_LOOKS = 3
"""Checks in a row that find a batch unknown to the server before it counts as lost."""
_KEPT_AT_ONCE = 500
"""Results that are stored in one transaction."""
_GROWTH = 1.3
"""Factor by which the time between two checks grows."""

_LOG = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Watcher:
    """Submits a batch, waits for it and stores its results.

    Attributes:
        lost: True if the server does not know the batch any more, so that what it cost is unknown.
        refused: True if the server refused the batch, so that none of its requests was run.
        admitted: True if the server has accepted the batch into its queue.
        crowded: The server's reason for refusing the batch, if its queue was full; else empty.
    """

    batch: Batch
    """The batch to watch."""
    lines: Sequence[bytes]
    """The requests as they are submitted; empty if an earlier process has submitted them."""
    number: int
    """Its number among the batches of this process, from 1."""
    interface: BatchInterface
    """The provider's."""
    ledger: BatchLedger
    """The record."""
    settings: ApiSettings
    """The model's."""
    name: str
    """The model's, for messages."""
    lost: bool = False
    refused: bool = False
    admitted: bool = False
    crowded: str = ""
    task: asyncio.Task[None] | None = None
    """Follows it."""
    _status: str = "submitting"
    _delay: float = field(init=False)

    def __post_init__(self) -> None:
        self._delay = self.settings.batch_poll / 10

    def notice(self, total: int) -> str:
        """Return the progress of the batch, for people.

        Args:
            total: Number of batches of this process.
        """
        if self.batch.state != "submitted":
            return f"batch {self.number} of {total}: submitting {self.batch.requests:,} requests"
        made = datetime.fromtimestamp(self.batch.made).astimezone()
        today = made.date() == datetime.now(made.tzinfo).date()
        when = made.strftime("%H:%M" if today else "%Y-%m-%d %H:%M")
        done = f"{self.batch.done:,} of {self.batch.requests:,} done"
        return f"batch {self.number} of {total}: {done}, submitted {when}"

    async def follow(
        self,
        resume: Callable[[], None],
        redact: Callable[[bytes], bytes],
        arrived: Callable[[Sequence[str], Cost], None],
        admitted: Callable[[], None],
    ) -> None:
        """Wait until the batch has ended, and store its results.

        Args:
            resume: Lets calls be made again after others have failed.
            redact: Hides secrets in a result.
            arrived: Called with requests whose results are stored, and the difference from what was charged for them.
            admitted: Called when the server has accepted the batch into its queue.

        Raises:
            RequestFailedError: The server refused the batch, or no longer answers questions about it.
            ModelError: No call to the server can be answered.
        """
        if not await self._submitted(resume):
            return
        missed = 0
        while True:
            id = self.batch.id or ""
            look = await self._patient(lambda id=id: self.interface.look(id), resume)  # type: ignore[misc]
            if look is None:
                missed += 1
                if missed >= MISSED_LOOKS:
                    self.lost = True
                    _LOG.warning(
                        "%s: the server no longer knows batch %s. Its requests without results are submitted "
                        "again. If another organisation's key submitted the batch, stop and "
                        "start again with that key.",
                        *(self.name, id),
                    )
                    return
            else:
                missed = 0
                self._note(look)
                if not (self.admitted or look.validating or look.problem):
                    self.admitted = True
                    admitted()
                if look.ended:
                    break
            await self._pause()
        if look.problem and not look.problems:
            if look.crowded:
                self.crowded = look.problem
                return
            self.refused = True
            raise RequestFailedError(f"{self.name}: the server did not run batch {self.batch.id}: {look.problem}")
        await self._take(look, redact, arrived, resume)

    async def _submitted(self, resume: Callable[[], None]) -> bool:
        """Return whether the batch is on the server, after submitting it if that is still to be done."""
        batch = self.batch
        for attempt in range(self.settings.max_retries + 1):
            if batch.state == "submitted":
                return True
            if batch.state == "sending" and (id := await self._found(resume)) is not None:
                self._state("submitted", id)
                return True
            if not self.lines:  # submitted by an earlier process, which the server knows nothing of
                return False
            resume()
            try:
                await self.interface.prepare(batch, self.lines)
                self._state("sending")
                id = await self.interface.create(batch, self.lines)
            except RefusedError as error:
                if attempt == self.settings.max_retries:
                    raise RequestFailedError(
                        f"{error}. It is unknown whether the batch was submitted; the next start will check."
                    ) from error
                await asyncio.sleep(min(self.settings.retry_delay * 2.0**attempt, self.settings.batch_poll))
                continue
            except ThrottledError as error:
                self.crowded = str(error).removeprefix(f"{self.name}: ")
                return False
            except (RequestFailedError, ModelError):
                self.refused = True
                raise
            self.lines = ()
            self._state("submitted", id)
            return True
        raise AssertionError("the last attempt raises")

    async def _found(self, resume: Callable[[], None]) -> str | None:
        """Return the id of a batch that may have been submitted; the server's list may be slightly out of date."""
        items = self.ledger.items(self.batch.tag)
        for last in (False, True):
            found = await self._patient(
                lambda: self.interface.find(self.batch, lambda: frozenset(items)), resume, at_once=False
            )
            if found is not None or last:
                return found
            await asyncio.sleep(self.settings.batch_poll / 10)
        return None

    async def _patient(
        self, call: Callable[[], Awaitable[T]], resume: Callable[[], None], *, at_once: bool = True
    ) -> T:
        """Return the result of a call, which is repeated for some hours if it fails.

        Args:
            call: The call.
            resume: Lets calls be made again after others have failed.
            at_once: True to raise a ModelError, such as for a wrong key, immediately if no check has succeeded yet.
        """
        began = time.monotonic()
        while True:
            resume()
            try:
                return await call()
            except (RequestFailedError, ModelError, UnusableAnswerError) as error:
                hopeless = isinstance(error, ModelError) and at_once and self._status == "submitting"
                if hopeless or time.monotonic() - began > OUTAGE_SECONDS:
                    raise
                _LOG.info("%s: %s; trying again", self.name, error)
            await self._pause()

    async def _take(
        self,
        look: Look,
        redact: Callable[[bytes], bytes],
        arrived: Callable[[Sequence[str], Cost], None],
        resume: Callable[[], None],
    ) -> None:
        """Download and store the results."""
        open_items = self.ledger.items(self.batch.tag)
        taken = _Taken(open_items)
        for line, problem in (look.problems or {}).items():
            if 0 <= line < len(open_items):
                body = json.dumps({"error": {"message": problem}}).encode()
                taken.add(Line(list(open_items)[line], 400, body), lambda body: body)
        self._store(taken, arrived)

        async def download() -> None:
            taken.begin()
            async for line in self.interface.results(look):
                taken.add(line, redact)
                if len(taken.results) >= _KEPT_AT_ONCE:
                    self._store(taken, arrived)
            self._store(taken, arrived)

        if look.files:
            await self._patient(download, resume)
        if said := taken.said(look.status):
            _LOG.warning("%s: batch %s: %s.", self.name, self.batch.id, said)

    def _store(self, taken: _Taken, arrived: Callable[[Sequence[str], Cost], None]) -> None:
        results, refund = taken.results, taken.refund
        taken.results, taken.refund = [], Cost()
        new = self.ledger.keep(results)
        if results:
            arrived(new, refund)

    def _state(self, state: str, id: str | None = None) -> None:
        self.batch.state, self.batch.id = state, id  # type: ignore[assignment]
        self.ledger.update(self.batch)

    def _note(self, look: Look) -> None:
        self._status = look.status
        if look.done != self.batch.done:
            self.batch.done = min(look.done, self.batch.requests)
            self.ledger.update(self.batch)

    async def _pause(self) -> None:
        await asyncio.sleep(self._delay)
        self._delay = min(self.settings.batch_poll, self._delay * _GROWTH)


class _Taken:
    """Results as they are read, each request's first; what else the lines hold is counted."""

    def __init__(self, items: dict[str, Item]) -> None:
        self.results: list[Result] = []
        self.refund = Cost()
        self._items, self._have = items, set[str]()
        self.begin()

    def begin(self) -> None:
        """Begin to read from the first line, also after an interrupted download."""
        self._seen = set[str]()
        self._unreadable = self._unknown = self._repeated = 0

    def add(self, line: Line, redact: Callable[[bytes], bytes]) -> None:
        """Take a line."""
        if line.item is None:
            self._unreadable += 1
        elif (item := self._items.get(line.item)) is None:
            self._unknown += 1
        elif line.item in self._seen:
            self._repeated += 1
        else:
            self._seen.add(line.item)
            if line.status is None or line.item in self._have:
                return
            self._have.add(line.item)
            charge = read_bill(line.body, item.cost).cost if line.status == 200 else Cost()
            self.results.append(Result(line.item, line.status, redact(line.body), charge))
            self.refund += charge - item.cost

    def said(self, status: str) -> str:
        """Return what was wrong with the results; empty if nothing was."""
        missing = len(self._items) - len(self._have)
        counts = {
            "unreadable lines": self._unreadable,
            "lines with ids that were not submitted": self._unknown,
            "duplicate results (only the first is used)": self._repeated,
            f"requests without a result (status {status}), submitted again": missing,
        }
        return ", ".join(f"{what}: {number:,}" for what, number in counts.items() if number)
