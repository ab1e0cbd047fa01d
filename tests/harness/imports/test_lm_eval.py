"""Files that lm-evaluation-harness wrote of a real run: their numbers, their errors, their answers."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness import ScoreRequest
from harness.contracts import Stat
from harness.errors import DataError
from harness.imports.imported_run import Imported, write_imported
from harness.imports.lm_eval import lm_eval_files, read_lm_eval
from harness.plugins.registry import Registry
from harness.statistics import midp_interval
from harness.storage.example_files import read_examples


@pytest.fixture
def imported(lm_eval_folder: Path, registry: Registry) -> dict[str, Imported]:
    (file,) = lm_eval_files(lm_eval_folder)
    return {found.spec.scenario.name: found for found in read_lm_eval(file, "theirs", registry)}


def _by_name(imported: Imported) -> dict[str, Stat]:
    return {stat.metric: stat for stat in imported.stats}


def test_each_task_is_a_run(imported: dict[str, Imported]) -> None:
    assert set(imported) == {"tiny_quiz", "tiny_write", "tiny_read"}
    spec = imported["tiny_quiz"].spec
    assert (spec.suite, spec.model.name) == ("theirs", "lm-eval:checkpoints/small-gpt2")
    assert (spec.adapter.name, spec.main_metric) == ("lm-eval multiple_choice", "multiple_choice_accuracy")
    assert imported["tiny_read"].spec.main_metric == "bits_per_byte"
    assert imported["tiny_write"].spec.main_metric == "lm-eval.exact_match,first-word"
    assert imported["tiny_quiz"].origin["version"] == "0.4.13"
    assert len(imported["tiny_quiz"].origin["files"]) == 2


def test_errors_are_theirs_and_intervals_come_from_samples(imported: dict[str, Imported]) -> None:
    stats = _by_name(imported["tiny_quiz"])
    assert stats["lm-eval.acc"].mean == 0.1
    assert stats["lm-eval.acc"].stderr == pytest.approx(0.1)
    assert stats["lm-eval.acc_norm"].mean == 0.4
    assert stats["lm-eval.acc_norm"].stderr == pytest.approx(0.16329931618554522, abs=0)
    assert stats["lm-eval.acc_norm"].ci95 == midp_interval(4, 10)
    assert stats["multiple_choice_accuracy"].mean == 0.1
    assert stats["multiple_choice_accuracy"].category == "accuracy"
    reading = _by_name(imported["tiny_read"])
    assert reading["bits_per_byte"].mean == reading["lm-eval.bits_per_byte"].mean == pytest.approx(2.6617, abs=1e-3)
    assert (reading["bits_per_byte"].stderr, reading["bits_per_byte"].ci95) == (None, None)  # "N/A" in the file
    assert reading["bits_per_byte"].higher_is_better is False
    assert set(_by_name(imported["tiny_write"])) == {
        "lm-eval.exact_match,first-word",
        "lm-eval.exact_match,whole",
    }


def test_answers_are_kept(imported: dict[str, Imported], tmp_path: Path) -> None:
    record = write_imported(tmp_path, imported["tiny_quiz"])
    examples = list(read_examples(record))
    assert len(examples) == 10
    example, scores, _ = examples[0]
    assert example.choice_scores is not None
    assert example.choice == max(range(4), key=example.choice_scores.__getitem__)
    assert [reference.text for reference in example.instance.references] == ["Iron", "Wood", "Water", "Paper"]
    assert [reference.correct for reference in example.instance.references] == [True, False, False, False]
    assert isinstance(example.requests[0], ScoreRequest)
    assert example.requests[0].context == "Question: Which of these is a metal?\nAnswer:"
    assert scores["lm-eval.acc"] == scores["multiple_choice_accuracy"]
    right = [example.choice == 0 for example, _, _ in examples[:1]]
    assert scores["lm-eval.acc"] == float(right[0])


def test_filters_of_a_document_are_one_example(imported: dict[str, Imported]) -> None:
    examples = imported["tiny_write"].examples
    assert len(examples) == 10
    assert set(examples[0].scores) == {"lm-eval.exact_match,first-word", "lm-eval.exact_match,whole"}
    assert examples[0].example.predictions == ()
    assert examples[0].example.responses[0].completions[0].text


def _copied(folder: Path, to: Path) -> Path:
    shutil.copytree(folder, to)
    return next(iter(to.glob("results_*.json")))


def test_without_samples_nothing_is_made_up(lm_eval_folder: Path, registry: Registry, tmp_path: Path) -> None:
    file = _copied(lm_eval_folder, tmp_path / "copy")
    for samples in file.parent.glob("samples_*"):
        samples.unlink()
    quiz = next(found for found in read_lm_eval(file, "s", registry) if found.spec.scenario.name == "tiny_quiz")
    stats = _by_name(quiz)
    assert set(stats) == {"lm-eval.acc", "lm-eval.acc_norm"}  # whether options tied is not known
    assert stats["lm-eval.acc"].stderr == pytest.approx(0.1)
    assert (stats["lm-eval.acc"].ci95, stats["lm-eval.acc"].count) == (None, 10)


def test_a_tie_keeps_their_accuracy_theirs(lm_eval_folder: Path, registry: Registry, tmp_path: Path) -> None:
    file = _copied(lm_eval_folder, tmp_path / "copy")
    (samples,) = file.parent.glob("samples_tiny_quiz_*")
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    rows[3]["resps"] = [[["-1.0", "False"]]] * 4
    samples.write_text("".join(json.dumps(row) + "\n" for row in rows))
    quiz = next(found for found in read_lm_eval(file, "s", registry) if found.spec.scenario.name == "tiny_quiz")
    assert quiz.spec.main_metric == "lm-eval.acc"


def test_tasks_that_are_ours_are_known(lm_eval_folder: Path, registry: Registry, tmp_path: Path) -> None:
    file = _copied(lm_eval_folder, tmp_path / "copy")
    text = file.read_text().replace('"tiny_quiz"', '"mmlu_anatomy"').replace('"tiny_write"', '"gsm8k"')
    file.write_text(text)
    labels = {found.spec.scenario.label for found in read_lm_eval(file, "s", registry)}
    assert labels == {"mmlu:subject=anatomy", "gsm8k", "tiny_read"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{}", "results: is required"),
        ("[1]", "is not a results file of lm-evaluation-harness"),
        ("{", "is not a results file"),
        ('{"results": {}, "configs": {}}', "no task has a metric"),
    ],
)
def test_a_file_of_another_shape_is_one_message(tmp_path: Path, registry: Registry, content: str, message: str) -> None:
    file = tmp_path / "results_x.json"
    file.write_text(content)
    with pytest.raises(DataError, match=message):
        list(read_lm_eval(file, "s", registry))


def test_an_empty_folder_and_an_unknown_metric(lm_eval_folder: Path, tmp_path: Path, registry: Registry) -> None:
    with pytest.raises(DataError, match=r"there is no results_\*\.json"):
        lm_eval_files(tmp_path)
    with pytest.raises(DataError, match=r"no task has the metric acc_nrm\. Did you mean"):
        list(read_lm_eval(lm_eval_files(lm_eval_folder)[0], "s", registry, "acc_nrm"))


# Files that lie


def test_a_mean_that_contradicts_its_samples_is_refused(
    lm_eval_folder: Path, registry: Registry, tmp_path: Path
) -> None:
    file = _copied(lm_eval_folder, tmp_path / "copy")
    file.write_text(file.read_text().replace('"acc_norm,none": 0.4', '"acc_norm,none": 0.9'))
    message = (
        r"results_.*json: results\.tiny_quiz\.acc_norm,none is 0\.9, but the mean of the 10 samples in samples_tiny"
    )
    with pytest.raises(DataError, match=message):
        list(read_lm_eval(file, "s", registry))


def test_samples_of_another_task_are_refused(lm_eval_folder: Path, registry: Registry, tmp_path: Path) -> None:
    file = _copied(lm_eval_folder, tmp_path / "copy")
    (write,) = file.parent.glob("samples_tiny_write_*")
    (quiz,) = file.parent.glob("samples_tiny_quiz_*")
    quiz.write_bytes(write.read_bytes())
    with pytest.raises(DataError, match=r"samples_tiny_quiz_.*: these are not the samples of the task tiny_quiz"):
        list(read_lm_eval(file, "s", registry))


@pytest.mark.parametrize(
    ("options", "target", "correct"),
    [
        (["1", "2", "0"], "1", [1]),  # an index, though the first option has this text
        (["1", "2", "3"], "3", [2]),  # no index, so a text
        (["2019", "2020"], "2020", [1]),
        (["Iron", "Wood"], "Wood", [1]),
        (["Iron", "Wood"], "1", [1]),
        (["Iron", "Wood"], "2", []),
    ],
)
def test_a_target_is_an_index_or_a_text(
    lm_eval_folder: Path, registry: Registry, tmp_path: Path, options: list[str], target: str, correct: list[int]
) -> None:
    file = _copied(lm_eval_folder, tmp_path / "copy")
    (samples,) = file.parent.glob("samples_tiny_quiz_*")
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    asked = {f"gen_args_{index}": {"arg_0": "Q", "arg_1": f" {text}"} for index, text in enumerate(options)}
    rows[0] |= {"arguments": asked, "resps": [[["-1.0", "False"]]] * len(options), "target": target}
    del rows[0]["target_hash"]
    samples.write_text("".join(json.dumps(row) + "\n" for row in rows))
    quiz = next(found for found in read_lm_eval(file, "s", registry) if found.spec.scenario.name == "tiny_quiz")
    references = quiz.examples[0].example.instance.references
    assert [reference.text for reference in references] == options
    assert [index for index, reference in enumerate(references) if reference.correct] == correct


def _changed(folder: Path, to: Path, *, line: dict[str, Any] | None = None, **values: Any) -> Path:
    """A copy with other values for tiny_quiz in the results, and in the first line of its samples."""
    file = _copied(folder, to / "copy")
    written = json.loads(file.read_text())
    for key, value in values.items():
        written["results"]["tiny_quiz"][key.replace("__", ",")] = value
    file.write_text(json.dumps(written))
    if line is not None:
        (samples,) = file.parent.glob("samples_tiny_quiz_*")
        rows = [json.loads(text) for text in samples.read_text().splitlines()]
        rows[0] |= line
        samples.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.mark.parametrize("value", [True, None, "0.1", [0.1], math.nan])
def test_a_mean_that_is_not_a_number_is_refused_by_its_key(
    lm_eval_folder: Path, registry: Registry, tmp_path: Path, value: object
) -> None:
    file = _changed(lm_eval_folder, tmp_path, acc__none=value)
    with pytest.raises(DataError, match=r"results_.*json: results\.tiny_quiz\.acc,none must be a finite number, not"):
        list(read_lm_eval(file, "s", registry))


@pytest.mark.parametrize("score", ["no", None, math.nan, 7.0])
def test_a_score_that_is_impossible_is_refused_by_its_line(
    lm_eval_folder: Path, registry: Registry, tmp_path: Path, score: object
) -> None:
    file = _changed(lm_eval_folder, tmp_path, acc__none=0.8, line={"acc": score})
    with pytest.raises(DataError, match=r"samples_tiny_quiz_.*, row 1: acc must be "):
        list(read_lm_eval(file, "s", registry))


def test_a_metric_without_any_score_in_the_samples_is_refused(
    lm_eval_folder: Path, registry: Registry, tmp_path: Path
) -> None:
    file = _copied(lm_eval_folder, tmp_path / "copy")
    (samples,) = file.parent.glob("samples_tiny_quiz_*")
    rows = [json.loads(text) for text in samples.read_text().splitlines()]
    for row in rows:
        del row["acc"]
        row["metrics"].remove("acc")
    samples.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(
        DataError, match=r"samples_tiny_quiz_.*no sample has a score of acc, but results\.tiny_quiz\.acc"
    ):
        list(read_lm_eval(file, "s", registry))


def test_an_empty_samples_file_is_refused(lm_eval_folder: Path, registry: Registry, tmp_path: Path) -> None:
    file = _copied(lm_eval_folder, tmp_path / "copy")
    (samples,) = file.parent.glob("samples_tiny_quiz_*")
    samples.write_text("")
    with pytest.raises(DataError, match=r"has 0 documents, but n-samples\.tiny_quiz\.effective .* is 10"):
        list(read_lm_eval(file, "s", registry))


@pytest.mark.parametrize(
    ("stderr", "message"),
    [
        (0.0001, r"acc_norm_stderr,none is 0\.0001, but the 10 samples in samples_.* give 0\.163"),
        (-1, r"acc_norm_stderr,none must be at least 0, not -1"),
        ("abc", r"acc_norm_stderr,none must be a finite number, not 'abc'"),
    ],
)
def test_standard_errors_that_the_samples_do_not_give_are_refused(
    lm_eval_folder: Path, registry: Registry, tmp_path: Path, stderr: object, message: str
) -> None:
    file = _changed(lm_eval_folder, tmp_path, acc_norm_stderr__none=stderr)
    with pytest.raises(DataError, match=rf"results_.*json: results\.tiny_quiz\.{message}"):
        list(read_lm_eval(file, "s", registry))


def test_a_bootstrapped_standard_error_is_accepted(lm_eval_folder: Path, registry: Registry, tmp_path: Path) -> None:
    quiz = next(read_lm_eval(_changed(lm_eval_folder, tmp_path, acc_norm_stderr__none=0.15), "s", registry))
    assert _by_name(quiz)["lm-eval.acc_norm"].stderr == 0.15


def test_without_samples_a_standard_error_larger_than_any_scores_give_is_refused(
    lm_eval_folder: Path, registry: Registry, tmp_path: Path
) -> None:
    file = _changed(lm_eval_folder, tmp_path, acc_norm_stderr__none=0.6)
    for samples in file.parent.glob("samples_*"):
        samples.unlink()
    with pytest.raises(DataError, match=r"results\.tiny_quiz\.acc_norm_stderr,none must be at most 0\.2"):
        list(read_lm_eval(file, "s", registry))


@pytest.mark.parametrize(("count", "message"), [(1e30, "must be a whole number"), (12.7, "whole"), (-1, "at least 0")])
def test_impossible_counts_are_refused(
    lm_eval_folder: Path, registry: Registry, tmp_path: Path, count: float, message: str
) -> None:
    file = _copied(lm_eval_folder, tmp_path / "copy")
    written = json.loads(file.read_text())
    written["n-samples"]["tiny_quiz"]["effective"] = count
    file.write_text(json.dumps(written))
    with pytest.raises(DataError, match=rf"n-samples\.tiny_quiz\.effective: .*{message}"):
        list(read_lm_eval(file, "s", registry))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"resps": [[["NaN", "False"]]] * 4}, r"resps\[0\] must be a log-probability, at most 0, not 'NaN'"),
        ({"resps": [[["5.0", "False"]]] * 4}, r"resps\[0\] must be a log-probability, at most 0, not '5\.0'"),
        ({"doc": {"question": "Another?"}}, "doc_hash does not match doc"),
        ({"target": "3"}, "target_hash does not match target"),
        ({"doc_id": 1}, r"document 1 is listed twice"),
        ({"arguments": "zzz"}, r"arguments: must be a mapping, not 'zzz'"),
        ({"resps": "zzz"}, r"resps: must be a list, not 'zzz'"),
    ],
)
def test_lines_with_impossible_contents_are_refused(
    lm_eval_folder: Path, registry: Registry, tmp_path: Path, line: dict[str, Any], message: str
) -> None:
    file = _changed(lm_eval_folder, tmp_path, line=line)
    with pytest.raises(DataError, match=rf"samples_tiny_quiz_.*, row [12]: .*{message}"):
        list(read_lm_eval(file, "s", registry))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("configs", {"tiny_quiz": "x"}, r"configs\.tiny_quiz: must be a mapping"),
        ("results", {"tiny_quiz": "x"}, r"results\.tiny_quiz: must be a mapping"),
        ("results", [], r"results: must be a mapping"),
    ],
)
def test_a_key_of_another_type_is_named(
    lm_eval_folder: Path, registry: Registry, tmp_path: Path, key: str, value: object, message: str
) -> None:
    file = _copied(lm_eval_folder, tmp_path / "copy")
    file.write_text(json.dumps(json.loads(file.read_text()) | {key: value}))
    with pytest.raises(DataError, match=message):
        list(read_lm_eval(file, "s", registry))


# Choices


def test_the_choice_is_the_one_that_the_main_metric_scored(lm_eval_folder: Path, registry: Registry) -> None:
    (file,) = lm_eval_files(lm_eval_folder)
    for metric in ("acc", "acc_norm"):
        quiz = next(read_lm_eval(file, "s", registry, metric))
        examples = [one for one in quiz.examples if one.example.choice is not None]
        assert len(examples) == 10
        for one in examples:
            assert one.example.choice is not None
            correct = one.example.references[one.example.choice].correct
            assert one.scores[f"lm-eval.{metric}"] == float(correct)


def test_a_choice_that_contradicts_the_score_is_unknown(
    lm_eval_folder: Path, registry: Registry, tmp_path: Path
) -> None:
    (file,) = lm_eval_files(lm_eval_folder)
    first = next(read_lm_eval(file, "s", registry)).examples[0]
    wrong = 1.0 - first.scores["lm-eval.acc"]
    file = _changed(lm_eval_folder, tmp_path, line={"acc": wrong}, acc__none=0.2 if wrong else 0.0)
    written = json.loads(file.read_text())
    written["results"]["tiny_quiz"]["acc_stderr,none"] = "N/A"
    file.write_text(json.dumps(written))
    again = next(read_lm_eval(file, "s", registry)).examples[0]
    assert (again.example.choice, again.example.prediction) == (None, "")
    assert again.example.choice_scores == first.example.choice_scores


def test_no_score_outside_its_metric_is_written(lm_eval_folder: Path, registry: Registry, tmp_path: Path) -> None:
    (file,) = lm_eval_files(lm_eval_folder)
    quiz = next(read_lm_eval(file, "s", registry))
    first = replace(quiz.examples[0], scores={"lm-eval.acc": 7.0})
    with pytest.raises(DataError, match=r"lm-eval\.acc: the score of instance 'tiny_quiz-0' must be from 0 to 1"):
        write_imported(tmp_path, replace(quiz, examples=[first, *quiz.examples[1:]]))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(
    results=st.dictionaries(st.sampled_from(["results", "configs", "n-samples", "config", "date", "written_by"]), JSON),
    line=st.dictionaries(st.sampled_from(["doc", "target", "arguments", "resps", "metrics", "acc", "filter"]), JSON),
)
def test_whatever_a_file_holds_is_read_or_refused(
    lm_eval_folder: Path, registry: Registry, results: dict[str, Any], line: dict[str, Any]
) -> None:
    with TemporaryDirectory() as folder:
        file = _changed(lm_eval_folder, Path(folder), line=line)
        file.write_text(json.dumps(json.loads(file.read_text()) | results))
        try:
            list(read_lm_eval(file, "s", registry))
        except DataError as error:
            assert "_2026-11-21" in str(error)  # noqa: PT017 - either outcome is right
