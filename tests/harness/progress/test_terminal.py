"""What is said of a run when it ends."""

from __future__ import annotations

import io
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness.contracts import Split, Stat
from harness.contracts.specs import Component, RunSpec
from harness.progress.terminal import Bars, Lines, watch
from harness.runs.sweep_state import SweepState
from harness.storage.results import RunRecord


def record(mean: float, interval: tuple[float, float] | None) -> RunRecord:
    spec = RunSpec(
        suite="s",
        scenario=Component(name="mmlu", arguments={"subject": "law"}),
        adapter=Component(name="generation"),
        metrics=(Component(name="exact_match"),),
        main_metric="exact_match",
        model=Component(name="fake:0"),
        eval_split=Split.TEST,
    )
    numbers: dict[str, Any] = {"count": 5, "mean": mean, "stderr": 0.1, "ci95": interval, "min": 0.0, "max": 1.0}
    stat = Stat(metric="exact_match", category="accuracy", split="test", perturbation=None, **numbers)
    kept: dict[str, Any] = {"efficiency": {"wall_seconds": 1.0}, "provenance": {}, "examples": None}
    kept |= {"directory": Path(), "status": "ok", "error": None, "started": "", "finished": ""}
    return RunRecord(name=spec.name, suite="s", spec=spec, stats=(stat,), **kept)


@pytest.mark.parametrize(
    ("mean", "interval", "shown"),
    [
        (0.5, (0.4, 0.6), "exact_match 0.500 ± 0.100 (n=5, 1.0 s)"),
        (0.0, (0.0, 0.434), "exact_match 0.000 [0.000, 0.434] (n=5, 1.0 s)"),
        (0.5, None, "exact_match 0.500 (n=5, 1.0 s)"),
    ],
)
def test_a_lopsided_interval_is_shown_by_its_ends(
    mean: float, interval: tuple[float, float] | None, shown: str
) -> None:
    stream = io.StringIO()
    with Lines(state := SweepState(1), Console(file=stream, width=200), [record(mean, interval).spec]):
        state.end(record(mean, interval))
    assert stream.getvalue() == f"[1/1] ok mmlu:subject=law by generation with fake:0: {shown}\n"


@pytest.mark.parametrize(
    ("name", "arguments", "shown"),
    [
        ("file", {"path": "/data/of/mine/a b/test.jsonl", "column": "q"}, "file:path=…/a b/test.jsonl,column=q"),
        ("file", {"path": "/mine/test.jsonl"}, "file:path=/mine/test.jsonl"),
        ("file", {"path": "of/mine/and/yours/test.jsonl"}, "file:path=of/mine/and/yours/test.jsonl"),
        ("hf:/scratch/me/run-3/step-100", {}, "hf:…/run-3/step-100"),
        ("openai:gpt", {"base_url": "http://host:80/a/b/c"}, "openai:gpt:base_url=http://host:80/a/b/c"),
        ("file", {"one": "/a/b/c", "two": "/d/e/f/g"}, "file:one=…/b/c,two=…/f/g"),
    ],
)
def test_an_absolute_path_is_shown_by_its_end(name: str, arguments: dict[str, Any], shown: str) -> None:
    assert Component(name=name, arguments=arguments).short_label == shown


def test_a_runs_lines_show_the_ends_of_paths_and_its_record_keeps_them() -> None:
    one = record(0.5, None)
    file = Component(name="published_file", arguments={"path": "/data/of/mine/test.jsonl"})
    model = Component(name="hf:/scratch/me/run-3/step-100")
    one = replace(one, spec=one.spec.model_copy(update={"scenario": file, "model": model}))
    stream = io.StringIO()
    with Lines(state := SweepState(1), Console(file=stream, width=200), [one.spec]):
        state.end(one, state.begin(one.spec))
    expected = "published_file:path=…/mine/test.jsonl by generation with hf:…/run-3/step-100"
    assert [line.count(expected) for line in stream.getvalue().splitlines()] == [1, 1]
    assert "/data/of/mine/test.jsonl" in one.spec.scenario.label


@pytest.mark.parametrize(("planned", "shown"), [(40, "3 of 40 examples"), (None, "3 answered")])
def test_how_far_a_run_is(monkeypatch: pytest.MonkeyPatch, planned: int | None, shown: str) -> None:
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    stream = io.StringIO()
    with Lines(state := SweepState(2), Console(file=stream, width=200), [record(0.5, None).spec] * 2):
        first = state.begin(record(0.5, None).spec)
        state.plan(first, 90)
        state.end(record(0.5, None), first)
        second = state.begin(record(0.5, None).spec)
        if planned is not None:
            state.plan(second, planned)
        clock[0] = 40.0
        state.advance(second, 3)
    assert stream.getvalue().splitlines()[-1].endswith(f": {shown}")


