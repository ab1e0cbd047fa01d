"""What runs in a replica, whatever carries its requests: the model, fed part by part.

::

    take() ─► parts ─► model.answer ─► answers, 64 at most ─► outgoing() ─► transport

The model is asked continuously: one that takes requests as it has room is given those of the next part when the first
runs low. The stream of requests ends for a moment at each part's border, so that a model which collects what there is
and answers it as one batch never mixes two parts.
"""

from __future__ import annotations

import os
import platform
import queue
import threading
import traceback
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from harness.contracts import Model, Request, Response
from harness.costs.energy import gpu_counters
from harness.costs.graphics_cards import graphics_cards
from harness.errors import HarnessError, ModelError, reraise_interrupt
from harness.inference.replicas import (
    MOST_ANSWERS,
    Answers,
    Begun,
    Dead,
    Done,
    Event,
    Facts,
    Failed,
    ModelSource,
    Numbered,
    Refused,
    Used,
)
from harness.installation import imported_module

FLUSH_SECONDS = 5.0
"""Seconds for the last words of a process that cannot go on."""

LINGER_SECONDS = 0.01
"""Seconds that an answer waits for others to be sent with."""


@dataclass(slots=True, eq=False)
class _Part:
    number: int
    requests: deque[Numbered]
    left: int
    """Requests without an answer."""


class Outbox:
    """What a replica has to say, in order.

    The model waits while 64 answers are not stored on the other side, so at most that many are lost if that side dies.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._items: deque[Event | tuple[int, int, Response]] = deque()
        self._held = 0
        self._closed = self._sending = False

    def put(self, event: Event) -> None:
        """Add an event."""
        with self._changed:
            self._items.append(event)
            self._changed.notify_all()

    def answer(self, part: int, number: int, response: Response) -> None:
        """Add an answer; wait while too many are not stored."""
        with self._changed:
            self._items.append((part, number, response))
            self._held += 1
            if len(self._items) in (1, MOST_ANSWERS // 2):  # what is waited for
                self._changed.notify_all()
            self._changed.wait_for(lambda: self._held < MOST_ANSWERS or self._closed)

    def close(self) -> None:
        """Let nobody wait any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def take(self, seconds: float | None = None) -> list[Event]:
        """Wait for something to say, a moment longer for more answers, and return it; nothing after some seconds."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._items) or self._closed, seconds)
            if self._only_answers():
                self._changed.wait_for(
                    lambda: len(self._items) >= MOST_ANSWERS // 2 or not self._only_answers() or self._closed,
                    LINGER_SECONDS,
                )
            items, self._items = self._items, deque()
            self._sending = bool(items)
        events: list[Event] = []
        for item in items:
            if not isinstance(item, tuple):
                events.append(item)
                continue
            part, number, response = item
            if not events or not isinstance(events[-1], Answers) or events[-1].part != part:
                events.append(Answers(part, []))
            events[-1].answers.append((number, response))  # type: ignore[union-attr]
        return events

    def sent(self) -> None:
        """Note that what was taken has been sent."""
        with self._changed:
            self._sending = False
            self._changed.notify_all()

    def stored(self, answers: int) -> None:
        """Note that the other side has stored that many more answers."""
        with self._changed:
            self._held -= answers
            self._changed.notify_all()

    def flush(self, seconds: float) -> None:
        """Wait until all is sent, for some seconds at most."""
        with self._changed:
            self._changed.wait_for(lambda: not self._items and not self._sending, seconds)

    def _only_answers(self) -> bool:
        return bool(self._items) and isinstance(self._items[-1], tuple)


class ReplicaServer:
    """Opens a model, and answers parts with it until it is closed.

    Attributes:
        outbox: What it has to say.
        ended: Set when the model answers no more.
    """

    def __init__(self, source: ModelSource) -> None:
        self.outbox, self.ended = Outbox(), threading.Event()
        self._source = source
        self._inbox: queue.SimpleQueue[_Part | None] = queue.SimpleQueue()
        self._closed = self._loaded = False
        self._facts: Facts | None = None

    def take(self, part: int, requests: list[Numbered]) -> None:
        """Take a part to answer; called on any thread."""
        self._inbox.put(_Part(part, deque(requests), len(requests)))

    def close(self) -> None:
        """End :meth:`run` as soon as the model has given its next answer; called on any thread."""
        self._closed = True
        self.outbox.close()
        self._inbox.put(None)

    def run(self) -> None:
        """Open the model and answer parts; call it on the thread on which the model is to work."""
        try:
            model = self._source.open()
            self._report(model)
        except BaseException as error:
            self._complain(error)
            self.ended.set()
            return
        try:
            while not self._closed and (part := self._inbox.get()) is not None:
                self._answer(model, part)
        finally:
            self.ended.set()
            model.close()

    def _answer(self, model: Model, first: _Part) -> None:
        """Answer a part, and those that come meanwhile."""
        energy = _Energy()
        feed = _Feed(first, self._inbox, self.outbox)
        try:
            while feed.any and not self._closed:
                before = feed.taken
                for index, response in model.answer(feed):
                    part, number = feed.answered(index)
                    part.left -= 1
                    if not part.left and (joules := energy.used()) is not None:
                        self.outbox.put(Used(joules))
                    self.outbox.answer(part.number, number, response)
                    if not part.left:
                        self._finish(model, part)
                    if self._closed:
                        return
                if feed.open:
                    raise ModelError(
                        f"the model's backend answered {feed.taken - len(feed.open)} of {feed.taken} requests."
                    )
                if feed.taken == before and feed.any:
                    raise ModelError("the model's backend answered none of its requests.")
                feed.restart()
        except BaseException as error:
            self._complain(error)

    def _finish(self, model: Model, part: _Part) -> None:
        if not self._loaded:
            self._loaded = True
            self._report(model)
        self.outbox.put(Done(part.number))

    def _report(self, model: Model) -> None:
        """Say what there is to know about the model here, if it has changed."""
        facts = Facts(dict(model.fingerprint()), dict(model.description()), worker_facts())
        if facts != self._facts:
            self._facts = facts
            self.outbox.put(facts)

    def _complain(self, error: BaseException) -> None:
        reraise_interrupt(error)
        if isinstance(error, ModelError) and error.process_lost:
            self.outbox.put(Dead(f"had to end: {error}"))
            self.outbox.flush(FLUSH_SECONDS)
            os._exit(1)
        refused = isinstance(error, HarnessError)
        with suppress(queue.Empty):
            while self._inbox.get_nowait() is not None:
                pass
            self._inbox.put(None)  # the end
        self.outbox.put(Refused(str(error)) if refused else Failed(traceback.format_exc()))


class _Energy:
    """Measures the energy of this process's graphics cards, from its construction on."""

    def __init__(self) -> None:
        self._counters = gpu_counters()
        self._last = self._read()

    def used(self) -> float | None:
        """Return the joules since the last call; None if they cannot be measured."""
        now = self._read()
        before, self._last = self._last, now
        return None if now is None or before is None else now - before

    def _read(self) -> float | None:
        try:
            return sum(counter.read() for counter in self._counters) if self._counters else None
        except Exception:  # errors of pynvml have many classes
            return None


