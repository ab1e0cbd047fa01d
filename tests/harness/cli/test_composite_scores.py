"""A sweep's composite scores, from the sweep file to the leaderboard."""

from __future__ import annotations

import json
from pathlib import Path

from tests.harness.cli.conftest import Harness

SWEEP = """
suite: scored
models: ["fake:a", "fake:b"]
defaults: {max_eval_instances: 4}
%s
runs: [sample_reading, sample_sentiment]
"""
SCORE = "scores: [{name: both, title: Both samples}]"


def test_a_score_that_is_added_later_needs_no_new_answers(harness: Harness, folder: Path) -> None:
    sweep = folder / "scored.yaml"
    sweep.write_text(SWEEP % "")
    assert harness("run", "scored.yaml").code == 0
    board = json.loads(harness("leaderboard", "scored", "--format", "json").out)
    assert [column["score"] for column in board["columns"]] == [None, None]
    before = {file: json.loads(file.read_text()) for file in (folder / "results" / "scored").glob("*/run.json")}
    sweep.write_text(SWEEP % SCORE)
    assert harness("run", "scored.yaml").code == 0
    for file, record in before.items():
        now = json.loads(file.read_text())
        (score,) = now["spec"].pop("scores")
        assert score["title"] == "Both samples"
        assert now == record  # neither asked nor scored again
    board = json.loads(harness("leaderboard", "scored", "--format", "json").out)
    assert board["columns"][0]["title"] == "Both samples"
    (first, *_) = [cell for cell in board["cells"] if cell["column"] == 0]
    parts = [cell["mean"] for cell in board["cells"] if cell["model"] == first["model"] and cell["column"] > 0]
    assert abs(first["mean"] - sum(parts) / 2) < 1e-12
    assert first["low"] <= first["mean"] <= first["high"]


def test_a_run_that_failed_leaves_no_score_and_is_named(harness: Harness, folder: Path) -> None:
    sweep = SWEEP % SCORE
    (folder / "scored.yaml").write_text(sweep.replace("sample_sentiment", "narrative_qa"))
    (folder / "no_data").mkdir()
    assert harness("run", "scored.yaml", "--data-dir", "no_data").code == 1
    said = harness("leaderboard", "scored", "--format", "md")
    assert "1 of 2" in said.out
    assert "Both samples" in said.out
    assert "no data" in said.out
