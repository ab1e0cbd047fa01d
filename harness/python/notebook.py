"""Progress of a sweep that a program runs: a bar in a notebook, lines or bars as on the command line elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any

from harness.contracts.specs import RunSpec
from harness.output.console import make_console
from harness.output.display import counted, sentence
from harness.output.html import shown
from harness.progress.terminal import watch
from harness.runs.sweep_state import SweepState
from harness.storage.results import RunRecord

DRAW_SECONDS = 0.2


def progress_view(state: SweepState, runs: Sequence[RunSpec], results_dir: Path) -> AbstractContextManager[Any]:
    """Return what shows a sweep's progress while it is entered."""
    return NotebookBar(state, results_dir) if in_notebook() else watch(state, make_console(err=True), runs)


def in_notebook() -> bool:
    """Return True if this program is a notebook's kernel, which shows HTML."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


class NotebookBar:
    """One display that is updated: a bar for the sweep, one for the runs under way, and the errors of failed runs."""

    def __init__(self, state: SweepState, results_dir: Path) -> None:
        self._state, self._results_dir = state, results_dir
        self._drawn, self._ended = 0.0, ""
        self._failures: list[str] = []
        self._html: Any = None
        self._display: Any = None

    def __enter__(self) -> NotebookBar:
        ipython: Any = import_module("IPython.display")
        self._html = ipython.HTML
        self._state.views.append(self)
        self._display = ipython.display(self._html(self.html()), display_id=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._state.views.remove(self)
        left = self._state.runs - self._state.done
        if kind is not None:
            self._ended = f"Stopped with {counted(left, 'run')} left; all answers so far are kept. " + (
                self._state.detached or "Run the cell again to continue."
            )
        self._draw()

    def changed(self, state: SweepState) -> None:
        """Move the bars, five times a second at most."""
        if time.monotonic() - self._drawn >= DRAW_SECONDS:
            self._draw()

    def ended(self, state: SweepState, record: RunRecord, *, before: bool) -> None:
        """Note how a run ended."""
        if record.error is not None:
            self._failures.append(f"{record.name}: {sentence(record.error)}")

    def html(self) -> str:
        """Return the bars as HTML."""
        state = self._state
        failed = f", {state.failed:,} failed" if state.failed else ""
        parts = [_bar(state.done, state.runs, f"{state.done:,} of {counted(state.runs, 'run')}{failed}")]
        if state.under_way:
            done, planned = round(state.answered_under_way), state.planned_under_way
            spec = state.under_way[0].spec
            others = f" and {len(state.under_way) - 1} more" if len(state.under_way) > 1 else ""
            what = f"{done:,} of {planned:,} examples" if planned else f"{done:,} examples"
            parts.append(_bar(done, planned, f"{what}: {spec.scenario.short_label} with {spec.model_label}{others}"))
        if state.waiting is not None:
            parts.append(f"<div>waiting for {counted(state.waiting[0], 'run')} of {shown(state.waiting[1])}</div>")
        texts = [state.notice, *self._failures, self._ended]
        parts += [f"<div>{shown(text)}</div>" for text in texts if text]
        if state.done == state.runs:
            parts.append(f"<div>Results: {shown(str(self._results_dir))}</div>")
        return f"<div>{''.join(parts)}</div>"

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        self._display.update(self._html(self.html()))


def _bar(done: int, of: int, text: str) -> str:
    size = f' value="{min(done, of)}" max="{of}"' if of else ""
    return f"<div><progress{size}></progress> {shown(text)}</div>"
