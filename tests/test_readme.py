"""What the README shows works as it stands there."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.costs.runtimes import load_runtimes

README = Path(__file__).parent.parent / "README.md"
BLOCKS: list[tuple[str, str]] = re.findall(r"```(\w+)\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def block(language: str, mark: str) -> str:
    """Return the one block of a language that contains a mark."""
    (found,) = [text for name, text in BLOCKS if name == language and mark in text]
    return found


def harness(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "harness", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def quiz(tmp_path: Path) -> Path:
    """A folder with what ``harness new`` writes, the scenario's file replaced by the README's."""
    harness(tmp_path, "new", "scenario", "my_quiz")
    (tmp_path / "my_quiz.yaml").write_text(block("yaml", "name: my_quiz"))
    return tmp_path


def test_the_sweep_is_valid(tmp_path: Path) -> None:
    (tmp_path / "my-sweep.yaml").write_text(block("yaml", "# my-sweep.yaml"))
    assert "12 runs with 2 models" in harness(tmp_path, "validate", "my-sweep.yaml")


def test_the_mistakes_are_answered_as_shown(tmp_path: Path) -> None:
    (tmp_path / "my-sweep.yaml").write_text(
        "suite: demo\n"
        "models: [hf:openai-community/gpt2, openai-community/gpt2]\n"
        "runs:\n"
        "  - scenario: {name: mmlu, subject: astronmy}\n"
        "  - {scenario: imbd, perturbations: [typos]}\n"
        "  - {scenario: boolq, adapter: {method: generation, max_token: 5}}\n"
        "  - {scenario: boolq, metrics: [exact_mach], metrics: [f1_score]}\n"
    )
    command = [sys.executable, "-m", "harness", "validate", "my-sweep.yaml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.split("\n") == block("console", "harness validate").split("\n")[1:]


def test_the_response_cache_is_looked_after_as_shown(tmp_path: Path) -> None:
    harness(tmp_path, "run", "-r", "sample_generation", "-m", "fake:0")
    lines = block("console", "harness cache stats").splitlines()
    said = [harness(tmp_path, *shlex.split(line, comments=True)[2:]) for line in lines]
    assert len(said) == 5
    assert "answers of 1 models" in said[0]
    assert "0 answers of 0 models would be removed" in said[1]
    assert "0 tokens of 0 models" in said[2]
    assert " 0 answers added" in said[4]


def test_results_are_shown_and_imported_as_said(tmp_path: Path) -> None:
    for suite in ("before", "after"):
        harness(tmp_path, "run", "-r", "sample_multiple_choice", "-m", "fake:0", "--suite", suite)
    data = Path(__file__).parent / "harness" / "imports" / "data" / "lm_eval"
    shutil.copytree(data, tmp_path / "lm_eval_output")
    lines = [line.split("#")[0].split()[2:] for line in block("console", "harness serve").splitlines()]
    serve, diff, latex, lm_eval, helm = lines
    assert (serve[0], helm[:2]) == ("serve", ["import", "helm"])
    assert "sample_multiple_choice" in harness(tmp_path, *diff)
    assert r"\toprule" in harness(tmp_path, *[argument.replace("first", "after") for argument in latex])
    assert "statistics" in harness(tmp_path, *lm_eval)


def test_the_table_of_runtimes_works(tmp_path: Path) -> None:
    (tmp_path / "runtimes.yaml").write_text(block("yaml", "denoised:"))
    table = load_runtimes(tmp_path / "runtimes.yaml")
    denoised, idealized = table.runtimes("hf:./small-one").denoised, table.runtimes("hf:./small-one").idealized
    assert denoised is not None
    assert idealized is not None
    assert denoised.seconds(256, 11) == pytest.approx(0.018 + 0.08 + 0.002)
    assert idealized.seconds(512, 1) == pytest.approx(0.006)


def test_the_models_behind_servers_are_valid(tmp_path: Path) -> None:
    models = block("yaml", "openai:gpt-4o-mini")
    (tmp_path / "served.yaml").write_text(f"suite: served\n{models}runs: [sample_reading]\n")
    assert "2 runs with 2 models" in harness(tmp_path, "validate", "served.yaml")


def test_the_scenario_file_works(quiz: Path) -> None:
    assert "Which animal says moo?" in harness(quiz, "preview", "-r", "./my_quiz.yaml", "-m", "fake:0")
    assert "1 of 1 runs ok" in harness(quiz, "run", "-r", "./my_quiz.yaml", "-m", "fake:0")


def test_the_metric_works(quiz: Path) -> None:
    (quiz / "contains.py").write_text(block("python", '@metric("contains"'))
    (quiz / "sweep.yaml").write_text(block("yaml", "suite: with-contains"))
    assert "1 of 1 runs ok" in harness(quiz, "run", "sweep.yaml")
    assert "contains" in harness(quiz, "show", "metric", "contains", "--plugin", "contains.py")


def test_the_scenario_in_python_works(tmp_path: Path) -> None:
    (tmp_path / "parity.py").write_text(block("python", '"parity"'))
    (tmp_path / "parity").mkdir()
    (tmp_path / "parity" / "numbers.jsonl").write_text("".join(f'{{"number": {n}}}\n' for n in range(9)))
    plugin = ["--plugin", "parity.py", "--data-dir", "."]
    assert "n=9" in harness(tmp_path, "run", "-r", "parity:odd_first=true", "-m", "fake:0", *plugin)


def test_the_model_works(tmp_path: Path) -> None:
    (tmp_path / "echo.py").write_text(block("python", '@backend("echo"'))
    assert "1 of 1 runs ok" in harness(
        tmp_path, "run", "-r", "sample_generation", "-m", "echo:2", "--plugin", "echo.py"
    )


def test_the_perturbation_and_the_adapter_work(tmp_path: Path) -> None:
    (tmp_path / "shout.py").write_text(block("python", '@perturbation("shout"'))
    (tmp_path / "plain.py").write_text(block("python", '@adapter("plain_question"'))
    (tmp_path / "sweep.yaml").write_text(
        "suite: s\nmodels: [fake:0]\nplugins: [shout.py, plain.py]\n"
        "runs: [{scenario: sample_generation, adapter: plain_question, perturbations: [shout]}]\n"
    )
    assert "1 of 1 runs ok" in harness(tmp_path, "run", "sweep.yaml")
    (run,) = (tmp_path / "results" / "s").iterdir()
    assert "shout" in harness(tmp_path, "stats", str(run))
