"""Merge segments of answers into the main response cache, and remove them.

The first answer to a question stays. A segment is removed only when its answers are committed, so that a merge that is
killed at any moment is repeated without loss. Answers in segments that heads still write are merged, too, but the files
stay.
"""

from __future__ import annotations

import logging
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from harness.errors import HarnessError
from harness.inference.cache import ResponseCache
from harness.inference.cache_entries import CachedModel
from harness.inference.cache_file import FILE_NAME, CacheError
from harness.inference.head_ledger import fold_spending
from harness.inference.salvage import Row
from harness.inference.segments import (
    ANSWERS_FOLDER,
    CLOSED,
    DAMAGED,
    OPEN,
    Segment,
    SegmentDamagedError,
    SegmentOwner,
    read_segment,
    segment_files,
    segment_owner,
)
from harness.storage.durable import is_alive, make_folder, process_space, writing

MERGE_LEASE = "merge"
"""Name of the lease that a process needs to write the main cache."""

IDLE_SECONDS = 3600.0
"""Seconds without a new answer after which an open segment is taken over; its writer notices if it is alive."""

MERGE_SECONDS = 60.0
"""Seconds between two merges while heads are at work."""

_MOST_ROWS, _MOST_BYTES = 100_000, 64 << 20  # of one transaction

_LOG = logging.getLogger(__name__)


class Leases(Protocol):
    """Leases by name, of which each belongs to one process at a time."""

    def acquire(self, key: str) -> object | None:
        """Take a lease; if another process has it, return that process."""

    def release(self, key: str) -> None:
        """Release a lease."""


