"""Finished runs to export: real ones of a made-up quiz, by two models, with and without perturbed copies."""

from __future__ import annotations

import shutil
from contextlib import chdir
from pathlib import Path

import pytest

from harness.imports.helm import helm_runs, read_helm
from harness.imports.imported_run import write_imported
from harness.imports.inspect_ai import inspect_logs, read_inspect
from harness.imports.lm_eval import lm_eval_files, read_lm_eval
from harness.runs.runner import Settings, run_sweep
from harness.sweeps.load import load_sweep
from tests.harness.cli.conftest import write_files

IMPORTED = Path(__file__).parents[1] / "imports" / "data"

RICHER = """\
runs:
  - {scenario: quiz, samples: 3, adapter: {temperature: 1.0}}
  - {scenario: quiz, adapter: {train_trials: 2}}
  - {scenario: quiz, adapter: {method: multiple_choice_joint}}
  - {scenario: quiz, adapter: {method: multiple_choice_separate_original}}
"""


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of four runs, made once; tests must not change them."""
    made = tmp_path_factory.mktemp("finished")
    write_files(made)
    sweep, registry = load_sweep(made / "sweep.yaml")
    with chdir(made):  # where a model's log goes
        assert len(list(run_sweep(sweep.runs, registry, Settings(made / "results")))) == 4
    return made / "results"


@pytest.fixture(scope="session")
def richer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of runs with several samples and train trials, of options asked together and scored one by one.

    Also of runs that were imported from logs of real programs: conversations, reasoning, log-probabilities, errors.
    """
    made = tmp_path_factory.mktemp("richer")
    write_files(made)
    sweep = (made / "sweep.yaml").read_text()
    (made / "sweep.yaml").write_text(sweep.partition("runs:")[0] + RICHER)
    loaded, registry = load_sweep(made / "sweep.yaml")
    with chdir(made):
        assert len(list(run_sweep(loaded.runs, registry, Settings(made / "results")))) == 8
    for log in inspect_logs(IMPORTED / "inspect"):
        write_imported(made / "results", read_inspect(log, "inspect", registry))
    for folder in helm_runs(IMPORTED / "helm"):
        write_imported(made / "results", read_helm(folder, "helm", registry))
    for file in lm_eval_files(IMPORTED / "lm_eval"):
        for imported in read_lm_eval(file, "lm-eval", registry):
            write_imported(made / "results", imported)
    return made / "results"


@pytest.fixture
def results(finished: Path, tmp_path: Path) -> Path:
    """A copy of them."""
    return Path(shutil.copytree(finished, tmp_path / "results"))
