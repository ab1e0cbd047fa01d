r"""Segments: append-only files of answers, in which they travel between processes that share a results folder.

A head writes the answers of each model to ``RESULTS/.answers/<model digest>/<head>-<n>.open``, and renames the file to
``.seg`` when it is large or old enough, or when the head ends::

    harness answers 1\n | salt | frame: the model and the owner, as JSON | frame: an answer | frame: an answer | …
                                    frame:  mark | length | checksum | content
                                    answer: key | time | 1 to replace an unusable answer, else 0 | compressed JSON

A block of answers is one write, so that a killed process loses none that it has stored. The checksum is keyed with the
file's own salt: neither bytes of another file nor the text of an answer can be mistaken for an entry. Reading skips
whatever does not match its checksum.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import secrets
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness.inference.cache_entries import CachedModel, fingerprint_digest
from harness.inference.cache_file import CacheError
from harness.storage.durable import make_folder, process_space, put_in_place

ANSWERS_FOLDER = ".answers"
OPEN, CLOSED, DAMAGED = ".open", ".seg", ".damaged"
KEY_BYTES = 16

SEGMENT_BYTES = 32 << 20
"""Bytes after which a segment is closed."""
SEGMENT_SECONDS = 600.0
"""Seconds after which a segment is closed."""
SYNC_SECONDS = 5.0
"""Seconds between two calls of fsync: what a power cut may lose, never a killed process."""

_MAGIC = b"harness answers 1\n"
_SALT_BYTES = 16
_MOST_BEGINNING = 1 << 20  # bytes of everything before the first answer
_FRAME = struct.Struct("<4sI8s")
_ENTRY = struct.Struct(f"<{KEY_BYTES}sqB")
_ABOUT, _ANSWER = b"about", b"answer"  # kinds of frames, which their checksums tell apart
_MARK = b"\xab\xc5\x9e\xf1"  # four bytes that no text in UTF-8 contains


@dataclass(frozen=True, slots=True)
class Entry:
    """One answer in a segment."""

    key: bytes
    """The :func:`~harness.inference.cache_entries.request_key` of model and request."""
    created: int
    """Time of the answer, in seconds since 1970."""
    value: bytes
    """The answer, as :func:`~harness.inference.cache_entries.pack_response` returns it."""
    replaces: bool = False
    """True if the answer that was known could not be used, and this one takes its place."""


@dataclass(frozen=True, slots=True)
class SegmentOwner:
    """The process that writes a segment."""

    host: str
    """Name of its machine."""
    process: int
    """Its process id."""
    space: str
    """The machine's boot and its namespace of process ids."""


@dataclass(frozen=True, slots=True)
class Segment:
    """What a segment holds, from a place in it on."""

    model: CachedModel
    """The model whose answers it has."""
    owner: SegmentOwner
    """The process that writes or wrote it."""
    entries: Sequence[Entry]
    """Its answers, in the order in which they were written."""
    end: int
    """Where the last whole entry ends, in bytes from the file's beginning."""
    damaged: int
    """Bytes before the end that are not part of a whole entry."""
    torn: int
    """Bytes after the end: an entry that is being written, or was when its writer was killed."""


class SegmentDamagedError(ValueError):
    """The beginning of a segment is damaged or incomplete, so that nothing in it can be read."""


