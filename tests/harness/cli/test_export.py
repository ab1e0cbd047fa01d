"""``harness export``: one line of what was written, one for each kind of thing that was left out."""

from __future__ import annotations

import json
from pathlib import Path

from harness.storage.results import RUN_FILE, find_runs
from tests.harness.cli.conftest import Harness


def test_runs_are_exported(harness: Harness, folder: Path) -> None:
    assert harness("run", "sweep.yaml").code == 0
    said = harness("export", "results", "--to", "every-eval-ever", "-o", "out", "--set", "organization=We")
    assert (said.code, said.out) == (0, "out: 4 runs in 8 files.\n")
    assert len(list(folder.glob("out/data/quiz/local/*/*.json"))) == 4


def test_runs_that_something_was_left_out_of_are_named(harness: Harness, folder: Path) -> None:
    assert harness("run", "sweep.yaml").code == 0
    perturbed = [run.name for run in find_runs(folder / "results") if run.spec.perturbations]
    said = harness("export", "results", "--to", "lm-eval", "-o", "out")
    (line,) = [line for line in said.err.splitlines() if "statistics of groups, worst cases and drops" in line]
    assert line.endswith(f" of {', '.join(perturbed)}.")
    assert len(perturbed) == 2


def _fail(run: Path) -> None:
    record = json.loads((run / RUN_FILE).read_text())
    (run / RUN_FILE).write_text(json.dumps({**record, "status": "failed", "error": "no memory"}))


def test_an_export_of_all_that_can_be_exported_succeeds(harness: Harness, folder: Path) -> None:
    assert harness("run", "sweep.yaml").code == 0
    _fail(find_runs(folder / "results")[0].directory)
    said = harness("export", "results", "--to", "helm", "-o", "out")
    assert (said.code, said.out.partition(" in ")[0]) == (0, "out: 3 runs")
    assert "Left out: 1 failed runs." in said.err


def test_an_export_of_nothing_fails(harness: Harness, folder: Path) -> None:
    assert harness("run", "sweep.yaml").code == 0
    said = harness("export", "results", "--to", "eval-results", "-o", "out")
    assert (said.code, said.out) == (2, "out: 0 runs in 0 files.\n")
    assert said.err.count("not exported: the scenario quiz does not name a data set on the Hub.") == 4
    assert said.err.endswith("nothing was exported.\n")
    for run in find_runs(folder / "results"):
        _fail(run.directory)
    assert harness("export", "results", "--to", "helm", "-o", "out").code == 2


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
