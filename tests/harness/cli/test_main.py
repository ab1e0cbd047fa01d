"""The command as a whole."""

from __future__ import annotations

import subprocess
import sys
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
