"""Recover a damaged response cache: set the file aside, and keep the answers that can be read."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

MAX_ANSWER_BYTES = 256 << 20
"""Bytes of an answer in the cache, decompressed."""

_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

Row = tuple[bytes, bytes, int, bytes, bytes | None]
"""Key, model, when it was given, value, and the SHA-256 of the file that it was imported from."""


def is_damage(error: Exception) -> bool:
    """Return whether an error says that a file is damaged, or is not a database at all."""
    code = getattr(error, "sqlite_errorcode", None)
    return isinstance(code, int) and code & 0xFF in _DAMAGED


def set_aside(path: Path) -> Path | None:
    """Rename a damaged file, with its log, in the same folder, and return the new name; None if it is gone already.

    The log goes first: left behind, it would be played into the file that takes the old one's place.

    Raises:
        OSError: It cannot be renamed.
    """
    names = (path.with_name(f"{path.name}.damaged{number or ''}") for number in count())
    target = next(name for name in names if not name.exists())
    for suffix in ("-wal", "-shm", "-journal", ""):
        try:
            path.with_name(path.name + suffix).replace(target.with_name(target.name + suffix))
        except FileNotFoundError:
            if not suffix:
                return None
    return target


def unpack(value: bytes) -> bytes:
    """Return what a compressed value holds.

    Raises:
        ValueError: It is damaged, or holds more than any answer.
    """
    inflate = zlib.decompressobj()
    try:
        content = inflate.decompress(value, MAX_ANSWER_BYTES)
    except (zlib.error, TypeError) as error:
        raise ValueError(str(error)) from None
    if not inflate.eof:
        raise ValueError(f"longer than {MAX_ANSWER_BYTES >> 20} MiB" if inflate.unconsumed_tail else "it ends early")
    return content


def salvage(damaged: Path, into: sqlite3.Connection) -> int:
    """Copy what can be read of a damaged cache into another, and return how many answers that is."""
    before: int = into.execute("SELECT COUNT(*) FROM responses").fetchone()[0]
    with closing(sqlite3.connect(damaged, isolation_level=None)) as database:
        into.execute("BEGIN IMMEDIATE")
        into.executemany("INSERT OR IGNORE INTO responses VALUES (?, ?, ?, ?, ?)", _answers(database))
        for table in _tables(into) - {"responses"}:
            _copy(table, database, into)
        into.execute("COMMIT")
    after: int = into.execute("SELECT COUNT(*) FROM responses").fetchone()[0]
    return after - before


def _answers(database: sqlite3.Connection) -> Iterator[Row]:
    """Yield whole answers from the first key on, and from the last one back, each as far as the file can be read."""
    last = b""
    for order in ("ASC", "DESC"):
        query = f"SELECT key, model, created, value, origin FROM responses ORDER BY key {order}"  # noqa: S608
        for row in _readable(database, query):
            key, model, created, value, origin = row
            if not all(isinstance(part, bytes) for part in (key, model, value)) or not isinstance(created, int):
                continue
            if order == "DESC" and key <= last:
                return
            last = max(last, key) if order == "ASC" else last
            try:
                unpack(value)
            except ValueError:
                continue
            yield key, model, created, value, origin if isinstance(origin, bytes) else None


def copy_rows(source: sqlite3.Connection, into: sqlite3.Connection) -> int:
    """Copy every table of a cache into another one, which keeps what it has; return how many answers there were."""
    into.execute("BEGIN IMMEDIATE")
    for table in _tables(into):
        _copy(table, source, into)
    into.execute("COMMIT")
    return int(source.execute("SELECT COUNT(*) FROM responses").fetchone()[0])


def _tables(database: sqlite3.Connection) -> set[str]:
    return {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _copy(table: str, source: sqlite3.Connection, into: sqlite3.Connection) -> None:
    columns = len(into.execute(f"PRAGMA table_info({table})").fetchall())
    query = f"INSERT OR IGNORE INTO {table} VALUES ({','.join('?' * columns)})"  # noqa: S608 - a table of ours
    into.executemany(query, _readable(source, f"SELECT * FROM {table}"))  # noqa: S608


def _readable(database: sqlite3.Connection, query: str) -> Iterator[tuple[Any, ...]]:
    try:
        yield from database.execute(query)
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        return  # the rest is lost