class MergeBusyError(CacheError):
    """Another process is merging."""


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge did."""

    answers: int = 0
    """Answers read from segments."""
    added: int = 0
    """Answers that the main cache did not have."""
    removed: int = 0
    """Segments removed."""
    left: int = 0
    """Segments that are still there, since heads write them or their removal was not asked for."""


@dataclass(slots=True)
class _Batch:
    """What goes into one transaction, and the segments that are then merged."""

    models: dict[bytes, CachedModel] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    replacing: list[Row] = field(default_factory=list)
    size: int = 0
    ends: dict[tuple[str, str], int] = field(default_factory=dict)
    done: list[tuple[Path, bool]] = field(default_factory=list)  # closed ones, and whether they are damaged

    @property
    def full(self) -> bool:
        return len(self.rows) + len(self.replacing) >= _MOST_ROWS or self.size >= _MOST_BYTES


class SegmentMerger:
    """Merges the segments of a results folder, again and again; what was merged before is not read again.

    Args:
        results_dir: The results folder.
        leases: Leases that all processes on that folder share.
        main: The main cache (default: the file in the results folder).
    """

    def __init__(self, results_dir: Path, leases: Leases, main: Path | None = None) -> None:
        self._answers, self._leases = results_dir / ANSWERS_FOLDER, leases
        self._main = main or results_dir / FILE_NAME
        self._ends: dict[tuple[str, str], int] = {}  # by folder and stem, where the answers end that are merged
        self._whole: dict[tuple[str, str], bool] = {}  # closed ones that are merged, and whether they are damaged

    def merge(self, *, remove: bool = True) -> Merged:
        """Merge what is there.

        Args:
            remove: True to remove segments that no process writes any more.

        Raises:
            MergeBusyError: Another process is merging.
            CacheError: The main cache cannot be written, or a segment not be read.
        """
        if not self._answers.is_dir():
            return Merged()
        holder = self._leases.acquire(MERGE_LEASE)
        if holder is not None:
            raise MergeBusyError(f"{holder} is merging the answers in {self._answers}; wait until it has finished.")
        try:
            with writing(self._answers):
                return self._merge(remove)
        finally:
            self._leases.release(MERGE_LEASE)

    def merge_if_free(self, *, remove: bool = True) -> None:
        """Merge what is there, unless another process is doing so.

        Raises:
            CacheError: The main cache cannot be written, or a segment not be read.
        """
        with suppress(MergeBusyError):
            self.merge(remove=remove)

    def _merge(self, remove: bool) -> Merged:
        files = segment_files(self._answers)
        if not files and not (remove and self._main.is_file()):
            return Merged()
        answers = added = removed = 0
        cache = ResponseCache(self._main, merging=True)
        try:
            if remove:
                fold_spending(self._answers, cache)
            for batch in self._batches(files, remove):
                answers += len(batch.rows) + len(batch.replacing)
                batch.rows.sort()
                added += cache.merge(batch.models.values(), batch.rows, batch.replacing)
                self._ends |= batch.ends
                for file, damaged in batch.done:
                    self._whole[_name(file)] = damaged
                    if remove:
                        self._remove(file)
                        removed += 1
        finally:
            cache.close()
        return Merged(answers, added, removed, len(files) - removed)

    def _remove(self, file: Path) -> None:
        if self._whole.pop(_name(file)):
            _set_aside(file)
        else:
            file.unlink(missing_ok=True)
        self._ends.pop(_name(file), None)

    def _batches(self, files: list[Path], remove: bool) -> Iterator[_Batch]:
        batch, now = _Batch(), None
        for file in files:
            if file.suffix == OPEN and remove:
                now = _server_time(self._answers) if now is None else now
                file = _taken_over(file, now)
            if file.suffix == CLOSED and (known := self._whole.get(_name(file))) is not None:
                batch.done += [(file, known)] if remove else []
                continue
            start = self._ends.get(_name(file), 0)
            try:
                segment = read_segment(file, start)
            except FileNotFoundError:  # its writer has just closed it, or another process has merged it
                continue
            except SegmentDamagedError as error:
                if file.suffix == CLOSED:
                    _LOG.warning("No answer in %s can be read: %s. They will be requested again.", file, error)
                    batch.done.append((file, True))
                continue
            if file.suffix == CLOSED:
                _warn(file, segment)
                batch.done.append((file, bool(segment.damaged)))
            batch.ends[_name(file)] = segment.end
            _fill(batch, segment)
            if batch.full:
                yield batch
                batch = _Batch()
        yield batch


@contextmanager
def merging(results_dir: Path, leases: Leases, every: float = MERGE_SECONDS) -> Iterator[None]:
    """Merge segments while heads are at work, in a thread, and all of them when the block ends.

    Args:
        results_dir: The results folder.
        leases: Leases that all processes on that folder share.
        every: Seconds between two merges.

    Raises:
        CacheError: The last merge failed. Another process that merges is left to do so.
    """
    merger, stop = SegmentMerger(results_dir, leases), threading.Event()
    with writing(results_dir):
        make_folder(results_dir / ANSWERS_FOLDER)  # so that heads find what has been spent
    merger.merge_if_free()

    def work() -> None:
        while not stop.wait(every):
            try:
                merger.merge_if_free(remove=False)  # heads may still have to read them
            except HarnessError as error:
                _LOG.warning("Answers could not be merged: %s They are kept, and merged later.", error)

    thread = threading.Thread(target=work, name="merging", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        merger.merge_if_free()


def waiting_segments(results_dir: Path) -> list[tuple[Path, Segment]]:
    """Return the segments that can be read, with their answers.

    Raises:
        OSError: The folder cannot be read.
    """
    found = []
    for file in segment_files(results_dir / ANSWERS_FOLDER):
        with suppress(SegmentDamagedError, FileNotFoundError):
            found.append((file, read_segment(file)))
    return found


def _fill(batch: _Batch, segment: Segment) -> None:
    model = segment.model.digest
    batch.models[model] = segment.model
    for entry in segment.entries:
        row = (entry.key, model, entry.created, entry.value, None)
        (batch.replacing if entry.replaces else batch.rows).append(row)
        batch.size += len(entry.value)


def _warn(file: Path, segment: Segment) -> None:
    kept = f"{len(segment.entries):,} answers in it are kept"
    if segment.damaged:
        _LOG.warning(
            "%s is damaged: %s, %s bytes cannot be read. It is moved to %s; answers that are lost will be requested "
            "again.",
            *(file, kept, f"{segment.damaged + segment.torn:,}", file.with_suffix(DAMAGED).name),
        )
    elif segment.torn:
        _LOG.warning("%s ends within an answer, which will be requested again; %s.", file, kept)


def _set_aside(file: Path) -> None:
    with suppress(FileNotFoundError):
        file.replace(file.with_suffix(DAMAGED))


def _name(file: Path) -> tuple[str, str]:
    return file.parent.name, file.stem


def _taken_over(file: Path, now: float) -> Path:
    """Close an open segment if its writer is gone; return its name."""
    try:
        idle = now - file.stat().st_mtime
        try:
            gone = _is_gone(segment_owner(file))
        except SegmentDamagedError:
            gone = False
        if not gone and idle < IDLE_SECONDS:
            return file
        return file.replace(file.with_suffix(CLOSED))
    except FileNotFoundError:
        return file


def _is_gone(owner: SegmentOwner) -> bool:
    return owner.space == process_space() and not is_alive(owner.process)


def _server_time(folder: Path) -> float:
    """Return the time by the clock that gives the folder's files theirs: that of a file server may differ."""
    with tempfile.TemporaryFile(dir=folder) as probe:
        probe.write(b" ")
        probe.flush()
        return os.fstat(probe.fileno()).st_mtime
