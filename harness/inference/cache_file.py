"""The response cache's SQLite file.

Each answer is stored in a transaction, so that none is lost if the process is killed. A damaged file is set aside, and
its readable answers are kept. A file that is deleted or replaced while it is open is written again.
"""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from harness.errors import StorageError
from harness.inference.salvage import copy_rows, is_damage, salvage, set_aside
from harness.storage.file_systems import network_file_system

FILE_NAME = "responses.sqlite"
VERSION = 4
"""Version of the file's layout, its ``user_version``. A file of another version is refused."""

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS responses "
    "(key BLOB PRIMARY KEY, model BLOB NOT NULL, created INTEGER NOT NULL, value BLOB NOT NULL, "
    "origin BLOB) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS models (digest BLOB PRIMARY KEY, name TEXT NOT NULL, fingerprint TEXT NOT NULL, "
    "used INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS imports "
    "(digest BLOB PRIMARY KEY, file TEXT NOT NULL, imported INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS spending "
    "(account TEXT PRIMARY KEY, prompt INTEGER NOT NULL, completion INTEGER NOT NULL) WITHOUT ROWID",
)
_LOCK_SECONDS = 60.0
"""Seconds to wait for another process to finish writing."""

_LOG = logging.getLogger(__name__)

Result = TypeVar("Result")

Identity = tuple[int, int]
"""Device and inode."""


def cache_file(results_dir: Path, cache_dir: Path | None = None) -> Path:
    """Return the path of the response cache: in the given folder, in HARNESS_CACHE_DIR, or in the results folder."""
    named = os.environ.get("HARNESS_CACHE_DIR")
    return (cache_dir or (Path(named) if named else results_dir)) / FILE_NAME


class CacheError(StorageError):
    """The response cache cannot be read or written."""


