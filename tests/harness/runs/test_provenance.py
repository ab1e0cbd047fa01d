"""What run.json says of where a result comes from."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import harness
from harness.runs.provenance import environment, recorded_command
from tests.harness.cli.conftest import folder

__all__ = ["folder"]


@pytest.mark.parametrize(
    ("called", "recorded"),
    [
        (["/usr/bin/harness", "run", "s.yaml", "-m", "fake:0"], ["harness", "run", "s.yaml", "-m", "fake:0"]),
        (["C/harness.exe", "run"], ["harness.exe", "run"]),
        (["/x/harness/__main__.py", "run"], ["harness", "run"]),
        (["/x/train/__main__.py", "--hub_token", "hf_abcdefgh12345678"], ["__main__.py"]),
        (["train.py", "--hub_token", "hf_abcdefgh12345678"], ["train.py"]),
        (["harness", "a", "hf_abcdefgh12345678"], ["harness", "a", "[key]"]),
        (["harness", "a", "key=sk-abcdefgh12345678"], ["harness", "a", "key=[key]"]),
        (
            ["harness", "--listener", "mlflow:tracking_uri=https://me:word@host/a@b"],
            ["harness", "--listener", "mlflow:tracking_uri=https://[key]@host/a@b"],
        ),
        ([""], [""]),
        ([], [""]),
    ],
)
def test_the_command_has_no_keys_and_no_arguments_of_other_programs(
    called: list[str], recorded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", called)
    assert recorded_command() == recorded
    monkeypatch.setattr(sys, "argv", recorded)  # as worker processes have it
    assert recorded_command() == recorded


def test_arguments_of_a_training_script_are_in_no_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["train.py", "--hub_token", "hf_abcdefgh12345678"])
    environment.cache_clear()
    try:
        harness.run(runs=["quiz"], models=["fake:0", "fake:1"], plugins=["quiz.yaml"], progress=False)
    finally:
        environment.cache_clear()
    files = [file for file in (folder / "results").rglob("*") if file.is_file()]
    assert [file for file in files if file.name == "run.json"]
    assert not [file for file in files if b"hf_abcdefgh" in file.read_bytes()]
