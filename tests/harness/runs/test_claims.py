"""Leases on runs: one owner at a time, and none for long after its owner is gone."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from harness.contracts.specs import Component, RunSpec
from harness.runs.claims import CLAIMS_FOLDER, Claims, claim_key
from harness.storage.durable import partial_path


def lease(folder: Path, key: str = "k") -> Path:
    return folder / CLAIMS_FOLDER / key


def spec(**changes: object) -> RunSpec:
    fields = {
        "suite": "s",
        "scenario": Component(name="quiz"),
        "adapter": Component(name="generation"),
        "metrics": (Component(name="exact_match"),),
        "main_metric": "exact_match",
        "model": Component(name="fake:0"),
        "eval_split": "valid",
    }
    return RunSpec.model_validate({**fields, **changes})


def test_runs_that_share_questions_share_a_lease() -> None:
    one = spec()
    same = [
        spec(suite="other"),
        spec(perturbations=(Component(name="typos"),)),
        spec(metrics=(Component(name="f1_score"),)),
        spec(max_eval_instances=5),
    ]
    others = [
        spec(seed=1),
        spec(model=Component(name="fake:1")),
        spec(model=Component(name="fake:0", arguments={"delay": 1})),
        spec(adapter=Component(name="generation", arguments={"max_train_instances": 1})),
        spec(scenario=Component(name="quiz", arguments={"subject": "x"})),
        spec(eval_split="test"),
    ]
    assert {claim_key(other) for other in same} == {claim_key(one)}
    assert len({claim_key(other) for other in [one, *others]}) == 1 + len(others)


def test_a_lease_has_one_owner_until_it_is_released(tmp_path: Path) -> None:
    with Claims(tmp_path) as one, Claims(tmp_path) as other:
        assert one.acquire("k") is None
        assert one.acquire("k") is None  # two runs of one process may need it
        holder = other.acquire("k")
        assert holder is not None
        assert str(holder) == f"process {os.getpid()} on {platform.node()}"
        assert other.acquire("another") is None
        one.release("k")
        assert other.holder("k") == holder
        one.release("k")
        assert other.holder("k") is None
        assert other.acquire("k") is None
        one.release("k")  # not its own any more
        assert lease(tmp_path).exists()
    assert list((tmp_path / CLAIMS_FOLDER).iterdir()) == []


def test_what_is_not_released_is_when_the_process_ends_its_sweep(tmp_path: Path) -> None:
    one = Claims(tmp_path)
    one.acquire("k")
    one.close()
    assert not lease(tmp_path).exists()


HOLD = """
import sys, time
from pathlib import Path
from harness.runs.claims import Claims
assert Claims(Path(sys.argv[1])).acquire("k") is None
print("held", flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(os.name != "posix", reason="elsewhere a process cannot be asked for without ending it")
def test_the_lease_of_a_killed_process_is_free_at_once(tmp_path: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    assert owner.stdout.readline() == "held\n"
    with Claims(tmp_path) as other:
        holder = other.acquire("k")
        assert holder is not None
        assert holder.process == owner.pid
        owner.kill()
        owner.wait()
        owner.stdout.close()
        assert other.holder("k") is None
        assert other.acquire("k") is None


def elsewhere(folder: Path, beat: int = 0) -> None:
    """Write the lease of a process on another machine, whose clock does not matter."""
    lease(folder).parent.mkdir(exist_ok=True)
    value = {"host": "far", "process": 1, "token": "t", "beat": beat, "space": "another machine's"}
    lease(folder).write_text(json.dumps(value))


def test_what_a_killed_process_has_half_renewed_goes_with_its_lease(tmp_path: Path) -> None:
    now = 1000.0
    with Claims(tmp_path, stale=60, clock=lambda: now) as claims:
        elsewhere(tmp_path)
        partial_path(lease(tmp_path), "far", 1).touch()
        partial_path(lease(tmp_path), "far", 2).touch()  # that of another process stays
        assert claims.acquire("k") is not None
        now += 61
        assert claims.acquire("k") is None
    assert [file.name for file in lease(tmp_path).parent.iterdir()] == [".k.far.2"]


@pytest.mark.parametrize("modified", [0, 2**33])
def test_a_lease_of_another_machine_goes_stale_when_its_heartbeat_stops(tmp_path: Path, modified: int) -> None:
    now = 1000.0
    with Claims(tmp_path, stale=60, clock=lambda: now) as claims:
        for beat in range(3):
            elsewhere(tmp_path, beat)
            os.utime(lease(tmp_path), (modified, modified))
            assert str(claims.acquire("k")) == "process 1 on far"
            now += 59
            assert claims.holder("k") is not None
        now += 2
        assert claims.holder("k") is None
        assert claims.acquire("k") is None
        assert json.loads(lease(tmp_path).read_text())["process"] == os.getpid()


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"host": [], "process": "x"}', "[" * 100_000, '{"process": 1e999}']
)
def test_a_lease_that_cannot_be_read_goes_stale_like_any_other(tmp_path: Path, content: str) -> None:
    now = 0.0
    lease(tmp_path).parent.mkdir()
    lease(tmp_path).write_text(content)
    with Claims(tmp_path, stale=60, clock=lambda: now) as claims:
        assert str(claims.acquire("k")) == "another process"
        now = 61
        assert claims.acquire("k") is None


def test_the_heartbeat_is_renewed_while_the_lease_is_held(tmp_path: Path) -> None:
    with Claims(tmp_path, heartbeat=0.02) as claims:
        claims.acquire("k")
        deadline = time.monotonic() + 60
        while json.loads(lease(tmp_path).read_text())["beat"] < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert json.loads(lease(tmp_path).read_text())["beat"] >= 3


def test_a_lease_that_was_taken_over_is_neither_renewed_nor_removed(tmp_path: Path) -> None:
    with Claims(tmp_path, heartbeat=0.02) as claims:
        claims.acquire("k")
        elsewhere(tmp_path)
        time.sleep(0.2)
        assert json.loads(lease(tmp_path).read_text())["host"] == "far"
    assert lease(tmp_path).exists()


def test_of_many_that_take_over_a_stale_lease_one_gets_it(tmp_path: Path) -> None:
    clock = [0.0]
    for _ in range(20):
        elsewhere(tmp_path)
        several = [Claims(tmp_path, stale=60, clock=lambda: clock[0]) for _ in range(8)]
        for claims in several:
            assert claims.acquire("k") is not None
        clock[0] += 61.0
        got: list[Claims] = []
        start = threading.Barrier(len(several))

        def take(claims: Claims, start: threading.Barrier = start, got: list[Claims] = got) -> None:
            start.wait()
            if claims.acquire("k") is None:
                got.append(claims)

        threads = [threading.Thread(target=take, args=(claims,)) for claims in several]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # One that met another one at the gate comes back later; nobody shares.
        assert len(got) <= 1
        last = Claims(tmp_path)
        assert (last.acquire("k") is None) == (not got)
        for claims in [*several, last]:
            claims.close()
        assert list((tmp_path / CLAIMS_FOLDER).iterdir()) == []
