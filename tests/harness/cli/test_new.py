"""``harness new``: what it writes works as it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.cli.conftest import Harness


def test_a_new_scenario_runs_at_once(harness: Harness, folder: Path) -> None:
    assert harness("new", "scenario", "animals").code == 0
    said = harness("run", "-r", "./animals.yaml", "-m", "fake:0")
    assert said.code == 0
    assert "multiple_choice_accuracy" in said.err
    assert "n=3" in said.err
    assert harness("preview", "-r", "./animals.yaml", "-m", "fake:0").code == 0


def test_a_new_metric_is_measured_at_once(harness: Harness, folder: Path) -> None:
    assert harness("new", "metric", "mentions", "--directory", "mine").code == 0
    (folder / "sweep.yaml").write_text(
        "suite: small\nplugins: [./quiz.yaml, ./mine]\nmodels: ['fake:0']\n"
        "runs: [{scenario: quiz, metrics: [exact_match, mentions]}]\n"
    )
    assert harness("run", "sweep.yaml").code == 0
    (record,) = (folder / "results").glob("small/*/run.json")
    assert '"mentions"' in record.read_text()


@pytest.mark.parametrize("name", ["Animals", "two words", "../up", "9lives", ""])
def test_a_name_that_is_none_is_refused(harness: Harness, folder: Path, name: str) -> None:
    before = sorted(folder.rglob("*"))
    said = harness("new", "scenario", name)
    assert said.code == 2
    assert "not a valid name" in said.err
    assert sorted(folder.rglob("*")) == before


def test_nothing_is_overwritten(harness: Harness, folder: Path) -> None:
    before = (folder / "measures.py").read_text()
    said = harness("new", "metric", "measures")
    assert said.code == 2
    assert "already exists" in said.err
    assert (folder / "measures.py").read_text() == before


def test_a_folder_that_cannot_be_written_is_one_message(harness: Harness) -> None:
    said = harness("new", "metric", "mentions", "--directory", "sweep.yaml/below")
    assert said.code == 2
    assert "cannot be written" in said.err
