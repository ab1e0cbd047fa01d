"""Reading another program's JSON and JSON lines, of a limited size, with errors for users."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from harness.errors import DataError, show_path
from harness.storage.regular_files import open_regular
from harness.validation import explain

LONGEST_FILE = 1 << 30
"""Bytes of the longest file that is read into memory; its values take several times as much memory."""
LONGEST_LINE = 64 << 20
"""Bytes of the longest line of a JSON lines file."""


@contextmanager
def understood(file: Path, what: str, row: int | None = None) -> Iterator[None]:
    """Turn any error from reading an unexpected value into a DataError.

    Args:
        file: The file.
        what: What kind of file it should be, for messages.
        row: The line of the file, from 1; None if it has one value.

    Raises:
        DataError: The value has another shape.
    """
    try:
        yield
    except KeyError as error:
        raise DataError(f"is not {what} (it has no {error}).", file=file, row=row) from error
    except ValidationError as error:  # whose text has several lines
        first = error.errors(include_url=False)[0]
        problem = f"{show_path(first['loc'])}: {first['msg']}".removeprefix(": ")
        raise DataError(f"is not {what} ({problem}).", file=file, row=row) from error
    except (TypeError, AttributeError, IndexError) as error:  # whose texts are about Python
        raise DataError(f"is not {what} (it has an unexpected value).", file=file, row=row) from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"is not {what} ({error}).", file=file, row=row) from error


def check_shape(
    model: type[BaseModel], value: Any, file: Path, what: str, *, row: int | None = None, key: str = ""
) -> None:
    """Check that a file's value fits a model, which declares the keys that are read.

    Args:
        model: The model.
        value: The value.
        file: The file.
        what: What kind of file it should be, for messages.
        row: The line of the file, from 1; None if it has one value.
        key: The value's place in the file; empty for the whole file or line.

    Raises:
        DataError: It does not; the message names the first key that is wrong.
    """
    try:
        model.model_validate(value)
    except ValidationError as error:
        first = explain(error, model, value)[0]
        place = ".".join(part for part in (key, first.path) if part).replace(".[", "[")
        problem = f"{place}: {first.message}" if place else first.message
        raise DataError(f"is not {what}: {problem}", file=file, row=row) from None
    except RecursionError:
        raise DataError(f"is not {what}: it is nested too deeply.", file=file, row=row) from None


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
