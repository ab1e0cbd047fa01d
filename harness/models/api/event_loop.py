"""Many requests under way at once in a thread of their own, behind a plain generator that yields as answers come."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from harness import Request, Response
from harness.models.api.calls import RequestFailedError

T = TypeVar("T")

BACKLOG = 1024
"""Answers that may lie unread before no more are asked for."""

FAREWELL = 5.0
"""Seconds that calls under way have to end after an interrupt."""


_GLANCE = 0.5
"""Seconds of one wait for an answer."""


class LoopThread:
    """An event loop in a thread of its own, started when it is first needed."""

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


@dataclass(frozen=True, slots=True)
class _End:
    error: BaseException | None


Results = SimpleQueue[tuple[int, Response] | _End]


def stream(
    thread: LoopThread,
    requests: Sequence[Request],
    ask: Callable[[Request], Awaitable[Response]],
    at_once: Callable[[], int],
) -> Iterator[tuple[int, Response]]:
    """Yield each request's index and response once, as they come.

    An interrupt while it waits cancels what is under way, yields what had been answered, and is then raised.

    Args:
        thread: Where the requests are asked.
        requests: What to ask.
        ask: Asks one; what it raises ends everything, but for RequestFailedError, which is the response's error.
        at_once: How many requests may be under way now.

    Raises:
        ModelError: No request can be answered; what was answered before was yielded.
    """
    results: Results = SimpleQueue()
    running = asyncio.run_coroutine_threadsafe(_all(requests, ask, at_once, results), thread.loop)
    ended = False
    try:
        while not isinstance(item := _next(results), _End):
            yield item
        ended = True
        if item.error is not None:
            raise item.error
    except KeyboardInterrupt:
        running.cancel()
        yield from _rest(results)
        ended = True
        raise
    finally:
        if not ended:
            running.cancel()
            for _ in _rest(results):
                pass


def _next(results: Results) -> tuple[int, Response] | _End:
    while True:
        try:
            return results.get(timeout=_GLANCE)
        except Empty:  # An interrupt that another thread received is noticed only between two waits.
            continue


def _rest(results: Results) -> Iterator[tuple[int, Response]]:
    """Yield what is left of the answers until the end, which a cancelled task puts there soon."""
    until = time.monotonic() + FAREWELL
    while True:
        try:
            item = results.get(timeout=max(0.0, until - time.monotonic()))
        except Empty:
            return
        if isinstance(item, _End):
            return
        yield item


async def _all(
    requests: Sequence[Request],
    ask: Callable[[Request], Awaitable[Response]],
    at_once: Callable[[], int],
    results: Results,
) -> None:
    live: set[asyncio.Task[None]] = set()
    freed = asyncio.Event()
    shares = _Shares()
    errors: list[BaseException] = []

    async def one(index: int, request: Request) -> None:
        began = shares.enter()
        try:
            response = await ask(request)
        except RequestFailedError as failure:
            response = Response(error=str(failure))
        finally:
            seconds = shares.leave() - began
        results.put((index, replace(response, seconds=seconds)))

    def done(task: asyncio.Task[None]) -> None:
        live.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            errors.append(error)
        freed.set()

    try:
        for index, request in enumerate(requests):
            while not errors and (len(live) >= at_once() or results.qsize() >= BACKLOG):
                freed.clear()
                if live:
                    await freed.wait()
                else:
                    await asyncio.sleep(0.01)
            if errors:
                break
            task = asyncio.create_task(one(index, request))
            live.add(task)
            task.add_done_callback(done)
        while live and not errors:
            freed.clear()
            await freed.wait()
    finally:
        for task in live:
            task.cancel()
        await asyncio.gather(*live, return_exceptions=True)
        results.put(_End(errors[0] if errors else None))


class _Shares:
    """Divides time among all that are under way: the integral of 1 / their number, in seconds."""

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
