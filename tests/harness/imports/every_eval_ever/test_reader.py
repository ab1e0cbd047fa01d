"""Importing files of Every Eval Ever: real ones of another converter, and files that lie."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.errors import DataError
from harness.imports.every_eval_ever.files import every_eval_ever_files
from harness.imports.every_eval_ever.reader import read_every_eval_ever
from harness.imports.every_eval_ever.samples import read_samples
from harness.imports.imported_run import Imported, write_imported
from harness.plugins.registry import Registry

DATA = Path(__file__).parents[1] / "data" / "every_eval_ever"
"""What the converter of every-eval-ever 0.3.0 wrote of three small tasks that lm-eval 0.4.13 had run."""


def _read(path: Path, registry: Registry, metric: str | None = None) -> list[Imported]:
    return [one for file in every_eval_ever_files(path) for one in read_every_eval_ever(file, "s", registry, metric)]


def test_real_files_are_imported(registry: Registry, tmp_path: Path) -> None:
    found = {one.spec.scenario.name: one for one in _read(DATA, registry)}
    assert set(found) == {"tiny_quiz", "tiny_read", "tiny_write-first-word", "tiny_write-whole"}
    quiz = found["tiny_quiz"]
    assert [(stat.metric, stat.mean, stat.count) for stat in quiz.stats] == [
        ("lm-eval.acc", 0.1, 10),
        ("lm-eval.acc_norm", 0.4, 10),
    ]
    assert quiz.stats[0].stderr == pytest.approx(0.1)
    assert quiz.spec.main_metric == "lm-eval.acc"
    assert quiz.spec.model.name == "lm_eval:checkpoints/small-gpt2"
    assert quiz.origin["program"] == "lm_eval"
    assert len(quiz.origin["files"]) == 2
    first = quiz.examples[0]
    assert first.scores == {"lm-eval.acc": 0.0, "lm-eval.acc_norm": 0.0}
    assert [reference.text for reference in first.example.correct] == ["Iron"]  # named by its number
    assert (first.example.prediction, first.example.choice) == ("Wood", 1)
    for one in found.values():
        assert write_imported(tmp_path, one).status == "ok"


@pytest.mark.parametrize(
    ("options", "named", "correct"),
    [
        (["1", "2", "3"], ["1"], [0]),  # a text, though it is also the number of the second
        (["1", "2", "3"], ["0"], [0]),
        (["Iron", "Wood"], ["1"], [1]),
        (["Iron", "Wood", "Water"], ["0", "2"], [0, 2]),
        (["Iron", "Wood", "Water"], ["Iron", "Water"], [0, 2]),
        (["Iron", "Wood"], ["2"], []),
    ],
)
def test_references_are_texts_or_numbers(options: list[str], named: list[str], correct: list[int]) -> None:
    row = {
        "sample_id": "1",
        "input": {"raw": "Which?", "reference": named, "choices": options},
        "answer_attribution": [{"extracted_value": options[0], "is_terminal": True}],
        "output": {"raw": [options[0]]},
        "evaluation": {"score": 1.0},
    }
    (found,) = read_samples([(row, "acc", "test")], ours=False)
    references = found.example.instance.references
    assert [reference.text for reference in references] == options
    assert [index for index, reference in enumerate(references) if reference.correct] == correct


def test_the_main_metric_can_be_chosen(registry: Registry) -> None:
    (quiz,) = _read(DATA / "data" / "tiny_quiz", registry, "acc_norm")
    assert quiz.spec.main_metric == "lm-eval.acc_norm"
    with pytest.raises(DataError, match=r"no evaluation has the metric acc_nrm\. Did you mean 'lm-eval\.acc_norm'\?"):
        _read(DATA / "data" / "tiny_quiz", registry, "acc_nrm")


def test_samples_of_an_unknown_result_are_left_out_with_a_warning(
    registry: Registry, caplog: pytest.LogCaptureFixture
) -> None:
    (one,) = _read(DATA / "data" / "tiny_read", registry)
    assert one.examples == []
    assert "tiny_read: left out 10 samples: the evaluation has several results" in caplog.text


# Files that lie

Change = Callable[[dict[str, Any]], Any]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A copy of a real aggregate file, with its samples beside it."""
    shutil.copytree(DATA / "data" / "tiny_quiz", tmp_path / "archive")
    return next((tmp_path / "archive").rglob("*.json"))


def _result(value: dict[str, Any]) -> dict[str, Any]:
    first: dict[str, Any] = value["evaluation_results"][0]
    return first


