"""What the heads of a job report: a file of JSON lines for each head, which every process of the job can read.

::

    {"joined": {"host": "node1", "process": 4711}}
    {"ended": "boolq,generation,hf-gpt2-0123abcd", "suite": "s", "before": false}     a run; or it was found finished
    {"left": true}                                                                    nothing is left for this head
    {"stopped": "node1 cannot write …", "storage": true}                              why this head cannot go on
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.contracts.specs import RunSpec
from harness.errors import HarnessError, StorageError
from harness.runs.sweep_state import SweepState
from harness.storage.durable import writing
from harness.storage.results import RunRecord

LOOK_SECONDS = 1.0
"""Seconds between two looks at the other heads' reports."""


@dataclass(frozen=True, slots=True)
class Report:
    """One line of a head's report."""

    head: int
    """The head's number."""
    content: Mapping[str, Any]
    """The line."""


class Reporter:
    """Writes the report of one head: a view of its sweep.

    Args:
        folder: The job's folder.
        head: The head's number.
    """

    def __init__(self, folder: Path, head: int) -> None:
        self._file = folder / f"head-{head}.jsonl"

    def join(self) -> None:
        """Report that this process is the head.

        Raises:
            StorageError: The results folder cannot be written.
        """
        with writing(self._file), self._file.open("ab") as file:
            file.write(b"\n")  # ends what this head had half written when it was killed
        self._write({"joined": {"host": platform.node(), "process": os.getpid()}})

    def leave(self) -> None:
        """Report that nothing is left for this head.

        Raises:
            StorageError: The results folder cannot be written.
        """
        self._write({"left": True})

    def stop(self, error: HarnessError) -> None:
        """Report why this head cannot go on.

        Raises:
            StorageError: The results folder cannot be written.
        """
        self._write({"stopped": str(error), "storage": isinstance(error, StorageError)})

    def changed(self, state: SweepState) -> None:
        """Do nothing: only ends are reported."""

    def ended(self, state: SweepState, record: RunRecord, *, before: bool) -> None:
        """Report a run that has ended, or, with ``before``, was found finished."""
        self._write({"ended": record.name, "suite": record.suite, "before": before})

    def _write(self, content: Mapping[str, Any]) -> None:
        with writing(self._file), self._file.open("ab", buffering=0) as file:
            file.write(json.dumps(content).encode() + b"\n")


class Reports:
    """Reads the reports of a job's heads, each line once.

    Args:
        folder: The job's folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, int] = {}

    def new(self) -> Iterator[Report]:
        """Yield the lines that were written since the last call; a half-written one is left for the next.

        If the caller stops in between, the next call begins with the line at which it stopped.
        """
        for path in sorted(self._folder.glob("head-*.jsonl")):
            begin = self._read.get(path, 0)
            try:
                with path.open("rb") as file:
                    file.seek(begin)
                    content = file.read()
            except OSError:  # a network file system may lose sight of a file for a moment
                continue
            whole = content.rpartition(b"\n")[0]
            if not whole:
                continue
            head = int(path.stem.removeprefix("head-"))
            for line in whole.split(b"\n"):
                try:
                    value = json.loads(line)
                except ValueError:  # the last words of a head that was killed
                    value = None
                if isinstance(value, dict):
                    yield Report(head, value)
                begin += len(line) + 1
                self._read[path] = begin


class EndedElsewhere:
    """The runs that other heads of a job have ended, so that this one need not look at them.

    Args:
        folder: The job's folder.
        head: This head's number.
        clock: A monotonic clock, in seconds.
    """

    def __init__(self, folder: Path, head: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._reports, self._head, self._clock = Reports(folder), head, clock
        self._looked: float | None = None
        self._ended: set[tuple[str, str]] = set()

    def __call__(self, spec: RunSpec) -> bool:
        """Return whether another head, or this one before it was started again, has ended a run."""
        now = self._clock()
        if self._looked is None or now - self._looked >= LOOK_SECONDS:
            self._looked = now
            for report in self._reports.new():
                if "ended" in report.content:
                    self._ended.add((str(report.content.get("suite")), str(report.content["ended"])))
        return (spec.suite, spec.name) in self._ended
