"""Runs that are under way at the same time, shown to a watcher as if one followed the other."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from harness.contracts.specs import RunSpec
from harness.runs.record import EndedRun
from harness.runs.run import Run
from harness.storage.results import RunRecord


class SweepWatcher(Protocol):
    """What wants to know how a sweep is getting on; it is told of one run at a time."""

    def started(self, spec: RunSpec) -> None:
        """Called when a run begins, and again when it is shown again after another one that overtook it."""

    def planned(self, examples: int) -> None:
        """Called with the most examples that may come of the run: instances, perturbed copies, all trials."""

    def advanced(self, examples: float) -> None:
        """Called as answers come in, with how many examples' worth."""

    def skipped(self, record: RunRecord) -> None:
        """Called instead of started and finished for a run that was finished before."""

    def finished(self, record: RunRecord) -> None:
        """Called when a run has ended, well or badly."""


@runtime_checkable
class StreamWatcher(Protocol):
    """A watcher that also wants to know of the runs that are under way beside the one that is shown."""

    def together(self, runs: int, answered: float, planned: int) -> None:
        """Called with how many runs are under way, and how many of their examples are answered, and are planned."""


@runtime_checkable
class WaitingWatcher(Protocol):
    """A watcher that also wants to know when nothing is left to do but what other processes are doing."""

    def waiting(self, runs: int, holders: str) -> None:
        """Called when a wait begins, and when what it is for changes: how many runs, and which processes have them."""


class Turns:
    """Shows the run that began first; what is heard of the others is told when it is their turn."""

    def __init__(self, watcher: SweepWatcher) -> None:
        self._watcher = watcher
        self._going: list[Run | EndedRun] = []
        self._planned: dict[Run | EndedRun, int] = {}
        self._advanced: dict[Run | EndedRun, float] = {}

    def started(self, run: Run | EndedRun) -> None:
        self._going.append(run)
        if self._shows(run):
            self._show(run)
        self._sum_up()

    def planned(self, run: Run | EndedRun, examples: int) -> None:
        self._planned[run] = examples
        if self._shows(run):
            self._watcher.planned(examples)
        self._sum_up()

    def advanced(self, run: Run | EndedRun, examples: float) -> None:
        self._advanced[run] = self._advanced.get(run, 0.0) + examples
        if self._shows(run):
            self._watcher.advanced(examples)
        self._sum_up()

    def finished(self, run: Run | EndedRun, record: RunRecord) -> None:
        """Show that a run has ended, and then the one whose turn it is."""
        if not self._shows(run):
            self._show(run)
        if run in self._going:
            self._going.remove(run)
        self._watcher.finished(record)
        self._planned.pop(run, None)
        self._advanced.pop(run, None)
        if self._going:
            self._show(self._going[0])
        self._sum_up()

    def _sum_up(self) -> None:
        if isinstance(self._watcher, StreamWatcher):
            answered = sum(self._advanced.get(run, 0.0) for run in self._going)
            known = all(run in self._planned for run in self._going)
            planned = sum(self._planned[run] for run in self._going) if known else 0
            self._watcher.together(len(self._going), answered, planned)

    def _shows(self, run: Run | EndedRun) -> bool:
        return self._going[:1] == [run]

    def _show(self, run: Run | EndedRun) -> None:
        self._watcher.started(run.spec)
        if run in self._planned:
            self._watcher.planned(self._planned[run])
        if run in self._advanced:
            self._watcher.advanced(self._advanced[run])
