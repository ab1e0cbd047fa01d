"""Which checkpoints in a folder are complete."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from harness.errors import HarnessError
from harness.training.checkpoint_folder import CheckpointFolder, lacking
from tests.tiny_checkpoints import tokenizer, write_checkpoint


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("transformers")
    found = tmp_path_factory.mktemp("saved")
    write_checkpoint(found, "llama", tokenizer())
    return found


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "run-7").mkdir()
    return tmp_path / "run-7"


def save(run: Path, name: str, saved: Path, *, trainer: bool = True) -> Path:
    shutil.copytree(saved, run / name)
    if trainer:
        (run / name / "trainer_state.json").write_text("{}")
    return run / name


def names(folder: CheckpointFolder) -> list[str]:
    return [one.path.name for one in folder.scan().ready]


def test_every_state_of_a_save_but_the_last_is_incomplete(run: Path, saved: Path) -> None:
    whole = (saved / "model.safetensors").read_bytes()
    there = run / "checkpoint-10"
    there.mkdir()
    folder = CheckpointFolder(run)
    assert "no config.json" in folder.scan().incomplete["checkpoint-10"]
    (there / "config.json").write_text((saved / "config.json").read_text()[:50])
    assert "config.json is incomplete" in folder.scan().incomplete["checkpoint-10"]
    shutil.copy(saved / "config.json", there)
    assert folder.scan().incomplete["checkpoint-10"] == "it has no weights"
    for size in (0, 7, 8, 100, len(whole) // 2, len(whole) - 1):
        (there / "model.safetensors").write_bytes(whole[:size])
        for _ in range(2):  # also when nothing has changed since the last look
            assert "model.safetensors is incomplete" in folder.scan().incomplete["checkpoint-10"], size
    (there / "model.safetensors").write_bytes(whole)
    assert folder.scan().incomplete["checkpoint-10"] == "it may still be growing"
    shutil.copy(saved / "tokenizer.json", there)
    assert names(folder) == []
    assert names(folder) == ["checkpoint-10"]


def test_the_trainers_last_file_ends_a_save(run: Path, saved: Path) -> None:
    save(run, "checkpoint-10", saved)
    assert names(CheckpointFolder(run)) == ["checkpoint-10"]


def test_every_shard_of_an_index_is_needed(run: Path, saved: Path) -> None:
    there = save(run, "checkpoint-10", saved)
    index = {"weight_map": {"a": "model.safetensors", "b": "model-2.safetensors"}}
    (there / "model.safetensors.index.json").write_text(json.dumps(index)[:-5])
    assert lacking(there) == "model.safetensors.index.json is incomplete"
    assert "model.safetensors.index.json is damaged" in CheckpointFolder(run).scan().incomplete["checkpoint-10"]
    (there / "model.safetensors.index.json").write_text(json.dumps(index))
    assert lacking(there) == "model-2.safetensors is missing"
    shutil.copy(there / "model.safetensors", there / "model-2.safetensors")
    assert lacking(there) == ""


@pytest.mark.parametrize("end", ["safetensors", "bin"])
def test_every_part_of_weights_is_needed_also_before_their_index_is_there(run: Path, saved: Path, end: str) -> None:
    torch = pytest.importorskip("torch")
    there = save(run, "checkpoint-10", saved)
    (there / "model.safetensors").unlink()
    start = "model" if end == "safetensors" else "pytorch_model"
    for number, lacks in ((1, "2 of 3 files of weights are missing"), (3, "1 of 3 files"), (2, "")):
        part = there / f"{start}-{number:05}-of-00003.{end}"
        if end == "bin":
            torch.save({"a": torch.zeros(2)}, part)
        else:
            shutil.copy(saved / "model.safetensors", part)
        assert lacking(there).startswith(lacks)
    assert lacking(there) == ""


def test_without_a_tokenizer_a_checkpoint_is_looked_at_once_more(run: Path, saved: Path) -> None:
    without = save(run, "checkpoint-10", saved, trainer=False)
    later = save(run, "checkpoint-20", saved, trainer=False)
    for folder in (without, later):
        (folder / "tokenizer.json").unlink()
    looks = CheckpointFolder(run)
    assert names(looks) == []
    assert names(looks) == []
    shutil.copy(saved / "tokenizer.json", later)
    assert names(looks) == ["checkpoint-10"]
    assert names(looks) == ["checkpoint-10", "checkpoint-20"]


def test_pickled_weights_are_complete_with_their_last_record(run: Path, saved: Path) -> None:
    torch = pytest.importorskip("torch")
    there = save(run, "checkpoint-10", saved)
    (there / "model.safetensors").unlink()
    torch.save({"a": torch.zeros(100)}, there / "pytorch_model.bin")
    assert lacking(there) == ""
    content = (there / "pytorch_model.bin").read_bytes()
    (there / "pytorch_model.bin").write_bytes(content[: len(content) // 2])
    assert lacking(there) == "pytorch_model.bin is incomplete"


def test_order_changes_and_deletions(run: Path, saved: Path) -> None:
    for step in (100, 20, 3):
        save(run, f"checkpoint-{step}", saved)
    save(run, "tmp-checkpoint-1", saved)
    save(run, "final", saved)
    save(run, "step-20", saved)
    (run / "logs").mkdir()
    folder = CheckpointFolder(run)
    scan = folder.scan()
    assert [one.step for one in scan.ready] == [3, 20, 100]
    assert sorted(scan.news) == [
        "final is skipped: its name has no step (a name with one: checkpoint-500).",
        "step-20 is skipped: checkpoint-20 has the same step.",
    ]
    assert folder.scan().news == ()
    folder.take(scan.ready[0])
    shutil.rmtree(run / "checkpoint-3")
    shutil.rmtree(run / "checkpoint-100")
    scan = folder.scan()
    assert scan.news == ("checkpoint-100 was deleted before it was evaluated.",)
    folder.take(scan.ready[0])
    assert names(folder) == []
    shutil.rmtree(run / "checkpoint-20")
    save(run, "checkpoint-20", saved)
    scan = folder.scan()
    assert [one.step for one in scan.ready] == [20]
    assert scan.news == ("checkpoint-20 was written again; it is evaluated again.",)


def test_a_folder_that_is_not_one_of_checkpoints_is_refused(run: Path, saved: Path) -> None:
    with pytest.raises(HarnessError, match="is not a folder"):
        CheckpointFolder(run / "nowhere")
    with pytest.raises(HarnessError, match="is a checkpoint; name the folder that it is in"):
        CheckpointFolder(save(run, "checkpoint-10", saved))
    folder = CheckpointFolder(run)
    shutil.rmtree(run)
    with pytest.raises(HarnessError, match="is gone"):
        folder.scan()
