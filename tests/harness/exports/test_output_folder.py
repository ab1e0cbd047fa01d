"""The folder of an export: all files or none, inside it, each once, under names that every system takes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import DataError, StorageError
from harness.exports.output_folder import OutputFolder, portable_name


def test_files_appear_when_everything_is_written(tmp_path: Path) -> None:
    with OutputFolder(tmp_path / "out") as folder:
        folder.write("a", "b.txt", text="ä\ud800")
        assert not (tmp_path / "out" / "a").exists()
    assert (tmp_path / "out" / "a" / "b.txt").read_text(encoding="utf-8") == "ä\\ud800"
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["a"]


def test_an_error_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.txt").write_text("before")
    with pytest.raises(DataError), OutputFolder(tmp_path / "out") as folder:
        _write_twice(folder)
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["a.txt"]
    assert (tmp_path / "out" / "a.txt").read_text() == "before"


def test_an_empty_folder_of_the_user_stays(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    for name in ("mine", "new"):
        with OutputFolder(tmp_path / name) as folder:
            folder.write("a.txt", text="")
            folder.discard()
    assert [file.name for file in tmp_path.iterdir()] == ["mine"]


def test_an_export_replaces_the_files_of_the_last(tmp_path: Path) -> None:
    for text in ("first", "second"):
        with OutputFolder(tmp_path) as folder:
            folder.write("a.txt", text=text)
    assert (tmp_path / "a.txt").read_text() == "second"


def test_two_runs_in_one_file_are_refused(tmp_path: Path) -> None:
    with OutputFolder(tmp_path) as folder, pytest.raises(DataError, match="two runs would be written to"):
        _write_twice(folder)


def _write_twice(folder: OutputFolder) -> None:
    for text in ("1", "2"):
        folder.write("a.txt", text=text)


@pytest.mark.parametrize("parts", [("..", "a"), ("/etc", "a"), ("a/../../b",), (), ("",), (".",)])
def test_no_path_leads_out_of_the_folder(tmp_path: Path, parts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="not a path inside"), OutputFolder(tmp_path / "out") as folder:
        folder.write(*parts, text="")


def test_a_folder_in_the_place_of_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").mkdir()
    with pytest.raises(StorageError, match=r"a\.txt cannot be written"), OutputFolder(tmp_path) as folder:
        folder.write("a.txt", text="")


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(StorageError, match="out cannot be written"), OutputFolder(tmp_path / "out"):
        pass


@given(st.text())
def test_a_portable_name_is_one_component(text: str) -> None:
    name = portable_name(text)
    assert name not in ("", ".", "..")
    assert not set(name) & set('/\\<>:"|?*\x00')
    assert not name.startswith(".")
    assert not name.endswith((".", " "))
    assert len(name.encode()) <= 120
    assert portable_name(name) == name


def test_ordinary_names_are_kept_and_long_ones_stay_different() -> None:
    assert portable_name("Qwen3-0.6B") == "Qwen3-0.6B"
    assert portable_name("mmlu:subject=anatomy") == "mmlu_subject=anatomy"
    assert portable_name("con") == "_con"
    assert portable_name("a" * 300 + "b") != portable_name("a" * 300 + "c")