class _Feed(Iterator[Request]):
    """The requests of parts as the model takes them; it ends for a moment after each part.

    Attributes:
        open: The part and number of each request that was taken and is not answered, by the model's index.
        taken: Number of requests that the model has taken in this call.
    """

    def __init__(self, first: _Part, inbox: queue.SimpleQueue[_Part | None], outbox: Outbox) -> None:
        self._part: _Part | None = first
        self._inbox, self._outbox = inbox, outbox
        self._begun = False
        self.open: dict[int, tuple[_Part, int]] = {}
        self.taken = 0

    @property
    def any(self) -> bool:
        """True if there is a request to take."""
        if self._part is None:
            try:
                self._part = self._inbox.get_nowait()
            except queue.Empty:
                return False
            if self._part is None:
                self._inbox.put(None)  # the end, for whoever waits for it
        return self._part is not None

    def restart(self) -> None:
        """Number requests from 0 again: the model is called anew."""
        self.taken = 0

    def answered(self, index: int) -> tuple[_Part, int]:
        """Return part and number of the request that the model has answered, and forget it."""
        if index not in self.open:
            raise ModelError(
                f"the model's backend answered request {index} of {self.taken} twice, or before it was sent."
            )
        return self.open.pop(index)

    def __next__(self) -> Request:
        if not self.any:
            raise StopIteration
        part = self._part
        assert part is not None  # noqa: S101 - there is one, as `any` says
        if not part.requests:
            self._part, self._begun = None, False
            raise StopIteration
        if not self._begun:
            self._begun = True
            self._outbox.put(Begun(part.number))
        number, request = part.requests.popleft()
        self.open[self.taken] = part, number
        self.taken += 1
        return request


def worker_facts() -> Mapping[str, Any]:
    """Return what is known of this process and its machine, as JSON values."""
    cards = graphics_cards()
    facts: dict[str, Any] = {"host": platform.node(), "pid": os.getpid()}
    if (torch := imported_module("torch")) is not None:
        facts["threads"] = torch.get_num_threads()
    if cards.names:
        facts |= {"gpus": list(cards.names), "driver": cards.driver}
        if visible := os.environ.get("CUDA_VISIBLE_DEVICES"):
            facts["visible_devices"] = visible
        if torch is not None and torch.version.cuda is not None:
            facts |= {"cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}
            ways = vars(torch.backends.cuda).items()
            enabled = [name.removesuffix("_sdp_enabled") for name, on in ways if name.endswith("_sdp_enabled") and on()]
            facts["attention"] = sorted(enabled)
    return facts
