"""Injections into a training text: slices of test sets in published order, each with a number of copies."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.data.archives import DAMAGE, open_file
from harness.errors import DataError

_WRITTEN = re.compile(r"(?P<file>.+?)(?::(?P<start>\d+)-(?P<stop>\d+))?@(?P<copies>\d+)")


@dataclass(frozen=True, slots=True)
class Injection:
    """Consecutive examples of a published file, and the number of copies in the training text."""

    file: Path
    """The file, with one example per line."""
    start: int
    """The first example's number, from 0."""
    stop: int
    """The number after the last one's."""
    copies: int
    """Number of copies of the whole slice in the training text; 0 for a control."""
    examples: tuple[str, ...]
    """The examples as the contamination test reads them from the file."""

    @property
    def label(self) -> str:
        """The file's name with the slice, ``piqa[0:60]``."""
        return f"{self.file.name.split('.')[0]}[{self.start}:{self.stop}]"

    @property
    def document(self) -> str:
        """The slice as in the file, every example ending its line."""
        return "".join(example if example.endswith("\n") else f"{example}\n" for example in self.examples)

    def record(self) -> dict[str, Any]:
        """Return the injection's record as JSON values."""
        return {
            "file": str(self.file),
            "rows": f"{self.start}:{self.stop}",
            "examples": len(self.examples),
            "copies": self.copies,
            "sha256": hashlib.sha256(self.document.encode()).hexdigest(),
        }


def read_injection(written: str) -> Injection:
    """Parse ``FILE@COPIES`` or ``FILE:START-STOP@COPIES``.

    Raises:
        DataError: It has another form, or the file has no such examples.
    """
    found = _WRITTEN.fullmatch(written)
    if found is None:
        raise DataError(
            f"{written!r} is not an injection. Write FILE@COPIES or FILE:START-STOP@COPIES, for example "
            "piqa.jsonl:0-60@50; 0 copies make it a control."
        )
    file = Path(found["file"])
    bounds = None if found["start"] is None else (int(found["start"]), int(found["stop"]))
    return take(file, read_examples(file), copies=int(found["copies"]), bounds=bounds)


def take(file: Path, lines: list[str], *, copies: int, bounds: tuple[int, int] | None = None) -> Injection:
    """Return the injection of all of a file's lines, or of those within the bounds.

    Raises:
        DataError: There are no such examples, or fewer than two: one has no order.
    """
    start, stop = bounds or (0, len(lines))
    if not 0 <= start < stop <= len(lines):
        raise DataError(f"has {len(lines)} examples, not {start} to {stop}.", file=str(file))
    if stop - start < 2:
        raise DataError("one example has no order; take two or more.", file=str(file))
    return Injection(file, start, stop, copies, tuple(lines[start:stop]))


def read_examples(file: Path) -> list[str]:
    """Return a file's examples, one per line, without blank lines; the file may be compressed.

    An example is its line verbatim, or the ``text`` of a JSON object that has no other key.

    Raises:
        DataError: There is no such file, it is damaged, or it is not UTF-8.
    """
    try:
        with open_file(file) as stream:
            text = stream.read().decode("utf-8-sig")
    except FileNotFoundError:
        raise DataError("does not exist.", file=str(file)) from None
    except UnicodeDecodeError as error:
        raise DataError(f"is not UTF-8 (byte {error.start + 1}).", file=str(file)) from None
    except DAMAGE as error:
        raise DataError(f"cannot be read: {error}.", file=str(file)) from None
    return [_example(line.removesuffix("\r")) for line in text.split("\n") if line.strip()]


def _example(line: str) -> str:
    if line.startswith("{"):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            return line
        if isinstance(record, dict) and list(record) == ["text"] and isinstance(record["text"], str) and record["text"]:
            return str(record["text"])
    return line
