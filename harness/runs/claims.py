"""Leases on runs, so that processes that share a results folder do not ask the same questions twice.

A lease is a small file in ``.claims`` in the results folder, made with ``O_EXCL``, which also works on network file
systems. Its owner changes the heartbeat in it every few seconds. A lease whose heartbeat has not changed for
``STALE_SECONDS``, by the reader's own clock, is taken over; that of a dead process on the same machine at once.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from harness.contracts.specs import RunSpec
from harness.storage.durable import is_alive, partial_path, process_space, writing

CLAIMS_FOLDER = ".claims"
HEARTBEAT_SECONDS = 5.0
STALE_SECONDS = 60.0
"""Twelve heartbeats: a busy machine misses some, and a network file system may show them late."""


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that has a lease."""

    host: str = ""
    """Name of its machine; empty while the file is being written."""
    process: int = 0
    """Its process id."""
    token: str = ""
    """Random text that identifies the owner."""
    beat: int = 0
    """Number of renewals."""
    space: str = ""
    """The machine's boot and its namespace of process ids; ids of different spaces cannot be compared."""

    def __str__(self) -> str:
        return f"process {self.process} on {self.host}" if self.host else "another process"


def claim_key(spec: RunSpec) -> str:
    """Return the name of the lease that a run needs.

    Runs that differ only in perturbations, metrics or number of instances share most requests, and so share a lease.
    """
    parts = [spec.model, spec.scenario, spec.adapter, spec.eval_split, spec.seed, spec.sampling_seed, spec.samples]
    values = [part.model_dump(mode="json") if hasattr(part, "model_dump") else part for part in parts]
    return hashlib.blake2b(json.dumps(values, sort_keys=True).encode(), digest_size=12).hexdigest()


class Claims:
    """The leases of this process; a thread renews them until they are released.

    Args:
        results_dir: The results folder.
        heartbeat: Seconds between two renewals.
        stale: Seconds without a change after which another process's lease is taken over.
        clock: A monotonic clock, in seconds.
    """

    def __init__(
        self,
        results_dir: Path,
        heartbeat: float = HEARTBEAT_SECONDS,
        stale: float = STALE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = results_dir / CLAIMS_FOLDER
        self._heartbeat, self._stale, self._clock = heartbeat, stale, clock
        self._token, self._space = secrets.token_hex(8), process_space()
        self._lock = threading.Lock()
        self._held: dict[str, int] = {}  # by lease, how many runs of this process need it
        self._seen: dict[str, tuple[Holder, float]] = {}  # leases of others, and the time of their last change
        self._beat = 0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Claims:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def acquire(self, key: str) -> Holder | None:
        """Take a lease; if another process has it, return that process.

        Raises:
            StorageError: The lease cannot be written.
        """
        with self._lock:
            if key in self._held:
                self._held[key] += 1
                return None
            path = self._path(key)
            with writing(path):
                self._folder.mkdir(parents=True, exist_ok=True)
                while not self._create(path):
                    found, present = self._look(key)
                    holder = found if present or found is None else self._take_over(key, found)
                    if holder is not None:
                        return holder
            self._held[key] = 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._renew, name="claims", daemon=True)
                self._thread.start()
        return None

    def release(self, key: str) -> None:
        """Release a lease; a lease of another process is left alone."""
        with self._lock:
            if key not in self._held:
                return
            self._held[key] -= 1
            if not self._held[key]:
                del self._held[key]
                self._remove(key)

    def holder(self, key: str) -> Holder | None:
        """Return the other process that has a lease; None if it is free, or its owner is gone."""
        with self._lock:
            return None if key in self._held else self._holder(key)

    def close(self) -> None:
        """Release all leases."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        with self._lock:
            for key in self._held:
                self._remove(key)
            self._held.clear()

    def _path(self, key: str) -> Path:
        return self._folder / key

    def _create(self, path: Path) -> bool:
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        except FileExistsError:
            return False
        with os.fdopen(descriptor, "wb") as file:
            file.write(self._content())
        return True

    def _content(self) -> bytes:
        value = {
            "host": platform.node(),
            "process": os.getpid(),
            "token": self._token,
            "beat": self._beat,
            "space": self._space,
        }
        return json.dumps(value).encode()

    def _holder(self, key: str) -> Holder | None:
        found, present = self._look(key)
        return found if present else None

    def _look(self, key: str) -> tuple[Holder | None, bool]:
        """Return the holder that the file names, and True if that process is still alive."""
        found = _read(self._path(key))
        if found is None:
            self._seen.pop(key, None)
            return None, False
        if found.space == self._space and not is_alive(found.process):
            return found, False
        known, since = self._seen.get(key, (None, 0.0))
        if found != known:
            self._seen[key] = (found, self._clock())
            return found, True
        return found, self._clock() - since < self._stale

    def _take_over(self, key: str, gone: Holder) -> Holder | None:
        """Remove a lease whose owner is gone; if another process is already doing so, return that process."""
        path = self._path(key)
        # Only the process that creates this file removes the lease. Otherwise two processes could, and the second would
        # remove the new lease of the first.
        gate = path.with_name(f"{key}.{gone.token}.gone")
        if not self._create(gate):
            found, present = self._look(gate.name)
            if found is not None and not present:  # it was killed halfway
                gate.unlink(missing_ok=True)
            return found if present else None
        try:
            if _read(path) == gone:
                path.unlink(missing_ok=True)
                partial_path(path, gone.host, gone.process).unlink(missing_ok=True)  # it may have died while renewing
        finally:
            gate.unlink(missing_ok=True)
        return None

    def _remove(self, key: str) -> None:
        path = self._path(key)
        with suppress(OSError):  # what cannot be removed goes stale
            found = _read(path)
            if found is not None and found.token == self._token:
                path.unlink(missing_ok=True)

    def _renew(self) -> None:
        while not self._stop.wait(self._heartbeat):
            with self._lock:
                self._beat += 1
                for key in self._held:
                    self._renew_one(self._path(key))

    def _renew_one(self, path: Path) -> None:
        with suppress(OSError):  # the next heartbeat may get through
            found = _read(path)
            if found is None or found.token != self._token:
                return  # it was taken over while this process was stopped; the answers are in the cache either way
            partial = partial_path(path)
            partial.write_bytes(self._content())
            partial.replace(path)


def all_holders(results_dir: Path) -> set[Holder]:
    """Return who has leases in a results folder, this process as well, whether they still live or not."""
    try:
        files = [file for file in (results_dir / CLAIMS_FOLDER).iterdir() if file.is_file()]
    except OSError:
        return set()
    return {holder for file in files if (holder := _read(file)) is not None and holder.host}


def held_by(holders: Iterable[Holder]) -> str:
    """Return the holders of leases, in words: each process once."""
    return ", ".join(dict.fromkeys(map(str, holders)))


def _read(path: Path) -> Holder | None:
    """Return the holder of a lease; None if it is free."""
    try:
        value = json.loads(path.read_bytes() or b"{}")
        return Holder(
            str(value.get("host", "")),
            int(value.get("process", 0)),
            str(value.get("token", "")),
            int(value.get("beat", 0)),
            str(value.get("space", "")),
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        return Holder()  # half written, or not a lease: it becomes stale like any other
