"""``harness export``: one line of what was written, one for each kind of thing that was left out."""

from __future__ import annotations

from pathlib import Path

from tests.harness.cli.conftest import Harness


def test_runs_are_exported(harness: Harness, folder: Path) -> None:
    assert harness("run", "sweep.yaml").code == 0
    said = harness("export", "results", "--to", "every-eval-ever", "-o", "out", "--set", "organization=We")
    assert (said.code, said.out) == (0, "out: 4 runs in 8 files.\n")
    assert len(list(folder.glob("out/data/quiz/local/*/*.json"))) == 4


def test_the_help_lists_the_formats(harness: Harness) -> None:
    assert "every-eval-ever  Every Eval Ever, schema 0.3" in harness("export", "--help").out


def test_mistakes_are_one_message(harness: Harness, folder: Path) -> None:
    (folder / "empty").mkdir()
    said = harness("export", "empty", "--to", "every-eval-ever", "-o", "out")
    assert (said.code, said.out) == (2, "")
    assert said.err == "empty holds no runs: there is no run.json in it, in its suites or in their runs.\n"
    said = harness("export", "empty", "--to", "helmet", "-o", "out")
    assert said.code == 2
    assert said.err.startswith("there is no export format 'helmet'.")
    said = harness("export", "empty", "--to", "every-eval-ever", "-o", "out", "--set", "organization")
    assert said.code == 2
    assert "--set takes KEY=VALUE, not 'organization'." in said.err
