"""Which cache a sweep has, and that a results folder on a network file system needs no setting."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from harness.inference.cache_file import FILE_NAME
from harness.inference.segments import ANSWERS_FOLDER, segment_files
from tests.harness.cli.conftest import Harness, folder, harness
from tests.harness.inference.test_merging import texts

__all__ = ["folder", "harness"]  # fixtures

RUN = ("run", "-r", "quiz", "-m", "fake:0,log=asked", "--plugin", "quiz.yaml")


@pytest.fixture
def network(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pretend that the results folder is on Lustre; return a folder for temporary files."""

    def kind(path: Path) -> str | None:
        return "Lustre" if path.absolute().is_relative_to(folder / "results") else None

    for module in ("inference.cache_file", "inference.head_cache", "runs.answers"):
        monkeypatch.setattr(f"harness.{module}.network_file_system", kind)
    temporary = folder / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.delenv("HARNESS_CACHE_DIR", raising=False)
    return temporary


def test_on_a_network_file_system_a_sweep_works_like_a_head_and_merges_at_its_end(
    harness: Harness, folder: Path, network: Path, caplog: pytest.LogCaptureFixture
) -> None:
    results = folder / "results"
    said = harness(*RUN)
    assert said.code == 0, said.err
    assert "network" not in said.err + "".join(caplog.messages)
    assert len((folder / "asked").read_text().split()) == 20
    assert segment_files(results / ANSWERS_FOLDER) == []
    assert list(network.iterdir()) == []
    assert not [*results.glob("*-wal"), *results.glob("*-shm")]
    assert harness(*RUN, "--force").code == 0
    assert len((folder / "asked").read_text().split()) == 20
    assert len(texts(results)) == 20


def test_with_a_folder_of_its_own_the_cache_is_one_file_there(harness: Harness, folder: Path, network: Path) -> None:
    assert harness(*RUN, "--cache-dir", "local").code == 0
    assert (folder / "local" / FILE_NAME).is_file()
    assert not (folder / "results" / ANSWERS_FOLDER).exists()
    assert not (folder / "results" / FILE_NAME).exists()


def test_on_a_local_disk_there_are_no_segments(harness: Harness, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HARNESS_CACHE_DIR", raising=False)
    assert harness(*RUN).code == 0
    assert (folder / "results" / FILE_NAME).is_file()
    assert not (folder / "results" / ANSWERS_FOLDER).exists()
