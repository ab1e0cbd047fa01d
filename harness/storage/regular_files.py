"""Reading files from a folder that may not be trusted: only regular files, and without blocking."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from harness.errors import DataError


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading.

    Raises:
        DataError: It is a named pipe (on which a plain ``open`` blocks), a socket, a device or a folder.
        OSError: It cannot be opened.
    """
    # Checked before opening, since opening a device can have effects, and after, since the file may be replaced.
    if not stat.S_ISREG(path.stat().st_mode):
        raise DataError("not a regular file.", file=path)
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    file = os.fdopen(descriptor, "rb")
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        file.close()
        raise DataError("not a regular file.", file=path)
    return file


def read_regular(path: Path) -> bytes:
    """Return the content of a regular file.

    Raises:
        DataError: It is not a regular file.
        OSError: It cannot be read.
    """
    with open_regular(path) as file:
        return file.read()
