"""A sweep of made-up questions for tests and benchmarks of executors, and what is to be compared of its results."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

SCENARIO = """\
name: sums
title: Sums
description: Made-up questions.
citation: Made up for these tests.
taxonomy: {task: question answering, what: numbers, who: nobody, when: now, language: English}
source: {files: {train: ./sums/train.jsonl, test: ./sums/test.jsonl}}
id: "{{ id }}"
input: "What is {{ a }} and {{ b }}?"
references: ["Yes", "No"]
correct: "{{ 'Yes' if (a + b) % 2 == 0 else 'No' }}"
adapter: {method: generation, max_tokens: 4, max_train_instances: 2}
metrics: [accuracy]
main_metric: exact_match
eval_split: test
"""

SWEEP = """\
suite: cluster
plugins: [./sums.yaml]
models:
  - {{name: "fake:0", delay: {delay}, log: asked-0.log, resources: {{gpus: 0, replicas: 2}}}}
  - {{name: "fake:1", delay: {delay}, log: asked-1.log, resources: {{gpus: 0}}}}
runs:
  - {{scenario: sums}}
  - {{scenario: sums, adapter: {{max_train_instances: 0}}}}
  - {{scenario: sums, adapter: {{method: multiple_choice_joint}}}}
"""
RUNS, INSTANCES = 6, 300


def sums(folder: Path, delay: float = 0.003, instances: int = INSTANCES) -> Path:
    """Write the sweep into a folder, and return the folder."""
    (folder / "sums").mkdir(parents=True)
    (folder / "sums.yaml").write_text(SCENARIO)
    (folder / "sweep.yaml").write_text(SWEEP.format(delay=delay))
    for split, count in (("train", 8), ("test", instances)):
        rows = [json.dumps({"id": f"{split}-{number}", "a": number, "b": number % 7}) for number in range(count)]
        (folder / "sums" / f"{split}.jsonl").write_text("\n".join(rows) + "\n")
    return folder


def start(folder: Path, address: str | None, *options: str) -> subprocess.Popen[str]:
    """Start the sweep in this folder, on a Ray cluster if there is an address."""
    executor = ["--executor", "ray", "--address", address] if address else []
    command = [sys.executable, "-m", "harness", "run", "sweep.yaml", *executor, *options]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def run(folder: Path, address: str | None, *options: str, seconds: float = 400.0) -> str:
    """Run the sweep in this folder to its end, and return what it printed."""
    process = start(folder, address, *options)
    text, _ = process.communicate(timeout=seconds)
    assert process.returncode == 0, text
    return text


def asked(folder: Path) -> Counter[tuple[str, str]]:
    """Count how often each question was asked of each model."""
    return Counter((log.name, line) for log in folder.glob("asked-*.log") for line in log.read_text().split())


def wait_for_questions(folder: Path, count: int, seconds: float = 400.0) -> None:
    """Wait until this number of questions has been asked."""
    until = time.monotonic() + seconds
    while asked(folder).total() < count:
        assert time.monotonic() < until, "the sweep does not begin"
        time.sleep(0.02)


_TIMES = ("started", "finished")
_OF_A_MACHINE = ("host", "command", "workers", "devices", "device")


def results(folder: Path) -> dict[str, tuple[Any, bytes]]:
    """Return each run's record without times and hosts, and its examples."""
    found = {}
    for file in sorted(folder.glob("results/*/*/run.json")):
        record = json.loads(file.read_text())
        for key in _TIMES:
            del record[key]
        for key in _OF_A_MACHINE:
            record["provenance"].pop(key, None)
            record["provenance"]["model"].pop(key, None)
        timed = ("second", "cached", "computed", "joules", "energy", "runtime")
        record["efficiency"] = {
            key: value for key, value in record["efficiency"].items() if not any(word in key for word in timed)
        }
        record["stats"] = [stat for stat in record["stats"] if "second" not in stat["metric"]]
        found[file.parent.name] = (record, gzip.decompress((file.parent / "examples.jsonl.gz").read_bytes()))
    return found


def check_results(folder: Path, expected: dict[str, tuple[Any, bytes]]) -> None:
    """Check that nothing is lost and nothing left behind."""
    found = results(folder)
    assert found.keys() == expected.keys()
    for name, (record, examples) in expected.items():
        assert examples == found[name][1], name
        assert record == found[name][0], name
    assert not any((folder / "results" / ".jobs").glob("*"))
    assert not any((folder / "results" / ".claims").glob("*"))
