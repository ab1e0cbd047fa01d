"""The local executor: several heads give what one gives, and a dead one is replaced."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

from harness.executors.job import JOBS_FOLDER, Job
from harness.executors.local import LocalExecutor
from harness.executors.reports import Report, Reports
from harness.plugins.registry import Registry
from harness.progress.file import PROGRESS_FOLDER
from harness.runs.claims import CLAIMS_FOLDER
from harness.runs.settings import Settings
from harness.runs.sweep_state import SweepState
from harness.storage.results import RunRecord
from harness.sweeps.executor_keys import LocalKeys
from tests.harness.runs.test_runner import Silent, folder, registry, spec

__all__ = ["folder", "registry"]  # fixtures

TIMES = ("seconds", "runtime", "examples_per", "tokens_per")


def job(folder: Path, *models: str, results: str = "results", force: bool = False, **arguments: Any) -> Job:
    """A job of two runs with each model."""
    runs = [
        spec(model, {"log": str(folder / f"log-{model[5:]}"), **arguments}, seed=seed)
        for model in models
        for seed in (0, 1)
    ]
    return Job(runs, Settings(folder / results, folder, force), [folder / "quiz.yaml"])


def run(job: Job, registry: Registry, heads: int, state: SweepState | None = None) -> list[RunRecord]:
    return list(LocalExecutor(LocalKeys(heads=heads), registry).run(job, state or Silent()))


def asked(folder: Path) -> Counter[str]:
    return Counter(f"{file.name} {word}" for file in folder.glob("log-*") for word in file.read_text().split())


def written(results: Path) -> dict[str, Any]:
    """Return what of each run's files must not depend on times, hosts and the command."""
    found = {}
    for file in sorted(results.glob("*/*/run.json")):
        value = json.loads(file.read_text())
        for key in ("started", "finished"):
            del value[key]
        for key in ("host", "command", "workers"):
            value["provenance"].pop(key, None)
        value["efficiency"] = {k: v for k, v in value["efficiency"].items() if not any(part in k for part in TIMES)}
        value["stats"] = [stat for stat in value["stats"] if not any(part in stat["metric"] for part in TIMES)]
        found[file.parent.name] = value, (file.parent / "examples.jsonl.gz").read_bytes()
    return found


def test_three_heads_write_what_one_writes(folder: Path, registry: Registry) -> None:
    models = ("fake:0", "fake:1", "fake:2")
    alone = run(job(folder, *models, results="alone"), registry, 1)
    questions = asked(folder)
    for log in folder.glob("log-*"):
        log.unlink()
    state = Silent()
    records = run(job(folder, *models), registry, 3, state)
    assert {record.name for record in records} == {record.name for record in alone}
    assert written(folder / "results") == written(folder / "alone")
    assert asked(folder) == questions
    assert os.getpid() not in {worker["pid"] for record in records for worker in record.provenance["workers"]}
    assert {tuple(record.provenance["command"]) for record in records} == {(os.path.basename(sys.argv[0]),)}
    assert sorted(state.finished_runs) == sorted(record.name for record in records)
    assert (state.done, state.failed, state.under_way, state.skipped_runs) == (6, 0, [], [])
    left = {path.name for path in (folder / "results").iterdir() if path.is_dir()}
    assert JOBS_FOLDER not in left
    assert list((folder / "results" / CLAIMS_FOLDER).iterdir()) == []
    assert list((folder / "results" / PROGRESS_FOLDER).iterdir()) == []


def test_finished_runs_are_found_and_failing_ones_are_tried_once(folder: Path, registry: Registry) -> None:
    run(job(folder, "fake:0"), registry, 1)
    before = asked(folder)
    both = job(folder, "fake:0", "nowhere:1")
    state = Silent()
    records = run(both, registry, 2, state)
    assert asked(folder) == before
    assert Counter(record.status for record in records) == {"ok": 2, "failed": 2}
    assert len(state.skipped_runs) == 2
    assert len(state.finished_runs) == 2


def test_each_run_is_repeated_once_if_that_is_asked_for(folder: Path, registry: Registry) -> None:
    run(job(folder, "fake:0", "fake:1"), registry, 1)
    state = Silent()
    run(job(folder, "fake:0", "fake:1", force=True), registry, 2, state)
    assert len(state.finished_runs) == 4
    assert state.skipped_runs == []


def test_runs_that_ended_by_the_time_of_a_stop_are_counted(folder: Path, registry: Registry) -> None:
    """Ctrl-C comes after the first record was read; the state then knows the other runs, too."""
    state = Silent()
    executing = LocalExecutor(LocalKeys(heads=2), registry).run(job(folder, "fake:0", "fake:1"), state)
    assert isinstance(executing, Generator)
    next(executing)
    [jobs] = (folder / "results" / JOBS_FOLDER).iterdir()
    while sum(_is_end(report) for report in Reports(jobs).new()) < 4:
        time.sleep(0.05)
    executing.close()
    assert len(state.finished_runs) == state.done == 4


def _is_end(report: Report) -> bool:
    return "ended" in report.content and not report.content.get("before")
