"""Whether submitted heads still run, on clusters with and without accounting.

::

    sacct    says it, through submitit, if the cluster keeps accounts
    squeue   has all jobs that wait or run; a head that is not in it has ended
    leases   without both: heads that have begun renew theirs every few seconds, so silence means that they have died
"""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from harness.executors.slurm_array import Array
from harness.runs.claims import Holder, all_holders

UNKNOWN = "UNKNOWN"
"""What submitit says of a job of which sacct says nothing."""
ASK_SECONDS = 10.0
"""Seconds between two questions to squeue."""
GONE_SECONDS = 30.0
"""Seconds for which a head must be missing from the queue: its last results may become visible late."""
SILENT_SECONDS = 600.0
"""Seconds without a renewed lease after which heads that have begun count as dead, where Slurm says nothing."""
COMMAND_SECONDS = 30.0
"""How long squeue may take."""

Queue = Mapping[str, str]
"""The state of each job that Slurm has in its queue."""


class Watch:
    """Tells whether the heads of a job still run.

    Args:
        array: The heads.
        results_dir: The folder in which they hold leases.
        clock: A monotonic clock, in seconds.
    """

    def __init__(self, array: Array, results_dir: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._array, self._results_dir, self._clock = array, results_dir, clock
        self._queue: Queue | None = {}
        self._asked_at = float("-inf")
        self._there_at = self._sign_at = clock()
        self._leases: set[Holder] = set()

    def running(self, joined: Iterable[Mapping[str, Any]] = (), grace: float = GONE_SECONDS) -> bool:
        """Return False if all heads have ended.

        Args:
            joined: Host and process of each head that has begun.
            grace: Seconds for which they must be missing from the queue.
        """
        left = [job for job in self._array.jobs if not job.done()]
        unknown = [job.job_id for job in left if job.state == UNKNOWN]
        if not left or len(unknown) < len(left):
            return bool(left)
        now = self._clock()
        self._ask(now)
        if self._queue is None:
            begun = {(one.get("host"), one.get("process")) for one in joined}
            return not begun or self._renew_leases(begun, now)
        if self._queue.keys() & set(unknown):
            self._there_at = now
        elif grace == 0:
            return False
        return now - self._there_at < max(grace, ASK_SECONDS)

    def states(self) -> dict[str, int]:
        """Return how many heads are in each of Slurm's states."""
        queue = self._queue or {}
        return dict(
            Counter(queue.get(job.job_id, job.state) if job.state == UNKNOWN else job.state for job in self._array.jobs)
        )

    def _ask(self, now: float) -> None:
        if now - self._asked_at >= ASK_SECONDS:
            self._asked_at = now
            self._queue = read_queue(self._array)

    def _renew_leases(self, begun: set[tuple[Any, Any]], now: float) -> bool:
        """Return whether any of these processes has renewed a lease within the time."""
        leases = {holder for holder in all_holders(self._results_dir) if (holder.host, holder.process) in begun}
        if leases != self._leases:
            self._leases, self._sign_at = leases, now
        return now - self._sign_at < SILENT_SECONDS


def read_queue(array: Array) -> Queue | None:
    """Return the state of each head that waits or runs; None if squeue cannot say it."""
    numbers = ",".join(dict.fromkeys(job.job_id.split("_")[0] for job in array.jobs))
    command = ["squeue", "--noheader", "--array", "--format=%i %T", f"--jobs={numbers}"]
    try:
        asked = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    if asked.returncode:
        return {} if "Invalid job id" in asked.stderr else None  # Slurm forgets jobs some minutes after their end
    words = (line.split() for line in asked.stdout.splitlines())
    return {found[0]: found[1] for found in words if len(found) == 2}
