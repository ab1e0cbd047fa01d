"""Follows the heads of a job for the process that launched them: their records, their progress, who has stopped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from harness.errors import DataError, HarnessError, StorageError
from harness.executors.job import Job
from harness.executors.reports import Report, Reports
from harness.progress.file import progress_path, read_progress_file
from harness.runs.sweep_state import RunState, SweepState
from harness.storage.results import RunRecord, read_run, run_directory


class Following:
    """What the heads of a job have done so far.

    Args:
        job: The job, as it was written.
        state: How far the sweep is; kept up to date.

    Attributes:
        joined: Host and process of each head that has begun, by its number.
        finished: The numbers of the heads for which nothing is left.
        stopped: Why a head cannot go on, by its number.
        ended: Number of runs that each head has ended, by its number.
    """

    def __init__(self, job: Job, state: SweepState) -> None:
        self.joined: dict[int, Mapping[str, Any]] = {}
        self.finished: set[int] = set()
        self.stopped: dict[int, HarnessError] = {}
        self.ended = Counter[int]()
        self._job, self._state = job, state
        self._reports = Reports(job.folder)
        self._left = {(spec.suite, spec.name): spec for spec in job.runs}
        self._names = {spec.name: spec for spec in job.runs}
        self._found: list[Report] = []  # runs that a head found finished, which another may have finished just now
        self._shown: dict[tuple[int, str], RunState] = {}
        self._answered: dict[int, float] = {}

    @property
    def left(self) -> int:
        """Number of runs that have not ended."""
        return len(self._left)

    def look(self) -> Iterator[RunRecord]:
        """Yield the records of the runs that have ended since the last call, and bring the state up to date."""
        found, self._found = self._found, []
        for report in self._reports.new():
            content = report.content
            if "joined" in content:
                self.joined[report.head] = content["joined"]
                self.stopped.pop(report.head, None)
                self.finished.discard(report.head)
            elif "left" in content:
                self.finished.add(report.head)
            elif "stopped" in content:
                kind = StorageError if content.get("storage") else HarnessError
                self.stopped[report.head] = kind(str(content["stopped"]))
            elif content.get("before"):
                self._found.append(report)
            else:
                self.ended[report.head] += 1
                yield from self._ended(report)
        for report in found:
            yield from self._ended(report)
        self._observe()

    def _ended(self, report: Report) -> Iterator[RunRecord]:
        key = str(report.content.get("suite")), str(report.content.get("ended"))
        spec = self._left.get(key)
        if spec is None:
            return
        try:
            record = read_run(run_directory(self._job.settings.results_dir, spec))
        except DataError:  # a network file system shows it late
            self._found.append(report)
            return
        del self._left[key]
        if report.content.get("before"):
            self._state.skip(record)
        else:
            self._state.end(record)
        yield record

    def _observe(self) -> None:
        """Take over what the heads say of the runs under way."""
        shown: dict[tuple[int, str], RunState] = {}
        answered = 0.0
        for head in self.joined:
            file = progress_path(self._job.settings.results_dir, self._job.suite, self._job.head_name(head))
            progress = read_progress_file(file)
            if progress is None:
                continue
            # A head that was started again counts from 0.
            before = min(self._answered.get(head, 0.0), progress.answered)
            answered += progress.answered - before
            self._answered[head] = progress.answered
            for run in progress.under_way if progress.state == "running" else ():
                spec = self._names.get(run.run)
                if spec is None or (spec.suite, spec.name) not in self._left:
                    continue
                one = self._shown.get((head, run.run)) or RunState(spec)
                one.answered, one.planned = run.answered, run.planned
                shown[head, run.run] = one
        self._shown = shown
        self._state.observe(list(shown.values()), answered)
