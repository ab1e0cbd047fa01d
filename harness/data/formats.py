"""Data files as rows: one reader per format, streamed, with any compression.

A file that is truncated or malformed raises at the row where that shows; it never yields fewer rows silently.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import IO, Any

from harness.contracts.row import Row
from harness.data.archives import DAMAGE, inner_name, is_archive, open_file, read_archive, without_byte_order_mark
from harness.data.strict_json import parse_json
from harness.errors import DataError, StrictJsonError

MAX_LINE = 64 << 20
"""Bytes of the longest line of a file that is read line by line; a field of a CSV file may be as long in characters."""

MAX_DOCUMENT = 512 << 20
"""Bytes of the largest JSON file that is one value."""


def read_rows(
    path: Path, *, file: str, columns: Sequence[str] = (), encoding: str = "utf-8", form: str = ""
) -> Iterator[Row]:
    """Yield a data file's rows, in its order.

    By suffix, under ``.gz``, ``.bz2``, ``.xz``, ``.zst`` or ``.zip``: ``.jsonl`` and ``.ndjson`` one object a line;
    ``.json`` a list of objects, one object (rows of ``key`` and ``value``), or lines of objects; ``.csv`` and ``.tsv``
    with a header, or without one when ``columns`` are given; ``.parquet``; ``.txt`` and ``.lst`` one ``text`` a line.
    A tar archive, a zip archive of several files, and a folder yield ``path`` and ``text`` of each file, sorted by path
    with numbers in numerical order.

    Args:
        path: The file.
        file: Its name in messages.
        columns: Names of the columns of a CSV or TSV file that has no header, or of a text file's one column.
        encoding: Of text; a UTF-8 byte order mark is dropped.
        form: The format, such as ``txt``, instead of that of the suffix.

    Raises:
        DataError: The file is truncated, malformed or of an unknown format; the message has the row where it has one.
    """
    try:
        if path.is_dir() or is_archive(path, frozenset(_READERS)):
            return _never_none(_read_archive(path, file, encoding), file)
        name = inner_name(path)
    except DAMAGE as error:
        raise _damaged(file, error) from None
    suffix = f".{form}" if form else PurePosixPath(name).suffix
    if suffix == ".parquet":
        return _never_none(_read_parquet(path, file), file)
    if suffix not in _READERS:
        known = ", ".join([*_READERS, ".parquet", ".tar", ".zip"])
        raise DataError(
            f"has an unknown format. Known: {known}, compressed or not. If the file has one of these formats under "
            "another name, such as lines of text, say so in the scenario's source, `format: txt`.",
            file=file,
        )
    return _never_none(_read_lines(path, file, _READERS[suffix], tuple(columns), encoding), file)


def _never_none(rows: Iterator[Row], file: str) -> Iterator[Row]:
    """Yield rows; no rows at all is an error, since a truncated file may look like an empty one."""
    row = None
    for row in rows:
        yield row
    if row is None:
        raise DataError("has no rows.", file=file)


def _damaged(file: str, error: BaseException, row: int | None = None) -> DataError:
    detail = str(error) or type(error).__name__
    return DataError(f"is damaged or truncated ({detail}). Download it again.", file=file, row=row)


# ---------------------------------------------------------------------------------------------------------------
# Formats of lines

Lines = Iterator[str]
Reader = Callable[[Lines, str, tuple[str, ...]], Iterator[Row]]


def _read_lines(path: Path, file: str, read: Reader, columns: tuple[str, ...], encoding: str) -> Iterator[Row]:
    """Yield rows; whatever decompression raises becomes an error with the row it came in."""
    place = 0
    try:
        with open_file(path) as stream:
            longest = MAX_DOCUMENT if read is _read_json else MAX_LINE
            for row in read(_decoded(stream, file, encoding, longest), file, columns):
                place = row.place
                yield row
    except DAMAGE as error:
        raise _damaged(file, error, place + 1) from None


def _decoded(stream: IO[bytes], file: str, encoding: str, longest: int) -> Lines:
    codec = "utf-8" if encoding.lower().replace("_", "-") == "utf-8-sig" else encoding
    for number, line in enumerate(iter(lambda: stream.readline(longest + 1), b""), start=1):
        if len(line) > longest:
            raise DataError(f"has a line of more than {longest >> 20} MiB.", file=file, row=number)
        if number == 1:
            line = without_byte_order_mark(line)
        try:
            yield line.decode(codec)
        except UnicodeDecodeError as error:
            message = (
                f"is not {encoding}: byte 0x{line[error.start]:02x} at position {error.start + 1} of line {number}."
            )
            raise DataError(message, file=file, row=number) from None
        except LookupError:
            raise DataError(f"cannot be read: unknown encoding {encoding!r}.", file=file) from None


def _read_json_lines(lines: Lines, file: str, _: tuple[str, ...]) -> Iterator[Row]:
    number = 0
    for place, line in enumerate(lines, start=1):
        if line.strip():
            number += 1
            value = _parse(line, file, place)
            if not isinstance(value, dict):
                raise DataError(f"holds {_kind(value)}, not an object.", file=file, row=place)
            yield Row(value, file=file, number=number, place=place, text=line.rstrip("\r\n"))


def _read_json(lines: Lines, file: str, _: tuple[str, ...]) -> Iterator[Row]:
    head: list[str] = []
    for line in lines:
        head.append(line)
        if len(head) > 1 and line.strip():
            break
    if len(head) > 1 and _is_object(head[0]):
        yield from _read_json_lines(chain(head, lines), file, ())
        return
    text = "".join(_within_limit(chain(head, lines), file))
    value = _parse(text, file, None)
    if isinstance(value, dict):
        value = [{"key": key, "value": item} for key, item in value.items()]
    if not isinstance(value, list):
        raise DataError(f"holds {_kind(value)}, not a list of objects.", file=file)
    # a file with escaped characters has its records written with escapes as well
    escapes = "\\u" in text and text.isascii()
    for number, item in enumerate(value, start=1):
        if not isinstance(item, dict):
            raise DataError(f"holds {_kind(item)}, not an object.", file=file, row=number)
        yield Row(item, file=file, number=number, text=json.dumps(item) if escapes else None)


def _within_limit(lines: Lines, file: str) -> Lines:
    size = 0
    for line in lines:
        size += len(line)
        if size > MAX_DOCUMENT:
            message = f"is one JSON value of more than {MAX_DOCUMENT >> 20} MiB, which has to be read at once. "
            raise DataError(f"{message}Write it as JSON lines (.jsonl), one object per line.", file=file)
        yield line


def _is_object(line: str) -> bool:
    try:
        return line.lstrip().startswith("{") and isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _parse(text: str, file: str, place: int | None) -> Any:
    try:
        value = parse_json(text)
    except StrictJsonError as error:
        column = f" (column {error.column})" if error.column else ""
        line = error.line if place is None else place
        raise DataError(f"{error}{column}.", file=file, row=line) from None
    return _without_surrogates(value) if "\\ud" in text or "\\uD" in text else value


def _without_surrogates(value: Any) -> Any:
    """Replace halves of surrogate pairs, which no tokenizer and no file can hold, by U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value


