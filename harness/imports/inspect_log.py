"""Reading inspect_ai's logs: ``.eval``, a zip archive of JSON files, and ``.json``, one JSON file.

Nothing is unpacked to disk. Newer versions compress the files of an archive with Zstandard, which Python reads only
from 3.14 on. An archive may hold the same sample several times; the last one counts, as in inspect_ai.
"""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO, Any, NoReturn, cast

from pydantic import BaseModel, ValidationError

from harness.data.archives import DAMAGE, FREE_EXPANSION, MAX_EXPANSION
from harness.errors import DataError
from harness.imports.foreign_files import LONGEST_FILE, read_json, understood
from harness.imports.inspect_schema import Header, Sample
from harness.installation import install_advice
from harness.storage.regular_files import open_regular
from harness.validation import explain

LOG = "a log of inspect_ai"
VERSION = 2
"""The version of the format that is read."""

_ZSTANDARD = 93  # APPNOTE.TXT, 4.4.5
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_START, _HEADER = "_journal/start.json", "header.json"
_FREE_TOTAL = 1 << 30  # bytes
_CONVERT = "Convert it: inspect log convert --to eval. The samples of .eval logs are read one by one."


def read_log(file: Path) -> tuple[Header, Iterator[Sample]]:
    """Return a log's header, and its samples one by one.

    Raises:
        DataError: The file is damaged, of another version, or not a log; the samples raise it as well.
    """
    return _read_archive(file) if file.suffix == ".eval" else _read_json(file)


def _read_json(file: Path) -> tuple[Header, Iterator[Sample]]:
    written = read_json(file, LOG, _CONVERT)
    header = _header(written, file)
    samples = written.get("samples")
    samples = [] if samples is None else samples
    if not isinstance(samples, list):
        raise DataError(f"is not {LOG}: samples must be a list.", file=file)
    size = file.stat().st_size
    expansion = _Expansion(file)
    return header, (_sample(value, file, f"samples[{place}]", expansion, size) for place, value in enumerate(samples))


def _read_archive(file: Path) -> tuple[Header, Iterator[Sample]]:
    with _Archive(file) as archive:
        if _HEADER not in archive.members:
            if _START in archive.members:
                raise DataError("the evaluation did not finish: the log has no header.json.", file=file)
            raise DataError(f"is not {LOG} (it has no header.json).", file=file)
        header = _header(archive.read(_HEADER), file, f"{_HEADER}: ")
    return header, _archived_samples(file)


def _archived_samples(file: Path) -> Iterator[Sample]:
    with _Archive(file) as archive:
        for name, info in archive.members.items():
            if name.startswith("samples/") and name.endswith(".json"):
                yield _sample(archive.read(name), file, name, archive.expansion, info.compress_size)


def _header(written: Any, file: Path, where: str = "") -> Header:
    version = written.get("version") if isinstance(written, Mapping) else None
    if version != VERSION and isinstance(version, int):
        advice = "Convert it with a recent inspect_ai: inspect log convert." if version < VERSION else ""
        message = f"{where}version {version} of the format is not supported, only {VERSION}. {advice}"
        raise DataError(message.strip(), file=file)
    return cast(Header, _checked(Header, written, file, where))


def _sample(written: Any, file: Path, where: str, expansion: _Expansion, size: int) -> Sample:
    """Return a sample.

    Args:
        written: Its JSON.
        file: The log.
        where: Its place in the log.
        expansion: Limits how long texts become that are referred to several times.
        size: Bytes that the sample takes in the file.
    """
    with understood(file, f"{LOG}: {where}"):
        whole = _with_attachments(written, where, expansion, size)
    return cast(Sample, _checked(Sample, whole, file, f"{where}: "))


def _checked(model: type[BaseModel], written: Any, file: Path, where: str) -> BaseModel:
    try:
        return model.model_validate(written)
    except ValidationError as error:
        first = explain(error, model, written)[0]
        raise DataError(f"is not {LOG}: {where}{first.path}: {first.message}".strip(), file=file) from None
    except RecursionError:
        raise DataError(f"is not {LOG}: {where}it is nested too deeply.", file=file) from None


