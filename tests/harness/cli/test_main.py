"""The command as a whole."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from harness.cli import COMMANDS
from tests.harness.cli.conftest import Harness


def test_help_names_every_command(harness: Harness) -> None:
    said = harness("--help")
    assert (said.code, said.err) == (0, "")
    for name, (_, text) in COMMANDS.items():
        assert name in said.out
        assert text in said.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(harness: Harness, command: str) -> None:
    said = harness(command, "--help")
    assert (said.code, said.err) == (0, "")
    assert f"harness {command}" in said.out or f"main {command}" in said.out or command in said.out


def test_the_version_is_the_package_s(harness: Harness) -> None:
    assert harness("--version").out == f"harness, version {version('holistic-harness')}\n"


def test_a_command_that_is_none_is_answered_with_the_nearest(harness: Harness) -> None:
    said = harness("rnu")
    assert said.code == 2
    assert "Did you mean 'run'?" in said.err


def test_a_reader_that_goes_away_is_no_traceback(folder: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "harness", "schema"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(1)
    process.stdout.close()
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close()
    assert process.wait() in {0, 1, 141}


def test_a_scenario_in_a_sweep_s_place_is_told_how_to_run(harness: Harness) -> None:
    said = harness("run", "mmlu:subject=anatomy")
    assert said.code == 2
    assert "not a sweep" in said.err
    assert "-r mmlu:subject=anatomy -m" in said.err


@pytest.fixture
def levels() -> Iterator[None]:
    """Loggers as they were before the test."""
    names = ("harness", "scenarios", "adapters", "metrics", "harness.plugins", "harness.sweeps")
    before = {name: logging.getLogger(name).level for name in names}
    handlers = [*logging.getLogger().handlers]
    yield
    logging.getLogger().handlers[:] = handlers
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)


@pytest.mark.usefixtures("levels")
def test_the_log_is_shown_as_far_as_is_asked(harness: Harness) -> None:
    assert "harness.sweeps" not in harness("validate", "sweep.yaml").err
    informed = harness("validate", "sweep.yaml", "-v")
    assert informed.code == 0
    assert "INFO harness.sweeps.load: sweep.yaml: suite 'small' has 4 runs" in informed.err
    assert "DEBUG" not in informed.err
    assert "harness.sweeps" not in informed.out
    assert "DEBUG harness.plugins.registry: loading" in harness("validate", "sweep.yaml", "-vv").err


@pytest.mark.usefixtures("levels")
def test_the_log_of_one_package_is_shown(harness: Harness) -> None:
    said = harness("validate", "sweep.yaml", "--log-level", "plugins=debug")
    assert "harness.plugins.registry: loading" in said.err
    assert "harness.sweeps" not in said.err
    wrong = harness("validate", "sweep.yaml", "--log-level", "plugins=dbug")
    assert wrong.code == 2
    assert "Did you mean 'debug'?" in wrong.err
    misspelt = harness("validate", "sweep.yaml", "--log-level", "inferense=debug")
    assert misspelt.code == 2
    assert "Did you mean 'inference'?" in misspelt.err


@pytest.mark.usefixtures("levels")
def test_control_characters_in_the_log_are_escaped(harness: Harness, folder: Path) -> None:
    (folder / "\x1b[31m.yaml").write_text((folder / "sweep.yaml").read_text())
    said = harness("validate", "\x1b[31m.yaml", "-v")
    assert "\x1b" not in said.err
    assert "suite 'small'" in said.err


def test_models_are_compared_by_what_a_run_calls_them(harness: Harness) -> None:
    for setting in ("window=300", "window=400"):
        assert harness("run", "-r", "./quiz.yaml", "-m", f"fake:0,{setting}", "--suite", "two").code == 0
    said = harness("compare", "fake:0,window=300", "fake:0,window=400", "--suite", "two", "--format", "json")
    assert said.code == 0, said.err
    assert '"first_id": "fake:0:window=300"' in said.out
    ambiguous = harness("compare", "fake:0", "fake:0,window=300", "--suite", "two")
    assert ambiguous.code == 2
    assert "several models" in ambiguous.err


def test_another_program_s_option_is_translated_where_the_command_has_ours(harness: Harness) -> None:
    assert "Here it is --max-eval-instances." in harness("run", "sweep.yaml", "--limit", "5").err
    assert "--max-eval-instances" not in harness("reproduce", "results", "--limit", "5").err


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("prompts", "--suite", "first"), "Name the suite without --suite: harness prompts first\n"),
        (("checkpoints", "--suite=my suite"), "Name the suite without --suite: harness checkpoints 'my suite'\n"),
        (("track", "--listener", "x", "--suite", "first"), "Name the suite without --suite: harness track first\n"),
        (
            ("contamination", "report", "--suite", "first"),
            "Name the suite without --suite: harness contamination report first\n",
        ),
    ],
)
def test_a_suite_as_an_option_is_answered_with_the_argument(
    harness: Harness, arguments: tuple[str, ...], hint: str
) -> None:
    said = harness(*arguments)
    assert said.code == 2
    assert said.err.endswith(f"No such option '--suite'.\n{hint}")


def test_a_command_without_suites_has_no_hint_for_them(harness: Harness) -> None:
    assert "without --suite" not in harness("lock", "--suite", "first").err
