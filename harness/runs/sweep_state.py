"""The progress of a sweep: one state, which the engine changes and views show."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from harness.contracts.specs import RunSpec
from harness.storage.results import RunRecord


@dataclass(slots=True, eq=False)
class RunState:
    """The progress of a run that is under way."""

    spec: RunSpec
    """The run's spec."""
    answered: float = 0.0
    """Examples answered so far; one that is answered in part counts as that part."""
    planned: int = 0
    """Maximum number of its examples: instances, perturbed copies, all trials; 0 until known."""


class View(Protocol):
    """Shows a sweep's state to somebody. It is called on the thread that runs the sweep, and must be quick."""

    def changed(self, state: SweepState) -> None:
        """Called after every change of the state; answers come by the thousand, so a view shows some of them."""

    def ended(self, state: SweepState, record: RunRecord, *, before: bool) -> None:
        """Called after a run has ended, or, with ``before``, was found finished."""


@dataclass
class SweepState:
    """The progress of a sweep. The engine calls the methods; views read the fields."""

    runs: int = 0
    """Number of runs of the sweep."""
    done: int = 0
    """Runs that are finished, including those that were finished before."""
    failed: int = 0
    """Runs that failed."""
    under_way: list[RunState] = field(default_factory=list)
    """The runs that have begun and not ended, the first to begin first."""
    answered: float = 0.0
    """Examples answered since the sweep began, by runs that have ended as well."""
    waiting: tuple[int, str] | None = None
    """How many runs other processes are running, and which processes, while nothing else is left to do."""
    notice: str = ""
    """What the executor says of the processes that run the sweep."""
    detached: str = ""
    """What goes on if this process is interrupted, and how to end that; empty if nothing does."""
    views: list[View] = field(default_factory=list)
    """The views that show it."""

    @property
    def answered_under_way(self) -> float:
        """Examples answered of all runs that are under way."""
        return sum(run.answered for run in self.under_way)

    @property
    def planned_under_way(self) -> int:
        """Most examples of all runs that are under way; 0 until known of all of them."""
        planned = [run.planned for run in self.under_way]
        return sum(planned) if all(planned) else 0

    def begin(self, spec: RunSpec) -> RunState:
        """Add a run whose first requests are about to be put."""
        run = RunState(spec)
        self.under_way.append(run)
        self.waiting = None
        self._changed()
        return run

    def plan(self, run: RunState, examples: int) -> None:
        """Note the most examples that may come of a run."""
        run.planned = examples
        self._changed()

    def advance(self, run: RunState, examples: float) -> None:
        """Count answers, in examples."""
        run.answered += examples
        self.answered += examples
        self._changed()

    def end(self, record: RunRecord, run: RunState | None = None) -> None:
        """Count a run that has ended; one that could not begin has no state."""
        if run is not None:
            self.under_way.remove(run)
        self.failed += record.status != "ok"
        self._count(record, before=False)

    def skip(self, record: RunRecord) -> None:
        """Count a run that was finished before."""
        self._count(record, before=True)

    def pass_over(self, runs: int) -> None:
        """Count runs that other processes of the same job have ended."""
        if runs:
            self.done += runs
            self._changed()

    def observe(self, under_way: list[RunState], answered: float) -> None:
        """Note what other processes report: the runs under way, and the examples answered since the last time."""
        self.under_way, self.answered = under_way, self.answered + answered
        self._changed()

    def wait(self, runs: int, holders: str) -> None:
        """Note that only runs of other processes are left."""
        self.waiting = (runs, holders)
        self._changed()

    def tell(self, notice: str) -> None:
        """Note something about the processes that run the sweep."""
        self.notice = notice
        self._changed()

    def _count(self, record: RunRecord, *, before: bool) -> None:
        self.done += 1
        self.waiting = None
        for view in self.views:
            view.ended(self, record, before=before)
        self._changed()

    def _changed(self) -> None:
        for view in self.views:
            view.changed(self)
