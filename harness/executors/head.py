"""What a worker process of a job runs: ``python -m harness.executors.head JOBFILE --head N``.

It runs the sweep of the job like a single process would. Leases in the results folder keep two heads from the same run.
Exit codes: 0 if nothing is left for it; 2 if it refuses, since the same would happen again; 3 if the disk failed.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from harness.contracts.specs import RunSpec
from harness.errors import HarnessError, StorageError
from harness.executors.interrupts import INTERRUPTED, terminable
from harness.executors.job import read_job
from harness.executors.layout import joiner, opener
from harness.executors.reports import EndedElsewhere, Reporter
from harness.inference.model_pool import OpenModel
from harness.output.terminal import make_diagnostics_safe, say
from harness.progress.file import ProgressFile
from harness.runs.elsewhere import always
from harness.runs.runner import run_sweep
from harness.runs.sweep_state import SweepState, View

REFUSED = 2
DISK_FAILED = 3
ORPHAN_SECONDS = 20.0
"""Seconds that a head has to stop in order once the process that launched it is gone."""


def run_head(
    file: Path,
    head: int,
    *,
    wanted: Callable[[RunSpec], bool] = lambda _: True,
    open_model: OpenModel | None = None,
    views: Iterable[View] = (),
) -> None:
    """Run what is left of a job.

    Args:
        file: The job's file.
        head: The number of this head.
        wanted: Returns whether this head is to run a run; others are left to other heads.
        open_model: Opens the models of runs; None for this machine, in replicas where the sweep asks for several.
        views: Further views of what this head does.

    Raises:
        StorageError: The results folder or the response cache cannot be written or read.
        HarnessError: This process cannot run the job: its harness or plugins differ.
        KeyboardInterrupt: It was asked to stop; all answers so far are kept.
    """
    file = file.absolute()
    reporter = Reporter(file.parent, head)
    try:
        job, registry = read_job(file)
        reporter.join()
        sys.argv = list(job.command)  # the command that run.json names
        if job.directory.is_dir():
            os.chdir(job.directory)
        runs = [spec for spec in job.runs if wanted(spec)]
        state = SweepState(len(runs))
        state.views += [reporter, *views]
        ended = EndedElsewhere(file.parent, head)
        with terminable(), ProgressFile(state, job.settings.results_dir, job.suite, head=job.head_name(head)):
            if open_model is None:
                opens, joins = opener(job.runs, job.plugins), joiner(registry)
            else:  # whoever launched this head has decided that
                opens, joins = open_model, always
            for _ in run_sweep(runs, registry, job.settings, state, ended, opens, joins):
                pass
        reporter.leave()
    except HarnessError as error:
        with suppress(StorageError):  # then the exit code says it
            reporter.stop(error)
        raise


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a head as a program, and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m harness.executors.head", description="Run one head of a job.")
    parser.add_argument("job", type=Path, metavar="JOBFILE", help="the job's file in the results folder")
    parser.add_argument("--head", type=int, required=True, metavar="N", help="the number of this head, from 0")
    parser.add_argument(
        "--end-with-stdin", action="store_true", help="stop when standard input ends, as it does with its other end"
    )
    given = parser.parse_args(arguments)
    make_diagnostics_safe()
    if given.end_with_stdin:
        threading.Thread(target=_end_with_stdin, name="parent", daemon=True).start()
    try:
        run_head(given.job, given.head)
    except KeyboardInterrupt:
        return INTERRUPTED
    except HarnessError as error:
        say(f"Error: {error}", err=True)
        return DISK_FAILED if isinstance(error, StorageError) else REFUSED
    return 0


def _end_with_stdin() -> None:
    """Stop this process when the launching process is gone: first as by SIGTERM, then at once."""
    with suppress(OSError):
        while os.read(sys.stdin.fileno(), 4096):
            pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(ORPHAN_SECONDS)
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
