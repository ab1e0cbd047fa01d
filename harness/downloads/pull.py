"""Downloads what the runs of a sweep read, several files at once; one failure does not stop the others."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from harness.contracts.plugins import Download
from harness.data.fetching import (
    Report,
    StoppedError,
    fetch_download,
    fetch_hub_file,
    received,
    received_of_download,
)
from harness.data.hub import arrow_cache, prepare
from harness.data.hub_repository import RemoteFile, Repository
from harness.downloads.survey import Supply
from harness.errors import DataError, HarnessError

FREE_BYTES = 1 << 28
"""Bytes that a download leaves free on a disk: 256 MB."""


@dataclass(frozen=True, slots=True)
class Pulled:
    """The outcome of one supply's download."""

    supply: Supply
    error: str = ""
    """Why it is not here; empty if it is."""


@dataclass(frozen=True, slots=True)
class _Job:
    """A file to be fetched, which several supplies may need."""

    fetch: Callable[[Report], Path]
    size: int
    supplies: list[int]


def pull(supplies: Sequence[Supply], data_dir: Path | None, *, at_once: int, report: Report) -> Iterator[Pulled]:
    """Download supplies, and yield each when it is here or has failed.

    Args:
        supplies: Those to be downloaded, as :func:`harness.downloads.survey.survey` found them.
        data_dir: The folder for files that are published at an address.
        at_once: Number of files that are downloaded at once.
        report: Called with the number of bytes that arrive, by several threads.

    Raises:
        KeyboardInterrupt: The user stopped it; what was received is kept.
    """
    jobs = _jobs(supplies, data_dir)
    waiting = Counter(index for job in jobs for index in job.supplies)
    errors: dict[int, str] = {}
    stop = threading.Event()

    def told(number: int) -> None:
        if stop.is_set():
            raise StoppedError("the download was interrupted.")
        report(number)

    with ThreadPoolExecutor(at_once) as threads:
        running: dict[Future[Path], _Job] = {threads.submit(job.fetch, told): job for job in jobs}
        try:
            for index, supply in enumerate(supplies):
                if not waiting[index]:
                    yield _finished(supply, "")
            for future in as_completed(running):
                error = _error(future)
                for index in running[future].supplies:
                    waiting[index] -= 1
                    errors[index] = errors.get(index) or error
                    if not waiting[index]:
                        yield _finished(supplies[index], errors[index])
        finally:
            stop.set()
            threads.shutdown(cancel_futures=True)


def lacking_space(supplies: Iterable[Supply], data_dir: Path | None) -> list[str]:
    """Return a message for each disk that has not enough space for downloads and copies of them in Arrow's format."""
    needed: dict[Path, int] = {}
    seen: set[tuple[str, ...]] = set()
    for supply in supplies:
        for file in supply.files if supply.repository else ():
            key = (supply.repository.name, supply.repository.commit, file.path) if supply.repository else ()
            if supply.repository and key not in seen:
                seen.add(key)
                folder = hub_cache()
                needed[folder] = needed.get(folder, 0) + file.size - received(supply.repository, file)
        if supply.hub and (copied := (supply.hub.path, supply.hub.revision, supply.hub.config or "")) not in seen:
            seen.add(copied)
            folder = arrow_cache()
            needed[folder] = needed.get(folder, 0) + supply.converted
        for download in supply.downloads if data_dir else ():
            if data_dir and (download.file,) not in seen:
                seen.add((download.file,))
                needed[data_dir] = needed.get(data_dir, 0) + download.bytes - received_of_download(download, data_dir)
    problems = []
    for disk, folders in _by_disk(needed).items():
        wanted, free = sum(needed[folder] for folder in folders), shutil.disk_usage(disk).free
        if wanted + FREE_BYTES > free:
            where = " and ".join(map(str, folders))
            problems.append(
                f"{where}: {bytes_text(wanted)} are needed for downloads and for copies in Arrow's format, but only "
                f"{bytes_text(free)} are free. Make room, or name a folder on another disk (HF_HOME for the Hub's "
                "cache, --data-dir for the data folder)."
            )
    return problems


def hub_cache() -> Path:
    """Return the folder of the Hub's cache."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE)


def bytes_text(size: int) -> str:
    """Return a size in bytes for people, as ``1.5 GB``."""
    amount = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 999.5:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 99.5 else f"{amount:.3g} {unit}"
        amount /= 1000
    return f"{amount:,.3g} TB" if amount < 999.5 else f"{amount:,.0f} TB"


def _jobs(supplies: Sequence[Supply], data_dir: Path | None) -> list[_Job]:
    """Return the files of supplies, the largest first, so that the last does not wait for it."""
    jobs: dict[tuple[str, ...], _Job] = {}
    for index, supply in enumerate(supplies):
        repository = supply.repository
        if repository is not None:
            revision = supply.checkpoint.revision or "main" if supply.checkpoint else None
            for file in supply.files:
                key = (repository.kind, repository.name, repository.commit, file.path)
                job = _Job(_hub_fetch(repository, file, revision), file.size, [])
                jobs.setdefault(key, job).supplies.append(index)
        if data_dir is not None:
            for download in supply.downloads:
                job = _Job(_fetch(download, data_dir), download.bytes, [])
                jobs.setdefault((download.file,), job).supplies.append(index)
    return sorted(jobs.values(), key=lambda job: -job.size)


def _hub_fetch(repository: Repository, file: RemoteFile, revision: str | None) -> Callable[[Report], Path]:
    return lambda report: fetch_hub_file(repository, file, report, revision)


def _fetch(download: Download, data_dir: Path) -> Callable[[Report], Path]:
    return lambda report: fetch_download(download, data_dir, report)


def _finished(supply: Supply, error: str) -> Pulled:
    """Convert a data set whose files are here to what runs read."""
    if not error and supply.hub is not None:
        try:
            prepare(supply.hub)
        except Exception as problem:  # whatever the Hub, its files or its readers raise
            error = f"{supply.hub.path}: its files are here, but cannot be read: {_brief(problem)}"
    return Pulled(supply, error)


def _error(future: Future[Path]) -> str:
    error = future.exception()
    if error is None:
        return ""
    if isinstance(error, OSError) and not isinstance(error, HarnessError):
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
            return f"the disk is full ({hub_cache()}). Make room and run the command again; it continues."
        return f"{error.filename or 'the disk'} cannot be written: {error.strerror or _brief(error)}."
    if isinstance(error, DataError):
        return str(error)
    raise error


def _brief(error: BaseException) -> str:
    return (" ".join(str(error).split()) or type(error).__name__)[:300].rstrip(".") + "."


def _by_disk(folders: Iterable[Path]) -> dict[Path, list[Path]]:
    """Return folders by the nearest existing folder of the disk that they are on."""
    disks: dict[int, tuple[Path, list[Path]]] = {}
    for folder in folders:
        place = folder.expanduser().resolve()
        while not place.exists():
            place = place.parent
        disks.setdefault(os.stat(place).st_dev, (place, []))[1].append(folder)
    return dict(disks.values())
