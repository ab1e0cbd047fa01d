"""Killed fifty times at random moments and started again, a sweep ends as if nothing had happened."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks and SIGKILL are POSIX's")

KILLS = 50

SWEEP = """\
suite: killed
models:
  - {{name: "fake:0", delay: 0.004, log: {log}-0}}
  - {{name: "fake:1", delay: 0.004, log: {log}-1}}
defaults: {{perturbations: [lowercase, typos]}}
runs: [sample_reading, sample_generation, sample_multiple_choice, sample_sentiment]
"""

# Forks what it has loaded, so that fifty processes need no fifty starts of Python. Every other one is killed after up
# to three times what a process takes to its first question, the others soon after a question not asked before.
KILLER = """
import json, os, random, signal, sys, time
from pathlib import Path
from harness.plugins.registry import default_registry
from harness.runs.runner import Settings, run_sweep
from harness.sweeps.load import load_sweep

folder, kills = Path(sys.argv[1]), int(sys.argv[2])
registry = default_registry()
runs = {}
for log in ("log-whole", "log-killed"):
    (folder / f"{log}.yaml").write_text((folder / "sweep.txt").read_text().replace("LOG", str(folder / log)))
    runs[log] = load_sweep(folder / f"{log}.yaml", registry=registry)[0].runs

def start(results, log):
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        records = list(run_sweep(runs[log], registry, Settings(folder / results)))
        code = 0 if all(record.status == "ok" for record in records) else 2
    finally:
        os._exit(code)

def lengths(log):
    files = [folder / f"{log}-{number}" for number in (0, 1)]
    return [len(file.read_text().split()) if file.exists() else 0 for file in files]

began = time.monotonic()
process = start("whole", "log-whole")
while not sum(lengths("log-whole")):
    time.sleep(0.001)
first = time.monotonic() - began
codes, kept = [os.waitpid(process, 0)[1]], []
draw = random.Random(0)
for number in range(kills):
    before, ended = lengths("log-killed"), 0
    process = start("killed", "log-killed")
    if number % 2:
        while not ended and lengths("log-killed") == before:
            ended = os.waitpid(process, os.WNOHANG)[0]
        time.sleep(draw.uniform(0.0, 0.03))
    else:
        time.sleep(draw.uniform(0.0, 3.0 * first))
    if not ended:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    kept.append(lengths("log-killed"))
codes.append(os.waitpid(start("killed", "log-killed"), 0)[1])
print(json.dumps({"codes": codes, "kept": kept}))
"""

_TIMES = ("wall_seconds", "cached_queries", "cached_share", "computed_tokens", "energy_joules")


def comparable(file: Path) -> dict[str, Any]:
    """Return a run.json without times, and without what says that answers came from the cache."""
    value: dict[str, Any] = json.loads(file.read_text())
    del value["started"], value["finished"], value["spec"]["operational"]  # which names the log
    del value["provenance"]["workers"]  # their process ids
    value["efficiency"] = {key: item for key, item in value["efficiency"].items() if key not in _TIMES}
    return {
        key: item for key, item in value.items() if key != "name"
    }  # ends in the digest of a spec that names the log


def results(folder: Path) -> dict[str, tuple[dict[str, Any], bytes]]:
    """Return each run's record and examples, by scenario and model."""
    found = {}
    for file in folder.glob("*/*/run.json"):
        value = comparable(file)
        name = f"{value['spec']['scenario']} {value['spec']['model']['name']}"
        found[name] = (value, gzip.decompress((file.parent / "examples.jsonl.gz").read_bytes()))
    return found


@pytest.mark.slow
@pytest.mark.timeout(900)  # fifty starts of an interpreter
def test_fifty_kills_change_no_result_and_no_answered_question_is_asked_again(tmp_path: Path) -> None:
    (tmp_path / "sweep.txt").write_text(SWEEP.format(log="LOG"))
    done = subprocess.run(
        [sys.executable, "-c", KILLER, str(tmp_path), str(KILLS)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["codes"] == [0, 0], done.stderr
    whole, killed = results(tmp_path / "whole"), results(tmp_path / "killed")
    assert len(whole) == 8
    assert killed == whole
    left = {file.name for file in (tmp_path / "killed" / "killed").rglob("*") if file.is_file()}
    assert left == {"run.json", "examples.jsonl.gz"}
    lengths = [tuple(kept) for kept in said["kept"]]
    assert len(set(lengths)) > KILLS // 5, "too few of the kills came while questions were answered"
    for model in (0, 1):
        expected = (tmp_path / f"log-whole-{model}").read_text().split()
        asked = (tmp_path / f"log-killed-{model}").read_text().split()
        assert set(asked) == set(expected)
        assert len(expected) == len(set(expected))
        # The model writes a question down before it answers: only the last one before a kill may have had no answer.
        in_flight = {kept[model] - 1 for kept in lengths}
        seen = Counter[str]()
        for place in reversed(range(len(asked))):
            assert not seen[asked[place]] or place in in_flight
            seen[asked[place]] += 1
