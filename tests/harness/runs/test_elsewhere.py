"""Runs that another process has are left for last, waited for, and taken as the other one leaves them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from harness.contracts.specs import RunSpec
from harness.plugins.registry import Registry
from harness.runs.claims import CLAIMS_FOLDER, Claims, claim_key
from harness.runs.elsewhere import Elsewhere
from harness.runs.runner import Settings, run_sweep
from harness.runs.sweep_state import SweepState
from harness.storage.results import RunRecord, read_run, run_directory, write_run
from tests.harness.runs.test_runner import Silent, folder, registry, spec

__all__ = ["folder", "registry"]  # fixtures


class Waiting(Silent):
    """Notes what is waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[tuple[int, str]] = []

    def wait(self, runs: int, holders: str) -> None:
        super().wait(runs, holders)
        self.waits.append((runs, holders))


class Sweep(threading.Thread):
    """A sweep of two runs, as a second process has it."""

    def __init__(self, folder: Path, registry: Registry, *, force: bool = False) -> None:
        super().__init__()
        self.held = spec(arguments={"log": str(folder / "asked")})
        self.free = spec(arguments={"log": str(folder / "asked")}, seed=1)
        self.watcher = Waiting()
        self.records: list[RunRecord] = []
        self._registry, self._settings = registry, Settings(folder / "results", folder, force)

    def run(self) -> None:
        for record in run_sweep([self.held, self.free], self._registry, self._settings, self.watcher):
            self.records.append(record)

    def begin(self) -> None:
        """Start, and return when nothing is left but to wait."""
        self.start()
        until = time.monotonic() + 60
        while not self.watcher.waits and time.monotonic() < until:
            time.sleep(0.02)


@pytest.fixture
def other(folder: Path) -> Iterator[Claims]:
    """The claims of the first process."""
    with Claims(folder / "results") as claims:
        yield claims


@pytest.fixture
def sweep(folder: Path, registry: Registry, other: Claims) -> Sweep:
    one = Sweep(folder, registry)
    assert other.acquire(claim_key(one.held)) is None
    return one


def test_the_others_come_first_and_a_run_that_is_given_back_is_done_here(sweep: Sweep, other: Claims) -> None:
    sweep.begin()
    assert [record.spec for record in sweep.records] == [sweep.free]
    assert sweep.watcher.waits[0][0] == 1
    assert sweep.watcher.waits[0][1].startswith("process ")
    other.release(claim_key(sweep.held))
    sweep.join(60)
    assert [record.spec for record in sweep.records] == [sweep.free, sweep.held]
    assert [record.status for record in sweep.records] == ["ok", "ok"]
    assert sweep.watcher.skipped_runs == []


@pytest.mark.parametrize("force", [False, True])
def test_a_run_that_the_other_finishes_is_skipped(folder: Path, registry: Registry, other: Claims, force: bool) -> None:
    sweep = Sweep(folder, registry, force=force)
    other.acquire(claim_key(sweep.held))
    sweep.begin()
    asked = (folder / "asked").read_text()
    # The other process runs it: here under a results folder of its own, from which the finished run is moved.
    (done,) = run_sweep([sweep.held], registry, Settings(folder / "others", folder), Silent())
    target = run_directory(folder / "results", sweep.held)
    done.directory.rename(target)
    other_asked = (folder / "asked").read_text()[len(asked) :]
    other.release(claim_key(sweep.held))
    sweep.join(60)
    assert sweep.watcher.skipped_runs == [sweep.held.name]
    assert sweep.records[-1].status == "ok"
    assert (folder / "asked").read_text() == asked + other_asked


def test_a_run_that_fails_for_the_other_is_not_tried_again_at_once(
    sweep: Sweep, folder: Path, registry: Registry, other: Claims
) -> None:
    sweep.begin()
    asked = (folder / "asked").read_text()
    failed = replace(
        sweep.records[0],
        directory=run_directory(folder / "results", sweep.held),
        spec=sweep.held,
        name=sweep.held.name,
        status="failed",
        error="8 of 24 examples have no answer",
        examples=None,
    )
    write_run(failed)
    other.release(claim_key(sweep.held))
    sweep.join(60)
    assert sweep.records[-1] == read_run(failed.directory)
    assert (folder / "asked").read_text() == asked
    # Whoever asks for it again later gets it tried.
    again = run_sweep([sweep.held], registry, Settings(folder / "results", folder), Silent())
    assert [record.status for record in again] == ["ok"]


