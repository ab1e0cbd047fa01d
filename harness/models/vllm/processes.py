"""The processes of a vLLM engine: which they are, and that they end."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

GRACE = 20.0
"""Seconds that an engine has to end by itself; its own workers have nine of them before it kills them."""
PATIENCE = 5.0
"""Seconds that a process has to end after it was told to."""
LOOK = 0.02


def family(client: Any) -> list[Any]:
    """Return the processes that an engine's client started, and those that they started, as ``psutil.Process``.

    Args:
        client: vLLM's ``engine_core``; one that computes in this process has no others.
    """
    import psutil

    resources = getattr(client, "resources", None)
    coordinator = getattr(resources, "coordinator", None)
    started = [*getattr(getattr(resources, "engine_manager", None), "processes", ())]
    if coordinator is not None:
        started.append(coordinator.proc)
    found: list[Any] = []
    for process in started:
        with suppress(psutil.NoSuchProcess):
            top = psutil.Process(process.pid)
            found += [top, *top.children(recursive=True)]
    return found


def see_off(processes: Iterable[Any], patience: float = PATIENCE) -> None:
    """Wait until processes have ended; terminate those that take too long, and kill those that take longer.

    Args:
        processes: ``psutil.Process``, which tells them from others that got their numbers later.
        patience: Seconds before each step.
    """
    import psutil

    left = _wait(processes, patience)
    for end in ("terminate", "kill"):
        for process in left:
            with suppress(psutil.NoSuchProcess):
                getattr(process, end)()
        left = _wait(left, patience)
    multiprocessing.active_children()  # it is this call that lets our own that have ended go


def _wait(processes: Iterable[Any], seconds: float) -> list[Any]:
    """Return which are left after some seconds, or as soon as none is."""
    until = time.monotonic() + seconds
    left = [process for process in processes if _lives(process)]
    while left and time.monotonic() < until:
        time.sleep(LOOK)
        left = [process for process in left if _lives(process)]
    return left


def _lives(process: Any) -> bool:
    import psutil

    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
