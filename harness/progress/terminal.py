"""Views of a running sweep: bars on a terminal, plain lines anywhere else."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from harness.answers.reasoning_count import UNFINISHED
from harness.contracts import Stat
from harness.contracts.specs import Component, RunSpec
from harness.output.display import brief, sentence, visible
from harness.runs.claims import STALE_SECONDS
from harness.runs.sweep_state import RunState, SweepState
from harness.storage.results import RunRecord
from harness.storage.run_labels import distinctions

LONGEST_ERROR = 2000
"""Characters of a run's error on the terminal; run.json has all of it."""

_LINE_SECONDS = 30.0
_DRAW_SECONDS = 0.1
_NUMBERS_WIDTH = 34  # 10000/10000, 1,234.5/s, 0:00:00 and the gaps


class _RateColumn(ProgressColumn):
    """Examples a second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None or task.fields.get("sweep") else f"{speed:,.1f}/s", style="progress.data.speed")


class Bars:
    """A bar for the sweep and one for the runs that are under way, with rate and time left."""

    def __init__(self, state: SweepState, console: Console, runs: Sequence[RunSpec]) -> None:
        self._state, self._console, self._labels = state, console, _Labels(runs)
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
        self._sweep = self._progress.add_task("sweep", total=state.runs, sweep=True)
        self._run = self._progress.add_task("", total=None, visible=False)
        self._shown: tuple[RunState | None, bool] = (None, False)
        self._drawn = -math.inf
        self._waiting: tuple[int, str] | None = None
        self._notice = ""

    def __enter__(self) -> Bars:
        self._state.views.append(self)
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._state.views.remove(self)
        self._draw(self._state)
        self._progress.stop()

    def changed(self, state: SweepState) -> None:
        """Move the bars, ten times a second at most."""
        several = len(state.under_way) > 1
        shown = (state.under_way[0] if state.under_way else None, several)
        if shown != self._shown:
            self._shown = shown
            self._progress.remove_task(self._run)  # a task that is used again keeps its rate
            self._run = self._progress.add_task("", total=None, visible=bool(state.under_way))
            self._draw(state)
        elif (
            time.monotonic() - self._drawn >= _DRAW_SECONDS
            or state.waiting != self._waiting
            or state.notice != self._notice
        ):
            self._draw(state)

    def ended(self, state: SweepState, record: RunRecord, *, before: bool) -> None:
        """Print how the run ended, above the bars."""
        label = self._labels.of(record.spec)
        if before:
            line = Text(f"✓ {label}: finished before", style="dim")
        else:
            mark = ("✓ ", "green") if record.status == "ok" else ("✗ ", "bold red")
            line = Text.assemble(mark, _summary(record, label))
        self._console.print(line)

    def _draw(self, state: SweepState) -> None:
        self._drawn = time.monotonic()
        self._progress.update(self._sweep, completed=state.done)
        if state.waiting is not None and state.waiting != self._waiting:
            self._console.print(Text(_waiting(*state.waiting), style="dim"))
        self._waiting = state.waiting
        if state.notice != self._notice:
            self._console.print(Text(visible(state.notice), style="dim"))
        self._notice = state.notice
        if state.under_way:
            spec = state.under_way[0].spec
            several = f"{len(state.under_way)} runs at once · {_model(spec)}"
            label = several if len(state.under_way) > 1 else self._labels.of(spec)
            self._progress.update(
                self._run,
                description=escape(brief(label, self._room)),
                total=state.planned_under_way or None,
                completed=round(state.answered_under_way),
            )


class Lines:
    """One line when a run starts, one every half minute, and one when a run ends."""

    def __init__(self, state: SweepState, console: Console, runs: Sequence[RunSpec]) -> None:
        self._state, self._console, self._labels = state, console, _Labels(runs)
        self._announced: set[RunState] = set()
        self._said = 0.0
        self._waiting: tuple[int, str] | None = None
        self._notice = ""

    def __enter__(self) -> Lines:
        self._state.views.append(self)
        return self

    def __exit__(self, *_: Any) -> None:
        self._state.views.remove(self)

    def changed(self, state: SweepState) -> None:
        """Name the oldest run under way, once; say twice a minute how far all of them are."""
        if state.waiting is not None and state.waiting != self._waiting:
            self._console.print(Text(_waiting(*state.waiting)), soft_wrap=True)
        self._waiting = state.waiting
        if state.notice != self._notice:
            self._console.print(Text(visible(state.notice)), soft_wrap=True)
        self._notice = state.notice
        if not state.under_way:
            return
        oldest = state.under_way[0]
        if oldest not in self._announced:
            self._announced = {run for run in self._announced if run in state.under_way} | {oldest}
            self._said = time.monotonic()
            self._say(state.done + 1, self._labels.of(oldest.spec))
        elif time.monotonic() - self._said > _LINE_SECONDS:
            self._said = time.monotonic()
            several = f"{len(state.under_way)} runs at once"
            what = several if len(state.under_way) > 1 else self._labels.of(oldest.spec)
            planned = f" of {state.planned_under_way} examples" if state.planned_under_way else " answered"
            self._say(state.done + 1, f"{what}: {state.answered_under_way:.0f}{planned}")

    def ended(self, state: SweepState, record: RunRecord, *, before: bool) -> None:
        """Say how a run ended."""
        label = self._labels.of(record.spec)
        if before:
            self._say(state.done, f"{label}: finished before")
        else:
            self._say(state.done, f"{'ok' if record.status == 'ok' else 'FAILED'} {_summary(record, label)}")

    def _say(self, number: int, text: str) -> None:
        self._console.print(Text(f"[{number}/{self._state.runs}] {text}"), soft_wrap=True)


def watch(state: SweepState, console: Console, runs: Sequence[RunSpec]) -> Bars | Lines:
    """Return the view that fits the console, for a sweep of these runs."""
    kind = Bars if console.is_terminal and not console.is_dumb_terminal else Lines
    return kind(state, console, runs)


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
    return spec.settings.display_name or Component(name=spec.model.name).short_label


def _summary(record: RunRecord, label: str) -> str:
    if record.error is not None:
        return f"{label}: {sentence(record.error, LONGEST_ERROR)}"
    took = f"{record.efficiency.get('wall_seconds', 0):.1f} s"
    if unfinished := record.efficiency.get(UNFINISHED):
        took = f"{unfinished:,} unfinished reasoning, {took}"
    for stat in record.stats:
        if stat.metric == record.spec.main_metric and stat.overall:
            return f"{label}: {stat.metric} {stat.mean:.3f}{_interval(stat)} (n={stat.count}, {took})"
    return f"{label}: {sentence(record.no_value, LONGEST_ERROR) or 'done'} ({took})"


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
