"""Many requests at once, in an event loop in its own thread, behind a generator that yields answers as they come."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from harness import Response
from harness.models.api.calls import RequestFailedError

T = TypeVar("T")
Asked = TypeVar("Asked")

MOST_PENDING = 1024
"""Most requests that wait in the event loop, or whose answers are unread; enough to keep the calls going while the
thread that reads the answers is busy.
"""

SHUTDOWN_SECONDS = 5.0
"""Seconds for the calls under way to end after an interrupt."""

POLL_SECONDS = 0.05
"""Seconds to wait for an answer before looking for new requests and interrupts."""


class LoopThread:
    """An event loop in its own thread, started when it is first needed."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop, running."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="model calls", daemon=True)
            self._thread.start()
        return self._loop

    def run(self, task: Coroutine[Any, Any, T]) -> T:
        """Return what a coroutine returns, or raise what it raises."""
        return asyncio.run_coroutine_threadsafe(task, self.loop).result()

    def close(self) -> None:
        """End the loop and its thread."""
        if self._loop is None or self._thread is None:
            return
        self.run(_end_others())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._loop = self._thread = None


async def _end_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


Results = SimpleQueue[tuple[int, Response] | BaseException]


def answer_at_once(
    thread: LoopThread,
    requests: Iterable[Asked],
    ask: Callable[[Asked], Awaitable[Response]],
    at_once: Callable[[], int],
    paused: Callable[[], None] = lambda: None,
) -> Iterator[tuple[int, Response]]:
    """Yield each request's index and response once, as they come.

    An interrupt cancels the calls under way, yields the answers that had arrived, and is then raised.

    Args:
        thread: The thread of the calls.
        requests: The requests; when it ends, it is tried again as long as some are under way, since it may go on.
        ask: Asks one. A RequestFailedError becomes the response's error; any other exception ends everything.
        at_once: Returns how many requests may be under way now.
        paused: Called, in this thread, when no more requests are taken for now, and from time to time after that.

    Raises:
        ModelError: No request can be answered; earlier answers were yielded.
    """
    calls = _Calls(ask, at_once)
    coming, taken, answered = iter(requests), 0, 0
    ended = False
    try:
        while True:
            while taken - answered < at_once() + MOST_PENDING and (request := next(coming, None)) is not None:
                thread.loop.call_soon_threadsafe(calls.add, taken, request)
                taken += 1
            if taken == answered:
                return
            paused()
            item = _next(calls.results)
            if isinstance(item, BaseException):
                ended = True
                raise item
            if item is not None:
                answered += 1
                yield item
    except KeyboardInterrupt:
        thread.loop.call_soon_threadsafe(calls.cancel)
        yield from _rest(calls.results)
        ended = True
        raise
    finally:
        if not ended:
            thread.loop.call_soon_threadsafe(calls.cancel)
            for _ in _rest(calls.results):
                pass


def _next(results: Results) -> tuple[int, Response] | BaseException | None:
    """Return the next answer or the final exception; None if nothing came for a while."""
    try:
        return results.get(timeout=POLL_SECONDS)
    except Empty:
        return None


def _rest(results: Results) -> Iterator[tuple[int, Response]]:
    """Yield the remaining answers until the final exception, which follows soon after cancellation."""
    until = time.monotonic() + SHUTDOWN_SECONDS
    while True:
        try:
            item = results.get(timeout=max(0.0, until - time.monotonic()))
        except Empty:
            return
        if isinstance(item, BaseException):
            return
        yield item


class _Calls(Generic[Asked]):
    """The requests that wait or are under way. Only ``results`` may be used outside of the event loop.

    Attributes:
        results: The answers; after an error or cancellation, an exception as the last.
    """

    def __init__(self, ask: Callable[[Asked], Awaitable[Response]], at_once: Callable[[], int]) -> None:
        self.results: Results = SimpleQueue()
        self._ask, self._at_once = ask, at_once
        self._waiting: deque[tuple[int, Asked]] = deque()
        self._live: set[asyncio.Task[None]] = set()
        self._time = _SharedTime()
        self._ended: BaseException | None = None

    def add(self, index: int, request: Asked) -> None:
        """Ask a request when there is room."""
        self._waiting.append((index, request))
        self._start()

    def cancel(self) -> None:
        """Cancel all calls under way."""
        self._end(asyncio.CancelledError())

    def _start(self) -> None:
        while self._waiting and self._ended is None and len(self._live) < max(1, self._at_once()):
            task = asyncio.get_running_loop().create_task(self._one(*self._waiting.popleft()))
            self._live.add(task)
            task.add_done_callback(self._done)

    async def _one(self, index: int, request: Asked) -> None:
        began = self._time.enter()
        try:
            response = await self._ask(request)
        except RequestFailedError as failure:
            response = Response(error=str(failure))
        finally:
            seconds = self._time.leave() - began
        self.results.put((index, replace(response, seconds=seconds)))

    def _done(self, task: asyncio.Task[None]) -> None:
        self._live.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._end(error)
        elif self._ended is None:
            self._start()
        elif not self._live:
            self.results.put(self._ended)

    def _end(self, error: BaseException) -> None:
        if self._ended is None:
            self._ended = error
            self._waiting.clear()
            for task in self._live:
                task.cancel()
        if not self._live:
            self.results.put(self._ended)


class _SharedTime:
    """Divides time among all calls under way: the integral of 1 / their number, in seconds."""

    def __init__(self) -> None:
        self._sum = 0.0
        self._count = 0
        self._since = time.monotonic()

    def enter(self) -> float:
        self._advance()
        self._count += 1
        return self._sum

    def leave(self) -> float:
        self._advance()
        self._count -= 1
        return self._sum

    def _advance(self) -> None:
        now = time.monotonic()
        if self._count:
            self._sum += (now - self._since) / self._count
        self._since = now
