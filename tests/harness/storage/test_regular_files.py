"""Files of a results folder that are not regular: they are refused, and not waited for."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from harness.errors import DataError
from harness.storage.regular_files import open_regular, read_regular
from harness.storage.results import read_run


def test_regular_files_and_links_to_them_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert read_regular(tmp_path / "file") == read_regular(tmp_path / "link") == b"content"
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "none")


def test_anything_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's address is short
    os.mkfifo("pipe")
    Path("link").symlink_to("pipe")
    Path("folder").mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        for name in ("pipe", "link", "folder", "socket", "/dev/zero"):
            with pytest.raises(DataError, match=f"^{name}: not a regular file.$"):
                open_regular(Path(name))


def test_a_record_that_is_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "run.json")
    with pytest.raises(DataError, match=r"run\.json: not a regular file\.$"):
        read_run(tmp_path)
