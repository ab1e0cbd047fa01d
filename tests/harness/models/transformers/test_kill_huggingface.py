"""A sweep with a real model that is killed among its answers goes on from there."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from harness.plugins.registry import default_registry
from harness.runs.runner import Settings, run_sweep
from harness.sweeps.load import load_sweep

SWEEP = """\
suite: killed
models: [{{name: "hf:{checkpoint}", max_batch_tokens: 256}}]
runs: [sample_reading, {{scenario: sample_multiple_choice, adapter: {{method: multiple_choice_separate_original}}}}]
"""


def answers(file: Path) -> int:
    if not file.exists():
        return 0
    try:
        with closing(sqlite3.connect(file)) as database:
            return int(database.execute("SELECT COUNT(*) FROM responses").fetchone()[0])
    except sqlite3.Error:  # it is being made
        return 0


def records(folder: Path) -> dict[str, Any]:
    found = [json.loads(file.read_text()) for file in folder.glob("*/*/run.json")]
    return {record["name"]: record for record in found}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX's")
def test_a_kill_among_a_real_models_answers_changes_no_result(
    tmp_path: Path, tiny_checkpoint: Callable[..., Path]
) -> None:
    (tmp_path / "sweep.yaml").write_text(SWEEP.format(checkpoint=tiny_checkpoint("gpt2")))
    command = [sys.executable, "-m", "harness", "run", "sweep.yaml", "--results-dir", "killed"]
    killed = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
    cache = tmp_path / "killed" / "responses.sqlite"
    while answers(cache) < 5:
        assert killed.poll() is None
        time.sleep(0.002)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    stored = answers(cache)
    registry = default_registry()
    sweep, _ = load_sweep(tmp_path / "sweep.yaml", registry=registry)
    for results in ("whole", "killed"):
        list(run_sweep(sweep.runs, registry, Settings(tmp_path / results)))
    whole, resumed = records(tmp_path / "whole"), records(tmp_path / "killed")
    assert set(whole) == set(resumed)
    assert len(whole) == 2
    for name, record in resumed.items():
        assert record["status"] == whole[name]["status"] == "ok"
        for one, other in zip(record["stats"], whole[name]["stats"], strict=True):
            assert (one["metric"], one["count"], one["perturbation"]) == (
                other["metric"],
                other["count"],
                other["perturbation"],
            )
            if one["category"] != "efficiency":
                assert one["mean"] == pytest.approx(other["mean"], rel=1e-5, abs=1e-6)
    known = sum(record["efficiency"]["cached_queries"] for record in resumed.values())
    before = sum(record["efficiency"]["cached_queries"] for record in whole.values())
    assert known - before == stored


def test_a_run_that_the_cache_answers_alone_is_described_like_any_other(
    tmp_path: Path, tiny_checkpoint: Callable[..., Path]
) -> None:
    (tmp_path / "sweep.yaml").write_text(SWEEP.format(checkpoint=tiny_checkpoint("gpt2")))
    sweep, registry = load_sweep(tmp_path / "sweep.yaml", registry=default_registry())

    def run() -> dict[str, Any]:
        assert all(record.status == "ok" for record in run_sweep(sweep.runs, registry, Settings(tmp_path / "results")))
        return records(tmp_path / "results")

    first = run()
    for file in (tmp_path / "results").glob("*/*/run.json"):
        file.unlink()
    again = run()
    assert len(first) == 2
    for name, record in first.items():
        assert again[name]["efficiency"]["cached_share"] == 1.0
        assert record["provenance"]["model"] == again[name]["provenance"]["model"]
        assert record["provenance"]["model"]["parameters"] > 0
        assert record["efficiency"]["model_flops"] == again[name]["efficiency"]["model_flops"] > 0