def _interval(value: dict[str, Any], lower: float, upper: float) -> None:
    interval = {"lower": lower, "upper": upper, "confidence_level": 0.95}
    _result(value)["score_details"]["uncertainty"]["confidence_interval"] = interval


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v: v.update(schema_version="9.0"), "schema_version is '9.0'; this version reads 0.3.0"),
        (lambda v: v.pop("schema_version"), "schema_version is None; this version reads"),
        (lambda v: v.pop("model_info"), "'model_info' is a required property"),
        (lambda v: v.update(surprise=1), "Additional properties are not allowed .'surprise'"),
        (lambda v: _result(v)["score_details"].update(score="0.1"), r"score_details\.score: '0\.1' is not of type"),
        (lambda v: _result(v)["score_details"].update(score=17.5), r"score: 17\.5 is not between min_score 0 and max"),
        (lambda v: _result(v)["metric_config"].update(min_score=2), "min_score 2 is above max_score 1"),
        (
            lambda v: _result(v)["score_details"]["uncertainty"].update(
                confidence_interval={"lower": 1.0, "upper": 0.0, "confidence_level": 0.95}
            ),
            "lower 1 is above upper 0",
        ),
        (
            lambda v: _result(v)["score_details"]["uncertainty"].update(num_samples=-1),
            r"num_samples: must be at least 0, not -1",
        ),
        (
            lambda v: _result(v)["score_details"]["uncertainty"]["standard_error"].update(value=-0.5),
            r"standard_error\.value: must be at least 0",
        ),
        (
            lambda v: _result(v)["score_details"].update(score=0.9),
            r"evaluation_results\[0\]\.score_details\.score is 0\.9, but the mean of the 10 samples is 0\.1",
        ),
        (
            lambda v: _result(v)["score_details"]["uncertainty"].update(num_samples=1000),
            r"uncertainty\.num_samples is 1,000, but there are samples of 10 instances",
        ),
        (
            lambda v: _result(v)["score_details"]["uncertainty"]["standard_error"].update(value=0.001),
            r"uncertainty\.standard_error\.value is 0\.001, but the 10 samples give 0\.1",
        ),
        (
            lambda v: _interval(v, 0.2, 0.6),
            r"confidence_interval is 0\.2 to 0\.6, which excludes evaluation_results\[0\]",
        ),
        (lambda v: _interval(v, 0.09, 0.11), r"confidence_interval is 0\.09 to 0\.11, but the 10 samples give"),
        (lambda v: v["evaluation_results"].append(_result(v)), "evaluation_result_id: 'acc' is used twice"),
        (lambda v: _result(v).pop("evaluation_result_id"), "sample '0' is of a result that is not there"),
        (lambda v: v["evaluation_results"].clear(), "has no evaluation_results"),
        (lambda v: v["detailed_evaluation_results"].update(total_rows=21), "has 20 samples; .* says 21"),
        (
            lambda v: v["detailed_evaluation_results"].update(checksum="0" * 64),
            "was changed: its sha256 is not the one",
        ),
        (lambda v: v.update(evaluation_id="other"), "evaluation_id is 'tiny_quiz/.*'; the aggregate file says 'other'"),
        (lambda v: v["model_info"].update(id="a/b"), "model_id is '.*'; the aggregate file says 'a/b'"),
        (
            lambda v: v["detailed_evaluation_results"].update(file_path="data/../../etc/passwd"),
            "file_path: 'data/../../etc/passwd' does not match",
        ),
        (
            lambda v: v["eval_library"].update(additional_details={"written_by": "holistic-harness"}),
            "it has no 'metric'",
        ),
        (
            lambda v: v["eval_library"].update(additional_details={"written_by": "holistic-harness", "spec": "[]"}),
            "spec is not a run's spec|cannot be imported",
        ),
    ],
)
def test_a_file_that_lies_is_refused_by_name(file: Path, registry: Registry, change: Change, message: str) -> None:
    value = json.loads(file.read_text())
    change(value)
    file.write_text(json.dumps(value))
    with pytest.raises(DataError, match=message) as raised:
        _read(file, registry)
    assert str(file.parent) in str(raised.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "is not valid JSON"),
        (b"[]", "must be a JSON object"),
        (b"\xff\xfe", "is not UTF-8"),
        (b'{"schema_version": "0.3.0", "schema_version": "0.3.0"}', "twice"),
        (b'{"schema_version": "0.3.0", "evaluation_results": [NaN]}', "NaN"),
        (b"[" * 100_000, "nested"),
        (b"9" * 10_000, "number"),
    ],
)
def test_what_is_not_json_is_refused(file: Path, registry: Registry, content: bytes, message: str) -> None:
    file.write_bytes(content)
    with pytest.raises(DataError, match=message):
        _read(file, registry)