class SegmentWriter:
    """Writes the answers that one process has from one model.

    Args:
        answers: The folder ``.answers`` of the results.
        head: A name that no other process uses.
        model: The model.
        most_bytes: Bytes after which a segment is closed and the next one begun.
        most_seconds: Seconds after which a segment is closed at the next answer.
        sync_seconds: Seconds between two calls of fsync.

    Raises:
        CacheError: A segment cannot be written.
    """

    def __init__(
        self,
        answers: Path,
        head: str,
        model: CachedModel,
        *,
        most_bytes: int = SEGMENT_BYTES,
        most_seconds: float = SEGMENT_SECONDS,
        sync_seconds: float = SYNC_SECONDS,
    ) -> None:
        self._folder, self._head, self._model = answers / model.digest.hex(), head, model
        self._most_bytes, self._most_seconds, self._sync_seconds = most_bytes, most_seconds, sync_seconds
        self._number = 0
        self._file: int | None = None
        self._path = self._folder
        self._salt = b""
        self._size = 0
        self._opened = self._synced = 0.0
        self._unsynced: list[Entry] = []

    def write(self, entries: Sequence[Entry]) -> None:
        """Append answers in one write."""
        if not entries:
            return
        try:
            file = self._append(entries)
            now = time.monotonic()
            if now - self._synced >= self._sync_seconds:
                self._sync(file, now)
            if self._size >= self._most_bytes or now - self._opened >= self._most_seconds:
                self._finish()
        except OSError as error:
            raise self._error(error) from error

    def close(self) -> None:
        """Close the segment, if there is one."""
        try:
            self._finish()
        except OSError as error:
            raise self._error(error) from error

    def _append(self, entries: Sequence[Entry]) -> int:
        """Write answers to the open segment, or to a new one; return its descriptor."""
        file, block = self._begin() if self._file is None else (self._file, b"")
        block += b"".join(_frame(_content(entry), self._salt, _ANSWER) for entry in entries)
        try:
            _write_all(file, block)
        except OSError:  # a full disk: part of the block may be there
            os.ftruncate(file, self._size)
            if not self._size:
                os.close(file)
                self._file = None
                self._path.unlink(missing_ok=True)
            raise
        self._size += len(block)
        self._unsynced += entries
        return file

    def _begin(self) -> tuple[int, bytes]:
        """Create the next segment; return its descriptor, and what it begins with."""
        make_folder(self._folder)
        self._path = self._folder / f"{self._head}-{self._number}{OPEN}"
        self._file = os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, 0o666)
        self._number += 1
        self._salt, self._size = secrets.token_bytes(_SALT_BYTES), 0
        self._opened = self._synced = time.monotonic()
        about = {
            "name": self._model.name,
            "fingerprint": dict(self._model.fingerprint),
            "used": self._model.used,
            "host": platform.node(),
            "process": os.getpid(),
            "space": process_space(),
        }
        return self._file, _MAGIC + self._salt + _frame(json.dumps(about).encode(), self._salt, _ABOUT)

    def _sync(self, file: int, now: float) -> None:
        """Wait for the disk; if another process took this one for dead and the file over, write the latest again.

        It may have read the file before they were written.
        """
        os.fsync(file)
        self._synced = now
        latest, self._unsynced = self._unsynced, []
        if not self._in_place(file):
            os.close(file)
            self._file = None
            os.fsync(self._append(latest))

    def _in_place(self, file: int) -> bool:
        try:
            found, ours = os.stat(self._path), os.fstat(file)
        except FileNotFoundError:
            return False
        return (found.st_dev, found.st_ino) == (ours.st_dev, ours.st_ino)

    def _finish(self) -> None:
        if self._file is None:
            return
        self._sync(self._file, time.monotonic())
        os.close(self._file)
        self._file, self._unsynced = None, []
        put_in_place(self._path, self._path.with_suffix(CLOSED))

    def _error(self, error: OSError) -> CacheError:
        return CacheError(
            f"{self._path} cannot be written ({error.strerror or error}). If the disk is full, make room and run the "
            "same command again: every answer that was stored is still there."
        )


def read_segment(file: Path, start: int = 0) -> Segment:
    """Read a segment's answers.

    Args:
        file: The segment, open or closed.
        start: Where to start: an ``end`` of an earlier reading, or 0.

    Raises:
        SegmentDamagedError: Its beginning is damaged or incomplete.
        OSError: It cannot be read.
    """
    with file.open("rb") as content:
        salt, model, owner, first = _beginning(content.read(_MOST_BEGINNING), file.parent.name)
        base = content.seek(max(first, start))
        data = content.read()
    entries: list[Entry] = []
    damaged = end = 0
    for begin, stop in _frames(data, salt):
        if stop - begin < _ENTRY.size:
            continue
        key, created, replaces = _ENTRY.unpack_from(data, begin)
        entries.append(Entry(key, created, data[begin + _ENTRY.size : stop], bool(replaces)))
        damaged += begin - _FRAME.size - end
        end = stop
    return Segment(model, owner, entries, base + end, damaged, len(data) - end)