def test_processes_take_other_models_before_they_share_one(folder: Path) -> None:
    groups = [
        [spec(model, seed=seed) for seed in range(runs)]
        for model, runs in (("fake:0", 1), ("fake:1", 3), ("fake:2", 2))
    ]
    with Claims(folder / "results") as first, Claims(folder / "results") as second, Claims(folder / "results") as third:
        one, two, three = (Elsewhere(folder / "results", claims, SweepState()) for claims in (first, second, third))
        assert one.take_model(groups) is groups[0]
        assert two.take_model(groups) is groups[1]
        assert three.take_model(groups[:2]) is groups[1]  # the one with most runs left
        one.release_model()
        assert one.take_model(groups) is groups[0]
        one.release_model()
        assert one.take_model(groups[1:]) is groups[2]
        for each in (one, two, three):
            each.release_model()
    assert list((folder / "results" / CLAIMS_FOLDER).iterdir()) == []


def test_runs_that_others_have_ended_do_not_count_when_a_model_is_shared(folder: Path) -> None:
    groups = [[spec("fake:0", seed=seed) for seed in range(3)], [spec("fake:1", seed=seed) for seed in range(2)]]
    with Claims(folder / "results") as first, Claims(folder / "results") as second, Claims(folder / "results") as third:
        for claims, group in ((first, groups[:1]), (second, groups[1:])):
            Elsewhere(folder / "results", claims, SweepState()).take_model(group)
        late = Elsewhere(folder / "results", third, SweepState(), lambda one: one in groups[0][1:])
        assert late.take_model(groups) is groups[1]


def test_a_model_that_others_have_open_is_joined_only_where_that_is_worth_it(folder: Path) -> None:
    groups = [[spec("fake:0", seed=seed) for seed in range(4)], [spec("fake:1", seed=seed) for seed in range(6)]]
    asked: list[tuple[str, int, int]] = []

    def joins(free: Sequence[RunSpec], others: int) -> bool:
        asked.append((free[0].model.name, len(free), others))
        return len(free) > 2 * others

    with Claims(folder / "results") as first, Claims(folder / "results") as second, Claims(folder / "results") as third:
        owner = Elsewhere(folder / "results", first, SweepState())
        assert [owner.take_model([group]) for group in groups] == groups
        for begun in groups[1][:3]:
            assert owner.claim(begun) is None
        late = Elsewhere(folder / "results", second, SweepState(), joins=joins)
        assert late.take_model(groups) is groups[0]
        assert asked == [("fake:0", 4, 1), ("fake:1", 3, 1)]
        later = Elsewhere(folder / "results", third, SweepState(), joins=joins)
        assert later.take_model(groups) is groups[1]
        assert Elsewhere(folder / "results", third, SweepState(), joins=lambda *_: False).take_model(groups) is None


def test_runs_that_are_left_to_others_are_taken_when_these_have_gone(
    folder: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.runs.elsewhere.IDLE_SECONDS", 0.1)
    runs = [spec(seed=seed, arguments={"log": str(folder / "asked")}) for seed in range(2)]
    state = Waiting()
    with Claims(folder / "results") as other:
        owner = Elsewhere(folder / "results", other, SweepState())
        owner.take_model([runs])
        settings = Settings(folder / "results", folder)
        records: list[RunRecord] = []
        late = threading.Thread(
            target=lambda: records.extend(run_sweep(runs, registry, settings, state, joins=lambda *_: False))
        )
        late.start()
        late.join(1.0)
        assert late.is_alive()
        assert not (folder / "asked").exists()
        owner.release_model()
        late.join(60)
    assert [record.status for record in records] == ["ok", "ok"]


def test_the_record_of_a_run_that_another_process_of_the_job_has_ended_is_taken_as_it_is(
    folder: Path, registry: Registry
) -> None:
    settings = Settings(folder / "results", folder)
    done = spec(arguments={"log": str(folder / "asked")})
    (record,) = run_sweep([done], registry, settings, Silent())
    (folder / "quiz" / "valid.jsonl").unlink()  # without its data, it would not count as finished
    state = Silent()
    left = spec("fake:1", seed=1)
    found = list(run_sweep([done, left], registry, settings, state, ended=lambda one: one == done))
    assert [one.name for one in found] == [left.name]
    assert (state.done, state.skipped_runs) == (2, [])
    assert read_run(record.directory).status == "ok"
