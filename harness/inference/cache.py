"""The response cache: every answer of a model, stored before it is counted."""

from __future__ import annotations

import json
import logging
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from harness.contracts import Ledger, Response
from harness.inference.cache_entries import (
    CachedAnswer,
    CachedModel,
    asked_model,
    encode_fingerprint,
    of_other_gpus,
    pack_response,
    unpack_response,
)
from harness.inference.cache_file import CacheFile
from harness.inference.salvage import Row

_ASKED = (
    "INSERT INTO models VALUES (?, ?, ?, ?) ON CONFLICT (digest) DO UPDATE "
    "SET name = excluded.name, used = excluded.used WHERE excluded.used > used"
)

_VARIABLES = 500  # SQLite's default limit on bound variables in one statement is 999 in old builds.

_LOG = logging.getLogger(__name__)


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
        self.unusable: set[bytes] = set()
        self._reuse = reuse_across_gpus
        self._unusable = Counter[str]()
        self._file = CacheFile(path, merging=merging)

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Response]:
        """Return the cached answers, by key; unreadable ones are left out."""
        values = self._file.use("read", lambda database: _values(database, keys))
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
        self._file.keep()
        self._file.use("written", lambda database: _insert(database, rows))

    def merge(self, models: Iterable[CachedModel], rows: Sequence[Row], replacing: Sequence[Row] = ()) -> int:
        """Add answers as they are stored in another file, in one transaction; those that exist stay.

        Args:
            models: The models whose answers they are.
            rows: The answers; faster in the order of their keys.
            replacing: Answers that take the place of those that exist.

        Returns:
            How many were added.
        """
        self._file.keep()
        return self._file.use("written", lambda database: _merge(database, list(models), rows, replacing))

    def asked(self, name: str, fingerprint: Mapping[str, Any], used: int | None = None) -> bytes:
        """Record that a model is asked now, or was at the time ``used``; return its digest."""
        model = asked_model(name, fingerprint, used)
        self._file.use("written", lambda database: database.execute(_ASKED, _row(model)))
        return model.digest

    def models(self) -> list[CachedModel]:
        """Return the models that were asked, sorted by name."""
        query = "SELECT digest, name, fingerprint, used FROM models ORDER BY name, used"
        rows = self._file.use("read", lambda database: database.execute(query).fetchall())
        return [CachedModel(digest, name, json.loads(fingerprint), used) for digest, name, fingerprint, used in rows]

    def answers(self, model: bytes | None = None) -> Iterator[CachedAnswer]:
        """Yield the answers, of one model or of all, in the order of their keys; damaged ones are left out.

        Raises:
            CacheError: The file cannot be read.
        """
        where, values = ("", ()) if model is None else ("WHERE model = ?", (model,))
        query = f"SELECT key, model, created, value, origin FROM responses {where} ORDER BY key"  # noqa: S608
        try:
            for key, owner, created, value, origin in self._file.database.execute(query, values):
                try:
                    response = replace(unpack_response(value), cached=False)
                except ValueError as error:
                    _LOG.warning("An answer in the response cache %s is damaged (%s).", self.path, error)
                    continue
                yield CachedAnswer(key, owner, created, response, origin)
        except sqlite3.Error as error:
            raise self._file.error("cannot be read", error) from error

    def note_import(self, digest: bytes, file: str) -> None:
        """Record a file that answers were imported from."""
        query = "INSERT OR REPLACE INTO imports VALUES (?, ?, ?)"
        self._file.use("written", lambda database: database.execute(query, (digest, file, int(time.time()))))

    def imports(self) -> list[Import]:
        """Return the files from which the cache has answers, in the order in which they were imported."""
        query = (
            "SELECT digest, file, imported, COUNT(*) FROM imports JOIN responses ON origin = digest "
            "GROUP BY digest ORDER BY imported, file"
        )
        return [Import(*row) for row in self._file.use("read", lambda database: database.execute(query).fetchall())]

    def spend(self, account: str, prompt: int, completion: int) -> tuple[int, int]:
        """Add tokens to an account's spending, and return its totals of prompt and completion tokens.

        Raises:
            CacheError: The file cannot be written.
        """
        query = (
            "INSERT INTO spending VALUES (?, ?, ?) ON CONFLICT (account) DO UPDATE SET prompt = prompt + "
            "excluded.prompt, completion = completion + excluded.completion RETURNING prompt, completion"
        )
        self._file.keep()
        (totals,) = self._file.use(
            "written", lambda database: database.execute(query, (account, prompt, completion)).fetchall()
        )
        return int(totals[0]), int(totals[1])

    def ask(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of an SQL statement, for the cache's maintenance.

        Raises:
            CacheError: The file cannot be read or written.
        """
        return self._file.use("used", lambda database: database.execute(query, values).fetchall())

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
        self._file.close()


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


def _values(database: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, tuple[bytes, bytes | None]]:
    found: dict[bytes, tuple[bytes, bytes | None]] = {}
    for start in range(0, len(keys), _VARIABLES):
        part = keys[start : start + _VARIABLES]
        marks = ",".join("?" * len(part))
        query = f"SELECT key, value, origin FROM responses WHERE key IN ({marks})"  # noqa: S608 - only marks
        found.update((key, (value, origin)) for key, value, origin in database.execute(query, part))
    return found


def _insert(database: sqlite3.Connection, rows: Sequence[Row]) -> None:
    query = "INSERT OR REPLACE INTO responses VALUES (?, ?, ?, ?, ?)"
    if len(rows) == 1:  # a statement by itself is a transaction
        database.execute(query, rows[0])
        return
    database.execute("BEGIN IMMEDIATE")
    database.executemany(query, rows)
    database.execute("COMMIT")


def _merge(
    database: sqlite3.Connection, models: Sequence[CachedModel], rows: Sequence[Row], replacing: Sequence[Row]
) -> int:
    database.execute("BEGIN IMMEDIATE")
    database.executemany(_ASKED, [_row(model) for model in models])
    before = database.total_changes
    database.executemany("INSERT OR IGNORE INTO responses VALUES (?, ?, ?, ?, ?)", rows)
    database.executemany("INSERT OR REPLACE INTO responses VALUES (?, ?, ?, ?, ?)", replacing)
    added = database.total_changes - before
    database.execute("COMMIT")
    return added


def _row(model: CachedModel) -> tuple[bytes, str, str, int]:
    return model.digest, model.name, encode_fingerprint(model.fingerprint), model.used