def segment_owner(file: Path) -> SegmentOwner:
    """Return the process that writes or wrote a segment.

    Raises:
        SegmentDamagedError: The segment's beginning is damaged or incomplete.
        OSError: It cannot be read.
    """
    return _about(file)[1]


def segment_models(answers: Path) -> list[CachedModel]:
    """Return the models that a folder ``.answers`` has segments of.

    Raises:
        OSError: The folder cannot be read.
    """
    found = {}
    for file in segment_files(answers):
        if file.parent not in found:
            with suppress(SegmentDamagedError, OSError):
                found[file.parent] = _about(file)[0]
    return list(found.values())


def _about(file: Path) -> tuple[CachedModel, SegmentOwner]:
    with file.open("rb") as content:
        _, model, owner, _ = _beginning(content.read(_MOST_BEGINNING), file.parent.name)
    return model, owner


def segment_files(answers: Path, model: bytes | None = None) -> list[Path]:
    """Return the segments of a folder ``.answers``, of one model or of all, open ones last.

    Raises:
        OSError: The folder cannot be read.
    """
    folders = [answers / model.hex()] if model is not None else _listed(answers)  # also that of spending, without any
    found = [file for folder in folders for file in _listed(folder) if file.suffix in (OPEN, CLOSED)]
    return sorted(found, key=lambda file: (file.suffix == OPEN, file))


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _beginning(data: bytes, digest: str) -> tuple[bytes, CachedModel, SegmentOwner, int]:
    """Return a segment's salt, its model, its owner, and where its answers begin."""
    place = len(_MAGIC) + _SALT_BYTES
    salt = data[len(_MAGIC) : place]
    if not data.startswith(_MAGIC) or len(salt) < _SALT_BYTES:
        raise SegmentDamagedError("it does not begin as a segment of this version of the harness does")
    first = _whole(data, place, salt, _ABOUT)
    if first is None:
        raise SegmentDamagedError("the description of its model is damaged or incomplete")
    begin, stop = first
    try:
        about = json.loads(data[begin:stop])
        name, fingerprint, used = str(about["name"]), dict(about["fingerprint"]), int(about["used"])
        owner = SegmentOwner(str(about["host"]), int(about["process"]), str(about["space"]))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise SegmentDamagedError(f"the description of its model cannot be read ({error})") from error
    model = CachedModel(fingerprint_digest(name.partition(":")[0], fingerprint), name, fingerprint, used)
    if model.digest.hex() != digest:
        raise SegmentDamagedError(f"its model has the digest {model.digest.hex()}, not that of its folder")
    return salt, model, owner, stop


def _frames(data: bytes, salt: bytes) -> Iterator[tuple[int, int]]:
    """Yield where the content of each whole answer begins and ends; what is damaged is skipped."""
    at = 0
    while at < len(data):
        found = _whole(data, at, salt, _ANSWER)
        if found is None:
            at = data.find(_MARK, at + 1)
            if at < 0:
                return
            continue
        yield found
        at = found[1]


def _whole(data: bytes, at: int, salt: bytes, kind: bytes) -> tuple[int, int] | None:
    begin = at + _FRAME.size
    if begin > len(data):
        return None
    mark, length, check = _FRAME.unpack_from(data, at)
    stop = begin + length
    if mark != _MARK or stop > len(data) or check != _check(data[begin:stop], salt, kind):
        return None
    return begin, stop


def _frame(content: bytes, salt: bytes, kind: bytes) -> bytes:
    return _FRAME.pack(_MARK, len(content), _check(content, salt, kind)) + content


def _check(content: bytes, salt: bytes, kind: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=8, key=salt, person=kind).digest()


def _content(entry: Entry) -> bytes:
    if len(entry.key) != KEY_BYTES:
        raise ValueError(f"a key has {KEY_BYTES} bytes, not {len(entry.key)}")
    return _ENTRY.pack(entry.key, entry.created, entry.replaces) + entry.value


def _write_all(file: int, block: bytes) -> None:
    view = memoryview(block)
    while view:
        view = view[os.write(file, view) :]
