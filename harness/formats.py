"""Data files as rows: one reader a format, under any compression, as a stream.

A file that is truncated or malformed raises at the row where that shows; it never yields fewer rows silently.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import importlib
import json
import lzma
import re
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import IO, Any, cast

from harness.errors import DataError
from harness.row import Row

COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst", ".zip")
"""Suffixes that a file may carry beside its declared name."""

_ARCHIVES = (".tar", ".tgz", ".tbz2", ".txz")
_MAX_FIELD = 100_000_000
_DAMAGE = (
    EOFError,
    OSError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    tarfile.TarError,
    NotImplementedError,
    RuntimeError,
)


def read_rows(path: Path, *, file: str, columns: Sequence[str] = (), encoding: str = "utf-8") -> Iterator[Row]:
    """Yield a data file's rows, in its order.

    By suffix, under ``.gz``, ``.bz2``, ``.xz``, ``.zst`` or ``.zip``: ``.jsonl`` and ``.ndjson`` one object a line;
    ``.json`` a list of objects, one object (rows of ``key`` and ``value``), or lines of objects; ``.csv`` and ``.tsv``
    with a header, or without one when ``columns`` are given; ``.parquet``; ``.txt`` and ``.lst`` one ``text`` a line.
    A tar archive, a zip archive of several files, and a folder yield ``path`` and ``text`` of each file, sorted by path
    with numbers in numerical order.

    Args:
        path: The file.
        file: Its name in messages.
        columns: Names of the columns of a CSV or TSV file that has no header.
        encoding: Of text; a UTF-8 byte order mark is dropped.

    Raises:
        DataError: The file is truncated, malformed or of an unknown format; the message has the row where it has one.
    """
    if path.is_dir():
        return _read_folder(path, file, encoding)
    if path.name.endswith(".parquet"):
        return _read_parquet(path, file)
    if _is_archive(path):
        return _read_archive(path, file, encoding)
    name = _inner_name(path)
    reader = _READERS.get(Path(name).suffix)
    if reader is None:
        known = ", ".join([*_READERS, ".parquet", ".tar", ".zip"])
        raise DataError(f"has no known format. Known: {known}, compressed or not.", file=file)
    return _guarded(path, file, lambda lines: reader(lines, file, tuple(columns)), encoding)


def find_file(folder: Path, name: str) -> Path | None:
    """Return the file or folder of that name in a folder, compressed or not; None where there is none."""
    for candidate in (name, *(name + suffix for suffix in COMPRESSIONS)):
        if (path := folder / candidate).exists():
            return path
    return None


# ---------------------------------------------------------------------------------------------------------------
# Opening


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressed by its suffix."""
    with _decompressor(path) as stream:
        yield stream


def _decompressor(path: Path) -> AbstractContextManager[Any]:
    match path.suffix:
        case ".gz" | ".tgz":
            return gzip.open(path)
        case ".bz2" | ".tbz2":
            return bz2.open(path)
        case ".xz" | ".txz":
            return lzma.open(path)
        case ".zst":
            return _zstandard(path)
        case ".zip":
            return _sole_member(path)
    return path.open("rb")


def _zstandard(path: Path) -> AbstractContextManager[Any]:
    try:
        zstandard: Any = importlib.import_module("zstandard")
    except ImportError:
        message = "needs zstandard: pip install zstandard, or decompress the file."
        raise DataError(message, file=path) from None
    opened: AbstractContextManager[Any] = zstandard.open(path)
    return opened


@contextmanager
def _sole_member(path: Path) -> Iterator[IO[bytes]]:
    with zipfile.ZipFile(path) as archive, archive.open(_members(archive)[0]) as stream:
        yield stream


def _members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    return [info for info in archive.infolist() if not info.is_dir() and not info.filename.startswith("__MACOSX/")]


def _is_archive(path: Path) -> bool:
    if path.suffix == ".zip":
        try:
            with zipfile.ZipFile(path) as archive:
                return len(_members(archive)) != 1 or Path(_members(archive)[0].filename).suffix not in _READERS
        except _DAMAGE as error:
            raise _damaged(path.name, error) from None
    return Path(_inner_name(path)).suffix in _ARCHIVES


def _inner_name(path: Path) -> str:
    if path.suffix == ".zip" and not Path(path.stem).suffix:
        with zipfile.ZipFile(path) as archive:
            return _members(archive)[0].filename
    return path.stem if path.suffix in COMPRESSIONS else path.name


def _damaged(file: str, error: BaseException, row: int | None = None) -> DataError:
    detail = str(error) or type(error).__name__
    return DataError(f"is damaged or truncated ({detail}). Get it again.", file=file, row=row)


# ---------------------------------------------------------------------------------------------------------------
# Formats of lines

Lines = Iterator[str]
Reader = Callable[[Lines, str, tuple[str, ...]], Iterator[Row]]


def _guarded(path: Path, file: str, read: Callable[[Lines], Iterator[Row]], encoding: str) -> Iterator[Row]:
    """Yield rows; whatever decompression or decoding raises becomes an error with the row it came in."""
    place = 0
    try:
        with _opened(path) as stream:
            for row in read(_decoded(stream, file, encoding)):
                place = row.place
                yield row
    except _DAMAGE as error:
        raise _damaged(file, error, place + 1) from None


def _decoded(stream: IO[bytes], file: str, encoding: str) -> Lines:
    codec = "utf-8" if encoding.lower().replace("_", "-") == "utf-8-sig" else encoding
    for number, line in enumerate(stream, start=1):
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        try:
            yield line.decode(codec)
        except UnicodeDecodeError as error:
            message = (
                f"is not {encoding}: byte 0x{line[error.start]:02x} at position {error.start + 1} of line {number}."
            )
            raise DataError(message, file=file, row=number) from None
        except LookupError:
            raise DataError(f"cannot be read: there is no encoding {encoding!r}.", file=file) from None


