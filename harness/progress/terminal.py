"""Views of a running sweep: bars on a terminal, plain lines elsewhere. They watch; they never drive."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from harness.contracts import Stat
from harness.contracts.specs import Component, RunSpec
from harness.output.display import brief, sentence, visible
from harness.runs.claims import STALE_SECONDS
from harness.storage.results import RunRecord
from harness.storage.run_labels import distinctions

LONGEST_ERROR = 2000
"""Characters of a run's error on the terminal; run.json has all of it."""

_LINE_SECONDS = 30.0
_NUMBERS_WIDTH = 34  # 10000/10000, 1,234.5/s, 0:00:00 and the gaps


class _RateColumn(ProgressColumn):
    """Examples a second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None or task.fields.get("sweep") else f"{speed:,.1f}/s", style="progress.data.speed")


class Bars:
    """A bar for the sweep and one for the run that is going on, with rate and time left."""

    def __init__(self, console: Console, runs: Sequence[RunSpec]) -> None:
        self._console, self._labels = console, _Labels(runs)
        bar = 30 if console.width >= 120 else 12
        self._room = max(20, min(90, console.width - bar - _NUMBERS_WIDTH))
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=bar),
            MofNCompleteColumn(),
            _RateColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._sweep = self._progress.add_task("sweep", total=len(runs), sweep=True)
        self._run = self._progress.add_task("", total=None, visible=False)
        self._done, self._model = 0.0, ""

    def __enter__(self) -> Bars:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def started(self, spec: RunSpec) -> None:
        """Show the run's bar."""
        label = escape(brief(self._labels.of(spec), self._room))
        self._done, self._model = 0.0, _model(spec)
        self._progress.remove_task(self._run)  # reset would keep the length of the run before
        self._run = self._progress.add_task(label, total=None)

    def planned(self, examples: int) -> None:
        """Give the run's bar its length."""
        self._progress.update(self._run, total=examples)

    def advanced(self, examples: float) -> None:
        """Move the run's bar."""
        self._done += examples
        if self._done >= self._whole() + 1:
            self._progress.update(self._run, completed=round(self._done))

    def together(self, runs: int, answered: float, planned: int) -> None:
        """Show how far all runs are that are answered side by side."""
        if runs > 1:
            label = f"{runs} runs at once · {self._model}"
            label = escape(brief(label, self._room))
            self._progress.update(self._run, description=label, total=planned or None, completed=round(answered))

    def skipped(self, record: RunRecord) -> None:
        """Count a run that was finished before."""
        self._progress.advance(self._sweep)
        self._console.print(Text.assemble(("✓ ", "dim"), (f"{self._labels.of(record.spec)}: finished before", "dim")))

    def finished(self, record: RunRecord) -> None:
        """Print the run's outcome above the bars."""
        self._progress.update(self._run, visible=False)
        self._progress.advance(self._sweep)
        mark = ("✓ ", "green") if record.status == "ok" else ("✗ ", "bold red")
        self._console.print(Text.assemble(mark, _summary(record, self._labels.of(record.spec))))

    def waiting(self, runs: int, holders: str) -> None:
        """Say that other processes have the runs that are left."""
        self._console.print(Text(_waiting(runs, holders), style="dim"))

    def _whole(self) -> float:
        return self._progress.tasks[self._progress.task_ids.index(self._run)].completed


class Lines:
    """One line when a run starts, every half minute, and when it ends."""

    def __init__(self, console: Console, runs: Sequence[RunSpec]) -> None:
        self._console, self._runs, self._index = console, len(runs), 0
        self._labels = _Labels(runs)
        self._label, self._total, self._done, self._said = "", 0, 0.0, 0.0
        self._beside = False

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: Any) -> None:
        return None

    def started(self, spec: RunSpec) -> None:
        """Say which run starts."""
        self._label, self._done, self._total, self._said = self._labels.of(spec), 0.0, 0, time.monotonic()
        self._say(f"[{self._index + 1}/{self._runs}] {self._label}")

    def planned(self, examples: int) -> None:
        """Remember the run's length."""
        self._total = examples

    def advanced(self, examples: float) -> None:
        """Say how far the run is, twice a minute."""
        self._done += examples
        if not self._beside and time.monotonic() - self._said > _LINE_SECONDS:
            self._said = time.monotonic()
            whole = f" of {self._total} examples" if self._total else " answered"
            self._say(f"[{self._index + 1}/{self._runs}] {self._label}: {self._done:.0f}{whole}")

    def together(self, runs: int, answered: float, planned: int) -> None:
        """Say how far all runs are that are answered side by side, twice a minute."""
        self._beside = runs > 1
        if self._beside and time.monotonic() - self._said > _LINE_SECONDS:
            self._said = time.monotonic()
            whole = f" of {planned} examples" if planned else " answered"
            self._say(f"[{self._index + 1}/{self._runs}] {runs} runs at once: {answered:.0f}{whole}")

    def skipped(self, record: RunRecord) -> None:
        """Say that a run was finished before."""
        self._index += 1
        self._say(f"[{self._index}/{self._runs}] {self._labels.of(record.spec)}: finished before")

    def finished(self, record: RunRecord) -> None:
        """Say how a run ended."""
        self._index += 1
        state = "ok" if record.status == "ok" else "FAILED"
        self._say(f"[{self._index}/{self._runs}] {state} {_summary(record, self._labels.of(record.spec))}")

    def waiting(self, runs: int, holders: str) -> None:
        """Say that other processes have the runs that are left."""
        self._say(_waiting(runs, holders))

    def _say(self, line: str) -> None:
        self._console.print(Text(line), soft_wrap=True)


def watch(console: Console, runs: Sequence[RunSpec]) -> Bars | Lines:
    """Return the view that fits the console, for a sweep of these runs."""
    return Bars(console, runs) if console.is_terminal and not console.is_dumb_terminal else Lines(console, runs)


class _Labels:
    """The labels of a sweep's runs, by the names of the runs."""

    def __init__(self, runs: Sequence[RunSpec]) -> None:
        self._known = {
            spec.name: f"{_label(spec)}{distinction}"
            for spec, distinction in zip(runs, distinctions(runs, _label), strict=True)
        }

    def of(self, spec: RunSpec) -> str:
        return self._known.get(spec.name) or _label(spec)


def _label(spec: RunSpec) -> str:
    return visible(f"{spec.scenario.short_label} by {spec.adapter.name} with {_model(spec)}")


def _model(spec: RunSpec) -> str:
    return Component(name=spec.model.name).short_label


def _summary(record: RunRecord, label: str) -> str:
    if record.error is not None:
        return f"{label}: {sentence(record.error, LONGEST_ERROR)}"
    took = f"{record.efficiency.get('wall_seconds', 0):.1f} s"
    for stat in record.stats:
        if stat.metric == record.spec.main_metric and stat.overall:
            return f"{label}: {stat.metric} {stat.mean:.3f}{_interval(stat)} (n={stat.count}, {took})"
    return f"{label}: done in {took}"


def _waiting(runs: int, holders: str) -> str:
    return (
        f"waiting for {runs} {'run' if runs == 1 else 'runs'} in progress elsewhere: {holders} (taken over after "
        f"{STALE_SECONDS:g} s without a heartbeat)"
    )


def _interval(stat: Stat) -> str:
    """Return the 95 % interval as text, by both its ends where it is lopsided."""
    if stat.ci95 is None:
        return ""
    low, high = stat.ci95
    below, above = stat.mean - low, high - stat.mean
    if abs(above - below) < 0.0005:
        return f" ± {above:.3f}"
    return f" [{low:.3f}, {high:.3f}]"
