"""The prompt thread: it makes the requests of many runs ahead of the model.

Rendering prompts and counting their tokens takes time, so a thread of its own does it while the model answers. A run
that needs an answer before it can go on waits until the scheduler resumes it; the others go on meanwhile.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from harness.contracts import Adapted, Request, Response
from harness.errors import reraise_interrupt

MOST_UNANSWERED = 4096
"""Requests on their way at once: enough for a backend to sort them by length, few enough that memory does not grow with
the run. As many again may be made in advance."""

RUNS_AT_ONCE = 8
"""Runs on their way at once: enough to fill batches, few enough that the first of them soon ends. Runs that wait for an
answer are not counted."""

RUNS_IN_BATCHES = 256
"""The same for a model that gathers requests into batches, of which there should be few; each run has an open file."""

MOST_OPEN = 32
"""Runs on their way at once, with those that wait for an answer."""

_HANDED_OVER = 64
_HANDED_OVER_SECONDS = 0.005
"""Made requests are handed to the answer thread this many at a time, and at least this often."""


@dataclass(slots=True, eq=False)
class Ask:
    """The requests that are answered together: those of one example."""

    adapted: Adapted
    """What they were made from."""
    requests: list[Request]
    """What to ask: the requests of ``adapted``, with the scenario in their origin."""
    responses: list[Response | None] = field(init=False)
    """The answers so far, in the order of the requests."""
    missing: int = field(init=False)
    """How many answers are still to come."""
    reported: float = 0.0
    """The share of it that its asker has reported as answered."""

    def __post_init__(self) -> None:
        self.missing = len(self.requests)
        self.responses = [None] * self.missing

    @property
    def answers(self) -> list[Response]:
        """The answers that have come, in the order of the requests."""
        return [response for response in self.responses if response is not None]

    def extend(self, requests: Sequence[Request]) -> None:
        """Ask more."""
        self.requests += requests
        self.responses += [None] * len(requests)
        self.missing += len(requests)


class Asker(Protocol):
    """A source of requests for the model: a run. Whatever it raises, except a StorageError, ends it alone."""

    def prepare(self) -> Iterator[Ask] | None:
        """Return what it asks, made one after the other; None for nothing. Called on the prompt thread, once.

        The iterator is advanced on the prompt thread as well.
        """

    def begin(self) -> None:
        """Called on the answer thread before the first of its requests is asked."""

    def answered(self, ask: Ask, response: Response) -> None:
        """Called for each answer as it comes."""

    def follow_up(self, ask: Ask) -> Sequence[Request]:
        """Return what to ask next, now that all answers to an ask are there; empty when it is complete."""

    def complete(self, ask: Ask) -> None:
        """Called when all answers to an ask are there and nothing follows, in the order in which they were asked."""

    def end(self, error: BaseException | None) -> None:
        """Called when nothing more comes, or when something went wrong."""


AskerT = TypeVar("AskerT", bound=Asker)


@dataclass(slots=True, eq=False)
class Stream(Generic[AskerT]):
    """An asker on its way. ``made`` and ``held`` belong to the prompt thread, the rest of a line to who is named."""

    asker: AskerT
    """Whose it is."""
    made: Iterator[Ask] | None = None
    """Makes its asks; None until it is prepared. Of the prompt thread."""
    held: Ask | None = None
    """Made, but not handed over before it is known whether it is the last. Of the prompt thread."""
    waits: bool = False
    """True until an answer is read. Guarded by the lock of :class:`PromptThread`."""
    exhausted: bool = False
    """True when all its asks are made. Guarded by the lock."""
    over: bool = False
    """True when it has ended. Guarded by the lock; set by the answer thread."""
    begun: bool = False
    """True when its first ask was taken in. Of the answer thread."""
    last_made: bool = False
    """True when its last ask was taken in. Of the answer thread."""
    asks: deque[Ask] = field(default_factory=deque)
    """Asks that are not complete, in their order. Of the answer thread."""


@dataclass(frozen=True, slots=True, eq=False)
class Made(Generic[AskerT]):
    """What the prompt thread hands over: an ask, or the end of a stream."""

    stream: Stream[AskerT]
    ask: Ask | None = None
    last: bool = False
    error: BaseException | None = None


class PromptThread(Generic[AskerT]):
    """Makes requests ahead of the model, on a thread of its own.

    Args:
        askers: Whose requests.
        runs_at_once: How many of them may be on their way at once, without those that wait for an answer.

    Attributes:
        broken: What ended the thread, if it should not have.
    """

    def __init__(self, askers: Iterable[AskerT], runs_at_once: int = RUNS_AT_ONCE) -> None:
        self._runs, self._open = runs_at_once, max(MOST_OPEN, runs_at_once)
        self.broken: BaseException | None = None
        self._changed = threading.Condition()  # guards all but _coming, _made and _handed_over, which are the thread's
        self._coming = deque(askers)
        self._made: list[Made[AskerT]] = []
        self._handed_over = 0.0
        self._streams: list[Stream[AskerT]] = []
        self._ready = deque[Made[AskerT]]()
        self._ready_requests = 0
        self._stuck = self._ended = self._closed = False
        self._thread = threading.Thread(target=self._work, name="prompts", daemon=True)

    # On the answer thread

    def start(self) -> None:
        """Begin to make requests."""
        self._thread.start()

    def close(self) -> list[Stream[AskerT]]:
        """Stop; return the streams that have not ended."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join()
        return [stream for stream in self._streams if not stream.over]

    def take(self, most: int) -> Iterator[Made[AskerT]]:
        """Yield and forget what was made, up to a number of requests."""
        with self._changed:
            taken: list[Made[AskerT]] = []
            while self._ready and most > 0:
                made = self._ready.popleft()
                taken.append(made)
                if made.ask is not None:
                    most -= len(made.ask.requests)
                    self._ready_requests -= len(made.ask.requests)
            if taken:
                self._changed.notify_all()
        return iter(taken)

    def wait(self, seconds: float) -> bool:
        """Wait until there is something to take, or nothing can come; return whether it is so."""
        with self._changed:
            return self._changed.wait_for(lambda: bool(self._ready) or self._stuck or self._ended, seconds)

    @property
    def exhausted(self) -> bool:
        """True when there is nothing to take, and there will be nothing before an answer comes."""
        with self._changed:
            return not self._ready and (self._stuck or self._ended)

    @property
    def finished(self) -> bool:
        """True when all has been made and taken."""
        with self._changed:
            return not self._ready and self._ended

    def resume(self, stream: Stream[AskerT]) -> None:
        """Let a stream go on that waited for an answer."""
        with self._changed:
            stream.waits = self._stuck = False
            self._changed.notify_all()

    def end(self, stream: Stream[AskerT]) -> None:
        """Make no more for a stream."""
        with self._changed:
            stream.over, self._stuck = True, False
            if stream in self._streams:
                self._streams.remove(stream)
            self._changed.notify_all()

    # On the prompt thread

    def _work(self) -> None:
        try:
            while (stream := self._choose()) is not None:
                self._advance(stream)
        except BaseException as error:
            self.broken = error
        finally:
            self._hand_over()
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def _choose(self) -> Stream[AskerT] | None:
        """Return the first stream that can go on, waiting for one; None when all have made everything."""
        while True:
            with self._changed:
                if self._closed:
                    return None
                if self._ready_requests < MOST_UNANSWERED:
                    going = [stream for stream in self._streams if not stream.waits]
                    for stream in going:
                        if not stream.exhausted:
                            return stream
                    if self._coming and len(going) < self._runs and len(self._streams) < self._open:
                        stream = Stream(self._coming.popleft())
                        self._streams.append(stream)
                        return stream
                    if not self._coming and not any(stream.waits for stream in self._streams):
                        return None
                    if not self._made:
                        self._stuck = True
                        self._changed.notify_all()
                        self._changed.wait()
                        continue
                elif not self._made:
                    self._changed.wait()
                    continue
            self._hand_over()

    def _advance(self, stream: Stream[AskerT]) -> None:
        """Make a stream's next ask."""
        try:
            if stream.made is None:
                self._hand_over()
                stream.made = stream.asker.prepare() or iter(())
            ask = next(stream.made, None)
        except BaseException as error:
            reraise_interrupt(error)
            self._put(Made(stream, error=error), exhausted=True)
            return
        before, stream.held = stream.held, None
        if before is not None or ask is None:
            self._put(Made(stream, before, last=ask is None), exhausted=ask is None)
        if ask is not None and ask.adapted.awaited:
            self._put(Made(stream, ask), waits=True)
        else:
            stream.held = ask

    def _put(self, made: Made[AskerT], *, exhausted: bool = False, waits: bool = False) -> None:
        self._made.append(made)
        if exhausted or waits:
            with self._changed:
                made.stream.exhausted, made.stream.waits = exhausted, waits
        now = time.perf_counter()
        if len(self._made) >= _HANDED_OVER or now - self._handed_over > _HANDED_OVER_SECONDS:
            self._hand_over()

    def _hand_over(self) -> None:
        self._handed_over = time.perf_counter()
        with self._changed:
            self._ready.extend(self._made)
            self._ready_requests += sum(len(made.ask.requests) for made in self._made if made.ask is not None)
            self._changed.notify_all()
        self._made = []
