"""The response cache: every answer of a model, in one SQLite file, before it is counted.

A key is a digest of the model's fingerprint and the request: all that changes an answer, and nothing else. Values are
JSON. The write-ahead log and one transaction a batch make it survive being killed at any moment.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from harness.contracts import Request, Response, SequenceRequest
from harness.encoding import decode_response, encode_order, encode_request, encode_response
from harness.errors import StorageError

FILE_NAME = "responses.sqlite"
_SCHEMA = "CREATE TABLE IF NOT EXISTS responses (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"
_PATIENCE = 60.0
"""Seconds to wait for another process that writes."""

_VARIABLES = 500  # SQLite's default limit on bound variables in one statement is 999 in old builds.


class CacheError(StorageError):
    """The response cache cannot be read or written."""


class ResponseCache:
    """Answers by question, on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
            self._use_log()
            # NORMAL can lose the last transactions in a power cut, never in a killed process, and never consistency.
            self._database.execute("PRAGMA synchronous=NORMAL")
            self._database.execute(_SCHEMA)
        except (sqlite3.Error, OSError) as error:
            raise self._error("cannot be opened", error) from error

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Response]:
        """Return the answers that are known, by key."""
        found: dict[bytes, Response] = {}
        try:
            for start in range(0, len(keys), _VARIABLES):
                part = keys[start : start + _VARIABLES]
                marks = ",".join("?" * len(part))
                query = f"SELECT key, value FROM responses WHERE key IN ({marks})"  # noqa: S608 - only marks
                for key, value in self._database.execute(query, part):
                    found[key] = decode_response(json.loads(zlib.decompress(value)), cached=True)
        except (sqlite3.Error, zlib.error, ValueError, TypeError, KeyError) as error:
            raise self._error("cannot be read", error) from error
        return found

    def put(self, answers: Iterable[tuple[bytes, Response]]) -> None:
        """Store answers in one transaction: after a kill either all of them are there or none."""
        rows = [(key, zlib.compress(_dump(encode_response(response)), 1)) for key, response in answers]
        try:
            self._database.execute("BEGIN IMMEDIATE")
            self._database.executemany("INSERT OR REPLACE INTO responses VALUES (?, ?)", rows)
            self._database.execute("COMMIT")
        except sqlite3.Error as error:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise self._error("cannot be written", error) from error

    def __len__(self) -> int:
        return int(self._database.execute("SELECT COUNT(*) FROM responses").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _use_log(self) -> None:
        """Turn the write-ahead log on; SQLite does not wait by itself when two processes do so at once."""
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                self._database.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
            time.sleep(0.02)

    def _error(self, what: str, error: Exception) -> CacheError:
        return CacheError(
            f"the response cache {self.path} {what} ({error}). If the disk is full, make room and run the same "
            "command again; if the file is damaged, move it away: answers are then asked again."
        )


def fingerprint_digest(name: str, fingerprint: Mapping[str, Any]) -> bytes:
    """Return a digest of everything of a model that changes its answers.

    Args:
        name: The backend's name.
        fingerprint: What :meth:`harness.Model.fingerprint` returned.
    """
    return hashlib.blake2b(_dump([name, dict(fingerprint)]), digest_size=16).digest()


def request_key(model: bytes, request: Request) -> bytes:
    """Return the cache key of a request to the model with that fingerprint digest."""
    if isinstance(request, SequenceRequest):
        body = _segments_digest(request.segments) + _dump(encode_order(request))
    else:
        body = _dump(encode_request(request))
    return hashlib.blake2b(model + body, digest_size=16).digest()


@lru_cache(maxsize=1024)
def _segments_digest(segments: tuple[str, ...]) -> bytes:
    # Many orders share their segments: they are read once.
    return hashlib.blake2b(_dump(["sequence", *segments]), digest_size=16).digest()


def _dump(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
