"""Calls whose questions are gathered into batches; all other calls are made directly."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from harness import GenerateRequest, ModelError, Request
from harness.backends import Redaction
from harness.models.api.answers import RawAnswer
from harness.models.api.batches.interface import BatchInterface
from harness.models.api.batches.ledger import Batch, BatchLedger, Item
from harness.models.api.batches.questions import CURRENT, Question
from harness.models.api.batches.queue_room import GIVE_UP_SECONDS, QueueRoom
from harness.models.api.batches.watching import Watcher
from harness.models.api.calls import Calls, FilteredError, RefusedError, RequestFailedError, advice
from harness.models.api.retries import Failure, UnusableAnswerError, failure_of_status
from harness.models.api.spending import Cost, read_bill

T = TypeVar("T")

MOST_UNDER_WAY = 50_000
"""Most questions under way at once; each takes about 10 kB of memory."""
MOST_TRIES = 3
"""Batches that a request is put into before it counts as failed; each may take a day."""

_LOG = logging.getLogger(__name__)

_SETTLE_SECONDS = 1.0
"""Seconds for which settled requests are gathered before the record forgets them."""
_JOIN_SECONDS = 0.5
"""Seconds for which queued requests are gathered before they are joined in one transaction."""


@dataclass(slots=True, eq=False)
class _Queued:
    """A request that waits to be submitted."""

    line: bytes
    cost: Cost
    tries: int


class BatchedCalls(Calls):
    """Asks questions in batches.

    A request is known by the digest of its endpoint, body and seed; equal ones at the same time are numbered. So after
    a restart the same request is found in the batch that it was submitted with, and another sample of it is not.

    Attributes:
        most: Most questions under way at once.
        connected: True once :meth:`connect` was called.
    """

    batched = True
    most = MOST_UNDER_WAY
    connected = False

    def connect(
        self, interface: BatchInterface, ledger: BatchLedger, account: str, access: Mapping[str, Any], redact: Redaction
    ) -> None:
        """Start to use a batch interface and a record of batches; called once, before the first question.

        Args:
            interface: The provider's.
            ledger: The record, which this object closes.
            account: The model and its server.
            access: How to reach the server later, without secrets.
            redact: Hides secrets in results.
        """
        self.connected = True
        self._interface, self._ledger, self._of, self._access = interface, ledger, account, access
        self._redact_answer = redact
        self._queues: defaultdict[str, dict[str, _Queued]] = defaultdict(dict)
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._numbers: defaultdict[str, set[int]] = defaultdict(set)
        self._blocked = 0
        self._room = QueueRoom(self._settings.batch_poll)
        self._settled: list[str] = []
        self._joining: list[str] = []
        self._watchers: dict[str, Watcher] = {}
        self._submitted = 0
        for batch in ledger.take_over():
            if batch.state == "recorded":  # it was never sent
                self._refund(ledger.items(batch.tag).values())
                ledger.end(batch, tried=False)
            else:
                self._watch(batch, ())

    @property
    def notice(self) -> str:
        watchers = list(self._watchers.values())
        shown = [watcher.notice(self._submitted) for watcher in watchers]
        queued = sum(map(len, list(self._queues.values())))
        if self._room.most is not None and queued:
            shown.insert(0, f"the provider's batch queue is full, {queued:,} requests are waiting")
        return f"{self._name}: {'; '.join(shown[:3])}{' …' if len(shown) > 3 else ''}" if shown else ""

    @property
    def going_on(self) -> str:
        under_way = [watcher.batch for watcher in list(self._watchers.values())]
        if not under_way:
            return ""
        ids = ", ".join(batch.id or f"(tag {batch.tag})" for batch in under_way[:5])
        what = "1 batch is" if len(under_way) == 1 else f"{len(under_way)} batches are"
        return (
            f"Stopped waiting. {what} still running on the server of {self._name}: "
            f"{ids}{', …' if len(under_way) > 5 else ''}. "
            "To cancel: harness cache batches --cancel (with the --results-dir or --cache-dir of this command)."
        )

    async def disconnect(self) -> None:
        """Stop waiting; the batches continue."""
        if not self.connected:
            return
        tasks = [watcher.task for watcher in self._watchers.values() if watcher.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._forget_settled()
        self._ledger.close()

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
        """Return the answer to a question, from a batch."""
        if not asks:
            return await super().post(client, path, body, read, expected, refused, asks=False)
        question = CURRENT.get()
        item = self._number(path, body, question.request)
        question.items.append(item)
        # The record is read again after each wait, because another process may have submitted the request meanwhile.
        while True:
            known = self._ledger.item(item)
            if known is None:
                await self._result(item, None, path, body, expected, 0, question)
                continue
            if known.tag is not None:
                await self._result(item, known.tag, path, body, expected, known.tries, question)
                continue
            failure = self._answer_in(known, read, expected)
            if not isinstance(failure, Failure):
                self._answered = True
                return failure
            if refused(failure):
                raise RefusedError(f"{self._name}: {failure.message}")
            if not failure.retry or known.tries >= MOST_TRIES:
                raise self._failed(failure, known.tries)
            await self._result(item, None, path, body, expected, known.tries, question)

    def release(self, under_way: int, full: bool) -> None:
        queued = sum(map(len, self._queues.values()))
        if not queued or self._blocked != under_way:
            return
        if self._room.most is not None:
            self._submit_one()
            return
        if full and self._watchers and queued < self._interface.most_requests:
            return  # room comes with the batches that are under way, and then more can be gathered
        for path in list(self._queues):
            while self._queues[path]:
                self._submit(path)

    def _submit_one(self) -> None:
        """Submit one batch, if it is time to, to a server that refused an earlier one because its queue was full."""
        now = time.monotonic()
        if not all(watcher.admitted for watcher in self._watchers.values()) or not self._room.is_due(now):
            return
        if self._room.is_hopeless(now) and not self._watchers:
            full = f"the provider's batch queue has been full for {GIVE_UP_SECONDS / 3600:g} hours"
            error = RequestFailedError(f"{self._name}: not submitted, because {full}: {self._room.why}")
            for queue in self._queues.values():
                items = list(queue)
                queue.clear()
                self._give_up(items, error)
            return
        self._submit(max(self._queues, key=lambda path: len(self._queues[path])))

    def settle(self, question: Question) -> None:
        if not self._settled:
            asyncio.get_running_loop().call_later(_SETTLE_SECONDS, self._forget_settled)
        self._settled += question.items

    def _forget_settled(self) -> None:
        self._join_queued()  # first: what is settled must not be joined afterwards
        settled, self._settled = self._settled, []
        if settled:
            self._ledger.settle(settled)
        for item in settled:  # only now: until then an equal request would get the result that the record still has
            digest, _, number = item.rpartition("-")
            self._numbers[digest].discard(int(number))
            if not self._numbers[digest]:
                del self._numbers[digest]

    def _number(self, path: str, body: Mapping[str, Any], request: Request) -> str:
        # Not every body holds the seed, so that those of two samples may be equal.
        sample = (request.seed, request.completions) if isinstance(request, GenerateRequest) else ()
        whole = json.dumps([path, body, *sample], sort_keys=True, separators=(",", ":")).encode()
        digest = hashlib.blake2b(whole, digest_size=16).hexdigest()
        number = next(n for n in range(len(self._numbers[digest]) + 1) if n not in self._numbers[digest])
        self._numbers[digest].add(number)
        return f"{digest}-{number}"

    async def _result(
        self,
        item: str,
        tag: str | None,
        path: str,
        body: Mapping[str, Any],
        cost: Cost,
        tries: int,
        question: Question,
    ) -> None:
        """Wait until the record of a request may have changed; submit the request unless it is in a batch already."""
        future = self._waiting[item] = asyncio.get_running_loop().create_future()
        self._blocked += not question.waiting
        question.waiting += 1
        try:
            if tag is None:
                self._join_soon(item)
                endpoint = self._interface.endpoint(path)
                self._queues[endpoint][item] = _Queued(self._interface.line(item, path, body), cost, tries)
                if len(self._queues[endpoint]) >= self._interface.most_requests and self._room.most is None:
                    self._submit(endpoint)
            elif tag not in self._watchers:
                if (batch := self._ledger.own(tag)) is None:
                    await self._elsewhere(item, tag)
                    return
                self._watch(batch, ())  # this process had stopped waiting for it
            await future
        finally:
            self._waiting.pop(item, None)
            question.waiting -= 1
            self._blocked -= not question.waiting

    def _join_soon(self, item: str) -> None:
        """Keep another process's result of a request that waits to be submitted, which may take hours."""
        if not self._joining:
            asyncio.get_running_loop().call_later(_JOIN_SECONDS, self._join_queued)
        self._joining.append(item)

    def _join_queued(self) -> None:
        if self._joining:
            items, self._joining = self._joining, []
            self._ledger.join(items)

    async def _elsewhere(self, item: str, tag: str) -> None:
        """Wait until a request of another process's batch has a result; take the batch over if that process ends."""
        self._ledger.join([item])
        while (known := self._ledger.item(item)) is not None and known.tag == tag:
            for batch in self._ledger.take_over():
                self._watch(batch, ())
            if tag in self._watchers:
                await self._waiting[item]
                return
            await asyncio.sleep(self._settings.batch_poll / 10)

    def _failed(self, failure: Failure, tries: int) -> Exception:
        batches = f" in {tries} batches" if tries > 1 else ""
        message = f"{self._name}: {failure.message}{batches}"
        if self._is_hopeless(failure):
            return ModelError(f"{message}. {advice(failure)}")
        return FilteredError(message) if failure.filtered else RequestFailedError(message)

    def _answer_in(self, known: Item, read: Callable[[Any], T], expected: Cost) -> T | Failure:
        if known.status is None:
            return Failure("the batch ended without a result for the request (expired, cancelled or lost)", retry=True)
        if known.status != 200:
            return failure_of_status(known.status, _parsed(known.body), {}, self._redact)
        try:
            if problem := read_bill(known.body, expected).problem:
                raise UnusableAnswerError(problem)
            return read(RawAnswer(known.body))
        except Exception as error:
            failure = self._failure(error)
            if failure is None:
                raise
            return failure

    def _submit(self, path: str) -> None:
        """Submit what fits into a batch and the budget, except requests that other processes have submitted."""
        queue, chosen, size, whole = self._queues[path], dict[str, _Queued](), 0, Cost()
        most = min(self._most_requests, self._room.most or self._most_requests)
        for item, queued in list(queue.items()):
            # Room for what surrounds the lines.
            if len(chosen) >= most or (chosen and size + len(queued.line) > self._interface.most_bytes - 1024):
                break
            del queue[item]
            if not self._spending.fits(whole + queued.cost):
                self._give_up([item], self._beyond_budget())
                continue
            chosen[item], size, whole = queued, size + len(queued.line), whole + queued.cost
        if not chosen:
            return
        batch = Batch(secrets.token_hex(8), self._of, self._access, path, time.time(), len(chosen))
        self._spending.charge(whole)  # first: killed in between, the budget counts too much rather than too little
        chosen = dict(sorted(chosen.items()))  # in the order of the record, in which the server's line numbers are read
        items = {item: Item(batch.tag, queued.cost, queued.tries + 1) for item, queued in chosen.items()}
        recorded = self._ledger.record(batch, items)
        others = items.keys() - recorded.keys()
        self._refund(items[item] for item in others)
        self._wake_items(others)
        if recorded:
            self._watch(batch, [chosen[item].line for item in recorded])

    @property
    def _most_requests(self) -> int:
        return max(1, min(self._interface.most_requests, self.most))

    def _watch(self, batch: Batch, lines: Sequence[bytes]) -> None:
        self._submitted += 1
        watcher = Watcher(batch, lines, self._submitted, self._interface, self._ledger, self._settings, self._name)
        self._watchers[batch.tag] = watcher
        watcher.task = asyncio.get_running_loop().create_task(self._follow(watcher))

    async def _follow(self, watcher: Watcher) -> None:
        """Follow a batch to its end, and let those that wait for it go on."""
        batch, error = watcher.batch, None
        try:
            admitted = partial(self._room.admitted, watcher.number, self._most_requests)
            await watcher.follow(self.resume, self._redact_line, self._arrived, admitted)
        except Exception as problem:
            error = problem
        self._watchers.pop(batch.tag, None)
        if watcher.crowded:
            self._no_room(watcher)
        elif watcher.admitted:
            self._room.ended()
        left = self._ledger.items(batch.tag)
        if error is None or watcher.refused:
            if not watcher.lost:  # what the server did not run costs nothing
                self._refund(left.values())
            self._ledger.end(batch, tried=batch.state == "submitted" and not watcher.crowded)
        if error is None:
            self._wake_items(left)
        else:
            self._give_up(list(left), error)

    def _no_room(self, watcher: Watcher) -> None:
        """Note that the server refused a batch because its queue was full."""
        others = any(other.admitted for other in self._watchers.values())
        requests, now = watcher.batch.requests, time.monotonic()
        if self._room.most is None:
            _LOG.warning(
                "%s: the provider's batch queue has no room for a batch of %d requests: %s. "
                "It will be submitted in parts.",
                *(self._name, requests, watcher.crowded.rstrip(".")),
            )
        self._room.refused(watcher.number, self._submitted, requests, others, now, watcher.crowded)

    def _arrived(self, items: Sequence[str], refund: Cost) -> None:
        self._spending.charge(refund)
        self._wake_items(items)

    def _wake_items(self, items: Any) -> None:
        for item in items:
            future = self._waiting.get(item)
            if future is not None and not future.done():
                future.set_result(None)

    def _give_up(self, items: Sequence[str], error: Exception) -> None:
        for item in items:
            future = self._waiting.get(item)
            if future is not None and not future.done():
                future.set_exception(error)

    def _refund(self, items: Any) -> None:
        self._spending.charge(Cost() - sum((item.cost for item in items), Cost()))

    def _redact_line(self, body: bytes) -> bytes:
        return self._redact_answer(body.decode("utf-8", "replace")).encode()


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body.decode("utf-8", "replace")
