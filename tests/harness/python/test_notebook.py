"""The progress bar of a notebook."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import harness
from harness.python import notebook
from harness.python.notebook import NotebookBar, in_notebook, progress_view
from harness.runs.sweep_state import SweepState
from harness.sweeps.load import sweep_from_program

HOSTILE = "<script>alert(1)</script>"


class Display:
    """Stands for the notebook's own display, and keeps what it shows."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def __call__(self, html: Any, display_id: bool) -> Display:
        assert display_id
        self.update(html)
        return self

    def update(self, html: Any) -> None:
        self.shown.append(html.data)


@pytest.fixture
def display(monkeypatch: pytest.MonkeyPatch) -> Display:
    shell = SimpleNamespace(kernel=object())
    __import__("IPython.display")
    found = Display()
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    monkeypatch.setattr("IPython.display.display", found)
    return found


def test_a_run_shows_a_bar_that_moves_and_ends(
    display: Display, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(notebook, "DRAW_SECONDS", 0.0)
    assert in_notebook()
    harness.run(runs=["sample_reading"], models=["fake:0", "fake:1"], results_dir=tmp_path)
    assert '<progress value="0" max="2">' in display.shown[0]
    assert any("0 of 2 runs" in html and "of 30 examples: sample_reading with fake:" in html for html in display.shown)
    assert '<progress value="2" max="2">' in display.shown[-1]
    assert f"Results: {tmp_path}" in display.shown[-1]
    assert capsys.readouterr().err == ""


def test_errors_are_escaped_and_an_interrupt_says_how_to_go_on(display: Display, tmp_path: Path) -> None:
    (spec,) = sweep_from_program({"suite": "s", "models": ["fake:0"], "runs": ["sample_reading"]})[0].runs
    results = harness.run(runs=["sample_reading"], models=["fake:0"], results_dir=tmp_path, progress=False)
    failed = replace(results.records()[0], status="failed", error=HOSTILE)
    state = SweepState(2)

    def interrupted() -> None:
        with NotebookBar(state, tmp_path):
            state.end(failed, state.begin(spec))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert "&lt;script&gt;" in display.shown[-1]
    assert HOSTILE not in "".join(display.shown)
    assert "Stopped with 1 run left; all answers so far are kept. Run the cell again" in display.shown[-1]
    assert state.views == []


def test_elsewhere_progress_is_that_of_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", None)
    assert not in_notebook()
    assert not isinstance(progress_view(SweepState(1), [], tmp_path), NotebookBar)
