"""Heads that have ended are noticed without accounting, too: by the queue, or by leases that nobody renews."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.executors import slurm_watch
from harness.executors.slurm_array import Array
from harness.executors.slurm_watch import GONE_SECONDS, SILENT_SECONDS, Watch, read_queue

HEAD = {"host": "node1", "process": 4711}


@dataclass
class Head:
    """A job of submitit."""

    job_id: str
    state: str = "UNKNOWN"
    ended: bool = False

    def done(self) -> bool:
        return self.ended


class Clock:
    """A clock that is set by hand."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What squeue says; None under ``says`` if it says nothing."""
    content: dict[str, Any] = {"says": {}}
    monkeypatch.setattr(slurm_watch, "read_queue", lambda array: content["says"])
    return content


def array(*heads: Any) -> Array:
    return Array(heads)


def renew(results: Path, beat: int, process: int = 4711) -> None:
    (results / ".claims").mkdir(exist_ok=True)
    content = {"host": "node1", "process": process, "token": "t", "beat": beat, "space": ""}
    (results / ".claims" / f"run-{process}").write_text(json.dumps(content))


def test_accounting_is_enough(tmp_path: Path, clock: Clock) -> None:
    one, other = Head("7_0", "RUNNING"), Head("7_1", "COMPLETED", ended=True)
    watch = Watch(array(one, other), tmp_path, clock)
    clock.now += 10 * SILENT_SECONDS
    assert watch.running([HEAD])
    assert watch.states() == {"RUNNING": 1, "COMPLETED": 1}
    one.ended = True
    assert not watch.running([HEAD])


def test_the_queue_tells_without_accounting(tmp_path: Path, clock: Clock, queue: dict[str, Any]) -> None:
    watch = Watch(array(Head("7_0"), Head("7_1", ended=True)), tmp_path, clock)
    queue["says"] = {"7_0": "PENDING"}
    for _ in range(3):
        clock.now += 10 * SILENT_SECONDS
        assert watch.running()
    assert watch.states() == {"PENDING": 1, "UNKNOWN": 1}
    queue["says"] = {}
    clock.now += GONE_SECONDS - 1
    assert watch.running()
    clock.now += 2
    assert not watch.running()
    assert not Watch(array(Head("7_0")), tmp_path, clock).running(grace=0.0)


def test_leases_tell_where_slurm_says_nothing(tmp_path: Path, clock: Clock, queue: dict[str, Any]) -> None:
    queue["says"] = None
    watch = Watch(array(Head("7_0")), tmp_path, clock)
    for beat in range(3):
        renew(tmp_path, beat)
        clock.now += SILENT_SECONDS - 1
        assert watch.running([HEAD])
    renew(tmp_path, 9, process=1)  # that of another process
    clock.now += SILENT_SECONDS + 1
    assert watch.running()  # none has begun: it may wait in the queue for days
    assert not watch.running([HEAD])


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo '7_0 RUNNING'; echo '7_1 PENDING'", {"7_0": "RUNNING", "7_1": "PENDING"}),
        ("true", {}),
        ("echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1", {}),
        ("echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1", None),
        (None, None),
    ],
)
def test_what_squeue_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, expected: dict[str, str] | None
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    if script is not None:
        (tmp_path / "squeue").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "squeue").chmod(0o755)
    assert read_queue(array(Head("7_0"), Head("7_1"))) == expected
