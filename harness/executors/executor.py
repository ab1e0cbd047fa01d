"""What an executor is, and executors by name."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Protocol, cast

from harness.errors import HarnessError
from harness.executors.job import Job
from harness.inference.model_pool import OpenModel
from harness.plugins.registry import Registry
from harness.runs.sweep_state import SweepState
from harness.storage.results import RunRecord
from harness.sweeps.executor_keys import ExecutorKeys, LocalKeys, RayKeys, SlurmKeys

_CLASSES: dict[type[ExecutorKeys], tuple[str, str]] = {
    LocalKeys: ("harness.executors.local", "LocalExecutor"),
    RayKeys: ("harness.executors.ray_cluster", "RayExecutor"),
    SlurmKeys: ("harness.executors.slurm", "SlurmExecutor"),
}
"""Module and class of the executor that takes these settings; imported when it is used."""


class Executor(Protocol):
    """Executes a job's runs."""

    def run(self, job: Job, state: SweepState) -> Iterator[RunRecord]:
        """Execute all runs, and yield each run's record as it is finished or found finished.

        Closing the iterator, or an interrupt while it runs, ends what was started; all answers so far are kept.

        Args:
            job: What to run.
            state: How far the sweep is; kept up to date for its views.

        Raises:
            HarnessError: It cannot run here, or everything that ran it has died.
        """
        ...


def make_executor(settings: ExecutorKeys, registry: Registry, open_model: OpenModel | None = None) -> Executor:
    """Return the executor that takes these settings.

    Args:
        settings: The executor's settings.
        registry: Knows the plugins of this process.
        open_model: Opens models where runs are executed in this process; other processes open them as ever.

    Raises:
        HarnessError: A package that it needs is not installed.
    """
    if type(settings) not in _CLASSES:
        raise HarnessError(f"there is no executor for {type(settings).__name__}.")
    module, name = _CLASSES[type(settings)]
    made = getattr(import_module(module), name)
    if isinstance(settings, LocalKeys):
        return cast("Executor", made(settings, registry, open_model))
    return cast("Executor", made(settings, registry))


def join(settings: ExecutorKeys, job: Job) -> None:
    """Become a part of a job that another process leads, if this process was started for that; else return.

    Raises:
        StorageError: The other process's results folder is not visible here.
    """
    if isinstance(settings, SlurmKeys):
        from harness.executors import slurm

        slurm.join(job)
