"""Files that lighteval wrote of a real run: their numbers, errors and answers; and files that lie."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness import GenerateRequest, ScoreRequest
from harness.contracts import Stat
from harness.errors import DataError
from harness.imports.imported_run import Imported, write_imported
from harness.imports.lighteval import REPORTED, lighteval_files, read_lighteval
from harness.plugins.registry import Registry
from harness.statistics import midp_interval
from harness.storage.example_files import read_examples


@pytest.fixture
def imported(lighteval_folder: Path, registry: Registry) -> dict[str, Imported]:
    (file,) = lighteval_files(lighteval_folder)
    return {found.spec.scenario.name: found for found in read_lighteval(file, "theirs", registry)}


def _by_name(imported: Imported) -> dict[str, Stat]:
    return {stat.metric: stat for stat in imported.stats}


def test_each_task_is_a_run(imported: dict[str, Imported]) -> None:
    assert set(imported) == {"tiny:quiz", "tiny:write", "tiny_samples"}  # and no averages
    spec = imported["tiny:quiz"].spec
    assert (spec.suite, spec.model.name) == ("theirs", "lighteval:checkpoints/small-gpt2")
    assert (spec.adapter.name, spec.main_metric) == ("lighteval logprobs", "lighteval.acc")
    assert imported["tiny_samples"].spec.adapter.arguments["num_fewshots"] == 2
    assert imported["tiny:quiz"].finished == "2026-11-23T11:23:09+00:00"
    assert [one["path"] for one in imported["tiny:quiz"].origin["files"]][1].startswith("details_tiny:quiz|0_")


def test_numbers_are_theirs_and_intervals_come_from_details(imported: dict[str, Imported]) -> None:
    stat = _by_name(imported["tiny:quiz"])["lighteval.acc"]
    assert (stat.mean, stat.count, stat.higher_is_better) == (0.4, 5, True)
    assert stat.stderr == pytest.approx(0.24494897427831783, abs=0)
    assert stat.ci95 == midp_interval(2, 5)
    # The average over tasks left a zero for a metric that this task does not have.
    assert set(_by_name(imported["tiny:write"])) == {"lighteval.em", "lighteval.f1"}


def test_answers_are_kept(imported: dict[str, Imported], tmp_path: Path) -> None:
    record = write_imported(tmp_path, imported["tiny:quiz"])
    examples = {example.instance.id: (example, scores) for example, scores, _ in read_examples(record)}
    example, scores = examples["3"]
    assert [reference.text for reference in example.instance.references] == ["Cork", "Lead", "Gold"]
    assert [reference.correct for reference in example.instance.references] == [True, False, False]
    assert (example.choice, example.prediction, scores["lighteval.acc"]) == (0, "Cork", 1.0)
    assert isinstance(example.requests[0], ScoreRequest)
    assert example.requests[0].context == "Question: Which of these floats?\nAnswer:"
    assert example.choice_scores == pytest.approx((-12.4127807617, -13.1001796722, -13.0337228775))
    assert example.responses[0].logprobs == pytest.approx((-12.4127807617,))
    write = imported["tiny:write"].examples[0].example
    assert isinstance(write.requests[0], GenerateRequest)
    assert (write.requests[0].max_tokens, write.requests[0].stop) == (6, ("\n",))
    assert write.responses[0].prompt_tokens == 11  # of 47 with padding
    assert write.responses[0].completions[0].tokens == 1


def test_without_details_nothing_is_made_up(lighteval_folder: Path, registry: Registry, tmp_path: Path) -> None:
    file = shutil.copy(lighteval_files(lighteval_folder)[0], tmp_path)
    quiz = next(one for one in read_lighteval(Path(file), "s", registry) if one.spec.scenario.name == "tiny:quiz")
    (stat,) = quiz.stats
    assert (stat.mean, stat.ci95, stat.count, stat.note) == (0.4, None, 0, REPORTED)
    assert stat.stderr == pytest.approx(0.24494897427831783)
    assert not quiz.examples


# Files that lie


def _copied(folder: Path, to: Path) -> tuple[Path, Path]:
    shutil.copytree(folder, to)
    return lighteval_files(to)[0], next(to.rglob("details_tiny:quiz*.parquet"))


def _all(file: Path, registry: Registry) -> list[Imported]:
    return list(read_lighteval(file, "s", registry))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"acc": 0.4',
            '"acc": 0.9',
            r"results\.tiny:quiz\|0\.acc is 0\.9, but the mean of the 5 rows in details_tiny:",
        ),
        (
            '"acc_stderr": 0.24',
            '"acc_stderr": 0.0001, "x": 0.24',
            r"acc_stderr is 0\.0001, but the 5 rows in .* give 0\.244949",
        ),
        ('"acc": 0.4', '"acc": NaN', r"results\.tiny:quiz\|0\.acc must be a finite number, not nan"),
        ('"acc": 0.4', '"acc": "0.4"', r"results\.tiny:quiz\|0\.acc must be a finite number, not '0\.4'"),
        ('"config_general"', '"config"', r"is not a results file of lighteval \(it has no 'config_general'\)"),
    ],
)
def test_results_that_lie_are_one_message(
    lighteval_folder: Path, registry: Registry, tmp_path: Path, old: str, new: str, message: str
) -> None:
    file, _ = _copied(lighteval_folder, tmp_path / "copy")
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(DataError, match=message) as raised:
        _all(file, registry)
    assert str(raised.value).startswith(f"{file}: ")


def _rewritten(file: Path, change: Callable[[list[dict[str, Any]]], None]) -> None:
    rows = pq.read_table(file).to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows), file)


def _other_task(rows: list[dict[str, Any]]) -> None:
    rows[1]["doc"]["task_name"] = "mmlu:anatomy|5"


def _infinite(rows: list[dict[str, Any]]) -> None:
    rows[2]["metric"] = {"acc": float("inf")}


def _no_column(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        del row["metric"]


def _too_few(rows: list[dict[str, Any]]) -> None:
    rows[0]["model_response"]["logprobs"].pop()


def _seven(rows: list[dict[str, Any]]) -> None:
    rows[0]["metric"] = {"acc": 7.0}


def _one_id(rows: list[dict[str, Any]]) -> None:
    rows[0]["doc"]["id"] = rows[1]["doc"]["id"]


def _gold(rows: list[dict[str, Any]]) -> None:
    rows[0]["doc"]["gold_index"] = 99


def _fewer_rows(rows: list[dict[str, Any]]) -> None:
    del rows[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_other_task, r"row 2 is of the task mmlu:anatomy\|5, not of tiny:quiz\|0 \(doc\.task_name\)"),
        (_infinite, r"row 3: metric\.acc must be a finite number, not inf"),
        (_no_column, r"is not a details file of lighteval of a supported version \(it has no 'metric'\)"),
        (_too_few, r"is not a details file of lighteval: row 1"),
        (_seven, r"details_tiny:quiz.*: row 1: metric\.acc must be 0 or 1, not 7"),
        (_one_id, r"row 2 has the id of another document, '1' \(doc\.id\)"),
        (_gold, r"row 1 \(doc\.gold_index is 99, but there are 3 choices\)"),
        (_fewer_rows, r"results\.tiny:quiz\|0\.acc is 0\.4, but the mean of the 4 rows"),
    ],
)
def test_details_that_lie_are_one_message(
    lighteval_folder: Path, registry: Registry, tmp_path: Path,
    change: Callable[[list[dict[str, Any]]], None], message: str,
) -> None:  # fmt: skip
    file, details = _copied(lighteval_folder, tmp_path / "copy")
    _rewritten(details, change)
    with pytest.raises(DataError, match=message):
        _all(file, registry)


def test_an_impossible_mean_is_refused_without_details(
    lighteval_folder: Path, registry: Registry, tmp_path: Path
) -> None:
    file, details = _copied(lighteval_folder, tmp_path / "copy")
    details.unlink()
    file.write_text(file.read_text().replace('"acc": 0.4', '"acc": 17.5', 1))
    with pytest.raises(DataError, match=r"results\.tiny:quiz\|0\.acc must be from 0 to 1, not 17\.5"):
        _all(file, registry)


def test_a_choice_that_contradicts_the_score_is_left_out(
    lighteval_folder: Path, registry: Registry, tmp_path: Path
) -> None:
    file, details = _copied(lighteval_folder, tmp_path / "copy")
    rows = pq.read_table(details).to_pylist()
    place = next(index for index, row in enumerate(rows) if row["metric"] != rows[0]["metric"])

    def swap(rows: list[dict[str, Any]]) -> None:
        rows[0]["metric"], rows[place]["metric"] = rows[place]["metric"], rows[0]["metric"]

    _rewritten(details, swap)
    (quiz,) = [one for one in _all(file, registry) if one.spec.scenario.name == "tiny:quiz"]
    unset = [index for index, one in enumerate(quiz.examples) if one.example.choice is None]
    assert unset == [0, place]
    assert {quiz.examples[index].example.prediction for index in unset} == {""}


def test_details_that_are_cut_short(lighteval_folder: Path, registry: Registry, tmp_path: Path) -> None:
    file, details = _copied(lighteval_folder, tmp_path / "copy")
    content = details.read_bytes()
    for damaged in (content[:-100], content[: len(content) // 2], b"", b"PAR1" * 10):
        details.write_bytes(damaged)
        with pytest.raises(DataError, match=r"details_tiny:quiz.*: is damaged or cut short"):
            _all(file, registry)


def test_a_task_cannot_lead_out_of_the_folder(lighteval_folder: Path, registry: Registry, tmp_path: Path) -> None:
    file, _ = _copied(lighteval_folder, tmp_path / "copy")
    file.write_text(file.read_text().replace("tiny:quiz|0", "../../tiny:quiz|0"))
    quiz = next(one for one in _all(file, registry) if "quiz" in one.spec.scenario.name)
    assert not quiz.examples


def test_an_empty_folder_and_an_unknown_metric(lighteval_folder: Path, registry: Registry, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no results_\*\.json"):
        lighteval_files(tmp_path)
    with pytest.raises(DataError, match=r"no task has the metric acx\. Known: lighteval\.acc"):
        list(read_lighteval(lighteval_files(lighteval_folder)[0], "s", registry, "acx"))
