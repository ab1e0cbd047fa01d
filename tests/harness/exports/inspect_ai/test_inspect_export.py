"""Logs of inspect_ai: what is exported comes back, and says the same to inspect_ai."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from harness import Tool
from harness.exports.export import export_runs
from harness.exports.inspect_ai.messages import tool_info
from harness.exports.stored_run import StoredRun, stored_runs
from harness.exports.tasks import Task
from harness.imports.imported_run import Imported
from harness.imports.inspect_ai import REPORTED, inspect_logs, read_inspect
from harness.imports.inspect_log import read_log
from harness.plugins.registry import Registry, default_registry
from tests.harness.exports.round_trips import asked, key, said


@pytest.fixture(scope="session")
def registry() -> Registry:
    return default_registry()


def _header(file: Path) -> dict[str, Any]:
    with zipfile.ZipFile(file) as archive:
        found: dict[str, Any] = json.loads(archive.read("header.json"))
    return found


def _back(results: Path, folder: Path, registry: Registry) -> dict[tuple[str, str], tuple[StoredRun, Imported]]:
    """Each log by its run and perturbation, with the run that it was made of."""
    report, files = export_runs(results, "inspect", folder)
    assert not report.refused
    runs = {(run.record.suite, run.record.name): run for run in stored_runs(results)}
    found = {}
    for file in files:
        header = _header(file)["eval"]
        run = runs[header["metadata"]["suite"], header["metadata"]["run"]]
        changed = header["task_args"].get("perturbation", "")
        found[f"{run.record.suite}/{run.record.name}", changed] = (run, read_inspect(file, "back", registry))
    return found


def test_what_was_asked_answered_and_scored_comes_back(richer: Path, tmp_path: Path, registry: Registry) -> None:
    compared = 0
    for (_, perturbation), (run, imported) in _back(richer, tmp_path, registry).items():
        before = {key(one.example)[::2] + key(one.example)[3:]: one for one in run.examples()
                  if (one.example.instance.perturbation or "") == perturbation
                  and str(one.example.instance.split) == run.record.spec.eval_split}  # fmt: skip
        after = {key(one.example)[::2] + key(one.example)[3:]: one for one in imported.examples}
        if set(before) != set(after):
            continue  # a task of another split
        for identity, one in after.items():
            stored = before[identity]
            if len(stored.example.requests) == len(asked(stored.example)):
                assert said(one.example) == said(stored.example)
            if stored.error is None:
                theirs = {name.removeprefix("inspect.").removesuffix(".mean"): s for name, s in one.scores.items()}
                ours = {name: score for name, score in stored.scores.items() if name in theirs}
                assert {name: theirs[name] for name in ours} == ours
            assert one.error == stored.error
            compared += 1
    assert compared > 250


def test_numbers_come_back(richer: Path, tmp_path: Path, registry: Registry) -> None:
    for (_, perturbation), (run, imported) in _back(richer, tmp_path, registry).items():
        record = run.record
        after = {stat.metric: stat for stat in imported.stats}
        for stat in Task(record.spec.eval_split.value, perturbation).means(record):
            if imported.spec.scenario.arguments.get("split"):
                continue
            names = (stat.metric, f"inspect.{stat.metric}.mean", f"inspect.{stat.metric}.estimate")
            found = next(after[name] for name in names if name in after)
            assert found.metric == stat.metric or perturbation
            assert found.mean == pytest.approx(stat.mean, abs=1e-12)
            if not found.metric.endswith(".estimate"):
                assert found.count == stat.count
                assert found.stderr == pytest.approx(stat.stderr, abs=1e-9)


def test_perturbed_copies_are_a_log_of_their_own(finished: Path, tmp_path: Path, registry: Registry) -> None:
    report, files = export_runs(finished, "inspect", tmp_path)
    assert (report.runs, len(files), dict(report.left_out)) == (4, 6, {})
    (changed, *_) = [file for file in files if file.stem.endswith("_lowercase")]
    header = _header(changed)
    assert header["eval"]["task_args"]["perturbation"] == "lowercase"
    assert set(header["results"]["scores"][0]["metrics"]) >= {"mean", "lowercase worst", "lowercase drop"}
    (stat,) = [one for one in read_inspect(changed, "s", registry).stats if one.metric == "inspect.exact_match.mean"]
    assert stat.count == 20
    assert stat.note != REPORTED
    assert inspect_logs(tmp_path) == sorted(files, key=lambda file: file.name, reverse=True)


def test_the_same_run_gives_the_same_bytes(finished: Path, tmp_path: Path) -> None:
    _, one = export_runs(finished, "inspect", tmp_path / "one")
    _, other = export_runs(finished, "inspect", tmp_path / "other")
    assert [file.read_bytes() for file in one] == [file.read_bytes() for file in other]


def test_a_log_has_no_paths_of_this_machine(finished: Path, tmp_path: Path) -> None:
    _, files = export_runs(finished, "inspect", tmp_path / "out")
    for file in files:
        with zipfile.ZipFile(file) as archive:
            for name in archive.namelist():
                assert str(tmp_path.parent) not in archive.read(name).decode()


def test_a_run_without_examples_has_its_numbers(results: Path, tmp_path: Path, registry: Registry) -> None:
    for file in results.rglob("examples.jsonl.gz"):
        file.unlink()
    report, files = export_runs(results, "inspect", tmp_path / "out")
    assert report.left_out == {"samples of runs without examples": 4}
    header, samples = read_log(files[0])
    assert list(samples) == []
    assert header.results is not None
    assert header.results.scores[0].metrics


def test_tools_keep_what_inspect_knows_of_a_schema() -> None:
    parameters = {
        "type": "object",
        "$defs": {"x": {}},
        "properties": {
            "town": {"type": "string", "examples": ["Rome"]},
            "days": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["town"],
    }
    assert tool_info(Tool("weather", "Tells the weather.", parameters)) == {
        "name": "weather",
        "description": "Tells the weather.",
        "parameters": {
            "type": "object",
            "properties": {"town": {"type": "string"}, "days": {"type": "array", "items": {"type": "integer"}}},
            "required": ["town"],
            "additionalProperties": False,
        },
    }
