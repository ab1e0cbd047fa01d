"""Thresholds from controls, shares above them, and the classifier that asks no model; through whole runs."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness import DataError
from harness.cli.contamination import contamination_command
from harness.cli.run import execute
from harness.contamination.membership_report import membership_report
from harness.runs.runner import Settings
from harness.storage.results import RunRecord
from harness.sweeps.load import load_sweep

WORDS = ["river", "house", "stone", "green", "walks", "under", "the", "a", "old", "bridge", "sings", "bird"]


def write(file: Path, count: int, seed: int) -> Path:
    rng = random.Random(seed)
    file.write_text("\n".join(" ".join(rng.choices(WORDS, k=8)) for _ in range(count)) + "\n", encoding="utf-8")
    return file


def run(folder: Path, *roles: tuple[Path, str]) -> list[RunRecord]:
    runs = [
        {
            "scenario": {"name": "published_file", "path": str(file)},
            "adapter": {"method": "membership", "moments": False, "role": role},
            "metrics": ["membership"],
            "main_metric": "membership",
        }
        for file, role in roles
    ]
    sweep = folder / "sweep.yaml"
    sweep.write_text(json.dumps({"suite": "members", "models": ["fake:0"], "runs": runs}), encoding="utf-8")
    loaded, registry = load_sweep(sweep)
    return execute(loaded.runs, registry, Settings(folder / "results"))


def test_texts_of_the_same_kind_are_flagged_at_the_rate_of_the_controls(tmp_path: Path) -> None:
    records = run(
        tmp_path,
        (write(tmp_path / "suspect.txt", 60, 1), "target"),
        (write(tmp_path / "clean.txt", 60, 2), "control"),
        (write(tmp_path / "other.txt", 60, 3), "control"),
    )
    [suspect] = membership_report(records)
    assert (suspect.examples, suspect.controls) == (60, 120)
    assert {score.name for score in suspect.scores} == {"membership", "membership_min_k", "membership_zlib"}
    for score in suspect.scores:
        assert score.flagged <= 0.2
        assert 0.3 < score.auroc < 0.7
    assert 0.3 < suspect.blind_auroc < 0.7
    found = CliRunner().invoke(
        contamination_command, ["baselines", "--json", "--results-dir", str(tmp_path / "results")]
    )
    assert found.exit_code == 0, found.output
    [shown] = json.loads(found.output)
    assert shown["heuristic"] is True
    assert shown["scores"][0]["threshold"] == pytest.approx(suspect.scores[0].threshold)
    table = CliRunner().invoke(contamination_command, ["baselines", "--results-dir", str(tmp_path / "results")])
    assert "words alone, no model" in table.output


def test_controls_are_needed_and_enough_of_them(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    (tmp_path / "few").mkdir()
    suspect = write(tmp_path / "suspect.txt", 20, 1)
    with pytest.raises(DataError, match="role: control"):
        membership_report(run(tmp_path / "none", (suspect, "target")))
    few = write(tmp_path / "few.txt", 10, 2)
    with pytest.raises(DataError, match="20 are needed; add controls"):
        membership_report(run(tmp_path / "few", (suspect, "target"), (few, "control")))
    with pytest.raises(DataError, match="membership scores"):
        membership_report([])


def test_overlap_with_a_corpus(tmp_path: Path) -> None:
    suspect = write(tmp_path / "suspect.txt", 20, 1)
    (tmp_path / "corpus").mkdir()
    lines = suspect.read_text(encoding="utf-8").splitlines()
    (tmp_path / "corpus" / "book.txt").write_text("\n".join(lines[:5]), encoding="utf-8")
    found = CliRunner().invoke(
        contamination_command,
        ["overlap", str(tmp_path / "corpus"), "--data", str(suspect), "--words", "8", "--json"],
    )
    assert found.exit_code == 0, found.output
    [one] = json.loads(found.output).values()
    assert one["with_overlap"] == 5
    assert one["ids"] == [f"test-{number}" for number in range(1, 6)]
