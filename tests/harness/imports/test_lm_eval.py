"""Files that lm-evaluation-harness wrote of a real run: their numbers, their errors, their answers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

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
        ("{}", "it has no 'results'"),
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
    samples.write_text("".join(json.dumps(row) + "\n" for row in rows))
    quiz = next(found for found in read_lm_eval(file, "s", registry) if found.spec.scenario.name == "tiny_quiz")
    references = quiz.examples[0].example.instance.references
    assert [reference.text for reference in references] == options
    assert [index for index, reference in enumerate(references) if reference.correct] == correct