class CacheFile:
    """An open file, created if it does not exist.

    Attributes:
        path: The file.
        database: The connection to it; a new one after the file was replaced.

    Args:
        path: The file.
        merging: True if the answers will be in no other file after they are written: each transaction then waits for
            the disk.

    Raises:
        CacheError: The file cannot be opened, or is of another version.
    """

    def __init__(self, path: Path, *, merging: bool = False) -> None:
        self.path = path
        self._merging = self._warned = merging
        self._files: dict[str, Identity | None] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.database = self._open()
        except (sqlite3.Error, OSError) as error:
            raise self.error("cannot be opened", error) from error

    def use(self, what: str, action: Callable[[sqlite3.Connection], Result]) -> Result:
        """Return what an action returns; if the file is damaged, replace it and try once more.

        Args:
            what: What the action does, as a participle such as ``read``, for the error.
            action: Uses the connection that it is given.

        Raises:
            CacheError: The file cannot be used.
        """
        try:
            try:
                return action(self.database)
            except sqlite3.Error as error:
                self._roll_back()
                if not is_damage(error):
                    raise
                self.database.close()
                self.database = self._replace(error)
                return action(self.database)
        except (sqlite3.Error, OSError) as error:
            self._roll_back()
            raise self.error(f"cannot be {what}", error) from error

    def keep(self) -> None:
        """Write the file again if it was deleted or replaced; the open one still has every answer.

        Raises:
            CacheError: It cannot be written again.
        """
        before, now = self._files, _identities(self.path)
        if now[""] == before[""]:
            return
        try:
            if now[""] is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                for suffix, identity in now.items():  # a log that was left behind would be applied to the new file
                    if identity is not None and identity == before[suffix]:
                        self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
            old, self.database = self.database, self._open()
            kept = copy_rows(old, self.database)
            old.close()
        except (sqlite3.Error, OSError) as error:
            raise self.error("was deleted while it was in use, and cannot be written again", error) from error
        what = "deleted" if now[""] is None else "replaced"
        _LOG.warning(
            "The response cache %s was %s while it was in use. Its %s answers have been written again.",
            *(self.path, what, f"{kept:,}"),
        )

    def close(self) -> None:
        """Close the file.

        Raises:
            CacheError: It was deleted, and cannot be written again.
        """
        try:
            self.keep()
        finally:
            self.database.close()

    def error(self, what: str, error: Exception) -> CacheError:
        """Return an error that names the file and says ``what`` happened to it."""
        if _forbidden(error, self.path):
            return CacheError(
                f"the response cache {self.path} cannot be written ({error}). Change the permissions of its folder, or "
                "choose another folder for results, or for the cache alone (HARNESS_CACHE_DIR)."
            )
        return CacheError(
            f"the response cache {self.path} {what} ({error}). If the disk is full, make room and run the same "
            "command again: every answer that was stored is still there."
        )

    def _open(self) -> sqlite3.Connection:
        """Open the file; if it is damaged, set it aside and open a new one."""
        try:
            return self._connect()
        except sqlite3.Error as error:
            if not is_damage(error):
                raise
            return self._replace(error)

    def _connect(self) -> sqlite3.Connection:
        database = sqlite3.connect(self.path, timeout=_LOCK_SECONDS, isolation_level=None)
        try:
            network = network_file_system(self.path)
            if network is None:
                _set_journal(database, "WAL")
                # With NORMAL, a power cut can lose the last transactions, but a killed process cannot, and the file
                # stays consistent.
                database.execute(f"PRAGMA synchronous={'FULL' if self._merging else 'NORMAL'}")
            else:
                self._avoid_log(database, network)
            self._check_version(database)
            self._files = _identities(self.path)
        except BaseException:
            database.close()
            raise
        return database

    def _avoid_log(self, database: sqlite3.Connection, network: str) -> None:
        """Use a rollback journal: a write-ahead log needs shared memory, which two machines do not have."""
        _set_journal(database, "DELETE")
        database.execute("PRAGMA synchronous=FULL")
        if not self._warned:
            _LOG.warning(
                "The response cache %s is on a network file system (%s). It is used without a write-ahead log, which "
                "is slower, and relies on the file system's locks. Put it on a local disk with --cache-dir or "
                "HARNESS_CACHE_DIR; `harness cache import` copies its answers there.",
                *(self.path, network),
            )
        self._warned = True

    def _check_version(self, database: sqlite3.Connection) -> None:
        def state() -> tuple[int, int]:
            (version,) = database.execute("PRAGMA user_version").fetchone()
            (tables,) = database.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
            return version, tables

        if state() == (0, 0):
            database.execute("BEGIN IMMEDIATE")
            if state() == (0, 0):  # no other process has done so
                for statement in _SCHEMA:
                    database.execute(statement)
                database.execute(f"PRAGMA user_version={VERSION}")
            database.execute("COMMIT")
        version, _ = state()
        if version != VERSION:
            raise CacheError(
                f"the response cache {self.path} has layout {version}, and this version of the harness reads and "
                f"writes layout {VERSION}. Move the file away, or name another folder with --results-dir: answers are "
                "then requested again."
            )

    def _replace(self, error: Exception) -> sqlite3.Connection:
        """Set the damaged file aside, and return a new one with its readable answers."""
        damaged = set_aside(self.path)
        database = self._connect()
        saved = 0 if damaged is None else salvage(damaged, database)
        if damaged is not None:
            _LOG.warning(
                "The response cache %s is damaged (%s). It was moved to %s; %s of its answers could be read and are "
                "kept, the others will be requested again.",
                *(self.path, error, damaged, f"{saved:,}"),
            )
        return database

    def _roll_back(self) -> None:
        with suppress(sqlite3.ProgrammingError):  # already closed if its replacement could not be opened
            if self.database.in_transaction:
                self.database.execute("ROLLBACK")


def _identities(path: Path) -> dict[str, Identity | None]:
    """Return the identities of a database and its logs, by suffix; they tell replaced files apart."""
    return {suffix: _identity(path.with_name(path.name + suffix)) for suffix in ("", "-wal", "-shm", "-journal")}


def _identity(path: Path) -> Identity | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _forbidden(error: Exception, path: Path) -> bool:
    """Return whether an error says that the file or its folder may not be written."""
    if isinstance(error, OSError):
        return error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
    # SQLite gives the same codes for other reasons, such as a file that was moved.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    refused = code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY)
    return refused and not all(os.access(place, os.W_OK) for place in (path.parent, path) if place.exists())


def _set_journal(database: sqlite3.Connection, mode: str) -> None:
    """Set the journal's mode; SQLite itself does not wait if another process is doing so."""
    until = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            database.execute(f"PRAGMA journal_mode={mode}")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        time.sleep(0.02)
