"""Shut down cleanly on Ctrl-C and SIGTERM."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Never

INTERRUPTED = 130
"""Exit code of a process that has stopped in order, as of one that Ctrl-C ended."""
_ACKNOWLEDGEMENT = b"\nStopping: finishing what is under way...\n"


class Terminated(KeyboardInterrupt):
    """The system asked this process to end."""


@contextmanager
def terminable() -> Iterator[None]:
    """Make SIGTERM act as Ctrl-C does, instead of ending the process at once, and say that the signal has arrived."""
    told_to_end = False

    def stop(number: int, _: object) -> Never:
        nonlocal told_to_end
        told_to_end = told_to_end or number == signal.SIGTERM
        # Straight to the file: a progress bar may hold the lock of sys.stderr at this moment.
        with suppress(OSError, ValueError):
            os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, _ACKNOWLEDGEMENT)
        raise Terminated if number == signal.SIGTERM else KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as it is for a shell's background jobs
        numbers.append(signal.SIGINT)
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    except KeyboardInterrupt as error:
        if told_to_end and not isinstance(error, Terminated):  # Ray raises its own in place of a handler's
            raise Terminated from None
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
