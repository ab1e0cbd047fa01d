"""Shut down cleanly on SIGTERM."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Never


class Terminated(KeyboardInterrupt):
    """The system asked this process to end."""


@contextmanager
def terminable() -> Iterator[None]:
    """Make SIGTERM act as Ctrl-C does, instead of ending the process at once."""

    def stop(*_: object) -> Never:
        raise Terminated

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
