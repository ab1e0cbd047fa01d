"""Does independent parts of a job in several processes, each forked from this one, and yields their results.

Each process takes one part at a time, in the order given, so that the largest should come first::

    parts    5 4 3 2 1 1          process A   5 . . . . 2 . 1
                                  process B   4 . . . 3 . . 1
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import TypeVar

from harness.errors import HarnessError
from harness.inference.asked import ask_no_model

P = TypeVar("P")
R = TypeVar("R")

MOST_PROCESSES = 4
"""Processes at most: each keeps the data of the runs that it plans in memory."""
UNSAFE = ("torch", "vllm", "tensorflow", "jax")
"""Modules whose threads do not survive a fork."""


def processes_for(parts: int) -> int:
    """Return how many processes may do this many parts; 1 where this process cannot be forked."""
    if sys.platform != "linux" or threading.active_count() > 1 or any(name in sys.modules for name in UNSAFE):
        return 1
    return min(parts, len(os.sched_getaffinity(0)), MOST_PROCESSES)


def in_processes(
    parts: Sequence[P], do: Callable[[P], Iterable[R]], processes: int, describe: Callable[[P], str]
) -> Iterator[R]:
    """Start the processes, and return an iterator of the results of all parts, those of a part together.

    No model can be asked in these processes. They end when the iterator ends or is closed, or with this process.

    Args:
        parts: What is to be done.
        do: Does a part. What it yields is pickled.
        processes: How many processes to start.
        describe: Says what a part is, for messages.

    Raises:
        HarnessError: A process died.
    """
    context = multiprocessing.get_context("fork")
    started: list[tuple[BaseProcess, Connection]] = []
    for _ in range(processes):
        ours, theirs = context.Pipe()
        others = [connection for _, connection in started]
        process = context.Process(target=_serve, args=(parts, do, theirs, [ours, *others]), daemon=True)
        process.start()
        theirs.close()
        started.append((process, ours))
    return _results(parts, started, describe)


def _results(
    parts: Sequence[P], started: Sequence[tuple[BaseProcess, Connection]], describe: Callable[[P], str]
) -> Generator[R]:
    """Deal the parts, and yield the results as they come."""
    waiting = iter(range(len(parts)))
    busy: dict[Connection, tuple[BaseProcess, P]] = {}

    def deal(process: BaseProcess, connection: Connection) -> None:
        busy.pop(connection, None)
        for number in waiting:
            busy[connection] = process, parts[number]
            try:
                connection.send(number)
            except OSError:
                raise _died(process, describe(parts[number])) from None
            return

    try:
        for process, connection in started:
            deal(process, connection)
        while busy:
            ready = wait(list(busy))
            for connection in [one for one in busy if one in ready]:
                process, part = busy[connection]
                try:
                    found, error = connection.recv()
                except (EOFError, OSError):
                    raise _died(process, describe(part)) from None
                if error is not None:
                    raise error
                deal(process, connection)
                yield from found
    finally:
        for process, connection in started:
            connection.close()
            process.terminate()
        for process, _ in started:
            process.join()


def _died(process: BaseProcess, part: str) -> HarnessError:
    process.join(5)
    code = process.exitcode or 0
    how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
    advice = (
        " It may have been short of memory: plan fewer runs at once, with --run." if code == -signal.SIGKILL else ""
    )
    return HarnessError(f"the process that planned {part} {how}.{advice}")


def _serve(
    parts: Sequence[P], do: Callable[[P], Iterable[R]], connection: Connection, others: Sequence[Connection]
) -> None:
    """Runs in a process of its own: do the parts whose numbers come, until the other side is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupted parent ends its processes
    gc.freeze()  # objects of the parent stay in shared memory
    for other in others:
        other.close()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    ask_no_model()
    try:
        while True:
            part = parts[connection.recv()]
            try:
                connection.send((list(do(part)), None))
            except BrokenPipeError:
                return
            except HarnessError as error:
                connection.send(([], HarnessError(str(error))))
            except Exception:  # a mistake of ours: the error itself may not be picklable
                connection.send(([], RuntimeError(traceback.format_exc())))
    except (EOFError, ConnectionError):
        return


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
