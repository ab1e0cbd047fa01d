"""The Slurm executor: heads as jobs of an array, or as tasks of an allocation.

Where the command runs decides:

- On a login node, it submits an array, follows it, and can leave it running: the same command finds it again.
- In an allocation (a batch script, ``salloc``), it starts a head for each task with ``srun``.
- As a task (``srun harness run ...``), it is the head of that number; the first task also shows the progress.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from harness.errors import HarnessError, StorageError
from harness.executors.following import Following
from harness.executors.job import Job, discard_job, write_job
from harness.executors.own_caches import own_caches
from harness.executors.slurm_array import ENGINE_FOLDER, Array, Engine, check_slurm, find_array, slurm_engine, submit
from harness.executors.slurm_task import REQUEUE_SIGNAL
from harness.executors.slurm_watch import Watch
from harness.plugins.registry import Registry
from harness.runs.sweep_state import SweepState
from harness.storage.durable import writing
from harness.storage.results import RunRecord
from harness.sweeps.executor_keys import SlurmKeys

POLL_SECONDS = 1.0
ENDING_SECONDS = 10.0
"""How long the processes of heads may take to end once they have nothing left; then they are asked to stop."""
STOP_SECONDS = 30.0
"""How long heads have to stop cleanly; they finish the request under way first."""
JOB_SECONDS = 300.0
"""How long a task waits until the first task has written the job."""
WORDS_SECONDS = 10.0
"""How long a head that has failed may take to print why."""
SRUN_LOG = "srun.log"
SPECIAL_STEPS = 0xFFFFFFF0
"""From here on, Slurm numbers the steps of batch scripts and interactive shells, which are not tasks of ``srun``."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Task:
    """This process as a task of ``srun``."""

    rank: int
    """Its number, from 0."""
    tasks: int
    """How many there are."""
    step: str
    """Identifies the step, and how often its job was requeued."""

    @staticmethod
    def here(environ: Mapping[str, str]) -> Task | None:
        """Return the task that the environment describes; None outside of a step."""
        try:
            step, rank = int(environ["SLURM_STEP_ID"]), int(environ["SLURM_PROCID"])
            tasks = int(environ.get("SLURM_STEP_NUM_TASKS") or environ.get("SLURM_NTASKS") or 1)
        except (LookupError, ValueError):
            return None
        if not 0 <= step < SPECIAL_STEPS:
            return None
        name = f"{environ.get('SLURM_JOB_ID')}.{step}.{environ.get('SLURM_RESTART_COUNT') or 0}"
        return Task(rank, tasks, f"slurm-{name}-{hashlib.blake2b(name.encode(), digest_size=4).hexdigest()}")


