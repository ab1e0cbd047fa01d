"""Downloads of single files: continued after an interruption, checked before they are put in their place."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from harness.contracts.plugins import Download
from harness.data.hub_repository import HubError, RemoteFile, Repository, cached_file, from_hub
from harness.errors import DataError
from harness.installation import install_advice

PARTIAL = ".incomplete"
"""Ending of a file that is not complete."""

ATTEMPTS = 5
"""Number of connections in a row that may bring no bytes."""

BUSY = frozenset({408, 429, 500, 502, 503, 504})
"""Status codes after which a request is sent again."""

TIMEOUT_SECONDS = 30

Report = Callable[[int], None]
"""Called with each number of bytes received; a negative number takes back bytes that have to be received again."""


class StoppedError(DataError):
    """The user interrupted the downloads."""


def fetch_hub_file(repository: Repository, file: RemoteFile, report: Report, revision: str | None = None) -> Path:
    """Put a file of a repository into the Hub's cache, and return its path.

    What was received before an interruption is kept and not asked for again: the Hub's own library begins anew. A file
    gets its place in the cache once its content has the Hub's checksum.

    Args:
        repository: The data set or model, at a commit.
        file: The file.
        report: Called with the number of bytes that arrive.
        revision: The branch or tag by which it was asked for, under which the cache then finds it too.

    Raises:
        HubError: The Hub does not give the file, or its content has another checksum.
        OSError: The disk is full, or cannot be written.
    """

    def get() -> Path:
        from huggingface_hub import (
            constants,
            get_session,
            get_token,
            hf_hub_download,
            hf_hub_url,
            hf_raise_for_status,
        )
        from huggingface_hub.file_download import get_hf_file_metadata, repo_folder_name

        known = cached_file(repository.kind, repository.name, repository.commit, file.path)
        if known is None:
            url = hf_hub_url(repository.name, file.path, repo_type=repository.kind, revision=repository.commit)
            found = get_hf_file_metadata(url)
            etag = found.etag or file.digest
            if not re.fullmatch(r"[\w-]+", etag):  # it names a file of the cache
                raise HubError(f"{repository.name}: the Hub gives no usable checksum for {file.path} ({etag!r}).")
            same_host = urlsplit(found.location)[:2] == urlsplit(url)[:2]
            token = get_token() if same_host else None  # it is for the Hub alone
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            folder = Path(constants.HF_HUB_CACHE, repo_folder_name(repo_id=repository.name, repo_type=repository.kind))
            size = found.size if found.size is not None else file.size
            remote = _Remote(found.location, size, file.digest or etag, get_session(), hf_raise_for_status, headers)
            _fetch(remote, folder / "blobs" / etag, report)
        return Path(
            hf_hub_download(
                repository.name, file.path, repo_type=repository.kind, revision=revision or repository.commit
            )
        )

    return from_hub(repository.kind, repository.name, repository.commit, get)


def received(repository: Repository, file: RemoteFile) -> int:
    """Return the bytes of a file that are here already, in whole or in part."""
    from huggingface_hub import constants
    from huggingface_hub.file_download import repo_folder_name

    if cached_file(repository.kind, repository.name, repository.commit, file.path) is not None:
        return file.size
    folder = Path(constants.HF_HUB_CACHE, repo_folder_name(repo_id=repository.name, repo_type=repository.kind))
    return _received(folder / "blobs" / file.digest) if file.digest else 0


def fetch_download(download: Download, data_dir: Path, report: Report) -> Path:
    """Put a file that is published at an address into the data folder, and return its path.

    Raises:
        DataError: Its name leads out of the data folder, the address does not answer, or the content has another
            checksum.
        OSError: The disk is full, or cannot be written.
    """
    place = download_place(download, data_dir)
    if place.exists():
        return place
    try:
        import httpx2
    except ImportError:
        raise DataError(f"downloads need httpx2: {install_advice('hub')}.") from None
    try:
        # Not the session of the Hub's library, which asks nobody at all where the Hub cannot be reached.
        with httpx2.Client() as client:
            _fetch(
                _Remote(download.url, download.bytes, download.sha256, client, httpx2.Response.raise_for_status),
                place,
                report,
            )
    except httpx2.HTTPError as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise DataError(f"{download.url} cannot be downloaded: {reason.rstrip('.')}.") from None
    return place


def download_place(download: Download, data_dir: Path) -> Path:
    """Return the path of a download in the data folder.

    Raises:
        DataError: Its name leads out of it.
    """
    place = data_dir / download.file
    if not place.resolve().is_relative_to(data_dir.resolve()):
        raise DataError(f"{download.file!r} is not a path inside the data folder.")
    return place


def received_of_download(download: Download, data_dir: Path) -> int:
    """Return the bytes of a download that are here already, in whole or in part."""
    place = download_place(download, data_dir)
    return download.bytes if place.exists() else _received(place)


@dataclass(frozen=True, slots=True)
class _Remote:
    """A file on a server."""

    url: str
    size: int
    digest: str
    client: Any
    """The client of httpx2 or of the Hub's library."""
    raise_for_status: Callable[[Any], object]
    """Raises an error with the attribute ``response`` if a response is one of refusal."""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """The URL without its query, which may hold a signature."""
        return self.url.partition("?")[0]


