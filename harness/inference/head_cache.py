"""The answers of a head: looked up on its own machine, and written to segments that all machines see.

What other heads have answered, and the main cache, are read when a model is first asked and whenever a run begins. No
head writes the main cache, and no head opens it on a network file system: there it is copied first.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness.contracts import Response
from harness.inference.cache import ResponseCache
from harness.inference.cache_entries import asked_model, of_other_gpus, pack_response, unpack_response
from harness.inference.cache_file import FILE_NAME, CacheError
from harness.inference.head_ledger import HeadLedger
from harness.inference.merging import MERGE_LEASE, Leases
from harness.inference.salvage import Row
from harness.inference.segments import (
    ANSWERS_FOLDER,
    CLOSED,
    Entry,
    SegmentDamagedError,
    SegmentWriter,
    read_segment,
    segment_files,
    segment_models,
)
from harness.storage.durable import is_alive, process_space, writing
from harness.storage.file_systems import network_file_system

_MOST_PENDING = 512
"""Answers that are only in memory and in the segment, before they are put into the local file together."""

_COPY_SECONDS = 600.0
"""Seconds to wait for a main cache that is being merged, before the head begins without it."""

_LOG = logging.getLogger(__name__)


class HeadCache:
    """The answers of one head, which no other process opens.

    Args:
        results_dir: The results folder, which all heads share.
        leases: Leases that all processes on that folder share.
        head: The head's name, for its files.
        folder: A folder on a disk of this machine (default: that of temporary files).
        reuse_across_gpus: True if answers serve that another kind of GPU gave.

    Raises:
        CacheError: A file cannot be opened.
    """

    def __init__(
        self,
        results_dir: Path,
        leases: Leases,
        head: str,
        folder: Path | None = None,
        *,
        reuse_across_gpus: bool = False,
    ) -> None:
        self._answers, self._leases = results_dir / ANSWERS_FOLDER, leases
        self._head = f"{head}-{secrets.token_hex(4)}"
        with writing(folder or Path(tempfile.gettempdir())):
            self._folder = _own_folder(folder)
        self._local = ResponseCache(self._folder / FILE_NAME)
        self._main = _MainCache(results_dir / FILE_NAME, self._folder, leases)
        self._writers: dict[bytes, SegmentWriter] = {}
        self._pending: dict[bytes, tuple[bytes, Entry]] = {}
        self._read: dict[Path, int] = {}  # segments of others without their suffix, and where their known answers end
        self._whole: set[Path] = set()  # those that were closed when they were read: nothing is added to them
        self._reuse = reuse_across_gpus
        self._others: dict[bytes, list[tuple[bytes, str]]] = {}
        self._ledgers = 0
        self._behind = self._closed = False

    def asked(self, name: str, fingerprint: Mapping[str, Any]) -> bytes:
        """Record that a model is asked now, and read its answers; return its digest."""
        model = asked_model(name, fingerprint)
        if model.digest not in self._writers:
            self._local.asked(name, fingerprint)
            self._writers[model.digest] = SegmentWriter(self._answers, self._head, model)
            self._look(model.digest)
        return model.digest

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Response]:
        """Return the known answers, by key; unreadable ones are left out."""
        if self._behind:
            self._behind = False
            for model in dict.fromkeys([*self._writers, *(one for found in self._others.values() for one, _ in found)]):
                self._look(model)
        found = {key: unpack_response(self._pending[key][1].value) for key in keys if key in self._pending}
        for cache in (self._local, self._main.cache):
            if cache is not None and len(found) < len(keys):
                found |= cache.get([key for key in keys if key not in found])
        return found

    def put(self, model: bytes, answers: Iterable[tuple[bytes, Response]]) -> None:
        """Store answers of a model: all of them or none."""
        now = int(time.time())
        entries = [Entry(key, now, pack_response(answer), self._replaces(key)) for key, answer in answers]
        self._writers[model].write(entries)
        self._pending |= {entry.key: (model, entry) for entry in entries}
        if len(self._pending) >= _MOST_PENDING:
            for owner in dict.fromkeys(owner for owner, _ in self._pending.values()):
                self._keep(owner, [entry for held, entry in self._pending.values() if held == owner])
            self._pending.clear()

    def note_unusable(self, key: bytes, problem: str) -> None:
        """Count an answer that is damaged or does not fit its request; the next one under its key replaces it."""
        self._local.note_unusable(key, problem)

    def catch_up(self) -> None:
        """Look for answers of other heads before the next :meth:`get`; it may be called in any thread."""
        self._behind = True

    def of_other_gpus(self, model: bytes) -> Sequence[tuple[bytes, str]]:
        """Return the models whose answers serve for a model's, too, each with its kind of GPU; read their answers."""
        if self._reuse and model not in self._others:
            known = [*self._local.models(), *(self._main.cache.models() if self._main.cache is not None else ())]
            self._others[model] = of_other_gpus(model, [*known, *segment_models(self._answers)])
            for one, _ in self._others[model]:
                self._look(one)
        return self._others.get(model, ())

    @property
    def folder(self) -> None:
        """None: what a head keeps next to its cache is not found by the next one."""
        return

    def ledger(self) -> HeadLedger:
        """Return the record of what models have spent, which counts all heads."""
        self._ledgers += 1
        return HeadLedger(self._answers, f"{self._head}-{self._ledgers}")

    def close(self) -> None:
        """Close the segments, and remove the local files.

        Raises:
            CacheError: A segment cannot be closed.
        """
        if self._closed:
            return
        self._closed = True
        try:
            for writer in self._writers.values():
                writer.close()
        finally:
            self._main.close()
            self._local.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _replaces(self, key: bytes) -> bool:
        main = self._main.cache
        return key in self._local.unusable or (main is not None and key in main.unusable)

    def _look(self, model: bytes) -> None:
        """Read what other heads have answered, and then the main cache, into which it may have been merged."""
        files = segment_files(self._answers, model)
        stems = {file.with_suffix("") for file in files}
        gone = [file for file in self._read if file.parent.name == model.hex() and file not in stems]
        for file in files:
            stem = file.with_suffix("")
            if stem in self._whole or file.stem.startswith(f"{self._head}-"):
                continue
            try:
                segment = read_segment(file, self._read.get(stem, 0))
            except (SegmentDamagedError, FileNotFoundError):
                continue
            except OSError as error:
                raise CacheError(f"{file} cannot be read ({error.strerror or error}).") from error
            self._keep(model, segment.entries)
            self._read[stem] = segment.end
            if file.suffix == CLOSED:
                self._whole.add(stem)
        for file in gone:
            del self._read[file]
            self._whole.discard(file)
        self._main.look(again=bool(gone))

    def _keep(self, model: bytes, entries: Sequence[Entry]) -> None:
        rows: tuple[list[Row], list[Row]] = [], []
        for entry in entries:
            rows[entry.replaces].append((entry.key, model, entry.created, entry.value, None))
        self._local.merge((), sorted(rows[False]), rows[True])


