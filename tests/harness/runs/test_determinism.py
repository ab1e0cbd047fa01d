"""The determinism grade in run.json, and where it is shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import harness
from harness import Completion, GenerateRequest, Model, Response
from harness.contracts import Determinism
from harness.contracts.determinism import weakest
from harness.leaderboard.tables import stats_of
from harness.plugins.registry import default_registry


def grade_of(results: Any) -> dict[str, Any]:
    (record,) = results.records()
    found: dict[str, Any] = json.loads((record.directory / "run.json").read_text())["provenance"]["determinism"]
    return found


def test_the_grade_is_recorded_and_shown(tmp_path: Path) -> None:
    results = harness.run(runs=["sample_reading"], models=["fake:0"], results_dir=tmp_path, progress=False)
    meaning = "The same answers, bit for bit, on any machine."
    assert grade_of(results) == {"grade": "exact", "meaning": meaning, "sampled": False}
    assert results.runs()["determinism"].tolist() == ["exact"]
    (record,) = results.records()
    assert ("determinism", f"exact: {meaning}") in stats_of(record, default_registry()).intro


def test_sampling_is_recorded(tmp_path: Path) -> None:
    models = [{"name": "fake:0", "temperature": 0.7}]
    results = harness.run(runs=["sample_reading"], models=models, results_dir=tmp_path, progress=False)
    assert grade_of(results)["sampled"] is True


class Silent(Model):
    """A model of a plugin that says nothing of how it repeats itself."""

    answers = frozenset({"generate"})

    def fingerprint(self) -> dict[str, Any]:
        return {"silent": True}

    def answer(self, requests: Any) -> Any:
        for index, request in enumerate(requests):
            assert isinstance(request, GenerateRequest)
            yield index, Response((Completion("Paris", finish_reason="stop"),))


def test_a_backend_that_says_nothing_is_unknown(tmp_path: Path) -> None:
    results = harness.evaluate(Silent(), runs=["sample_reading"], results_dir=tmp_path, progress=False)
    assert grade_of(results)["grade"] == "unknown"


@pytest.mark.parametrize(
    ("grades", "expected"), [("exact provider float32", "provider"), ("batched float32", "batched"), ("", "exact")]
)
def test_the_weakest_grade_counts(grades: str, expected: str) -> None:
    assert weakest(map(Determinism, grades.split())) == expected


def test_a_judge_of_another_grade_counts(tmp_path: Path) -> None:
    server = {"name": "fake:0"}
    runs = [{"scenario": "sample_reading", "metrics": [{"name": "judge_score", "rubric": "simpleqa", "model": server}]}]
    results = harness.run(runs=runs, models=["fake:1"], results_dir=tmp_path, progress=False, max_declined=1.0)
    assert grade_of(results)["judges"] == {"fake:0": "exact"}