def _with_samples(file: Path, change: Change) -> None:
    """Change the third line, which is of sample 1, and what the aggregate file says of all of them."""
    samples = file.with_name(f"{file.stem}_samples.jsonl")
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    change(rows[2])
    samples.write_text("".join(json.dumps(row) + "\n" for row in rows))
    value = json.loads(file.read_text())
    value["detailed_evaluation_results"]["checksum"] = hashlib.sha256(samples.read_bytes()).hexdigest()
    file.write_text(json.dumps(value))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda row: row["evaluation"].update(score="high"), "row 3: .*score: 'high' is not of type 'number'"),
        (lambda row: row["evaluation"].update(score=float("nan")), "row 3: .*NaN"),
        (lambda row: row["evaluation"].update(is_correct=1), "row 3: .*is_correct: 1 is not of type 'boolean'"),
        (
            lambda row: row["evaluation"].update(score=17.0),
            r"score of sample '1' is 17, outside the range of lm-eval\.acc",
        ),
        (
            lambda row: row["evaluation"].update(is_correct=True, score=0.0),
            r"sample '1': evaluation\.is_correct is true, but evaluation\.score is 0",
        ),
        (lambda row: row.update(evaluation_result_id="acc_norm"), r"sample '1' has two scores of lm-eval\.acc_norm"),
        (lambda row: row.update(messages=[{"turn_idx": 0, "role": "user"}]), "row 3: is not a sample"),
        (
            lambda row: row.update(token_usage={"input_tokens": 5, "output_tokens": 5, "total_tokens": 1}),
            "total_tokens: 1 is less than",
        ),
    ],
)
def test_samples_that_lie_are_refused(file: Path, registry: Registry, change: Change, message: str) -> None:
    _with_samples(file, change)
    with pytest.raises(DataError, match=message):
        _read(file, registry)


def test_other_errors_and_intervals_are_kept(file: Path, registry: Registry) -> None:
    """Of a bootstrap, over documents that depend on each other, and of a score that is not a mean."""
    value = json.loads(file.read_text())
    details = _result(value)["score_details"]
    details["uncertainty"]["standard_error"]["value"] = 0.08
    _interval(value, 0.0, 0.3)
    file.write_text(json.dumps(value))
    (bootstrapped,) = _read(file, registry)
    assert (bootstrapped.stats[0].stderr, bootstrapped.stats[0].ci95) == (0.08, (0.0, 0.3))
    details["uncertainty"]["standard_error"] = {"value": 0.45, "method": "clustered by page"}
    file.write_text(json.dumps(value))
    assert _read(file, registry)[0].stats[0].stderr == 0.45
    _result(value)["metric_config"].update(metric_name="f1_macro", metric_kind="f1")
    details["score"] = 0.2
    file.write_text(json.dumps(value))
    assert _read(file, registry)[0].stats[0].mean == 0.2


def test_missing_samples_are_named(file: Path, registry: Registry) -> None:
    file.with_name(f"{file.stem}_samples.jsonl").unlink()
    with pytest.raises(DataError, match=r"names this samples file, which does not exist"):
        _read(file, registry)


def test_a_file_of_endless_length_is_not_read(file: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.imports.every_eval_ever.files.LONGEST_FILE", 1 << 20)
    with file.open("ab") as opened:
        opened.truncate(1 << 30)  # takes no space on the disk
    with pytest.raises(DataError, match="is longer than 1 MB"):
        _read(file, registry)


def test_only_folders_below_the_named_one_can_be_hidden(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ".cache" / "logs"
    for one in (folder, folder / ".old"):
        one.mkdir(parents=True)
        shutil.copy(file, one)
    assert every_eval_ever_files(folder) == [folder / file.name]
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert every_eval_ever_files(Path("../.cache/logs")) == [Path("../.cache/logs", file.name)]


def test_a_folder_without_files_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has no files of Every Eval Ever: there is no \.json file"):
        every_eval_ever_files(tmp_path)


@pytest.mark.parametrize("efficiency", ["{", "[1]", "7"])
def test_a_damaged_efficiency_is_refused(file: Path, registry: Registry, efficiency: str) -> None:
    (before,) = _read(file, registry)
    value = json.loads(file.read_text())
    details = {"written_by": "holistic-harness", "spec": before.spec.model_dump_json(), "efficiency": efficiency}
    value["eval_library"]["additional_details"] = details
    del value["detailed_evaluation_results"]
    file.write_text(json.dumps(value))
    with pytest.raises(DataError, match="tiny_quiz cannot be imported: "):
        _read(file, registry)
