"""What is said of a run when it ends."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness.contracts import Split, Stat
from harness.contracts.specs import Component, RunSpec
from harness.progress.terminal import Bars, Lines
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
    kept: dict[str, Any] = {"efficiency": {"wall_seconds": 1.0}, "provenance": {}, "started": "", "finished": ""}
    return RunRecord(Path(), spec.name, "s", "ok", None, spec, (stat,), **kept)


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
    with Lines(Console(file=stream, width=200), [record(mean, interval).spec]) as lines:
        lines.finished(record(mean, interval))
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
    with Lines(Console(file=stream, width=200), [one.spec]) as lines:
        lines.started(one.spec)
        lines.finished(one)
    expected = "published_file:path=…/mine/test.jsonl by generation with hf:…/run-3/step-100"
    assert [line.count(expected) for line in stream.getvalue().splitlines()] == [1, 1]
    assert "/data/of/mine/test.jsonl" in one.spec.scenario.label


@pytest.mark.parametrize(("planned", "shown"), [(40, "3 of 40 examples"), (None, "3 answered")])
def test_how_far_a_run_is(monkeypatch: pytest.MonkeyPatch, planned: int | None, shown: str) -> None:
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    stream = io.StringIO()
    with Lines(Console(file=stream, width=200), [record(0.5, None).spec] * 2) as lines:
        lines.started(record(0.5, None).spec)
        lines.planned(90)
        lines.finished(record(0.5, None))
        lines.started(record(0.5, None).spec)
        if planned is not None:
            lines.planned(planned)
        clock[0] = 40.0
        lines.advanced(3)
    assert stream.getvalue().splitlines()[-1].endswith(f": {shown}")


def test_a_run_of_unknown_length_does_not_show_the_length_of_the_one_before() -> None:
    stream = io.StringIO()
    with Bars(Console(file=stream, width=200, force_terminal=True), [record(0.5, None).spec] * 2) as bars:
        bars.started(record(0.5, None).spec)
        bars.planned(30)
        bars.finished(record(0.5, None))
        before = stream.tell()
        bars.started(record(0.5, None).spec)
    shown = stream.getvalue()[before:]
    assert "0/?" in shown
    assert "/30" not in shown


def test_on_a_narrow_terminal_the_label_is_cut_and_not_the_numbers() -> None:
    stream = io.StringIO()
    spec = record(0.5, None).spec.model_copy(update={"model": Component(name="hf:" + "long-name/" * 9)})
    with Bars(Console(file=stream, width=80, force_terminal=True), [record(0.5, None).spec] * 2) as bars:
        bars.started(spec)
        bars.planned(10000)
        bars.advanced(10000)
    assert "10000/10000" in stream.getvalue()
    assert "mmlu:subject=law" in stream.getvalue()


def test_lines_say_how_far_all_runs_are_that_are_answered_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("harness.progress.terminal.time.monotonic", lambda: now[0])
    stream = io.StringIO()
    with Lines(Console(file=stream, width=200), [record(0.5, None).spec] * 12) as lines:
        lines.started(record(0.5, None).spec)
        lines.planned(10)
        for second in (20.0, 40.0, 60.0, 80.0):
            now[0] = second
            lines.advanced(1)
            lines.together(6, second, 900)
        now[0] = 120.0
        lines.together(1, 9, 10)
        lines.advanced(1)
    assert [line.split("] ", 1)[1] for line in stream.getvalue().splitlines()[1:]] == [
        "6 runs at once: 40 of 900 examples",
        "6 runs at once: 80 of 900 examples",
        "mmlu:subject=law by generation with fake:0: 5 of 10 examples",
    ]


def test_the_bar_shows_all_runs_that_are_answered_at_once() -> None:
    stream = io.StringIO()
    with Bars(Console(file=stream, width=120, force_terminal=True), [record(0.5, None).spec] * 12) as bars:
        bars.started(record(0.5, None).spec)
        bars.planned(10)
        bars.advanced(10)
        bars.together(6, 300.4, 900)
        shown = next(task for task in bars._progress.tasks if task.id == bars._run)
        assert (shown.description, shown.completed, shown.total) == ("6 runs at once · fake:0", 300, 900)
