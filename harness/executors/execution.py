"""Executes a job where its sweep says, with its progress in a file for the site and for other programs."""

from __future__ import annotations

from collections.abc import Generator

from harness.executors.executor import join, make_executor
from harness.executors.job import Job
from harness.inference.model_pool import OpenModel
from harness.plugins.registry import Registry
from harness.progress.file import ProgressFile
from harness.runs.sweep_state import SweepState
from harness.storage.results import RunRecord
from harness.sweeps.executor_keys import ExecutorKeys


def execute_job(
    job: Job,
    settings: ExecutorKeys,
    registry: Registry,
    state: SweepState,
    open_model: OpenModel | None = None,
) -> Generator[RunRecord, None, None]:
    """Return a generator that executes all runs, and gives the record of each as it is finished or found finished.

    A process that was started as a part of a job that another leads (``srun``) becomes that part and does not return.
    Closing it, or an interrupt, ends what was started; all answers so far are kept.

    Args:
        job: What to run.
        settings: Where to run it.
        registry: Knows the plugins of this process.
        state: How far the sweep is, for its views.
        open_model: Opens models where the job runs in this process; None for the usual way.

    Raises:
        HarnessError: It cannot run here, or everything that ran it has died.
        StorageError: The response cache or the results cannot be written or read.
    """
    join(settings, job)

    def executed() -> Generator[RunRecord, None, None]:
        with ProgressFile(state, job.settings.results_dir, job.suite):
            yield from make_executor(settings, registry, open_model).run(job, state)

    return executed()
