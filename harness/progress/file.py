"""The file ``.progress/SUITE.json`` in the results folder, which says how far a running sweep is.

Where several processes run a sweep, each writes ``.progress/SUITE@HEAD.json``; suites have no ``@`` in their names.
"""

from __future__ import annotations

import json
import math
import os
import platform
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from harness.runs.sweep_state import RunState, SweepState
from harness.storage.results import RunRecord

PROGRESS_FOLDER = ".progress"
SECONDS_BETWEEN = 1.0
SECONDS_BEHIND = 30.0
"""Seconds by which the file of a launching process is older than those of its heads if that process is gone; clocks of
several machines differ by less."""
MOST_RUNS = 500
"""Most runs under way that the file lists."""


@dataclass(frozen=True, slots=True)
class RunProgress:
    """The progress of a run that is under way."""

    scenario: str
    """The scenario with its parameters."""
    method: str
    """The adapter's name."""
    model: str
    """The model's identifier."""
    answered: float
    """Examples answered."""
    planned: int
    """Most examples that it may have; 0 until known."""
    run: str = ""
    """The run's name."""


@dataclass(frozen=True, slots=True)
class SweepProgress:
    """The progress of a sweep."""

    suite: str
    """The suite that its results belong to."""
    state: Literal["running", "ended"]
    """``running``, or ``ended``, successfully or not."""
    runs: int
    """Number of runs."""
    done: int
    """Runs that are finished, including those that were finished before."""
    failed: int
    """Finished runs that failed."""
    current: str
    """The oldest run under way, ``scenario · method · model``; empty between runs."""
    beside: int
    """Number of other runs under way."""
    examples: float
    """Examples answered of all runs under way."""
    of_examples: int
    """Most examples that they may have; 0 until known."""
    rate: float
    """Examples per second since the current run is the oldest."""
    started: str
    """When the sweep began, UTC, ISO 8601."""
    updated: str
    """When this was written."""
    host: str
    """The machine."""
    process: int
    """The process on it."""
    answered: float = 0.0
    """Examples answered since the sweep began."""
    under_way: Sequence[RunProgress] = ()
    """The runs under way, at most ``MOST_RUNS`` of them."""


class ProgressFile:
    """Writes a sweep's state to a file, at most once a second.

    A full disk does not stop a sweep here: what the sweep itself writes reports it.

    Args:
        state: The sweep's state.
        results_dir: The results folder.
        suite: The suite that the results belong to.
        clock: A monotonic clock, in seconds.
        head: The name of this process, if it is one of several that run the sweep.
    """

    def __init__(
        self,
        state: SweepState,
        results_dir: Path,
        suite: str,
        clock: Callable[[], float] = time.monotonic,
        head: str | None = None,
    ) -> None:
        self._state, self._suite, self._clock = state, suite, clock
        self._path = progress_path(results_dir, suite, head)
        self._started = _now()
        self._current: RunState | None = None
        self._since, self._answered_before = clock(), 0.0
        self._wrote = -math.inf

    def __enter__(self) -> ProgressFile:
        self._state.views.append(self)
        self._write("running")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._state.views.remove(self)
        self._write("ended")

    def changed(self, state: SweepState) -> None:
        """Write the state if the last time is a second ago, or if another run is shown now."""
        current = state.under_way[0] if state.under_way else None
        if current is not self._current:
            self._current, self._since, self._answered_before = current, self._clock(), state.answered
            self._write("running")
        elif self._clock() - self._wrote >= SECONDS_BETWEEN:
            self._write("running")

    def ended(self, state: SweepState, record: RunRecord, *, before: bool) -> None:
        """Do nothing: the state has changed, so :meth:`changed` was called as well."""

    def _write(self, state: Literal["running", "ended"]) -> None:
        self._wrote, sweep = self._clock(), self._state
        took, under_way = self._wrote - self._since, sweep.under_way if state == "running" else []
        spec = under_way[0].spec if under_way else None
        value = SweepProgress(
            suite=self._suite,
            state=state,
            runs=sweep.runs,
            done=sweep.done,
            failed=sweep.failed,
            current=f"{spec.scenario.label} · {spec.adapter.name} · {spec.model.name}" if spec else "",
            beside=max(0, len(under_way) - 1),
            examples=round(sweep.answered_under_way, 1) if under_way else 0.0,
            of_examples=sweep.planned_under_way if under_way else 0,
            rate=round((sweep.answered - self._answered_before) / took, 2) if took > 0 else 0.0,
            started=self._started,
            updated=_now(),
            host=platform.node(),
            process=os.getpid(),
            answered=round(sweep.answered, 1),
            under_way=[_under_way(run) for run in under_way[:MOST_RUNS]],
        )
        partial = self._path.with_name(f".{self._path.stem}.{platform.node()}.{os.getpid()}")
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps(asdict(value), ensure_ascii=False) + "\n"
            partial.write_text(text, encoding="utf-8", errors="backslashreplace")
            partial.replace(self._path)


