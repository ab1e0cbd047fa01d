"""Runs that another process has are left for last, waited for, and taken as the other one leaves them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from harness.plugins.registry import Registry
from harness.runs.claims import Claims, claim_key
from harness.runs.runner import Settings, run_sweep
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
