"""The local executor: the sweep in this process, or in several processes of this machine."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from harness.costs.graphics_cards import visible_devices
from harness.errors import HarnessError
from harness.executors.following import Following
from harness.executors.head import DISK_FAILED, REFUSED
from harness.executors.interrupts import INTERRUPTED
from harness.executors.job import Job, discard_job, write_job
from harness.executors.layout import Cards, joiner, lay_out, opener
from harness.inference.model_pool import OpenModel
from harness.plugins.registry import Registry
from harness.runs.runner import run_sweep
from harness.runs.sweep_state import SweepState
from harness.storage.durable import writing
from harness.storage.results import RunRecord
from harness.sweeps.executor_keys import LocalKeys

POLL_SECONDS = 0.2
STOP_SECONDS = 30.0
"""Seconds that heads have to stop cleanly; they finish the request under way first."""
MOST_RESTARTS = 3
"""Number of times that a head is restarted in a row without finishing a run."""

_LOG = logging.getLogger(__name__)


class LocalExecutor:
    """Runs a job on this machine: with one head in this process, with several in a process each.

    Args:
        settings: The number of heads.
        registry: Knows the plugins of this process.
        open_model: Opens models in this process; None for the usual way.
    """

    def __init__(self, settings: LocalKeys, registry: Registry, open_model: OpenModel | None = None) -> None:
        self._settings, self._registry, self._open_model = settings, registry, open_model

    def run(self, job: Job, state: SweepState) -> Iterator[RunRecord]:
        heads = lay_out(job.runs, self._registry, visible_devices(), self._settings.heads)
        if len(heads) == 1:
            open_model = self._open_model or opener(job.runs, job.plugins)
            joins = joiner(self._registry)
            yield from run_sweep(job.runs, self._registry, job.settings, state, open_model=open_model, joins=joins)
            return
        file = write_job(job, self._registry)
        threads = str(max(1, (os.cpu_count() or 1) // len(heads)))
        environment = {"OMP_NUM_THREADS": threads, **os.environ}
        try:
            yield from _follow(
                Following(job, state),
                [_Head(file, number, environment, cards) for number, cards in enumerate(heads)],
            )
        except _HeadsDiedError:
            raise  # their logs may say why
        except BaseException:
            discard_job(job)
            raise
        discard_job(job)


class _HeadsDiedError(HarnessError):
    """No head is left although runs are."""


class _Head:
    """A head in a process of its own, started again when it dies.

    Args:
        file: The job's file.
        number: Its number.
        environment: Its environment variables.
        cards: The graphics cards that it may use; None for all.
    """

    def __init__(self, file: Path, number: int, environment: Mapping[str, str], cards: Cards) -> None:
        self.number = number
        self._file, self._restarts, self._ended = file, 0, 0
        own = {} if cards is None else {"CUDA_VISIBLE_DEVICES": ",".join(cards)}
        self._environment = {**environment, **own}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """What it prints."""
        return self._file.with_name(f"head-{self.number}.log")

    def start(self) -> None:
        """Start it; it ends with this process, whose end closes the pipe."""
        command = [sys.executable, "-m", "harness.executors.head", str(self._file), "--head", str(self.number)]
        with writing(self.log):
            log = self.log.open("ab")
        with log:
            # A session of its own: Ctrl-C reaches this process alone, which passes it on.
            self._process = subprocess.Popen(  # noqa: S603
                [*command, "--end-with-stdin"],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=self._environment,
                start_new_session=True,
            )

    def alive(self, ended: int) -> bool:
        """Return True unless it has done its part, or has died and is given up; restart it if it died.

        Args:
            ended: Number of runs that it has ended.
        """
        if self._process is None:
            return False
        if ended > self._ended:
            self._ended, self._restarts = ended, 0
        code = self._process.poll()
        if code is None:
            return True
        self._close()
        if code in (0, REFUSED, DISK_FAILED, INTERRUPTED):
            return False
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        if self._restarts == MOST_RESTARTS:
            _LOG.warning("Head %d %s; it is not started again.", self.number, how)
            return False
        self._restarts += 1
        _LOG.warning("Head %d %s; it is started again.", self.number, how)
        self.start()
        return True

    def terminate(self) -> None:
        """Ask it to stop."""
        if self._process is not None:
            self._process.terminate()

    def end(self, seconds: float) -> None:
        """Wait until it has stopped; kill it after this many seconds."""
        if self._process is None:
            return
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._close()

    def last_words(self) -> str:
        """Return the last line that it printed."""
        with suppress(OSError):
            lines = self.log.read_text(encoding="utf-8", errors="replace").split("\n")
            return next((line for line in reversed(lines) if line.strip()), "")
        return ""

    def _close(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
        self._process = None


def _follow(following: Following, heads: list[_Head]) -> Iterator[RunRecord]:
    try:
        for head in heads:
            head.start()
        running = True
        while running:
            time.sleep(POLL_SECONDS)
            running = sum(head.alive(following.ended[head.number]) for head in heads) > 0
            yield from following.look()
        yield from following.look()
        if following.left:
            raise _failure(following, heads)
    finally:
        for head in heads:
            head.terminate()
        until = time.monotonic() + STOP_SECONDS
        for head in heads:
            head.end(max(0.0, until - time.monotonic()))
        for _ in following.look():  # the runs that ended while the heads stopped count as finished
            pass


def _failure(following: Following, heads: list[_Head]) -> HarnessError:
    """Return why no head is left although runs are."""
    for error in following.stopped.values():
        return error
    words = next((words for head in heads if (words := head.last_words())), "")
    return _HeadsDiedError(
        f"all {len(heads)} processes that ran the sweep have died, and {following.left} runs are left. All answers so "
        f"far are kept; the same command continues. Last words of one: {words or 'none'}. Their logs: "
        f"{heads[0].log.with_name('head-*.log')}"
    )