def _with_attachments(written: Any, where: str, expansion: _Expansion, size: int) -> Any:
    """Return a sample with long texts in their places, which a log keeps apart and refers to."""
    attachments = written.get("attachments") if isinstance(written, Mapping) else None
    if not attachments or not isinstance(attachments, Mapping):
        return written
    protocol = "attachment://"
    most = expansion.most(size)
    length = 0

    def resolved(value: Any) -> Any:
        nonlocal length
        if isinstance(value, str) and value.startswith(protocol):
            text = attachments.get(value.removeprefix(protocol), value)
            length += len(text)
            if length > most:
                expansion.refuse(f"{where} with its attachments")
            return text
        if isinstance(value, Mapping):
            return {key: resolved(item) for key, item in value.items()}
        return [resolved(item) for item in value] if isinstance(value, list) else value

    whole = {key: value if key == "attachments" else resolved(value) for key, value in written.items()}
    expansion.left -= length
    return whole


class _Expansion:
    """How much a log may expand, by decompression and by texts that are referred to several times.

    Attributes:
        left: What remains for the whole log, in bytes or characters.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self.left = max(_FREE_TOTAL, file.stat().st_size * MAX_EXPANSION)

    def most(self, size: int) -> int:
        """Return the limit for a part of the log that takes this many bytes."""
        return min(max(FREE_EXPANSION, size * MAX_EXPANSION), self.left)

    def refuse(self, what: str) -> NoReturn:
        """Report a part of the log that is too long.

        Raises:
            DataError: Always.
        """
        raise DataError(f"{what} expands to more than {MAX_EXPANSION} times its size.", file=self._file)


class _Archive:
    """The JSON files of a zip archive, read one by one within limits; a context manager."""

    def __init__(self, file: Path) -> None:
        self._file = file
        with ExitStack() as opened:
            try:
                self._raw = opened.enter_context(open_regular(file))
                # Opened once: this reads the whole list of members.
                self._archive = opened.enter_context(zipfile.ZipFile(self._raw))
                self.members = {info.filename: info for info in self._archive.infolist() if not info.is_dir()}
                self.expansion = _Expansion(file)
            except DAMAGE as error:
                raise DataError(f"is damaged or cut short ({error}).", file=file) from error
            for name in self.members:
                path = PurePosixPath(name)
                if path.is_absolute() or ".." in path.parts or "\\" in name:
                    raise DataError(f"contains {name!r}, which leads out of the archive.", file=file)
            self._opened = opened.pop_all()

    def __enter__(self) -> _Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def read(self, name: str) -> Any:
        """Return the content of a JSON file.

        Raises:
            DataError: It is damaged, too large or not JSON.
        """
        content = self._content(self.members[name])
        with understood(self._file, f"{LOG}: {name}"):
            return json.loads(content)

    def _content(self, info: zipfile.ZipInfo) -> bytes:
        most = min(self.expansion.most(info.compress_size), LONGEST_FILE)
        try:
            with self._open(info) as stream:
                content = stream.read(most + 1)
        except DAMAGE as error:
            raise DataError(f"{info.filename} is damaged or cut short ({error}).", file=self._file) from error
        if len(content) > LONGEST_FILE:
            message = f"{info.filename} is longer than {LONGEST_FILE >> 20:,} MiB, the most that is read at once."
            raise DataError(message, file=self._file)
        if len(content) > most:
            self.expansion.refuse(info.filename)
        if zlib.crc32(content) != info.CRC:
            raise DataError(f"{info.filename} is damaged (its checksum is wrong).", file=self._file)
        self.expansion.left -= len(content)
        return content

    def _open(self, info: zipfile.ZipInfo) -> IO[bytes]:
        if info.compress_type != _ZSTANDARD:
            return self._archive.open(info)
        try:
            import zstandard
        except ImportError:
            advice = install_advice("exchange")
            message = f"is compressed with Zstandard, which needs a library: {advice}"
            raise DataError(message, file=self._file) from None
        self._raw.seek(info.header_offset)
        signature, name, extra = _LOCAL_HEADER.unpack(self._raw.read(_LOCAL_HEADER.size))
        if signature != b"PK\x03\x04":
            raise zipfile.BadZipFile("its index points to a place where there is no file")
        self._raw.seek(name + extra, 1)
        content = BytesIO(self._raw.read(info.compress_size))
        stream = zstandard.ZstdDecompressor().stream_reader(content, read_across_frames=True)
        return cast("IO[bytes]", _Zstandard(stream))


class _Zstandard:
    """A decompressed stream whose errors are those of a damaged archive."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __enter__(self) -> _Zstandard:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def read(self, size: int) -> bytes:
        import zstandard

        parts, left = [], size
        try:
            while left and (part := self._stream.read(left)):
                parts.append(part)
                left -= len(part)
        except zstandard.ZstdError as error:
            raise zipfile.BadZipFile(str(error)) from error
        return b"".join(parts)
