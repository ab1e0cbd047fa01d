"""``harness preview`` and ``harness show`` on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli import group

SCENARIO = """\
name: colours
title: Colours
description: What colour things are.
citation: Nobody.
taxonomy: {task: question answering, what: things, who: nobody, when: "2020s", language: English}
source:
  files: {test: ./colours.jsonl}
input: "{{ thing }}"
correct: "{{ colour }}"
adapter: {method: generation, max_train_instances: 0}
metrics: [exact_match]
main_metric: exact_match
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a scenario's file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "colours.yaml").write_text(SCENARIO)
    (tmp_path / "colours.jsonl").write_text('{"thing": "Snow", "colour": "white"}\n')
    return tmp_path


def test_a_run_that_would_fail_hides_no_other(folder: Path) -> None:
    (folder / "sweep.yaml").write_text(
        "suite: s\nmodels: [replay:absent.jsonl, fake:0]\nruns: [./colours.yaml]\n", encoding="utf-8"
    )
    result = CliRunner().invoke(group, ["preview", "sweep.yaml"])
    assert result.exit_code == 2
    assert "Input: Snow\nOutput:" in result.stdout
    assert result.stderr == (
        "Would fail: colours with replay:absent.jsonl: replay:absent.jsonl: there is no such file. "
        'Write one prediction per line, for example {"id": "test-0", "text": "Yes"}.\n'
    )


def test_a_scenario_is_shown_by_its_file(folder: Path) -> None:
    result = CliRunner().invoke(group, ["show", "scenario", "colours.yaml"])
    assert result.exit_code == 0, result.output
    assert "What colour things are." in result.stdout
