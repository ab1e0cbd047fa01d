"""Titles of scenarios whose plugins are not loaded: a results folder says them itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.cli import group
from harness.leaderboard.run_titles import run_titles
from harness.plugins.registry import Registry

SCENARIO = """\
name: quiz
title: Our Little Quiz
short: Quiz
description: Made-up questions.
source:
  files: {test: quiz/test.jsonl}
  licence: CC0
parameters: {level: {choices: [easy, hard], default: easy}}
input: "{{ question }}"
correct: "{{ answer }}"
adapter: {method: generation, max_tokens: 2, max_train_instances: 0}
metrics: [exact_match]
"""


def test_tables_without_the_plugin_have_the_titles_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "quiz").mkdir()
    (tmp_path / "quiz" / "test.jsonl").write_text('{"question": "1+1?", "answer": "2"}\n' * 3)
    plugin = tmp_path / "quiz.yaml"
    plugin.write_text(SCENARIO)
    common = ["--results-dir", str(tmp_path / "results")]
    asked = ["-r", "quiz", "-r", "quiz:level=hard", "-m", "fake:0", "--suite", "s", "--plugin", str(plugin)]
    folders = ["--data-dir", str(tmp_path), "--cache-dir", str(tmp_path / "cache")]
    run = CliRunner().invoke(group, ["run", *asked, *folders, *common])
    assert run.exit_code == 0, run.output
    plugged = CliRunner().invoke(group, ["leaderboard", "--plugin", str(plugin), *common]).output
    alone = CliRunner().invoke(group, ["leaderboard", *common]).output
    assert "Our Little Quiz · hard" in alone
    assert alone == plugged


@pytest.mark.parametrize(
    ("recorded", "title"),
    [
        ({"title": "Quiz of ours", "short": "Q", "defaults": {"level": "easy"}}, "Quiz of ours"),
        ({"title": "Quiz of ours", "short": 3, "defaults": []}, "Quiz of ours · easy"),
        ({"title": 5}, "quiz · easy"),
        ({"title": " "}, "quiz · easy"),
        ("nothing", "quiz · easy"),
        (None, "quiz · easy"),
    ],
)
def test_what_a_record_says_is_checked(make_run: Any, recorded: Mapping[str, Any] | None, title: str) -> None:
    run = make_run("hf:a", {"name": "quiz", "level": "easy"}, 0.5)
    run = replace(run, provenance={**run.provenance, "scenario": recorded})
    assert run_titles([run], Registry()).run(run.spec.scenario) == title


def test_the_newest_title_counts(make_run: Any) -> None:
    runs = [
        replace(run, provenance={"scenario": {"title": title}})
        for title, run in (
            ("New", make_run("hf:a", "quiz", 0.5, finished="2025-02-01T00:00:00+00:00")),
            ("Old", make_run("hf:a", "quiz", 0.5, finished="2025-01-01T00:00:00+00:00")),
        )
    ]
    assert run_titles(runs, None).scenario("quiz").title == "New"
