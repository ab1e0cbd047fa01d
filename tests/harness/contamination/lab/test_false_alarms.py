"""The simulation of false alarms goes on where it was, with the numbers of one that was never interrupted."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.contamination.lab import false_alarms
from harness.contamination.lab.exhibits import false_alarms as exhibit
from harness.contamination.lab.false_alarms import (
    WORLDS,
    control_draws,
    false_alarm_rates,
    simulation_file,
    simulation_seconds,
    world_draws,
    world_file,
)
from harness.contamination.statistics.relabelling import relabelling_test
from harness.errors import StorageError

CONTROLS = [
    [{"canonical": float(n), "shuffled": np.random.default_rng(seed + n).normal(size=9).tolist()} for n in range(6)]
    for seed in (10, 20)
]


@pytest.fixture
def tested(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The draws that were tested."""
    found: list[Any] = []

    def noted(table: Any) -> Any:
        found.append(table)
        return relabelling_test(table)

    monkeypatch.setattr(false_alarms, "relabelling_test", noted)
    return found


@pytest.mark.parametrize("first", [1, 17, 40])
def test_a_larger_simulation_only_tests_the_further_draws(tmp_path: Path, tested: list[Any], first: int) -> None:
    world, shards = WORLDS["left skew, 10 shards"]
    file = tmp_path / "kept" / "draws.jsonl"
    false_alarm_rates(world_draws(world, shards, seed=3), first, file)
    assert len(tested) == first
    kept = false_alarm_rates(world_draws(world, shards, seed=3), 40, file)
    assert len(tested) == 40
    assert kept == false_alarm_rates(world_draws(world, shards, seed=3), 40)
    smaller = false_alarm_rates(world_draws(world, shards, seed=3), 10, file)
    assert len(tested) == 80  # the uninterrupted one of the line before
    assert smaller == false_alarm_rates(world_draws(world, shards, seed=3), 10)


def test_the_simulation_tells_how_far_it_is_and_how_long_it_takes(tmp_path: Path) -> None:
    draws, seen = 6, list[tuple[int, int]]()
    before = simulation_seconds(tmp_path, draws, 0)
    world, shards = WORLDS["normal, 10 shards"]
    false_alarm_rates(world_draws(world, shards, 0), 4, world_file(tmp_path, "normal, 10 shards", shards, 0))
    continued = simulation_seconds(tmp_path, draws, 0)
    assert 0 < continued < before
    exhibit([], draws, 0, tmp_path, lambda done, total: seen.append((done, total)))
    total = draws * len(WORLDS)
    assert seen[0] == (4, total)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (total, total)
    assert simulation_seconds(tmp_path, draws, 0) == 0
    assert simulation_seconds(tmp_path, 2 * draws, 0) > 0


def test_controls_continue_too(tmp_path: Path) -> None:
    file = tmp_path / "draws.jsonl"
    false_alarm_rates(control_draws(CONTROLS, seed=0), 15, file)
    assert false_alarm_rates(control_draws(CONTROLS, 0), 30, file) == false_alarm_rates(control_draws(CONTROLS, 0), 30)


@pytest.mark.parametrize("cut", [0, 1, 30])
def test_a_line_that_was_cut_off_is_tested_again(tmp_path: Path, tested: list[Any], cut: int) -> None:
    world, shards = WORLDS["normal, 10 shards"]
    file = tmp_path / "draws.jsonl"
    whole = false_alarm_rates(world_draws(world, shards, 0), 20, file)
    kept = file.read_bytes()
    start = kept.rindex(b"[")
    file.write_bytes(kept[: start + cut])
    tested.clear()
    assert false_alarm_rates(world_draws(world, shards, 0), 20, file) == whole
    assert len(tested) == 1
    tested.clear()
    assert false_alarm_rates(world_draws(world, shards, 0), 20, file) == whole
    assert not tested


def test_what_determines_the_draws_has_its_own_file(tmp_path: Path) -> None:
    one = simulation_file(tmp_path, scores="left skew, 10 shards", seed=0, shards=10)
    assert one.name.startswith("left-skew-10-shards-")
    assert one != simulation_file(tmp_path, scores="left skew, 10 shards", seed=1, shards=10)
    assert one == simulation_file(tmp_path, shards=10, seed=0, scores="left skew, 10 shards")


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("")
    world, shards = WORLDS["normal, 10 shards"]
    with pytest.raises(StorageError, match=r"draws\.jsonl cannot be written"):
        false_alarm_rates(world_draws(world, shards, 0), 1, tmp_path / "folder" / "draws.jsonl")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX's")
def test_a_killed_simulation_continues_with_the_same_numbers(tmp_path: Path) -> None:
    """Killed four times in the middle, it tests each draw once, but for the one of each kill."""
    folder, draws, kills = tmp_path / "kept", 120, 4
    code = (
        "import sys; from pathlib import Path; from harness.contamination.lab.exhibits import false_alarms;"
        f"false_alarms([], {draws}, 5, Path(sys.argv[1]))"
    )

    def kept() -> list[str]:
        files = sorted(folder.glob("*.jsonl"))
        return [f"{file.name} {line}" for file in files for line in file.read_text().split("\n") if line]

    for _ in range(kills):
        before = len(kept())
        with subprocess.Popen([sys.executable, "-c", code, str(folder)]) as process:
            until = time.monotonic() + 120
            while len(kept()) < before + 100 and process.poll() is None and time.monotonic() < until:
                time.sleep(0.002)
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
        assert before + 100 <= len(kept()) < draws * len(WORLDS)
    before = len(kept())
    continued = exhibit([], draws, 5, folder).records
    assert continued == exhibit([], draws, 5).records
    whole = [line for line in kept() if line.endswith("]")]
    assert len(whole) == draws * len(WORLDS)
    assert len(kept()) - len(whole) <= kills  # lines that a kill cut off
    assert len(kept()) - before <= draws * len(WORLDS) - 100 * kills + kills
    for line in whole:
        json.loads(line.partition(" ")[2])