def test_a_run_of_unknown_length_does_not_show_the_length_of_the_one_before() -> None:
    stream = io.StringIO()
    console = Console(file=stream, width=200, force_terminal=True)
    with Bars(state := SweepState(2), console, [record(0.5, None).spec] * 2):
        first = state.begin(record(0.5, None).spec)
        state.plan(first, 30)
        state.end(record(0.5, None), first)
        before = stream.tell()
        state.begin(record(0.5, None).spec)
    shown = stream.getvalue()[before:]
    assert "0/?" in shown
    assert "/30" not in shown


def test_on_a_narrow_terminal_the_label_is_cut_and_not_the_numbers() -> None:
    stream = io.StringIO()
    spec = record(0.5, None).spec.model_copy(update={"model": Component(name="hf:" + "long-name/" * 9)})
    console = Console(file=stream, width=80, force_terminal=True)
    with Bars(state := SweepState(2), console, [record(0.5, None).spec] * 2):
        run = state.begin(spec)
        state.plan(run, 10000)
        state.advance(run, 10000)
    assert "10000/10000" in stream.getvalue()
    assert "mmlu:subject=law" in stream.getvalue()


def test_lines_say_how_far_all_runs_are_that_are_answered_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("harness.progress.terminal.time.monotonic", lambda: now[0])
    stream = io.StringIO()
    spec = record(0.5, None).spec
    with Lines(state := SweepState(12), Console(file=stream, width=200), [spec] * 12):
        first, *others = [state.begin(spec) for _ in range(6)]
        for run, planned in zip([first, *others], [10, 490, 100, 100, 100, 100], strict=True):
            state.plan(run, planned)
        for second in (20.0, 40.0, 60.0, 80.0):
            now[0] = second
            state.advance(others[0], 20)
        for run in others:
            state.end(record(0.5, None), run)
        now[0] = 120.0
        state.advance(first, 5)
    said = [line.split("] ", 1)[1] for line in stream.getvalue().splitlines()]
    assert [line for line in said if not line.startswith("ok ")] == [
        "mmlu:subject=law by generation with fake:0",
        "6 runs at once: 40 of 900 examples",
        "6 runs at once: 80 of 900 examples",
        "mmlu:subject=law by generation with fake:0: 5 of 10 examples",
    ]


def test_lines_announce_a_run_once_however_often_others_overtake_it() -> None:
    stream = io.StringIO()
    slow, quick = record(0.5, None).spec, record(0.5, None).spec.model_copy(update={"seed": 1})
    with Lines(state := SweepState(4), Console(file=stream, width=200), [slow, quick]):
        waiting = state.begin(slow)
        for _ in range(3):
            state.end(record(0.5, None), state.begin(quick))
        state.end(record(0.5, None), waiting)
    said = [line.split("] ", 1)[1] for line in stream.getvalue().splitlines()]
    assert [line.startswith("ok ") for line in said] == [False, True, True, True, True]


@pytest.mark.parametrize("terminal", [True, False])
def test_what_is_waited_for_is_said_when_it_changes(terminal: bool) -> None:
    stream = io.StringIO()
    console = Console(file=stream, width=200, force_terminal=terminal)
    with watch(state := SweepState(3), console, [record(0.5, None).spec] * 3):
        for _ in range(3):
            state.wait(2, "process 7")
        state.wait(1, "process 7")
    assert stream.getvalue().count("waiting for 2 runs") == 1
    assert stream.getvalue().count("waiting for 1 run ") == 1


def test_the_bar_shows_all_runs_that_are_answered_at_once() -> None:
    stream = io.StringIO()
    console = Console(file=stream, width=120, force_terminal=True)
    with Bars(state := SweepState(12), console, [record(0.5, None).spec] * 12) as bars:
        runs = [state.begin(record(0.5, None).spec) for _ in range(6)]
        for run in runs:
            state.plan(run, 150)
            state.advance(run, 50.07)
        time.sleep(0.11)
        state.advance(runs[0], 0)
        shown = next(task for task in bars._progress.tasks if task.id == bars._run)
        assert (shown.description, shown.completed, shown.total) == ("6 runs at once · fake:0", 300, 900)
        for run in runs[1:]:
            state.end(record(0.5, None), run)
        shown = next(task for task in bars._progress.tasks if task.id == bars._run)
        assert (shown.description[:16], shown.completed, shown.total) == ("mmlu:subject=law", 50, 150)
