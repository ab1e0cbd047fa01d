"""Facts about a checkpoint are kept until one of its files changes, and damage to what is kept does no harm."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.models.tokens import checkpoint_files, remembered
from harness.models.tokens.checkpoint import Checkpoint, find_checkpoint
from harness.models.tokens.checkpoint_files import SETTLED_SECONDS
from harness.models.tokens.remembered import Facts, remembered_facts


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of a checkpoint, old enough that a change would show, and an empty cache folder of the user."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(checkpoint_files, "SETTLED_SECONDS", 0.0)
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "gpt2"}')
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


class Finder:
    """Counts how often facts are looked for."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> Facts:
        self.calls += 1
        return {"window": 8, "call": self.calls}


def local(folder: Path) -> Checkpoint:
    return find_checkpoint(f"hf:{folder}", None, False)


def test_facts_are_found_once(folder: Path) -> None:
    find = Finder()
    assert [remembered_facts(local(folder), find) for _ in range(3)] == [{"window": 8, "call": 1}] * 3


def test_any_change_of_a_file_is_seen_even_one_that_keeps_size_and_time(folder: Path) -> None:
    find = Finder()
    remembered_facts(local(folder), find)
    weights = folder / "model.safetensors"
    before = weights.stat()
    time.sleep(0.02)  # longer than the clock of a file system ticks
    weights.write_bytes(b"WEIGHTS")
    os.utime(weights, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert remembered_facts(local(folder), find)["call"] == 2
    (folder / "tokenizer.json").write_text("{}")
    assert remembered_facts(local(folder), find)["call"] == 3
    (folder / "tokenizer.json").unlink()
    weights.unlink()
    assert remembered_facts(local(folder), find)["call"] == 4


def test_other_code_finds_the_facts_again(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = tmp_path / "models" / "tokens" / "remembered.py"
    code.parent.mkdir(parents=True)
    code.write_text("one")
    monkeypatch.setattr(remembered, "__file__", str(code))
    find = Finder()
    assert [remembered_facts(local(folder), find)["call"] for _ in range(2)] == [1, 1]
    code.write_text("another")
    assert remembered_facts(local(folder), find)["call"] == 2


def test_a_checkpoint_that_was_just_written_is_not_trusted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint_files, "SETTLED_SECONDS", 60.0)
    find = Finder()
    assert [remembered_facts(local(folder), find)["call"] for _ in range(2)] == [1, 2]


def test_a_checkpoint_with_code_of_its_own_is_asked_each_time(folder: Path) -> None:
    find = Finder()
    trusted = find_checkpoint(f"hf:{folder}", None, True)
    assert [remembered_facts(trusted, find)["call"] for _ in range(2)] == [1, 2]


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"key": 1}', '{"key": 1, "facts": 2}'])
def test_damaged_memory_is_ignored_and_mended(folder: Path, tmp_path: Path, damage: str) -> None:
    find = Finder()
    remembered_facts(local(folder), find)
    (file,) = tmp_path.glob("cache/*/checkpoints/*.json")
    file.write_text(damage)
    assert [remembered_facts(local(folder), find)["call"] for _ in range(2)] == [2, 2]
    assert json.loads(file.read_text())["facts"]["window"] == 8


def test_a_cache_folder_that_cannot_be_written_is_no_error(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("a file")
    find = Finder()
    assert [remembered_facts(local(folder), find)["call"] for _ in range(2)] == [1, 2]


@pytest.mark.slow
def test_a_known_fingerprint_takes_no_heavy_library(models_dir: Path, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    folder = shutil.copytree(models_dir / "small-gpt2", tmp_path / "copy")
    code = (
        "import sys; from harness.models.transformers.huggingface import HuggingFaceModel as M; import json\n"
        f"model = M({str(folder)!r})\n"
        "print(json.dumps([model.fingerprint(), model.window, model.chat, 'torch' in sys.modules]))"
    )

    def ask() -> list[object]:
        environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
        assert ran.returncode == 0, ran.stderr
        found: list[object] = json.loads(ran.stdout.splitlines()[-1])
        return found

    time.sleep(SETTLED_SECONDS)
    first, second = ask(), ask()
    assert first[:3] == second[:3]
    assert (first[3], second[3]) == (True, False)