def _kind(value: object) -> str:
    names = {list: "a list", str: "text", bool: "true or false", type(None): "null", dict: "an object"}
    return names.get(type(value), "a number")


def _read_separated(delimiter: str) -> Reader:
    def read(lines: Lines, file: str, columns: tuple[str, ...]) -> Iterator[Row]:
        csv.field_size_limit(MAX_LINE)  # the default, 131,072 characters, is less than a long document
        header, number, place = columns, 0, 0
        read_lines: list[str] = []  # those of one record, which may hold line breaks
        records = csv.reader(_noting(lines, read_lines), delimiter=delimiter, strict=True)
        while True:
            read_lines.clear()
            try:
                record = next(records, None)
            except csv.Error as error:
                raise DataError(f"is not valid CSV: {error}.", file=file, row=place + 1) from None
            if record is None:
                return
            place += 1
            if not record:
                continue
            if not header:
                header = _header(record, file)
                continue
            if len(record) != len(header):
                message = f"has {len(record)} fields, not {len(header)} ({', '.join(header)})."
                raise DataError(message, file=file, row=place)
            number += 1
            text = "".join(read_lines).rstrip("\r\n")
            yield Row(dict(zip(header, record, strict=True)), file=file, number=number, place=place, text=text)

    return read


def _noting(lines: Lines, noted: list[str]) -> Lines:
    for line in lines:
        noted.append(line)
        yield line


def _header(record: list[str], file: str) -> tuple[str, ...]:
    twice = sorted({column for column in record if record.count(column) > 1})
    if twice:
        raise DataError(f"the header lists columns twice: {', '.join(map(repr, twice))}.", file=file, row=1)
    return tuple(record)


def _read_text(lines: Lines, file: str, columns: tuple[str, ...]) -> Iterator[Row]:
    (column,) = columns if len(columns) == 1 else ("text",)
    for number, line in enumerate(lines, start=1):
        text = line.removesuffix("\n").removesuffix("\r")
        yield Row({column: text}, file=file, number=number, text=text)


_READERS: Mapping[str, Reader] = {
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    ".json": _read_json,
    ".csv": _read_separated(","),
    ".tsv": _read_separated("\t"),
    ".txt": _read_text,
    ".lst": _read_text,
}


# ---------------------------------------------------------------------------------------------------------------
# Many files in one


def _read_archive(path: Path, file: str, encoding: str) -> Iterator[Row]:
    number = 0
    try:
        with closing(read_archive(path)) as files:
            for number, (name, content) in enumerate(files, start=1):
                text = _text(content, f"{file}/{name}", encoding)
                yield Row({"path": name, "text": text}, file=file, number=number, text=text)
    except DAMAGE as error:
        raise _damaged(file, error, number + 1) from None


def _text(content: bytes, file: str, encoding: str) -> str:
    try:
        return without_byte_order_mark(content).decode("utf-8" if encoding == "utf-8-sig" else encoding)
    except UnicodeDecodeError as error:
        message = f"is not {encoding}: byte 0x{content[error.start]:02x} at position {error.start + 1}."
        raise DataError(message, file=file) from None


def _read_parquet(path: Path, file: str) -> Iterator[Row]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise DataError("needs pyarrow: pip install pyarrow.", file=file) from None
    number = 0
    try:
        with ParquetFile(path) as table:
            for batch in table.iter_batches(batch_size=1000):
                for values in batch.to_pylist():
                    number += 1
                    yield Row(values, file=file, number=number)
    except (ArrowException, OSError) as error:
        raise _damaged(file, error, number + 1) from None
