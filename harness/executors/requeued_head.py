"""A head inside a job of submitit, which stops cleanly when the job is preempted or at its time limit, and comes back.

::

    Slurm ── SIGUSR2 ──▶ submitit's process ── SIGTERM ──▶ the head: keeps its answers, gives its runs back, ends
                                 └── scontrol requeue ──▶ the same head, later, perhaps on another node

The head is a process of its own, because submitit ends its own process by raising ``SystemExit`` from a signal handler,
which the pipeline would take for a plugin's error.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from harness.executors.interrupts import INTERRUPTED

if TYPE_CHECKING:
    from submitit.core.utils import DelayedSubmission

POLL_SECONDS = 0.2
SIGNALLED_SECONDS = 600.0
"""How long a job whose head was told to stop waits for Slurm to requeue or end it."""


class RequeuedHead:
    """Runs one head of a job; submitit pickles it.

    Args:
        job_file: The job's file.
        head: The head's number.
        stop_seconds: How long the head may take to stop before it is killed.
    """

    def __init__(self, job_file: Path, head: int, stop_seconds: float) -> None:
        self._job_file, self._head, self._stop_seconds = job_file, head, stop_seconds
        self._process: subprocess.Popen[bytes] | None = None

    def __call__(self) -> None:
        """Run the head until nothing is left for it.

        Raises:
            RuntimeError: It ended otherwise; its log says why.
        """
        command = [sys.executable, "-m", "harness.executors.head", str(self._job_file), "--head", str(self._head)]
        # Slurm sends its signals to every process of a job. The one that means "you will be requeued" would kill the
        # head's own worker processes, which inherit that it is ignored.
        ignored = partial(signal.signal, _requeue_signal(), signal.SIG_IGN)
        self._process = subprocess.Popen(command, preexec_fn=ignored)  # noqa: S603
        try:
            self._wait(self._process.pid, None)
            code = self._process.wait()
        finally:
            if self._process.returncode is None:
                self._process.terminate()
        if code in (INTERRUPTED, -signal.SIGTERM):
            time.sleep(SIGNALLED_SECONDS)  # Slurm signals this process, too, or ends it
        if code < 0:
            raise RuntimeError(f"head {self._head} was killed by {signal.Signals(-code).name}")
        if code:
            raise RuntimeError(f"head {self._head} ended with exit code {code}")

    def checkpoint(self) -> DelayedSubmission:
        """Stop the head, and return what is to run when the job is requeued; submitit calls this."""
        from submitit.core.utils import DelayedSubmission

        if self._process is not None:
            self._process.terminate()
            if not self._wait(self._process.pid, self._stop_seconds):
                self._process.kill()
        return DelayedSubmission(RequeuedHead(self._job_file, self._head, self._stop_seconds))

    def _wait(self, process: int, seconds: float | None) -> bool:
        """Wait until the head has ended; False if it has not within the time.

        The signal handler that calls :meth:`checkpoint` interrupts a wait of ``__call__``. ``Popen.wait`` takes a lock,
        which would then be held for ever.
        """
        end = None if seconds is None else time.monotonic() + seconds
        while end is None or time.monotonic() < end:
            try:
                if os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                    return True
            except ChildProcessError:  # its exit code has been read
                return True
            time.sleep(POLL_SECONDS)
        return False


def _requeue_signal() -> signal.Signals:
    """Return the signal by which submitit learns that its job is preempted or at its time limit."""
    from submitit import JobEnvironment

    return signal.Signals[f"SIG{JobEnvironment.USR_SIG}"]
