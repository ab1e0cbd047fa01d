"""What a running sweep leaves to be read: ``.progress/SUITE.json`` among the results, rewritten as it goes on."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from harness.contracts.specs import RunSpec
from harness.runs.turns import StreamWatcher, SweepWatcher, WaitingWatcher
from harness.storage.results import RunRecord

PROGRESS_FOLDER = ".progress"
SECONDS_BETWEEN = 1.0


@dataclass(frozen=True, slots=True)
class SweepProgress:
    """How far a sweep is."""

    suite: str
    """The suite that it writes into."""
    state: Literal["running", "ended"]
    """``running``, or ``ended``, well or not."""
    runs: int
    """How many runs it has."""
    done: int
    """How many of them are finished, those that were so before included."""
    failed: int
    """How many of these failed."""
    current: str
    """The run that is going on, ``scenario · method · model``; empty between runs."""
    beside: int
    """How many further runs are under way with it."""
    examples: float
    """How many examples of all these are answered."""
    of_examples: int
    """How many they have at most; 0 until that is known."""
    rate: float
    """Examples a second since the current run came to be shown."""
    started: str
    """When the sweep began, UTC, ISO 8601."""
    updated: str
    """When this was written."""
    host: str
    """The machine."""
    process: int
    """The process on it."""


class ProgressFile:
    """Watches a sweep for another watcher, and writes down what it sees, at most once a second.

    A disk that takes no more is no reason to end a sweep here: what the sweep itself writes there says so.

    Args:
        watcher: The watcher that is told everything as well.
        results_dir: The folder of results.
        suite: The suite's name.
        runs: How many runs the sweep has.
        clock: Seconds that never go back.
    """

    def __init__(
        self,
        watcher: SweepWatcher,
        results_dir: Path,
        suite: str,
        runs: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._watcher, self._path, self._clock = watcher, results_dir / PROGRESS_FOLDER / f"{suite}.json", clock
        self._suite, self._runs, self._started = suite, runs, _now()
        self._done = self._failed = self._of_examples = 0
        self._examples, self._current, self._beside = 0.0, "", 0
        self._examples_before: float | None = None
        self._began = self._wrote = clock()

    def __enter__(self) -> ProgressFile:
        self._write("running")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._current, self._beside = "", 0
        self._write("ended")

    def started(self, spec: RunSpec) -> None:
        """Note the run that begins."""
        self._watcher.started(spec)
        self._current = f"{spec.scenario.label} · {spec.adapter.name} · {spec.model.name}"
        self._examples, self._of_examples, self._began = 0.0, 0, self._clock()
        self._examples_before = None
        self._write("running")

    def planned(self, examples: int) -> None:
        """Note the run's length."""
        self._watcher.planned(examples)
        self._of_examples = examples

    def advanced(self, examples: float) -> None:
        """Note how far the run is."""
        self._watcher.advanced(examples)
        self._examples += examples
        if self._clock() - self._wrote >= SECONDS_BETWEEN:
            self._write("running")

    def together(self, runs: int, answered: float, planned: int) -> None:
        """Note how far all runs are that are under way, the current one among them."""
        if isinstance(self._watcher, StreamWatcher):
            self._watcher.together(runs, answered, planned)
        self._beside, self._examples, self._of_examples = max(0, runs - 1), answered, planned
        if self._examples_before is None:
            self._examples_before = answered
        if self._clock() - self._wrote >= SECONDS_BETWEEN:
            self._write("running")

    def skipped(self, record: RunRecord) -> None:
        """Count a run that was finished before."""
        self._watcher.skipped(record)
        self._done += 1
        if self._clock() - self._wrote >= SECONDS_BETWEEN:
            self._write("running")

    def finished(self, record: RunRecord) -> None:
        """Count a run that has ended."""
        self._watcher.finished(record)
        self._done += 1
        self._failed += record.status != "ok"
        self._current, self._beside, self._examples, self._of_examples = "", 0, 0.0, 0
        self._write("running")

    def waiting(self, runs: int, holders: str) -> None:
        """Pass on that runs are in the hands of other processes."""
        if isinstance(self._watcher, WaitingWatcher):
            self._watcher.waiting(runs, holders)

    def _write(self, state: Literal["running", "ended"]) -> None:
        self._wrote = self._clock()
        took = self._wrote - self._began
        value = {
            "suite": self._suite,
            "state": state,
            "runs": self._runs,
            "done": self._done,
            "failed": self._failed,
            "current": self._current,
            "beside": self._beside,
            "examples": round(self._examples, 1),
            "of_examples": self._of_examples,
            "rate": round(max(0.0, self._examples - (self._examples_before or 0.0)) / took, 2) if took > 0 else 0.0,
            "started": self._started,
            "updated": _now(),
            "host": platform.node(),
            "process": os.getpid(),
        }
        partial = self._path.with_name(f".{self._suite}.{platform.node()}.{os.getpid()}")
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            partial.write_text(
                json.dumps(value, ensure_ascii=False) + "\n", encoding="utf-8", errors="backslashreplace"
            )
            partial.replace(self._path)


def read_progress(results_dir: Path) -> list[SweepProgress]:
    """Return how far the sweeps of a results folder are or were, by suite; a file that is none of ours is left out."""
    found = []
    for file in sorted(results_dir.glob(f"{PROGRESS_FOLDER}/*.json")):
        with suppress(OSError, LookupError, ValueError, TypeError, AttributeError, RecursionError):
            found.append(_progress(json.loads(file.read_text(encoding="utf-8"))))
    return found


def _progress(value: dict[str, Any]) -> SweepProgress:
    if value["state"] not in {"running", "ended"}:
        raise ValueError("neither running nor ended")
    texts = {name: str(value.get(name, "")) for name in ("suite", "current", "started", "updated", "host")}
    counts = {name: int(value.get(name, 0)) for name in ("runs", "done", "failed", "beside", "of_examples", "process")}
    return SweepProgress(
        suite=texts["suite"],
        state=value["state"],
        runs=counts["runs"],
        done=counts["done"],
        failed=counts["failed"],
        current=texts["current"],
        beside=counts["beside"],
        examples=float(value.get("examples", 0)),
        of_examples=counts["of_examples"],
        rate=float(value.get("rate", 0)),
        started=texts["started"],
        updated=texts["updated"],
        host=texts["host"],
        process=counts["process"],
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