def _fetch(remote: _Remote, place: Path, report: Report) -> None:
    """Download a file, continuing one that was begun, and put it in its place if its checksum is right."""
    partial = place.with_name(place.name + PARTIAL)
    place.parent.mkdir(parents=True, exist_ok=True)
    with _alone(partial) as stream:
        if place.exists():  # another process was faster
            partial.unlink(missing_ok=True)
            return
        _receive(remote, stream, report)
        stream.flush()
        found = _digest(partial, remote.digest)
        if found != remote.digest:
            report(-remote.size)
            partial.unlink()
            raise HubError(
                f"{place.name}: what was downloaded from {remote.address} has the checksum {found} "
                f"instead of the published {remote.digest}, so it was deleted. Try again; if the error "
                "returns, a proxy may be changing the file."
            )
        os.fsync(stream.fileno())
        os.replace(partial, place)


def _receive(remote: _Remote, stream: IO[bytes], report: Report) -> None:
    """Append the rest of a file to what is there of it; a lost connection is opened again.

    Raises:
        DataError: The server gives another number of bytes.
        Exception: The connection is lost again and again, the server refuses, or the disk cannot be written.
    """
    fruitless = 0
    if stream.seek(0, os.SEEK_END) > remote.size:  # it was begun for another size
        report(-stream.tell())
        stream.truncate(0)
    while (begun := stream.seek(0, os.SEEK_END)) != remote.size:
        try:
            _receive_once(remote, stream, begun, report)
        except Exception as error:  # the network's exceptions belong to a library that may change
            status = getattr(getattr(error, "response", None), "status_code", None)
            if status not in BUSY if status is not None else isinstance(error, DataError | OSError):
                raise
            lost = error
        else:
            if stream.seek(0, os.SEEK_END) == begun:
                raise DataError(f"{remote.address} ends after {begun:,} of {remote.size:,} bytes.")
            continue
        fruitless = 0 if stream.seek(0, os.SEEK_END) > begun else fruitless + 1
        if fruitless == ATTEMPTS:
            raise lost
        time.sleep(min(2**fruitless, 8))


def _receive_once(remote: _Remote, stream: IO[bytes], begun: int, report: Report) -> None:
    # Compressed, the bytes that are still to come could not be counted.
    wanted = {**remote.headers, "Accept-Encoding": "identity", **({"Range": f"bytes={begun}-"} if begun else {})}
    with remote.client.stream(
        "GET", remote.url, headers=wanted, timeout=TIMEOUT_SECONDS, follow_redirects=True
    ) as response:
        if response.status_code == 416:  # it ends before the place from which the rest was asked for
            report(-begun)
            stream.truncate(0)
            raise DataError(f"{remote.address} has fewer bytes than the published {remote.size:,}.")
        remote.raise_for_status(response)
        have = begun
        if begun and response.status_code != 206:  # the server gives the whole file
            report(-begun)
            stream.truncate(0)
            have = 0
        for chunk in response.iter_bytes():
            if have + len(chunk) > remote.size:
                report(-have)
                stream.truncate(0)
                raise DataError(f"{remote.address} has more bytes than the published {remote.size:,}.")
            stream.write(chunk)
            report(len(chunk))
            have += len(chunk)


@contextmanager
def _alone(partial: Path) -> Iterator[IO[bytes]]:
    """Open a partial file for appending, once no other process is writing it."""
    from filelock import FileLock
    from huggingface_hub import constants

    # The Hub's library locks a file of its cache under this name, too.
    name = partial.name.removesuffix(PARTIAL)
    lock = Path(constants.HF_HUB_CACHE, ".locks", partial.parent.parent.name, f"{name}.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(lock), partial.open("ab") as stream:
        yield stream


def _received(place: Path) -> int:
    for path in (place, place.with_name(place.name + PARTIAL)):
        if path.is_file():
            return path.stat().st_size
    return 0


def _digest(path: Path, like: str) -> str:
    """Return a file's checksum of the same kind as another: SHA-256, or the SHA-1 of a git object."""
    with path.open("rb") as stream:
        if len(like) == 64:
            return hashlib.file_digest(stream, "sha256").hexdigest()
        if len(like) == 40:
            whole = hashlib.sha1(f"blob {path.stat().st_size}\0".encode())  # noqa: S324 - as git names it
            while block := stream.read(1 << 20):
                whole.update(block)
            return whole.hexdigest()
    return like  # a mark of the server's own, which cannot be checked
