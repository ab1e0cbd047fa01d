"""A test of many files that is killed again and again goes on where it was, and asks nothing twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from harness.storage.results import find_runs

WORDS = ("amber", "birch", "comet", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty", "kelp", "lagoon")
FILES, KILLS = 57, 4


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX's")
def test_a_sweep_of_57_files_that_is_killed_asks_no_score_twice(tmp_path: Path) -> None:
    rng = Random(0)
    for number in range(FILES):
        lines = [" ".join([f"{rng.random():.6f}", *rng.sample(WORDS, 2)]) for _ in range(8)]
        (tmp_path / f"subject-{number:02d}.txt").write_text("\n".join(lines) + "\n")
    log = tmp_path / "asked"
    runs = [
        {
            "scenario": {"name": "published_file", "path": str(tmp_path / f"subject-{number:02d}.txt")},
            "adapter": {"method": "exchangeability", "context": 100, "shuffles": 3},
        }
        for number in range(FILES)
    ]
    model = {"name": "fake:0", "log": str(log)}
    sweep = tmp_path / "sweep.json"
    sweep.write_text(json.dumps({"suite": "killed", "models": [model], "runs": runs}))
    command = [sys.executable, "-m", "harness", "run", str(sweep), "--results-dir", str(tmp_path / "results")]

    def asked() -> list[str]:
        return log.read_text().split() if log.exists() else []

    for _ in range(KILLS):
        before = len(asked())
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            until = time.monotonic() + 60
            while len(asked()) < before + 300 and process.poll() is None and time.monotonic() < until:
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    records = find_runs(tmp_path / "results")
    assert len(records) == FILES
    assert all(record.status == "ok" and record.details["contamination"] for record in records)
    # What was being written when a kill came may be lost, one answer a kill.
    again = sum(count - 1 for count in Counter(asked()).values())
    assert again <= KILLS
