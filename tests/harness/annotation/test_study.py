"""Studies: which answers they hold, that they are blinded and in random order, and that their folder keeps them."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.annotation.questionnaire import Questionnaire, read_questionnaire
from harness.annotation.study import find_records, keep_study, make_study, read_study
from harness.cli import group
from harness.errors import DataError, StorageError
from tests.harness.annotation.conftest import FORM, PAIR, made_study

SWEEP = """\
suite: s
models: [{name: "fake:0", display_name: First}, {name: "fake:1", display_name: Second}]
runs: [{scenario: sample_reading, max_eval_instances: 8}]
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    (folder / "sweep.yaml").write_text(SWEEP)
    here = Path.cwd()
    os.chdir(folder)
    try:
        ran = CliRunner().invoke(group, ["run", "sweep.yaml"])
    finally:
        os.chdir(here)
    assert ran.exit_code == 0, ran.output
    return folder / "results"


def test_each_answer_of_each_model_is_an_item(results: Path) -> None:
    study = make_study(Questionnaire.model_validate(FORM), find_records([results]))
    assert len(study.items) == 16
    assert {item.answers[0].model for item in study.items} == {"First", "Second"}
    assert len({item.id for item in study.items}) == 16
    assert len({item.cluster for item in study.items}) == 8


def test_what_a_model_answers_alike_in_two_runs_is_asked_once(results: Path) -> None:
    records = find_records([results])
    twice = make_study(Questionnaire.model_validate(FORM), [*records, *records])
    assert len(twice.items) == 16


def test_all_models_answer_the_instances_that_are_drawn(results: Path) -> None:
    study = make_study(Questionnaire.model_validate(FORM), find_records([results]), instances=3, seed=5)
    drawn = {
        name: {item.instance for item in study.items if item.answers[0].model == name} for name in ("First", "Second")
    }
    assert len(drawn["First"]) == 3
    assert drawn["First"] == drawn["Second"]


def test_pairs_are_two_answers_to_one_question(results: Path) -> None:
    study = make_study(read_questionnaire("pairwise"), find_records([results]))
    assert len(study.items) == 8
    assert all([answer.model for answer in item.answers] == ["First", "Second"] for item in study.items)
    one = next((results / "s").iterdir())
    with pytest.raises(DataError, match="has runs of only one"):
        make_study(read_questionnaire("pairwise"), find_records([one]))


def test_a_folder_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no finished run"):
        find_records([tmp_path])


def test_a_run_that_kept_no_examples_is_left_out(results: Path, tmp_path: Path) -> None:
    shutil.copytree(results, tmp_path / "results")
    one, other = sorted((tmp_path / "results" / "s").iterdir())
    record = json.loads((one / "run.json").read_text())
    (one / "run.json").write_text(json.dumps({**record, "status": "failed", "error": "no answer", "examples": None}))
    assert [run.name for run in find_records([tmp_path])] == [other.name]
    with pytest.raises(DataError, match="kept no examples, so there are no answers to judge"):
        find_records([one])


@pytest.mark.parametrize("hidden", ["s/.copy", ".s/run"])
def test_hidden_folders_are_not_runs(results: Path, tmp_path: Path, hidden: str) -> None:
    own = tmp_path / ".own" / "results"
    shutil.copytree(results, own)
    runs = sorted((own / "s").iterdir())
    shutil.copytree(runs[0], own / hidden)
    assert len(find_records([own])) == len(runs)
    for run in runs:
        shutil.rmtree(run)
    with pytest.raises(DataError, match="holds no finished run"):
        find_records([own])


def test_gold_items_are_among_the_others(results: Path) -> None:
    gold = [{"input": "Q", "answers": ["A"], "expected": {"quality": [4, 5]}}]
    study = make_study(Questionnaire.model_validate({**FORM, "gold": gold}), find_records([results]))
    (found,) = [item for item in study.items if item.expected]
    assert found.expected == {"quality": [4, 5]}
    assert found.answers[0].model == ""


def test_each_rater_has_an_order_and_sides_that_stay() -> None:
    study = made_study(PAIR, 40)
    orders = {rater: study.order(rater) for rater in ("ann", "bob")}
    assert orders["ann"] != orders["bob"]
    assert sorted(orders["ann"]) == sorted(orders["bob"]) == sorted(item.id for item in study.items)
    assert orders["ann"] == study.order("ann")
    sides = [study.sides("ann", item) for item in study.items]
    assert 8 < sides.count((1, 0)) < 32
    assert sides != [study.sides("bob", item) for item in study.items]


def test_a_folder_keeps_one_study(tmp_path: Path) -> None:
    study = made_study(FORM)
    keep_study(study, tmp_path / "f")
    keep_study(study, tmp_path / "f")
    assert read_study(tmp_path / "f") == study
    with pytest.raises(StorageError, match="holds a study with other questions, answers or seed"):
        keep_study(made_study(FORM, 4), tmp_path / "f")
    (tmp_path / "f" / "study.json").write_text("{}")
    with pytest.raises(DataError, match=r"not a study \(questionnaire: Field required\)"):
        read_study(tmp_path / "f")