def progress_path(results_dir: Path, suite: str, head: str | None = None) -> Path:
    """Return the file of a sweep's progress, or of what one of its heads does."""
    return results_dir / PROGRESS_FOLDER / (f"{suite}.json" if head is None else f"{suite}@{head}.json")


def read_progress(results_dir: Path) -> list[SweepProgress]:
    """Return how far the sweeps of a results folder are or were, by suite; other files are ignored."""
    whole: dict[str, SweepProgress] = {}
    heads: dict[str, list[SweepProgress]] = {}
    for file in sorted(results_dir.glob(f"{PROGRESS_FOLDER}/*.json")):
        found = read_progress_file(file)
        if found is None:
            continue
        if "@" in file.stem:
            heads.setdefault(found.suite, []).append(found)
        else:
            whole[found.suite] = found
    return [_joint(whole.get(suite), heads.get(suite, [])) for suite in sorted({*whole, *heads})]


def read_progress_file(file: Path) -> SweepProgress | None:
    """Return the content of one progress file; None if it is missing or is not one."""
    with suppress(OSError, LookupError, ValueError, TypeError, AttributeError, RecursionError):
        return _progress(json.loads(file.read_text(encoding="utf-8")))
    return None


def _joint(whole: SweepProgress | None, heads: Sequence[SweepProgress]) -> SweepProgress:
    """Return what the launching process wrote; where it is gone and heads go on, what these report together."""
    if whole is not None:
        heads = [one for one in heads if one.state == "running" and _behind(whole, one) > SECONDS_BEHIND]
        if not heads:
            return whole
    running = [one for one in heads if one.state == "running"]
    under_way = [run for one in running for run in one.under_way]
    furthest = max(heads, key=lambda one: one.done)
    return SweepProgress(
        suite=furthest.suite,
        state="running" if running else "ended",
        runs=furthest.runs,
        done=furthest.done,
        failed=sum(one.failed for one in heads),
        current=next((one.current for one in running if one.current), ""),
        beside=max(0, len(under_way) - 1),
        examples=round(sum(one.examples for one in running), 1),
        of_examples=sum(one.of_examples for one in running) if all(one.of_examples for one in running) else 0,
        rate=round(sum(one.rate for one in running), 2),
        started=min(one.started for one in heads),
        updated=max(one.updated for one in heads),
        host=furthest.host,
        process=furthest.process,
        answered=round(sum(one.answered for one in heads), 1),
        under_way=under_way[:MOST_RUNS],
    )


def _behind(one: SweepProgress, other: SweepProgress) -> float:
    """Return by how many seconds one file is older than another."""
    try:
        return (datetime.fromisoformat(other.updated) - datetime.fromisoformat(one.updated)).total_seconds()
    except (ValueError, TypeError):
        return 0.0


def _under_way(run: RunState) -> RunProgress:
    spec = run.spec
    answered = round(run.answered, 1)
    return RunProgress(spec.scenario.label, spec.adapter.name, spec.model.label, answered, run.planned, spec.name)


def _run(value: dict[str, Any]) -> RunProgress:
    return RunProgress(
        scenario=str(value["scenario"]),
        method=str(value["method"]),
        model=str(value["model"]),
        answered=float(value["answered"]),
        planned=int(value["planned"]),
        run=str(value.get("run", "")),
    )


def _progress(value: dict[str, Any]) -> SweepProgress:
    if value["state"] not in {"running", "ended"}:
        raise ValueError("neither running nor ended")
    counts = dict.fromkeys(("runs", "done", "failed", "beside", "of_examples", "process"), int)
    numbers: dict[str, type[float]] = {**counts, "examples": float, "rate": float, "answered": float}
    found: dict[str, Any] = {}
    for name in (one.name for one in fields(SweepProgress) if one.name != "under_way"):
        found[name] = numbers[name](value.get(name, 0)) if name in numbers else str(value.get(name, ""))
    found["under_way"] = [_run(run) for run in value.get("under_way", [])[:MOST_RUNS]]
    return SweepProgress(**found)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