class _MainCache:
    """The main cache as a head reads it: the file itself on a local disk, else a copy.

    Attributes:
        cache: The open file; None if there is none.
    """

    def __init__(self, path: Path, folder: Path, leases: Leases) -> None:
        self._path, self._folder, self._leases = path, folder, leases
        self._copied = network_file_system(path) is not None
        self._state: tuple[int, ...] | None = None
        self._copies = 0
        self.cache: ResponseCache | None = None

    def look(self, *, again: bool) -> None:
        """Open the file if it is there now.

        Args:
            again: True if answers may have been merged into it since.
        """
        if not self._path.is_file():
            return
        if not self._copied:
            self.cache = self.cache or ResponseCache(self._path)
        elif self.cache is None or (again and _state(self._path) != self._state):
            copy = self._copy()
            if copy is not None:
                self.close()
                self.cache = ResponseCache(copy)

    def close(self) -> None:
        """Close the file, and remove a copy."""
        if self.cache is not None:
            self.cache.close()
            if self._copied:
                self.cache.path.unlink(missing_ok=True)
        self.cache = None

    def _copy(self) -> Path | None:
        """Copy the file while no process writes it; None if that does not end."""
        copy = self._folder / f"main-{self._copies}.sqlite"
        self._copies += 1
        until = time.monotonic() + _COPY_SECONDS
        with writing(copy):
            while True:
                if self._copy_as_it_is(copy):
                    return copy
                if self._leases.acquire(MERGE_LEASE) is None:
                    try:
                        ResponseCache(self._path, merging=True).close()  # ends what a killed process has begun
                        if self._copy_as_it_is(copy):
                            return copy
                    finally:
                        self._leases.release(MERGE_LEASE)
                if time.monotonic() > until:
                    _LOG.warning("%s is in use; this head begins without its answers.", self._path)
                    return None
                time.sleep(1.0)

    def _copy_as_it_is(self, copy: Path) -> bool:
        """Copy the file; return whether it was whole, and the same at the end."""
        before = _state(self._path)
        if before is None or any(self._path.with_name(self._path.name + log).exists() for log in ("-wal", "-journal")):
            return False
        shutil.copyfile(self._path, copy)
        same = _state(self._path) == before and not self._path.with_name(self._path.name + "-journal").exists()
        self._state = before
        return same


def _state(file: Path) -> tuple[int, ...] | None:
    """Return what changes with each transaction of a database: its counter of changes, its size and its time."""
    try:
        with file.open("rb") as content:
            status = os.fstat(content.fileno())
            return status.st_ino, status.st_size, status.st_mtime_ns, int.from_bytes(content.read(28)[24:], "big")
    except FileNotFoundError:
        return None


def _own_folder(folder: Path | None) -> Path:
    """Make a folder for this process, and remove those that killed ones have left."""
    parent = folder or Path(tempfile.gettempdir())
    parent.mkdir(parents=True, exist_ok=True)
    prefix = f"harness-head-{process_space().replace('/', '-')}-"
    for left in parent.glob(f"{prefix}*"):
        process = left.name[len(prefix) :].partition("-")[0]
        if process.isdecimal() and not is_alive(int(process)):
            with suppress(OSError):
                shutil.rmtree(left)
    return Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=parent))
