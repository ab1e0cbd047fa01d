"""What a sweep leaves to be read while it runs, and that it is never what stops it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness import Split
from harness.contracts.specs import Component, RunSpec
from harness.progress.file import PROGRESS_FOLDER, ProgressFile, read_progress
from harness.runs.sweep_state import SweepState
from harness.storage.results import RunRecord

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
    kept: dict[str, Any] = {"stats": (), "efficiency": {}, "provenance": {}, "examples": None}
    kept |= {"directory": Path(), "error": None, "started": "", "finished": ""}
    return RunRecord(name=SPEC.name, suite="s", status=status, spec=SPEC, **kept)


def _clock() -> tuple[Callable[[], float], list[float]]:
    now = [0.0]
    return lambda: now[0], now


def test_runs_that_are_answered_together_are_counted_together(tmp_path: Path) -> None:
    clock, now = _clock()
    state = SweepState(3)
    with ProgressFile(state, tmp_path, "s", clock):
        runs = [state.begin(SPEC), state.begin(SPEC)]
        for run, planned in zip(runs, (10, 30), strict=True):
            state.plan(run, planned)
        state.advance(runs[0], 10)
        now[0] = 10.0
        state.advance(runs[1], 20)
        (during,) = read_progress(tmp_path)
        assert (during.beside, during.examples, during.of_examples, during.rate) == (1, 30.0, 40, 3.0)
        state.end(_record(), runs[0])
        now[0] = 15.0
        state.advance(runs[1], 5)
        (after,) = read_progress(tmp_path)
        assert (after.done, after.beside, after.examples, after.of_examples, after.rate) == (1, 0, 25.0, 30, 1.0)


def test_a_run_that_ends_does_not_lower_the_rate_of_the_others(tmp_path: Path) -> None:
    clock, now = _clock()
    state = SweepState(2)
    with ProgressFile(state, tmp_path, "s", clock):
        first, second = state.begin(SPEC), state.begin(SPEC)
        state.advance(first, 10)
        state.advance(second, 10)
        state.end(_record(), second)
        now[0] = 10.0
        state.advance(first, 10)
        assert read_progress(tmp_path)[0].rate == 3.0


def test_a_sweep_as_it_goes(tmp_path: Path) -> None:
    clock, now = _clock()
    state = SweepState(3)
    with ProgressFile(state, tmp_path, "s", clock):
        (before,) = read_progress(tmp_path)
        assert (before.suite, before.state, before.runs, before.done, before.current) == ("s", "running", 3, 0, "")
        state.skip(_record())
        run = state.begin(SPEC)
        state.plan(run, 50)
        now[0] = 4.0
        state.advance(run, 10)
        (during,) = read_progress(tmp_path)
        assert (during.done, during.current) == (1, "quiz · generation · fake:a")
        assert (during.examples, during.of_examples, during.rate) == (10.0, 50, 2.5)
        state.end(_record("failed"), run)
        (after,) = read_progress(tmp_path)
        assert (after.done, after.failed, after.current) == (2, 1, "")
    (ended,) = read_progress(tmp_path)
    assert (ended.state, ended.done) == ("ended", 2)
    assert [file.name for file in (tmp_path / PROGRESS_FOLDER).iterdir()] == ["s.json"]


def test_it_is_written_once_a_second(tmp_path: Path) -> None:
    clock, now = _clock()
    state = SweepState(1)
    with ProgressFile(state, tmp_path, "s", clock):
        run = state.begin(SPEC)
        now[0] = 0.5
        state.advance(run, 5)
        assert read_progress(tmp_path)[0].examples == 0
        now[0] = 1.5
        state.advance(run, 5)
        assert read_progress(tmp_path)[0].examples == 10


def test_an_interrupted_sweep_has_ended(tmp_path: Path) -> None:
    def interrupted() -> None:
        state = SweepState(1)
        with ProgressFile(state, tmp_path, "s"):
            state.begin(SPEC)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    (found,) = read_progress(tmp_path)
    assert (found.state, found.current, found.beside) == ("ended", "", 0)


def test_where_nothing_can_be_written_the_sweep_goes_on(tmp_path: Path) -> None:
    (tmp_path / PROGRESS_FOLDER).write_text("a file where the folder should be")
    state = SweepState(1)
    with ProgressFile(state, tmp_path, "s"):
        state.end(_record(), state.begin(SPEC))
    assert state.done == 1
    assert read_progress(tmp_path) == []


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"state": "resting"}', '{"state": "running", "runs": "many"}'])
def test_what_is_no_progress_is_left_out(tmp_path: Path, content: str) -> None:
    (tmp_path / PROGRESS_FOLDER).mkdir()
    (tmp_path / PROGRESS_FOLDER / "s.json").write_text(content)
    (tmp_path / PROGRESS_FOLDER / "t.json").write_text(json.dumps({"suite": "t", "state": "ended", "unknown": 1}))
    assert [found.suite for found in read_progress(tmp_path)] == ["t"]


def _heads(folder: Path, *, launcher: str = "", running: bool = True) -> None:
    """Write the files of two heads, and of the process that launched them as it wrote at some time."""
    for head, (done, answered, planned) in enumerate([(5, 10, 40), (4, 20, 60)]):
        state = SweepState(9, done=done, failed=head)
        clock = itertools.count(0.0, 2.0).__next__  # every change is written
        with ProgressFile(state, folder, "s", clock, f"job-{head}"):
            state.plan(run := state.begin(SPEC), planned)
            state.advance(run, answered)
            state.observe([run], 0)
            content = (folder / PROGRESS_FOLDER / f"s@job-{head}.json").read_text()
        if running:
            (folder / PROGRESS_FOLDER / f"s@job-{head}.json").write_text(content)
    if launcher:
        with ProgressFile(SweepState(9, done=7), folder, "s"):
            pass
        file = folder / PROGRESS_FOLDER / "s.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), "updated": launcher, "state": "running"}))


def test_the_launching_process_speaks_for_its_heads(tmp_path: Path) -> None:
    _heads(tmp_path, launcher="2999-01-01T00:00:00+00:00")
    (found,) = read_progress(tmp_path)
    assert (found.done, found.state, found.under_way) == (7, "running", [])


def test_heads_whose_launching_process_is_gone_are_summed(tmp_path: Path) -> None:
    _heads(tmp_path, launcher="2001-01-01T00:00:00+00:00")
    (found,) = read_progress(tmp_path)
    assert (found.suite, found.state, found.runs, found.done, found.failed) == ("s", "running", 9, 5, 1)
    assert [run.run for run in found.under_way] == [SPEC.name, SPEC.name]
    assert (found.examples, found.of_examples, found.answered, found.beside) == (30, 100, 30, 1)
    assert found.current == "quiz · generation · fake:a"


def test_heads_that_have_ended_leave_the_word_to_the_launching_process(tmp_path: Path) -> None:
    _heads(tmp_path, launcher="2001-01-01T00:00:00+00:00", running=False)
    (found,) = read_progress(tmp_path)
    assert found.done == 7
    (tmp_path / PROGRESS_FOLDER / "s.json").unlink()
    (found,) = read_progress(tmp_path)
    assert (found.state, found.done, found.under_way) == ("ended", 5, [])