class SlurmExecutor:
    """Runs a job's heads with Slurm.

    Args:
        settings: What the heads need.
        registry: Knows the plugins of this process.
        engine: Makes submitit's executor.
    """

    def __init__(self, settings: SlurmKeys, registry: Registry, engine: Engine = slurm_engine) -> None:
        self._settings, self._registry, self._engine = settings, registry, engine

    def run(self, job: Job, state: SweepState) -> Iterator[RunRecord]:
        task = Task.here(os.environ)
        with own_caches(job) as own:
            if task is not None:
                yield from self._first_task(replace(own, id=task.step), state, task)
            elif "SLURM_JOB_ID" in os.environ:
                yield from self._allocation(own, state)
            else:
                yield from self._array(own, state)

    def _array(self, job: Job, state: SweepState) -> Iterator[RunRecord]:
        check_slurm()
        found = None if job.settings.force else find_array(job, self._registry)
        results_dir = job.settings.results_dir
        if found is not None and not (Watch(found[1], results_dir).running(grace=0.0) or _has_ended_all(found[0])):
            discard_job(found[0])
            found = None
        job, array = found or self._submit(job)
        name = f"Slurm job {array.name}"
        state.detached = f"The heads go on as {name}. To stop them, run:\n  scancel {array.name.replace(', ', ' ')}"
        following, watch = Following(job, state), Watch(array, results_dir)
        running = True
        while running and following.left:
            # First, so that what the last head has written is seen below.
            running = watch.running(following.joined.values())
            yield from _look(following)
            if running and following.left:
                state.tell(f"{name}: {_in_words(watch.states())}")
                time.sleep(POLL_SECONDS)
        yield from _look(following)
        state.detached = ""
        if following.left:
            raise _failure(following, name, watch.states(), job.folder / ENGINE_FOLDER)
        _wait_until(lambda: not watch.running() or _have_left(following, len(following.joined)), STOP_SECONDS)
        _wait_until(lambda: not watch.running(), ENDING_SECONDS)
        array.cancel()
        discard_job(job)

    def _submit(self, job: Job) -> tuple[Job, Array]:
        file = write_job(job, self._registry)
        try:
            return job, submit(job, self._registry, file, self._settings, self._engine)
        except BaseException:
            discard_job(job)
            raise

    def _allocation(self, job: Job, state: SweepState) -> Iterator[RunRecord]:
        with _folder(job):
            file = write_job(job, self._registry)
            heads = tasks_of(self._settings, os.environ)
            with _log(job.folder / SRUN_LOG) as log:
                # A session of its own: Ctrl-C reaches this process alone, which passes it on.
                process = subprocess.Popen(  # noqa: S603
                    [*srun_command(self._settings, heads, job.folder, os.environ), *_head_command(file)],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            state.tell(f"Slurm job {os.environ['SLURM_JOB_ID']}: {heads} {'head' if heads == 1 else 'heads'} with srun")
            yield from _follow(Following(job, state), process, job.folder)

    def _first_task(self, job: Job, state: SweepState, task: Task) -> Iterator[RunRecord]:
        with _folder(job), _terminated_by(REQUEUE_SIGNAL):
            file = write_job(job, self._registry)
            with _log(job.folder / "head-0.log") as log:
                process = subprocess.Popen(  # noqa: S603
                    [*_head_command(file), "--end-with-stdin"], stdin=subprocess.PIPE, stdout=log, stderr=log
                )
            following = Following(job, state)
            yield from _follow(following, process, job.folder)
            _wait_until(lambda: _have_left(following, task.tasks), STOP_SECONDS)


def join(job: Job) -> None:
    """Become a head of a job, if this process is a task of ``srun`` other than the first; else return.

    Raises:
        StorageError: The first task's results folder is not visible here.
    """
    task = Task.here(os.environ)
    if task is None or task.rank == 0:
        return
    file = replace(job, id=task.step).file.absolute()
    if not _wait_until(file.exists, JOB_SECONDS):
        raise StorageError(
            f"{file} has not appeared within {JOB_SECONDS:g} s. The results folder must be on a file system that all "
            "tasks share, under the same path; the first task's output may say more."
        )
    command = _head_command(file)
    os.execv(command[0], command)  # noqa: S606


def tasks_of(settings: SlurmKeys, environ: Mapping[str, str]) -> int:
    """Return the number of heads in an allocation: the sweep's, or one for each task, or one for each node."""
    given = environ.get("SLURM_NTASKS") or environ.get("SLURM_JOB_NUM_NODES") or "1"
    return settings.heads or (int(given) if given.isdecimal() else 1)


def srun_command(settings: SlurmKeys, heads: int, folder: Path, environ: Mapping[str, str]) -> list[str]:
    """Return the beginning of the command that starts heads in an allocation.

    Raises:
        HarnessError: There is no ``srun``, or more heads than GPUs.
    """
    if shutil.which("srun") is None:
        raise HarnessError(
            f"SLURM_JOB_ID is {environ['SLURM_JOB_ID']}, but this machine has no srun. Run the command in an "
            "allocation of Slurm, or use --executor local."
        )
    # One head that dies does not end the others.
    command = ["srun", f"--ntasks={heads}", "--kill-on-bad-exit=0", "--wait=0", f"--output={folder / 'head-%t.log'}"]
    gpus = settings.gpus if settings.gpus is not None else _share_of_gpus(heads, environ)
    if gpus:
        command.append(f"--gpus-per-task={gpus}")
    if cpus := settings.cpus or environ.get("SLURM_CPUS_PER_TASK"):  # which srun itself stopped reading in Slurm 22.05
        command.append(f"--cpus-per-task={cpus}")
    return command


def _share_of_gpus(heads: int, environ: Mapping[str, str]) -> int:
    """Return the GPUs of a head where the sweep does not say: without an option, each head would see all of a node."""
    nodes, on_node = environ.get("SLURM_JOB_NUM_NODES") or "1", environ.get("SLURM_GPUS_ON_NODE") or "0"
    if "SLURM_GPUS_PER_TASK" in environ or not (nodes.isdecimal() and on_node.isdecimal() and int(on_node)):
        return 0  # srun reads the variable
    share = int(on_node) * max(1, int(nodes)) // heads
    if not share:
        raise HarnessError(
            f"{heads} heads for {int(on_node) * int(nodes)} GPUs of this allocation. Set `heads` under `executor` to "
            "at most their number, or `gpus: 0` to use none."
        )
    return share


def _log(file: Path) -> BinaryIO:
    with writing(file):
        return file.open("ab")


def _head_command(file: Path) -> list[str]:
    return [sys.executable, "-m", "harness.executors.slurm_task", str(file)]


@contextmanager
def _folder(job: Job) -> Iterator[None]:
    """Remove a job's folder at the end, unless its logs say why it failed."""
    try:
        yield
    except HarnessError:
        raise
    except BaseException:
        discard_job(job)
        raise
    discard_job(job)


@contextmanager
def _terminated_by(number: signal.Signals) -> Iterator[None]:
    """Take a signal for SIGTERM."""
    before = signal.signal(number, lambda *_: signal.raise_signal(signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(number, before)


def _follow(following: Following, process: subprocess.Popen[bytes], folder: Path) -> Iterator[RunRecord]:
    """Yield what the heads finish while a process runs that started them, or is one."""
    try:
        running = True
        while running and following.left:
            running = process.poll() is None
            yield from _look(following)
            if running and following.left:
                time.sleep(POLL_SECONDS)
        if following.left:
            raise _failure(following, f"Slurm job {os.environ['SLURM_JOB_ID']}", {}, folder)
        with suppress(subprocess.TimeoutExpired):
            process.wait(ENDING_SECONDS)
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdin is not None:
            process.stdin.close()


def _look(following: Following) -> Iterator[RunRecord]:
    """Yield the records of runs that have ended, and log which heads cannot go on."""
    before = set(following.stopped)
    yield from following.look()
    for head in sorted(following.stopped.keys() - before):
        _LOG.warning("Head %d cannot go on: %s", head, following.stopped[head])


def _has_ended_all(job: Job) -> bool:
    """Return whether the heads of a job, which nobody has followed to the end, have ended all its runs."""
    following = Following(job, SweepState())
    for _ in range(2):  # what a head found finished is only taken at the second look
        list(following.look())
    return not following.left


def _have_left(following: Following, heads: int) -> bool:
    """Return whether as many heads have found nothing left to do, or cannot go on."""
    list(following.look())
    return len({*following.finished, *following.stopped}) >= heads


def _failure(following: Following, where: str, states: Mapping[str, int], folder: Path) -> HarnessError:
    """Return why no head is left although runs are."""
    for error in following.stopped.values():
        return error
    how = f" ({_in_words(states)})" if states else ""
    _wait_until(lambda: bool(last_words(folder)), WORDS_SECONDS)
    words = last_words(folder)
    return HarnessError(
        f"all heads of {where} have ended{how}, and {following.left} {'run is' if following.left == 1 else 'runs are'} "
        f"left. All answers so far are kept; the same command continues. The heads' output is in {folder}"
        + (f"; it ends with: {words}" if words else "")
    )


def last_words(folder: Path) -> str:
    """Return the last line of the newest log in a folder; '' while it is amid a traceback."""
    with suppress(OSError):
        logs = [file for pattern in ("*.log", "*_log.err") for file in folder.glob(pattern) if file.stat().st_size]
        for file in sorted(logs, key=lambda file: file.stat().st_mtime, reverse=True):
            lines = file.read_text(encoding="utf-8", errors="replace").split("\n")
            last = next((line for line in reversed(lines) if line.strip()), "")
            return "" if last.startswith((" ", "Traceback")) else last.strip()
    return ""


def _in_words(states: Mapping[str, int]) -> str:
    """Return how many heads are in which state: ``3 running, 5 pending``."""
    named = {"submitted" if state == "UNKNOWN" else state: count for state, count in states.items()}  # not known yet
    return ", ".join(f"{count} {state.lower().replace('_', ' ')}" for state, count in sorted(named.items()))


def _wait_until(reached: Callable[[], bool], seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not (there := reached()) and time.monotonic() < until:
        time.sleep(POLL_SECONDS)
    return there
