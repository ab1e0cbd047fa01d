"""The folder that an export writes into: all files or none, no path out of it, no file written twice."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import BinaryIO

from harness.errors import DataError, StorageError
from harness.storage.durable import make_folder, writing

_LONGEST_NAME = 120
"""Bytes of a path component; file systems allow 255, and suffixes are added."""

_UNPORTABLE = re.compile(r'[<>:"|?*\\/\x00-\x1f\x7f]+')
_RESERVED = {"CON", "PRN", "AUX", "NUL", *(f"{port}{number}" for port in ("COM", "LPT") for number in range(1, 10))}


def portable_name(text: str) -> str:
    """Return a text as one path component that every file system takes and that leads out of no folder.

    Slashes and characters that Windows forbids become ``_``. A long name is cut and ends in a hash of all of it.
    """
    name = _UNPORTABLE.sub("_", text).strip().rstrip(". ").lstrip(".")
    if not name:
        return "_"
    if name.partition(".")[0].upper() in _RESERVED:
        name = f"_{name}"
    if len(name.encode("utf-8", "replace")) > _LONGEST_NAME:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        kept = name.encode("utf-8", "replace")[: _LONGEST_NAME - 13].decode("utf-8", "ignore")
        name = f"{kept}-{digest}"
    return name.encode("utf-8", "replace").decode()


class OutputFolder:
    """Collects files beside their final place, and moves them there when everything is written.

    Used as a context manager: an error in the block leaves the folder as it was.

    Args:
        path: The folder; it and its parents are made if they do not exist.

    Raises:
        StorageError: The folder cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._staging = path / f".export-{os.getpid()}"
        self._files: list[PurePosixPath] = []
        self._made = False

    @property
    def files(self) -> list[Path]:
        """The files, in the order in which they were written."""
        return [self.path.joinpath(*file.parts) for file in self._files]

    @contextmanager
    def open(self, *parts: str) -> Iterator[BinaryIO]:
        """Open a new file for writing.

        Args:
            parts: The path's components below the folder; see :func:`portable_name`.

        Raises:
            DataError: The export has written this file already.
            StorageError: It cannot be written.
        """
        file = PurePosixPath(*parts)
        if file.is_absolute() or not parts or any(part in ("", ".", "..") or "/" in part for part in parts):
            raise ValueError(f"{parts!r} is not a path inside the folder")
        if file in self._files:
            raise DataError(f"two runs would be written to {self.path / file}; export their suites separately.")
        staged = self._staging.joinpath(*file.parts)
        with writing(self.path / file):
            staged.parent.mkdir(parents=True, exist_ok=True)
            with staged.open("wb") as opened:
                yield opened
        self._files.append(file)

    def write(self, *parts: str, text: str) -> None:
        r"""Write a text file in UTF-8; a half of a surrogate pair becomes an escape such as ``\ud800``."""
        with self.open(*parts) as file:
            file.write(text.encode("utf-8", "backslashreplace"))

    @contextmanager
    def together(self) -> Iterator[None]:
        """Keep the files of the block only if it ends without an error."""
        before = len(self._files)
        try:
            yield
        except BaseException:
            del self._files[before:]
            raise

    def discard(self) -> None:
        """Forget every file; nothing of the export will appear."""
        shutil.rmtree(self._staging, ignore_errors=True)
        self._files.clear()

    def __enter__(self) -> OutputFolder:
        with writing(self.path):
            self._made = not self.path.exists()
            make_folder(self.path)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._put_in_place()
        finally:
            shutil.rmtree(self._staging, ignore_errors=True)
            if self._made:
                with suppress(OSError):  # it is empty if the export has failed
                    self.path.rmdir()

    def _put_in_place(self) -> None:
        for file in self._files:
            target = self.path.joinpath(*file.parts)
            if target.is_dir():
                raise StorageError(f"{target} cannot be written (a folder has this name).")
            with writing(target):
                target.parent.mkdir(parents=True, exist_ok=True)
                self._staging.joinpath(*file.parts).replace(target)
