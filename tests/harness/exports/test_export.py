"""Exporting a results folder, a suite or a run: what is written, left out and refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.errors import DataError, HarnessError, SpecError
from harness.exports.export import export_runs
from harness.exports.exporter import FORMATS, CannotHoldError, Exporter, ExportOptions
from harness.exports.output_folder import OutputFolder
from harness.exports.report import ExportReport
from harness.exports.stored_run import StoredRun, stored_runs
from harness.storage.results import RUN_FILE


def _runs(results: Path) -> list[Path]:
    return sorted(file.parent for file in results.rglob(RUN_FILE))


def test_a_results_folder_a_suite_and_a_run_can_be_exported(finished: Path) -> None:
    assert (
        len(stored_runs(finished)) == len(stored_runs(finished / "small")) == len(stored_runs(finished, ["small"])) == 4
    )
    assert [run.record.directory for run in stored_runs(_runs(finished)[0])] == [_runs(finished)[0]]


def test_hidden_runs_are_not_exported(finished: Path, tmp_path: Path) -> None:
    run = _runs(finished)[0]
    shutil.copytree(run, tmp_path / "results" / "small" / f".{run.name}")
    for folder in (tmp_path / "results", tmp_path / "results" / "small"):
        with pytest.raises(DataError, match=r"holds no runs: there is no run\.json"):
            stored_runs(folder)


def test_examples_come_with_their_scores(finished: Path) -> None:
    run = stored_runs(finished)[0]
    examples = [one for one in run.examples() if one.example.instance.perturbation is None]
    assert len(examples) == 20
    assert {name for one in examples for name in one.scores} == {"exact_match"}
    assert run.main_stat is not None
    assert run.main_stat.mean == pytest.approx(sum(one.scores["exact_match"] for one in examples) / 20)


def test_samples_of_private_data_are_not_exported(results: Path, tmp_path: Path) -> None:
    file = _runs(results)[0] / RUN_FILE
    record = json.loads(file.read_text())
    record["spec"]["scenario"] = {"name": "sealed_texts", "arguments": {"path": "a.key.jsonl", "kind": "twin"}}
    file.write_text(json.dumps(record))
    report, files = export_runs(file.parent, "every-eval-ever", tmp_path / "out")
    assert report.notes[0] == "samples of private data are never exported: sealed_texts."
    assert [path.suffix for path in files] == [".json"]


class _Impossible:
    """A model that finds every text impossible."""

    def score(self, requests: Any) -> list[list[float]]:
        return [[float("-inf")] for _ in requests]


@pytest.mark.parametrize("format_", sorted(FORMATS.keys() - {"eval-results", "model-index"}))
def test_infinite_numbers_are_a_message(format_: str, tmp_path: Path) -> None:
    runs = ["sample_multiple_choice"]
    harness.evaluate(_Impossible(), runs=runs, max_eval_instances=3, results_dir=tmp_path / "results", progress=False)
    report, _ = export_runs(tmp_path / "results", format_, tmp_path / "out")
    assert report.refused == []
    assert report.runs == 1 or "an infinite or undefined number" in report.unsupported[0]


def test_a_folder_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds no runs: there is no run\.json"):
        stored_runs(tmp_path)


def test_every_format_can_be_loaded() -> None:
    for name, one in FORMATS.items():
        kind = one.load()
        assert issubclass(kind, Exporter), name
        assert issubclass(kind.options_type, ExportOptions), name


def test_an_unknown_format_and_an_unknown_option_are_named(finished: Path, tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match=r"no export format 'every-eval-eve'\. Did you mean 'every-eval-ever'\?"):
        export_runs(finished, "every-eval-eve", tmp_path / "out")
    with pytest.raises(SpecError, match=r"organisation.*organization"):
        export_runs(finished, "every-eval-ever", tmp_path / "out", settings={"organisation": "We"})
    with pytest.raises(SpecError, match=r"relationship.*first_party"):
        export_runs(finished, "every-eval-ever", tmp_path / "out", settings={"relationship": "friend"})
    with pytest.raises(SpecError, match=r"^organisation: is not an option of lm-eval, which has none\.$"):
        export_runs(finished, "lm-eval", tmp_path / "out", settings={"organisation": "We"})
    assert not (tmp_path / "out").exists()


def test_failed_runs_are_left_out_and_counted(results: Path, tmp_path: Path) -> None:
    file = _runs(results)[0] / RUN_FILE
    file.write_text(json.dumps({**json.loads(file.read_text()), "status": "failed", "error": "no memory"}))
    report, _ = export_runs(results, "every-eval-ever", tmp_path / "out")
    assert report.runs == 3
    assert report.left_out["failed runs"] == 1


def test_strict_writes_nothing_if_anything_would_be_lost(results: Path, tmp_path: Path) -> None:
    file = _runs(results)[0] / RUN_FILE
    file.write_text(json.dumps({**json.loads(file.read_text()), "status": "failed", "error": "no memory"}))
    with pytest.raises(
        HarnessError, match=r"nothing was exported \(--strict\):\nevery-eval-ever has no place for 1 failed"
    ):
        export_runs(results, "every-eval-ever", tmp_path / "out", strict=True)
    assert not (tmp_path / "out").exists()


def test_a_run_with_damaged_examples_is_refused_and_leaves_no_file(results: Path, tmp_path: Path) -> None:
    damaged = _runs(results)[0]
    (damaged / "examples.jsonl.gz").write_bytes(b"damaged")
    report, files = export_runs(results, "every-eval-ever", tmp_path / "out")
    assert report.runs == 3
    assert len(files) == 6 == len(list((tmp_path / "out").rglob("*.json*")))
    assert len(report.refused) == 1
    assert report.refused[0].startswith(f"{damaged}: not exported: ")


class _Half(Exporter):
    """Writes one file of each run, then finds that the format cannot hold runs with perturbations."""

    def export_run(self, run: StoredRun, folder: OutputFolder, report: ExportReport) -> None:
        folder.write("first", f"{run.record.name}.txt", text="text")
        if run.record.spec.perturbations:
            raise CannotHoldError("it has perturbed copies.")


@pytest.fixture
def out(tmp_path: Path) -> Iterator[OutputFolder]:
    with OutputFolder(tmp_path / "out") as folder:
        yield folder


def test_files_of_a_refused_run_do_not_appear(finished: Path, out: OutputFolder) -> None:
    from harness.plugins.registry import Registry

    report = ExportReport()
    _Half(ExportOptions(), Registry()).export(stored_runs(finished), out, report)
    assert report.runs == 2
    assert [sentence.rpartition(": ")[2] for sentence in report.unsupported] == ["it has perturbed copies."] * 2
    assert len(out.files) == 2
