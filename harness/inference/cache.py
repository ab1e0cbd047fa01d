"""The response cache: every answer of a model, in one SQLite file, stored before it is counted.

A key is a digest of the model's fingerprint and the request: everything that changes an answer, and nothing else.
Values are JSON. Each answer is stored in a transaction, so that none is lost if the process is killed. A damaged file
is set aside, and its readable answers are kept.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sqlite3
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

from harness.contracts import Ledger, Request, Response, SequenceRequest
from harness.errors import StorageError
from harness.inference.salvage import Row, copy_rows, is_damage, salvage, set_aside, unpack
from harness.storage.encoding import decode_response, encode_order, encode_request, encode_response
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
_ASKED = (
    "INSERT INTO models VALUES (?, ?, ?, ?) ON CONFLICT (digest) DO UPDATE "
    "SET name = excluded.name, used = excluded.used WHERE excluded.used > used"
)

_LOCK_SECONDS = 60.0
"""Seconds to wait for another process to finish writing."""

GPU = "gpu"
"""Key of a fingerprint: the kinds of GPU, where they change answers, as they do in 16 bits."""

_VARIABLES = 500  # SQLite's default limit on bound variables in one statement is 999 in old builds.

_LOG = logging.getLogger(__name__)

Result = TypeVar("Result")

_UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""Exceptions that decoding a damaged value can raise."""

Identity = tuple[int, int]
"""Device and inode."""


def cache_file(results_dir: Path, cache_dir: Path | None = None) -> Path:
    """Return the path of the response cache: in the given folder, in HARNESS_CACHE_DIR, or in the results folder."""
    named = os.environ.get("HARNESS_CACHE_DIR")
    return (cache_dir or (Path(named) if named else results_dir)) / FILE_NAME


class CacheError(StorageError):
    """The response cache cannot be read or written."""


@dataclass(frozen=True, slots=True)
class CachedModel:
    """A model whose answers the cache has or had."""

    digest: bytes
    """Its :func:`fingerprint_digest`."""
    name: str
    """Its name when it was last asked, ``backend:identifier``."""
    fingerprint: Mapping[str, Any]
    """What :meth:`harness.Model.fingerprint` returned."""
    used: int
    """Time when it was last asked, in seconds since 1970, even if the cache answered."""


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """One answer in the cache."""

    key: bytes
    """The :func:`request_key` of model and request."""
    model: bytes
    """The model's digest."""
    created: int
    """Time of the answer, in seconds since 1970."""
    response: Response
    """The answer."""
    origin: bytes | None = None
    """SHA-256 of the file from which it was imported; None if it was not."""


@dataclass(frozen=True, slots=True)
class Import:
    """A file from which answers were imported."""

    digest: bytes
    """Its SHA-256."""
    file: str
    """Its name at the last import."""
    imported: int
    """Time of the last import, in seconds since 1970."""
    answers: int
    """Number of its answers in the cache."""


class AnswerCache(Protocol):
    """Where a process keeps its models' answers: one file for all processes of a machine, or a head's own.

    Raises:
        CacheError: It cannot be read or written.
    """

    def asked(self, name: str, fingerprint: Mapping[str, Any]) -> bytes:
        """Record that a model is asked now; return its digest."""

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Response]:
        """Return the known answers, by key; unreadable ones are left out."""

    def put(self, model: bytes, answers: Iterable[tuple[bytes, Response]]) -> None:
        """Store answers of a model: all of them or none."""

    def note_unusable(self, key: bytes, problem: str) -> None:
        """Count an answer that is damaged or does not fit its request; the next one under its key replaces it."""

    def catch_up(self) -> None:
        """Look for answers of other processes before the next :meth:`get`; it may be called in any thread."""

    def of_other_gpus(self, model: bytes) -> Sequence[tuple[bytes, str]]:
        """Return the models whose answers serve for a model's, too, each with its kind of GPU; by default none."""

    def ledger(self) -> Ledger:
        """Return the record of what models have spent."""

    @property
    def folder(self) -> Path | None:
        """The folder of the file, for what belongs next to it; None for a head's own cache."""


