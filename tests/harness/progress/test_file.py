"""What a sweep leaves to be read while it runs, and that it is never what stops it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness import Split
from harness.contracts.specs import Component, RunSpec
from harness.progress.file import PROGRESS_FOLDER, ProgressFile, read_progress
from harness.runs.record import EndedRun
from harness.runs.turns import Turns
from harness.storage.results import RunRecord


class Heard:
    """A watcher that remembers what it was told."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []

    def started(self, spec: RunSpec) -> None:
        self.calls.append(("started", spec))

    def planned(self, examples: int) -> None:
        self.calls.append(("planned", examples))

    def advanced(self, examples: float) -> None:
        self.calls.append(("advanced", examples))

    def skipped(self, record: RunRecord) -> None:
        self.calls.append(("skipped", record))

    def finished(self, record: RunRecord) -> None:
        self.calls.append(("finished", record))


SPEC = RunSpec(
    suite="s",
    scenario=Component(name="quiz"),
    adapter=Component(name="generation"),
    metrics=(),
    main_metric="right",
    model=Component(name="fake:a"),
    eval_split=Split.TEST,
)


def _record(status: Any = "ok") -> RunRecord:
    return RunRecord(Path(), SPEC.name, "s", status, None, SPEC)


def _clock() -> tuple[Callable[[], float], list[float]]:
    now = [0.0]
    return lambda: now[0], now


def test_runs_that_are_answered_together_are_counted_together(tmp_path: Path) -> None:
    clock, now = _clock()
    with ProgressFile(Heard(), tmp_path, "s", 3, clock) as watcher:
        turns = Turns(watcher)
        runs = [EndedRun(SPEC), EndedRun(SPEC)]
        for run, planned in zip(runs, (10, 30), strict=True):
            turns.started(run)
            turns.planned(run, planned)
        turns.advanced(runs[0], 10)
        now[0] = 10.0
        turns.advanced(runs[1], 20)
        (during,) = read_progress(tmp_path)
        assert (during.beside, during.examples, during.of_examples, during.rate) == (1, 30.0, 40, 3.0)
        turns.finished(runs[0], _record())
        now[0] = 15.0
        turns.advanced(runs[1], 5)
        (after,) = read_progress(tmp_path)
        assert (after.done, after.beside, after.examples, after.of_examples, after.rate) == (1, 0, 25.0, 30, 1.0)


def test_a_sweep_as_it_goes(tmp_path: Path) -> None:
    clock, now = _clock()
    heard = Heard()
    with ProgressFile(heard, tmp_path, "s", 3, clock) as watcher:
        (before,) = read_progress(tmp_path)
        assert (before.suite, before.state, before.runs, before.done, before.current) == ("s", "running", 3, 0, "")
        watcher.skipped(_record())
        watcher.started(SPEC)
        watcher.planned(50)
        now[0] = 4.0
        watcher.advanced(10)
        (during,) = read_progress(tmp_path)
        assert (during.done, during.current) == (1, "quiz · generation · fake:a")
        assert (during.examples, during.of_examples, during.rate) == (10.0, 50, 2.5)
        watcher.finished(_record("failed"))
        (after,) = read_progress(tmp_path)
        assert (after.done, after.failed, after.current) == (2, 1, "")
    (ended,) = read_progress(tmp_path)
    assert (ended.state, ended.done) == ("ended", 2)
    assert [name for name, _ in heard.calls] == ["skipped", "started", "planned", "advanced", "finished"]
    assert [file.name for file in (tmp_path / PROGRESS_FOLDER).iterdir()] == ["s.json"]


def test_it_is_written_once_a_second(tmp_path: Path) -> None:
    clock, now = _clock()
    with ProgressFile(Heard(), tmp_path, "s", 1, clock) as watcher:
        watcher.started(SPEC)
        now[0] = 0.5
        watcher.advanced(5)
        assert read_progress(tmp_path)[0].examples == 0
        now[0] = 1.5
        watcher.advanced(5)
        assert read_progress(tmp_path)[0].examples == 10


def test_an_interrupted_sweep_has_ended(tmp_path: Path) -> None:
    def interrupted() -> None:
        with ProgressFile(Heard(), tmp_path, "s", 1) as watcher:
            watcher.started(SPEC)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert read_progress(tmp_path)[0].state == "ended"


def test_where_nothing_can_be_written_the_sweep_goes_on(tmp_path: Path) -> None:
    (tmp_path / PROGRESS_FOLDER).write_text("a file where the folder should be")
    heard = Heard()
    with ProgressFile(heard, tmp_path, "s", 1) as watcher:
        watcher.started(SPEC)
    assert [name for name, _ in heard.calls] == ["started"]
    assert read_progress(tmp_path) == []


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"state": "resting"}', '{"state": "running", "runs": "many"}'])
def test_what_is_no_progress_is_left_out(tmp_path: Path, content: str) -> None:
    (tmp_path / PROGRESS_FOLDER).mkdir()
    (tmp_path / PROGRESS_FOLDER / "s.json").write_text(content)
    (tmp_path / PROGRESS_FOLDER / "t.json").write_text(json.dumps({"suite": "t", "state": "ended", "unknown": 1}))
    assert [found.suite for found in read_progress(tmp_path)] == ["t"]
