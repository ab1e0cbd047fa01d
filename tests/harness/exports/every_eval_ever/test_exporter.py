"""Every Eval Ever's files: valid by its schemas, in its layout, and the same whenever they are written."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from harness.exports.export import export_runs
from harness.imports.every_eval_ever.validation import problem

UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


@pytest.fixture(scope="module")
def exported(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("exported")
    settings = {"organization": "Our lab", "relationship": "third_party"}
    report, files = export_runs(finished, "every-eval-ever", out, settings=settings)
    assert (report.runs, report.refused, dict(report.left_out)) == (4, [], {})
    assert len(files) == 8
    return out


def _aggregates(folder: Path) -> dict[Path, dict[str, Any]]:
    return {file: json.loads(file.read_text()) for file in sorted(folder.rglob("*.json"))}


def _samples(file: Path) -> list[dict[str, Any]]:
    lines = file.with_name(f"{file.stem}_samples.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_every_file_is_valid(exported: Path) -> None:
    for file, value in _aggregates(exported).items():
        assert problem(value, "aggregate") is None
        rows = _samples(file)
        assert rows
        assert [problem(row, "sample") for row in rows] == [None] * len(rows)


def test_files_are_where_the_archive_wants_them(exported: Path) -> None:
    for file, value in _aggregates(exported).items():
        place = file.relative_to(exported).parts
        assert place[:4] in {("data", "quiz", "local", "0"), ("data", "quiz", "local", "1")}
        assert UUID4.fullmatch(file.stem)
        assert value["model_info"]["id"] == "/".join(place[2:4])
        detailed = value["detailed_evaluation_results"]
        samples = exported / detailed["file_path"]
        assert samples == file.with_name(f"{file.stem}_samples.jsonl")
        assert detailed["total_rows"] == len(_samples(file))
        assert detailed["checksum"] == hashlib.sha256(samples.read_bytes()).hexdigest()


def test_samples_refer_to_their_results(exported: Path) -> None:
    for file, value in _aggregates(exported).items():
        results = {one["evaluation_result_id"]: one for one in value["evaluation_results"]}
        rows = _samples(file)
        assert {row["evaluation_id"] for row in rows} == {value["evaluation_id"]}
        assert {row["model_id"] for row in rows} == {value["model_info"]["id"]}
        scores = [row["evaluation"]["score"] for row in rows if row["evaluation_result_id"] == "exact_match/valid"]
        details = results["exact_match/valid"]["score_details"]
        assert details["uncertainty"]["num_samples"] == len(scores) == 20
        assert details["score"] == pytest.approx(sum(scores) / 20)


def test_evaluation_ids_differ(exported: Path) -> None:
    assert len({value["evaluation_id"] for value in _aggregates(exported).values()}) == 4


def test_the_same_results_give_the_same_files(finished: Path, exported: Path, tmp_path: Path) -> None:
    settings = {"organization": "Our lab", "relationship": "third_party"}
    export_runs(finished, "every-eval-ever", tmp_path, settings=settings)
    for file in exported.rglob("*.json*"):
        assert (tmp_path / file.relative_to(exported)).read_bytes() == file.read_bytes()


def test_samples_can_be_left_out_or_limited_to_the_main_metric(finished: Path, tmp_path: Path) -> None:
    export_runs(finished, "every-eval-ever", tmp_path / "none", settings={"samples": "none"})
    assert not list(tmp_path.rglob("*.jsonl"))
    assert all("detailed_evaluation_results" not in value for value in _aggregates(tmp_path).values())
    export_runs(finished, "every-eval-ever", tmp_path / "main", settings={"samples": "main"})
    rows = [row for file in _aggregates(tmp_path / "main") for row in _samples(file)]
    assert {row["metadata"]["metric"] for row in rows} == {"exact_match"}


def test_no_folder_of_this_machine_is_in_the_files(finished: Path, exported: Path) -> None:
    for file in exported.rglob("*.json*"):
        assert str(finished.parent) not in file.read_text(encoding="utf-8")