class ResponseCache:
    """The answers to requests, on disk.

    If the file is deleted or replaced while it is open, it is written again with all of its answers.

    Attributes:
        path: The file.
        unusable: Keys of answers that are damaged or do not fit their requests, as far as they were looked up.

    Args:
        path: The file.
        reuse_across_gpus: True if answers serve that another kind of GPU gave.
        merging: True to write what is in no other file once it is here: each transaction waits for the disk.

    Raises:
        CacheError: The file cannot be opened, or is of another version.
    """

    def __init__(self, path: Path, *, reuse_across_gpus: bool = False, merging: bool = False) -> None:
        self.path = path
        self._reuse = reuse_across_gpus
        self._merging = self._warned = merging
        self.unusable: set[bytes] = set()
        self._unusable = Counter[str]()
        self._files: dict[str, Identity | None] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = self._open()
        except (sqlite3.Error, OSError) as error:
            raise self._error("cannot be opened", error) from error

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Response]:
        """Return the cached answers, by key; unreadable ones are left out."""
        values = self._do("read", lambda: self._values(keys))
        found: dict[bytes, Response] = {}
        for key, (value, origin) in values.items():
            try:
                response = unpack_response(value)
                found[key] = response if origin is None else replace(response, imported=origin.hex())
            except ValueError as error:
                self.note_unusable(key, str(error))
        return found

    def note_unusable(self, key: bytes, problem: str) -> None:
        """Count an answer that is damaged or does not fit its request; closing the cache warns of all of them."""
        self._unusable[problem] += 1
        self.unusable.add(key)

    def catch_up(self) -> None:
        """Do nothing: what other processes store is found at once."""

    def of_other_gpus(self, model: bytes) -> Sequence[tuple[bytes, str]]:
        """Return the models whose answers serve for a model's, too, each with its kind of GPU."""
        return of_other_gpus(model, self.models()) if self._reuse else []

    @property
    def folder(self) -> Path | None:
        """The folder of the file."""
        return self.path.parent

    def ledger(self) -> CacheLedger:
        """Return the record of what models have spent."""
        return CacheLedger(self.path)

    def put(self, model: bytes, answers: Iterable[tuple[bytes, Response]]) -> None:
        """Store answers of a model in one transaction: all of them or none."""
        now = int(time.time())
        self.add(CachedAnswer(key, model, now, response) for key, response in answers)

    def add(self, answers: Iterable[CachedAnswer]) -> None:
        """Store answers of another cache in one transaction; those that exist are replaced."""
        rows = [
            (answer.key, answer.model, answer.created, pack_response(answer.response), answer.origin)
            for answer in answers
        ]
        self._keep()
        self._do("written", lambda: self._insert(rows))

    def merge(self, models: Iterable[CachedModel], rows: Sequence[Row], replacing: Sequence[Row] = ()) -> int:
        """Add answers as they are stored in another file, in one transaction; those that exist stay.

        Args:
            models: The models whose answers they are.
            rows: The answers; faster in the order of their keys.
            replacing: Answers that take the place of those that exist.

        Returns:
            How many were added.
        """
        self._keep()
        return self._do("written", lambda: self._merge(list(models), rows, replacing))

    def asked(self, name: str, fingerprint: Mapping[str, Any], used: int | None = None) -> bytes:
        """Record that a model is asked now, or was at the time ``used``; return its digest."""
        model = asked_model(name, fingerprint, used)
        self._do("written", lambda: self._database.execute(_ASKED, _row(model)))
        return model.digest

    def models(self) -> list[CachedModel]:
        """Return the models that were asked, sorted by name."""
        query = "SELECT digest, name, fingerprint, used FROM models ORDER BY name, used"
        rows = self._do("read", lambda: self._database.execute(query).fetchall())
        return [CachedModel(digest, name, json.loads(fingerprint), used) for digest, name, fingerprint, used in rows]

    def answers(self, model: bytes | None = None) -> Iterator[CachedAnswer]:
        """Yield the answers, of one model or of all, in the order of their keys; damaged ones are left out.

        Raises:
            CacheError: The file cannot be read.
        """
        where, values = ("", ()) if model is None else ("WHERE model = ?", (model,))
        query = f"SELECT key, model, created, value, origin FROM responses {where} ORDER BY key"  # noqa: S608
        try:
            for key, owner, created, value, origin in self._database.execute(query, values):
                try:
                    response = replace(unpack_response(value), cached=False)
                except ValueError as error:
                    _LOG.warning("An answer in the response cache %s is damaged (%s).", self.path, error)
                    continue
                yield CachedAnswer(key, owner, created, response, origin)
        except sqlite3.Error as error:
            raise self._error("cannot be read", error) from error

    def note_import(self, digest: bytes, file: str) -> None:
        """Record a file that answers were imported from."""
        query = "INSERT OR REPLACE INTO imports VALUES (?, ?, ?)"
        self._do("written", lambda: self._database.execute(query, (digest, file, int(time.time()))))

    def imports(self) -> list[Import]:
        """Return the files from which the cache has answers, in the order in which they were imported."""
        query = (
            "SELECT digest, file, imported, COUNT(*) FROM imports JOIN responses ON origin = digest "
            "GROUP BY digest ORDER BY imported, file"
        )
        return [Import(*row) for row in self._do("read", lambda: self._database.execute(query).fetchall())]

    def spend(self, account: str, prompt: int, completion: int) -> tuple[int, int]:
        """Add tokens to an account's spending, and return its totals of prompt and completion tokens.

        Raises:
            CacheError: The file cannot be written.
        """
        query = (
            "INSERT INTO spending VALUES (?, ?, ?) ON CONFLICT (account) DO UPDATE SET prompt = prompt + "
            "excluded.prompt, completion = completion + excluded.completion RETURNING prompt, completion"
        )
        self._keep()
        (totals,) = self._do("written", lambda: self._database.execute(query, (account, prompt, completion)).fetchall())
        return int(totals[0]), int(totals[1])

    def ask(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of an SQL statement, for the cache's maintenance.

        Raises:
            CacheError: The file cannot be read or written.
        """
        return self._do("used", lambda: self._database.execute(query, values).fetchall())

    def __len__(self) -> int:
        return int(self.ask("SELECT COUNT(*) FROM responses")[0][0])

    def close(self) -> None:
        """Close the file, and warn of answers that could not be used.

        Raises:
            CacheError: It was deleted, and cannot be written again.
        """
        if count := sum(self._unusable.values()):
            ((problem, _),) = self._unusable.most_common(1)
            _LOG.warning(
                "%s in the response cache %s could not be used and were requested again. The most common reason: %s.",
                *("1 answer" if count == 1 else f"{count:,} answers", self.path, problem),
            )
            self._unusable.clear()
        try:
            self._keep()
        finally:
            self._database.close()

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
                # NORMAL can lose the last transactions in a power cut, never in a killed process, and never
                # consistency.
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

    def _keep(self) -> None:
        """Write the file again if it was deleted or replaced; the open one still has every answer."""
        before, now = self._files, _identities(self.path)
        if now[""] == before[""]:
            return
        try:
            if now[""] is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                for suffix, identity in now.items():  # a log that was left behind would be played into the new file
                    if identity is not None and identity == before[suffix]:
                        self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
            old, self._database = self._database, self._open()
            kept = copy_rows(old, self._database)
            old.close()
        except (sqlite3.Error, OSError) as error:
            raise self._error("was deleted while it was in use, and cannot be written again", error) from error
        what = "deleted" if now[""] is None else "replaced"
        _LOG.warning(
            "The response cache %s was %s while it was in use. Its %s answers have been written again.",
            *(self.path, what, f"{kept:,}"),
        )

    def _check_version(self, database: sqlite3.Connection) -> None:
        def state() -> tuple[int, int]:
            (version,) = database.execute("PRAGMA user_version").fetchone()
            (tables,) = database.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
            return version, tables

        if state() == (0, 0):
            database.execute("BEGIN IMMEDIATE")
            if state() == (0, 0):  # no other process was faster
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

    def _do(self, what: str, action: Callable[[], Result]) -> Result:
        """Use the file; if it is damaged, replace it and try once more."""
        try:
            try:
                return action()
            except sqlite3.Error as error:
                self._roll_back()
                if not is_damage(error):
                    raise
                self._database.close()
                self._database = self._replace(error)
                return action()
        except (sqlite3.Error, OSError) as error:
            self._roll_back()
            raise self._error(f"cannot be {what}", error) from error

    def _roll_back(self) -> None:
        with suppress(sqlite3.ProgrammingError):  # closed, since its replacement could not be opened
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")

    def _values(self, keys: Sequence[bytes]) -> dict[bytes, tuple[bytes, bytes | None]]:
        found: dict[bytes, tuple[bytes, bytes | None]] = {}
        for start in range(0, len(keys), _VARIABLES):
            part = keys[start : start + _VARIABLES]
            marks = ",".join("?" * len(part))
            query = f"SELECT key, value, origin FROM responses WHERE key IN ({marks})"  # noqa: S608 - only marks
            found.update((key, (value, origin)) for key, value, origin in self._database.execute(query, part))
        return found

    def _insert(self, rows: Sequence[Row]) -> None:
        query = "INSERT OR REPLACE INTO responses VALUES (?, ?, ?, ?, ?)"
        if len(rows) == 1:  # a statement by itself is a transaction
            self._database.execute(query, rows[0])
            return
        self._database.execute("BEGIN IMMEDIATE")
        self._database.executemany(query, rows)
        self._database.execute("COMMIT")

    def _merge(self, models: Sequence[CachedModel], rows: Sequence[Row], replacing: Sequence[Row]) -> int:
        database = self._database
        database.execute("BEGIN IMMEDIATE")
        database.executemany(_ASKED, [_row(model) for model in models])
        before = database.total_changes
        database.executemany("INSERT OR IGNORE INTO responses VALUES (?, ?, ?, ?, ?)", rows)
        database.executemany("INSERT OR REPLACE INTO responses VALUES (?, ?, ?, ?, ?)", replacing)
        added = database.total_changes - before
        database.execute("COMMIT")
        return added

    def _error(self, what: str, error: Exception) -> CacheError:
        return CacheError(
            f"the response cache {self.path} {what} ({error}). If the disk is full, make room and run the same "
            "command again: every answer that was stored is still there."
        )


class CacheLedger:
    """The ledger in a response cache; it has a connection of its own, for the thread in which it is used.

    Args:
        path: The response cache's.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._cache: ResponseCache | None = None

    def add(self, account: str, prompt: int, completion: int) -> tuple[int, int]:
        """Add tokens of prompts and of completions to an account's, and return its totals; both may be negative.

        Raises:
            CacheError: The cache cannot be written.
        """
        if self._cache is None:
            self._cache = ResponseCache(self._path)
        return self._cache.spend(account, prompt, completion)

    def close(self) -> None:
        """Close the cache; it opens again when it is used."""
        cache, self._cache = self._cache, None
        if cache is not None:
            cache.close()


def asked_model(name: str, fingerprint: Mapping[str, Any], used: int | None = None) -> CachedModel:
    """Return a model that is asked now, or was at the time ``used``."""
    digest = fingerprint_digest(name.partition(":")[0], fingerprint)
    return CachedModel(digest, name, dict(fingerprint), int(time.time()) if used is None else used)


def of_other_gpus(model: bytes, known: Iterable[CachedModel]) -> list[tuple[bytes, str]]:
    """Return the models that differ from a model only in the kind of GPU, each with that kind, in its order.

    Args:
        model: The model's digest.
        known: All models, that one among them.
    """
    known = list(known)
    own = {_apart_from_gpu(one) for one in known if one.digest == model}
    found = {one.digest: _gpu(one) for one in known if one.digest != model and _apart_from_gpu(one) in own}
    return sorted(found.items(), key=lambda item: (item[1], item[0]))


def _apart_from_gpu(model: CachedModel) -> bytes:
    kept = {key: value for key, value in model.fingerprint.items() if key != GPU}
    return fingerprint_digest(model.name.partition(":")[0], kept)


def _gpu(model: CachedModel) -> str:
    kinds = model.fingerprint.get(GPU, ())
    return (kinds if isinstance(kinds, str) else " and ".join(map(str, kinds))) or "no GPU"


def pack_response(response: Response) -> bytes:
    """Return a response as the cache stores it: compressed JSON."""
    return zlib.compress(_dump(encode_response(replace(response, imported=None, other_gpu=None))), 1)


def unpack_response(value: bytes) -> Response:
    """Return the response that :func:`pack_response` packed.

    Raises:
        ValueError: It is damaged.
    """
    try:
        return decode_response(json.loads(unpack(value)), cached=True)
    except _UNREADABLE as error:
        raise ValueError(str(error)) from error


def fingerprint_digest(backend: str, fingerprint: Mapping[str, Any]) -> bytes:
    """Return a digest of everything in a model that changes its answers.

    Args:
        backend: The backend's name.
        fingerprint: What :meth:`harness.Model.fingerprint` returned.
    """
    return hashlib.blake2b(_dump([backend, dict(fingerprint)]), digest_size=16).digest()


def request_key(model: bytes, request: Request) -> bytes:
    """Return the cache key of a request to the model with that fingerprint digest."""
    if isinstance(request, SequenceRequest):
        body = _segments_digest(request.segments) + _dump(encode_order(request))
    else:
        body = _dump(encode_request(request))
    return hashlib.blake2b(model + body, digest_size=16).digest()


@lru_cache(maxsize=1024)
def _segments_digest(segments: tuple[str, ...]) -> bytes:
    # Many orders share their segments, which are digested once.
    return hashlib.blake2b(_dump(["sequence", *segments]), digest_size=16).digest()


def _identities(path: Path) -> dict[str, Identity | None]:
    """Return the identities of a database and its logs, by suffix; they tell replaced files apart."""
    return {suffix: _identity(path.with_name(path.name + suffix)) for suffix in ("", "-wal", "-shm", "-journal")}


def _identity(path: Path) -> Identity | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


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


def _row(model: CachedModel) -> tuple[bytes, str, str, int]:
    return model.digest, model.name, _dump(dict(model.fingerprint)).decode(), model.used


def _dump(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
