"""Reading another program's JSON and JSON lines, of a limited size, with errors for users."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.errors import DataError
from harness.storage.regular_files import open_regular

LONGEST_FILE = 1 << 30
"""Bytes of the longest file that is read into memory; its values take several times as much memory."""
LONGEST_LINE = 64 << 20
"""Bytes of the longest line of a JSON lines file."""


@contextmanager
def understood(file: Path, what: str) -> Iterator[None]:
    """Turn any error from reading an unexpected value into a DataError.

    Raises:
        DataError: The value has another shape.
    """
    try:
        yield
    except KeyError as error:
        raise DataError(f"is not {what} (it has no {error}).", file=file) from error
    except (ValueError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise DataError(f"is not {what} ({error}).", file=file) from error


def read_json(file: Path, what: str, advice: str = "") -> Any:
    """Return the content of a JSON file.

    Args:
        file: The file.
        what: What kind of file it should be, for messages.
        advice: What to do if the file is too long.

    Raises:
        DataError: It is missing, longer than :data:`LONGEST_FILE`, or not JSON.
    """
    try:
        with open_regular(file) as opened:
            content = opened.read(LONGEST_FILE + 1)
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error}).", file=file) from error
    if len(content) > LONGEST_FILE:
        too_long = f"is longer than {LONGEST_FILE >> 20:,} MiB, the limit for {what}."
        raise DataError(f"{too_long} {advice}".strip(), file=file)
    with understood(file, what):
        return json.loads(content.decode("utf-8"))


def read_json_lines(file: Path, what: str) -> Iterator[Any]:
    """Yield the value of each line of a JSON lines file.

    Raises:
        DataError: The file is missing, or a line is not JSON or longer than :data:`LONGEST_LINE`.
    """
    try:
        with open_regular(file) as lines:
            number = 0
            while line := lines.readline(LONGEST_LINE + 1):
                number += 1
                if len(line) > LONGEST_LINE:
                    message = f"is longer than {LONGEST_LINE >> 20:,} MiB: not a line of {what}."
                    raise DataError(message, file=file, row=number)
                if line.strip():
                    with understood(file, what):
                        value = json.loads(line.decode("utf-8"))
                    yield value
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error}).", file=file) from error


def identity(file: Path) -> dict[str, str]:
    """Return a file's name and SHA-256, for the provenance."""
    with file.open("rb") as content:
        return {"path": file.name, "sha256": hashlib.file_digest(content, "sha256").hexdigest()}
