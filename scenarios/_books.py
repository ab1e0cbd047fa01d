"""Books of Project Gutenberg in a folder of text files, without the header and licence that the project adds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from harness import Data, DataError

FOLDER = "text_corpus/gutenberg"
URL = "https://www.gutenberg.org"
LICENCE = "public domain in the USA"
MOST_KEPT = 64
"""Books that are kept in memory."""

_READ: dict[tuple[Path, int, int], str] = {}
_START = re.compile(r"^\*\*\* ?START OF TH(?:IS|E) PROJECT GUTENBERG EBOOK")
_END = re.compile(r"^(?:\*\*\* ?END OF TH(?:IS|E) PROJECT GUTENBERG EBOOK|End of (?:the )?Project Gutenberg)")
_FILE = re.compile(r"(?P<name>[^.]+)\.txt(?:\.(?:gz|bz2|xz|zst|zip))?")


def books(data: Data, folder: str = FOLDER) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each book in a folder, by name; the lines of a paragraph are joined.

    Raises:
        DataError: There is no such folder, or no book in it.
    """
    found = False
    for file in sorted(data.path(folder).iterdir()):
        if match := _FILE.fullmatch(file.name):
            found = True
            yield match["name"], _text(data, (PurePosixPath(folder) / f"{match['name']}.txt").as_posix())
    if not found:
        raise DataError("has no text files (.txt), compressed or not.", file=folder)


def _text(data: Data, name: str) -> str:
    """Return the text of a book; it is read once, since a sweep has many runs on the same books."""
    status = (path := data.path(name)).stat()
    key = path, status.st_mtime_ns, status.st_size
    if key not in _READ:
        if len(_READ) == MOST_KEPT:
            _READ.clear()
        _READ[key] = "\n\n".join(_paragraphs(_body([row["text"] for row in data.read(name)])))
    return _READ[key]


def _body(lines: list[str]) -> list[str]:
    """Return the lines between Project Gutenberg's header and licence; all lines if there are none."""
    start = next((place + 1 for place, line in enumerate(lines) if _START.match(line)), 0)
    end = next((place for place in range(start, len(lines)) if _END.match(lines[place])), len(lines))
    return lines[start:end]


def _paragraphs(lines: list[str]) -> Iterator[str]:
    paragraph: list[str] = []
    for line in [*lines, ""]:
        if words := line.split():
            paragraph += words
        elif paragraph:
            yield " ".join(paragraph)
            paragraph = []
