"""The files of a results folder that a signature covers, with their digests."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from harness.errors import DataError
from harness.inference.cache_file import FILE_NAME as CACHE_FILE
from harness.output.display import visible
from harness.storage.results import is_hidden

SIGNATURE_FILE = "results.intoto.json"
"""The file in the results folder that holds the signature."""

_CHUNK = 1 << 20


def covered_files(folder: Path) -> Iterator[str]:
    """Yield the paths of the files that a signature of a folder covers, relative to it, in order.

    These are all files but the signature itself, the response cache, and hidden files and folders, in which the harness
    notes what it is doing. Symbolic links are yielded like files.

    Raises:
        DataError: A folder cannot be listed.
    """

    def failed(error: OSError) -> None:
        raise DataError(f"cannot be listed ({error.strerror or error}).", file=error.filename)

    for place, folders, files in os.walk(folder, onerror=failed):
        folders[:] = sorted(name for name in folders if not is_hidden(Path(name)))
        links = [name for name in folders if os.path.islink(os.path.join(place, name))]
        base = PurePosixPath(Path(place).relative_to(folder).as_posix())
        for name in sorted([*files, *links]):
            if is_hidden(Path(name)) or (Path(place) == folder and (name == SIGNATURE_FILE or _is_cache(name))):
                continue
            yield str(base / name)


def _is_cache(name: str) -> bool:
    return name in (CACHE_FILE, f"{CACHE_FILE}-wal", f"{CACHE_FILE}-shm")


def digest_of(folder: Path, name: str) -> str:
    """Return the SHA-256 of a file, in hexadecimal.

    Args:
        folder: The results folder.
        name: The file's path in it, as :func:`covered_files` gives it.

    Raises:
        DataError: It is a link or not a file, or cannot be read.
        FileNotFoundError: It does not exist.
    """
    path = folder / name
    if link := next((place for place in _places(folder, name) if place.is_symlink()), None):
        shown = visible(link.relative_to(folder).as_posix())
        raise DataError(f"{shown} is a symbolic link, which a signature cannot cover; put the file itself there.")
    try:
        # Without O_NONBLOCK, opening a named pipe would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise DataError(f"{visible(name)} is not a regular file, so a signature cannot cover it.")
            digest = hashlib.sha256()
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(name) from None
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error}).", file=path) from error
    return digest.hexdigest()


def _places(folder: Path, name: str) -> Iterator[Path]:
    place = folder
    for part in PurePosixPath(name).parts:
        place = place / part
        yield place


def is_inside(name: str) -> bool:
    """Return True if a text is a plain relative path: no ``..``, no empty part, no root, no drive, no backslash."""
    parts = name.split("/")
    return not ("\\" in name or "\0" in name or parts[0][1:2] == ":" or any(part in ("", ".", "..") for part in parts))