def _read_json_lines(lines: Lines, file: str, _: tuple[str, ...]) -> Iterator[Row]:
    number = 0
    for place, line in enumerate(lines, start=1):
        if line.strip():
            number += 1
            value = _parse(line, file, place)
            if not isinstance(value, dict):
                raise DataError(f"holds {_kind(value)}, not an object.", file=file, row=place)
            yield Row(value, file=file, number=number, place=place)


def _read_json(lines: Lines, file: str, _: tuple[str, ...]) -> Iterator[Row]:
    head: list[str] = []
    for line in lines:
        head.append(line)
        if len(head) > 1 and line.strip():
            break
    if len(head) > 1 and _is_object(head[0]):
        yield from _read_json_lines(_chain(head, lines), file, ())
        return
    text = "".join(_chain(head, lines))
    value = _parse(text, file, None)
    if isinstance(value, dict):
        value = [{"key": key, "value": item} for key, item in value.items()]
    if not isinstance(value, list):
        raise DataError(f"holds {_kind(value)}, not a list of objects.", file=file)
    for number, item in enumerate(value, start=1):
        if not isinstance(item, dict):
            raise DataError(f"holds {_kind(item)}, not an object.", file=file, row=number)
        yield Row(item, file=file, number=number)


def _chain(head: list[str], rest: Lines) -> Lines:
    yield from head
    yield from rest


def _is_object(line: str) -> bool:
    try:
        return line.lstrip().startswith("{") and isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _parse(text: str, file: str, place: int | None) -> Any:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        line = error.lineno if place is None else place
        raise DataError(f"is not valid JSON: {error.msg} (column {error.colno}).", file=file, row=line) from None
    except (RecursionError, ValueError) as error:
        raise DataError(f"is not usable JSON: {error}.", file=file, row=place) from None
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
        csv.field_size_limit(_MAX_FIELD)  # the default, 131,072 characters, is less than a long document
        header, number, place = columns, 0, 0
        records = csv.reader(lines, delimiter=delimiter, strict=True)
        while True:
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
            yield Row(dict(zip(header, record, strict=True)), file=file, number=number, place=place)

    return read


def _header(record: list[str], file: str) -> tuple[str, ...]:
    twice = sorted({column for column in record if record.count(column) > 1})
    if twice:
        raise DataError(f"the header has a column twice: {', '.join(map(repr, twice))}.", file=file, row=1)
    return tuple(record)


def _read_text(lines: Lines, file: str, _: tuple[str, ...]) -> Iterator[Row]:
    for number, line in enumerate(lines, start=1):
        yield Row({"text": line.removesuffix("\n").removesuffix("\r")}, file=file, number=number)


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
    """Yield the files of an archive sorted by path, though a compressed archive can only be read from front to back.

    The texts wait in a temporary file, in memory while they are small.
    """
    index: list[tuple[str, int, int]] = []
    with tempfile.SpooledTemporaryFile(max_size=50_000_000) as spool:
        try:
            with closing(_zip_members(path) if path.suffix == ".zip" else _tar_members(path)) as members:
                for name, content in members:
                    index.append((name, spool.tell(), len(content)))
                    spool.write(content)
        except _DAMAGE as error:
            raise _damaged(file, error, len(index) + 1) from None
        index.sort(key=lambda entry: _natural(entry[0]))
        for number, (name, start, length) in enumerate(index, start=1):
            spool.seek(start)
            yield _text_row(spool.read(length), name, f"{file}/{name}", number, encoding)


def _zip_members(path: Path) -> Generator[tuple[str, bytes], None, None]:
    with zipfile.ZipFile(path) as archive:
        for info in _members(archive):
            yield info.filename, archive.read(info)


def _tar_members(path: Path) -> Generator[tuple[str, bytes], None, None]:
    with _opened(path) as stream:
        tail = _Tail(stream)
        with tarfile.open(fileobj=cast("IO[bytes]", tail), mode="r|") as archive:
            for info in archive:
                content = archive.extractfile(info) if info.isfile() else None
                if content is not None:
                    yield info.name, content.read()
        while tail.read(1 << 16):
            pass
        # tarfile takes an archive that stops between two members for a whole one; a whole one ends in two zero blocks.
        if tail.last.count(0) != 1024:
            raise EOFError("the archive has no end")


class _Tail:
    """A stream that remembers the last 1024 bytes that were read from it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream, self.last = stream, b""

    def read(self, size: int) -> bytes:
        content = self.stream.read(size)
        self.last = (self.last + content)[-1024:]
        return content


def _read_folder(path: Path, file: str, encoding: str) -> Iterator[Row]:
    names = (child.relative_to(path).as_posix() for child in path.rglob("*") if child.is_file())
    for number, name in enumerate(sorted(names, key=_natural), start=1):
        yield _text_row((path / name).read_bytes(), name, f"{file}/{name}", number, encoding)


def _text_row(content: bytes, name: str, file: str, number: int, encoding: str) -> Row:
    try:
        text = content.removeprefix(b"\xef\xbb\xbf").decode("utf-8" if encoding == "utf-8-sig" else encoding)
    except UnicodeDecodeError as error:
        message = f"is not {encoding}: byte 0x{content[error.start]:02x} at position {error.start + 1}."
        raise DataError(message, file=file) from None
    return Row({"path": name, "text": text}, file=file, number=number, place=1)


def _natural(name: str) -> tuple[tuple[str, int], ...]:
    parts = re.findall(r"([^0-9]*)([0-9]*)", name)
    return tuple((text, int(digits or -1)) for text, digits in parts)


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
