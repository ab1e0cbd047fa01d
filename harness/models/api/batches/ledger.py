"""The record of batches on disk: which requests are in which batch, and the results that are not yet in the cache."""

from __future__ import annotations

import json
import secrets
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from harness import ModelError
from harness.models.api.spending import Cost

FOLDER = "batches"
"""The folder of the record, next to the response cache."""
KEPT_DAYS = 60
"""Days after which a batch is forgotten: both providers have deleted its results by then."""

State = Literal["recorded", "sending", "submitted"]
"""``recorded``: not sent. ``sending``: it may exist on the server. ``submitted``: its id is known."""

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS batches (tag TEXT PRIMARY KEY, account TEXT NOT NULL, access TEXT NOT NULL, "
    "path TEXT NOT NULL, made REAL NOT NULL, requests INTEGER NOT NULL, state TEXT NOT NULL, file TEXT, id TEXT, "
    "done INTEGER NOT NULL DEFAULT 0, owner TEXT NOT NULL DEFAULT '') WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS items (account TEXT NOT NULL, item TEXT NOT NULL, tag TEXT, prompt INTEGER NOT NULL, "
    "completion INTEGER NOT NULL, tries INTEGER NOT NULL, status INTEGER, body BLOB, "
    "PRIMARY KEY (account, item)) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS of_batch ON items (tag)",
    "CREATE TABLE IF NOT EXISTS waiters (account TEXT NOT NULL, item TEXT NOT NULL, owner TEXT NOT NULL, "
    "PRIMARY KEY (account, item, owner)) WITHOUT ROWID",
)
_COLUMNS = "tag, account, access, path, made, requests, state, file, id, done"
_LOCK_SECONDS = 60.0
_JOIN = "INSERT OR IGNORE INTO waiters (account, item, owner) VALUES (?, ?, ?)"
_UNWANTED = "NOT EXISTS (SELECT 1 FROM waiters WHERE waiters.account = items.account AND waiters.item = items.item)"


@dataclass(slots=True)
class Batch:
    """A batch that has been submitted, or is about to be."""

    tag: str
    """The harness's own name for it."""
    account: str
    """The model and its server."""
    access: Mapping[str, Any]
    """How to reach the server again: backend, address, names of environment variables; no secrets."""
    path: str
    """The endpoint of its requests, such as ``/v1/chat/completions``."""
    made: float
    """When it was recorded, in seconds since 1970."""
    requests: int
    """Number of its requests."""
    state: State = "recorded"
    """Progress of its submission."""
    file: str | None = None
    """The server's id of the uploaded file, where there is one."""
    id: str | None = None
    """The server's id of the batch."""
    done: int = 0
    """Requests that the server had finished when it was last asked."""


@dataclass(slots=True)
class Item:
    """A request in the record."""

    tag: str | None
    """The batch that it is in; None if its result is known, or it is in none."""
    cost: Cost
    """What the budget was charged for it."""
    tries: int
    """Batches that it has been in."""
    status: int | None = None
    """The HTTP status of its result; None without one."""
    body: bytes = b""
    """The JSON text of its result."""


@dataclass(frozen=True, slots=True)
class Result:
    """A result as a batch gives it."""

    item: str
    """The request."""
    status: int
    """HTTP status, 200 for an answer."""
    body: bytes
    """The JSON text that a direct call would have returned."""
    charge: Cost = field(default_factory=Cost)
    """What the request cost."""


class BatchLedger:
    """The record of one model's batches, as one process uses it, in one thread.

    Each batch belongs to the process that submitted it, as long as that lives; another takes it over afterwards. A
    request is in one batch at a time. Each arrow is one transaction, so it holds whatever other processes do::

        not known ──record──► in a batch ──keep──► has a result ────┐
                                ▲    └─────end───► has no result ───┤
                                └───────record, to try again────────┴──settle──► not known

    A request is settled when the last living process that waits for it has settled it. ``record`` moves a request only
    if no other process has since used up the try, so of several processes that retry a failure one submits it.

    Args:
        folder: The folder of the response cache.
        account: The model and its server.

    Raises:
        ModelError: It cannot be opened.
    """

    def __init__(self, folder: Path, account: str) -> None:
        self._account, self._place, self._owner = account, folder / FOLDER, secrets.token_hex(8)
        try:
            self._place.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(self._lock_of(self._owner))
            self._database = _open(self._place / "batches.sqlite")
        except (OSError, sqlite3.Error) as error:
            raise ModelError(f"{account}: the record of batches in {self._place} cannot be opened: {error}.") from error
        self._forget_old()

    def close(self) -> None:
        """Close the file, and leave the batches to other processes."""
        self._database.close()
        self._lock_of(self._owner).unlink(missing_ok=True)
        if self._lock is not None:
            self._lock.close()

    def take_over(self) -> list[Batch]:
        """Make this process the owner of the batches whose processes have ended; return them, the oldest first."""
        taken = []
        for batch, owner in self._owned():
            if owner != self._owner and not self._lives(owner):
                query = "UPDATE batches SET owner = ? WHERE tag = ? AND owner = ?"
                with self._changing() as database:
                    mine = database.execute(query, (self._owner, batch.tag, owner)).rowcount
                taken += [batch] if mine else []
        return taken

    def own(self, tag: str) -> Batch | None:
        """Return a batch of this process; None if it is another's."""
        return next((batch for batch, owner in self._owned() if (batch.tag, owner) == (tag, self._owner)), None)

    def _owned(self) -> list[tuple[Batch, str]]:
        owners = dict(self._database.execute("SELECT tag, owner FROM batches WHERE account = ?", (self._account,)))
        batches = _batches(self._database, "WHERE account = ?", (self._account,))
        return [(batch, owners[batch.tag]) for batch in batches if batch.tag in owners]

    def _lives(self, owner: str) -> bool:
        file = self._lock_of(owner)
        if not file.exists():
            return False
        held = _locked(file)
        if held is None:
            return True
        file.unlink(missing_ok=True)
        held.close()
        return False

    def _lock_of(self, owner: str) -> Path:
        return self._place / f"{owner}.lock"

    def item(self, item: str) -> Item | None:
        """Return a request; None if it is not known."""
        query = "SELECT tag, prompt, completion, tries, status, body FROM items WHERE account = ? AND item = ?"
        row = self._database.execute(query, (self._account, item)).fetchone()
        return None if row is None else Item(row[0], Cost(row[1], row[2]), row[3], row[4], row[5] or b"")

    def items(self, tag: str) -> dict[str, Item]:
        """Return a batch's requests that have no result, in the order of their ids."""
        query = "SELECT item, prompt, completion, tries FROM items WHERE tag = ? ORDER BY item"
        return {item: Item(tag, Cost(p, c), tries) for item, p, c, tries in self._database.execute(query, (tag,))}

    def record(self, batch: Batch, items: Mapping[str, Item]) -> dict[str, Item]:
        """Record a batch before it is sent, with the requests that no other process has submitted in the meantime.

        This process has joined the other requests: they are in another batch, or have a result of this or a later try.

        Args:
            batch: The batch; its number of requests is set. It is not recorded if it has none.
            items: Its requests.

        Returns:
            The recorded requests, in the order of their ids.
        """
        with self._changing() as database:
            database.executemany(
                "INSERT INTO items (account, item, tag, prompt, completion, tries) VALUES (?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (account, item) DO UPDATE SET tag = excluded.tag, prompt = excluded.prompt, "
                "completion = excluded.completion, tries = excluded.tries, status = NULL, body = NULL "
                "WHERE items.tag IS NULL AND items.tries < excluded.tries",
                [
                    (self._account, item, batch.tag, one.cost.prompt, one.cost.completion, one.tries)
                    for item, one in items.items()
                ],
            )
            database.executemany(_JOIN, [(self._account, item, self._owner) for item in items])
            recorded = self.items(batch.tag)
            if not recorded:
                return {}
            batch.requests = len(recorded)
            row = (batch.tag, batch.account, json.dumps(batch.access), batch.path, batch.made, batch.requests)
            database.execute(
                f"INSERT INTO batches ({_COLUMNS}, owner) VALUES ({', '.join('?' * 11)})",  # noqa: S608 - constants
                (*row, batch.state, batch.file, batch.id, batch.done, self._owner),
            )
        return recorded

    def update(self, batch: Batch) -> None:
        """Store the progress of a batch."""
        query = "UPDATE batches SET state = ?, file = ?, id = ?, done = ? WHERE tag = ?"
        with self._changing() as database:
            database.execute(query, (batch.state, batch.file, batch.id, batch.done, batch.tag))

    def keep(self, results: Sequence[Result]) -> list[str]:
        """Store results of requests that have none yet; return which these were."""
        query = (
            "UPDATE items SET tag = NULL, status = ?, body = ?, prompt = ?, completion = ? "
            "WHERE account = ? AND item = ? AND status IS NULL"
        )
        new = []
        with self._changing() as database:
            for one in results:
                values = (one.status, one.body, one.charge.prompt, one.charge.completion, self._account, one.item)
                if database.execute(query, values).rowcount:
                    new.append(one.item)
        return new

    def end(self, batch: Batch, *, tried: bool = True) -> None:
        """Forget a batch that has ended; its requests that have no result are in none then.

        Args:
            batch: The batch.
            tried: False if the server never accepted it, so that it does not count among their tries.
        """
        with self._changing() as database:
            database.execute("UPDATE items SET tag = NULL, tries = tries - ? WHERE tag = ?", (not tried, batch.tag))
            database.execute("DELETE FROM batches WHERE tag = ?", (batch.tag,))

    def join(self, items: Iterable[str]) -> None:
        """Keep requests until this process has settled them, whatever other processes settle."""
        joined = "SELECT 1 FROM waiters WHERE account = ? AND item = ? AND owner = ?"
        those = [(self._account, item, self._owner) for item in items]
        if new := [values for values in those if self._database.execute(joined, values).fetchone() is None]:
            with self._changing() as database:  # each transaction waits for the disk
                database.executemany(_JOIN, new)

    def settle(self, items: Iterable[str]) -> None:
        """Forget requests whose answers are in the response cache; those of a batch under way are kept.

        A request that other living processes have joined is kept until the last of them has settled it.
        """
        settled = [(self._account, item) for item in items]
        one = "WHERE account = ? AND item = ?"
        with self._changing() as database:
            mine = [(*values, self._owner) for values in settled]
            database.executemany(f"DELETE FROM waiters {one} AND owner = ?", mine)  # noqa: S608 - a constant
            waiters = f"SELECT owner FROM waiters {one}"  # noqa: S608 - a constant
            self._forget_dead({owner for values in settled for (owner,) in database.execute(waiters, values)})
            query = f"DELETE FROM items {one} AND tag IS NULL AND {_UNWANTED}"  # noqa: S608 - constants
            database.executemany(query, settled)

    def _forget_old(self) -> None:
        before = time.time() - KEPT_DAYS * 86400
        for batch, _ in self._owned():
            if batch.made < before:
                self.end(batch)
        with self._changing() as database:
            self._forget_dead({owner for (owner,) in database.execute("SELECT DISTINCT owner FROM waiters")})
            without = "account = ? AND tag IS NULL AND status IS NULL"
            query = f"DELETE FROM items WHERE {without} AND {_UNWANTED}"  # noqa: S608 - constants
            database.execute(query, (self._account,))

    def _forget_dead(self, owners: Iterable[str]) -> None:
        """Forget what processes wait for that have ended."""
        dead = [(owner,) for owner in owners if not self._lives(owner)]
        self._database.executemany("DELETE FROM waiters WHERE owner = ?", dead)

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        try:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")
        except sqlite3.Error as error:
            raise ModelError(f"{self._account}: the record of batches cannot be written: {error}.") from error


def all_batches(folder: Path) -> list[Batch]:
    """Return the batches under way of all models, the oldest first.

    Args:
        folder: The folder of the response cache.

    Raises:
        ModelError: The record cannot be read.
    """
    file = folder / FOLDER / "batches.sqlite"
    if not file.is_file():
        return []
    try:
        database = _open(file)
        try:
            return _batches(database)
        finally:
            database.close()
    except sqlite3.Error as error:
        raise ModelError(f"the record of batches {file} cannot be read: {error}.") from error


def _batches(database: sqlite3.Connection, where: str = "", values: Sequence[Any] = ()) -> list[Batch]:
    query = f"SELECT {_COLUMNS} FROM batches {where} ORDER BY made, tag"  # noqa: S608 - constants
    rows = database.execute(query, values).fetchall()
    return [Batch(tag, account, json.loads(access), *rest) for tag, account, access, *rest in rows]


def _open(file: Path) -> sqlite3.Connection:
    database = sqlite3.connect(file, timeout=_LOCK_SECONDS, isolation_level=None)
    try:
        # A batch that costs money must not be forgotten in a power cut, so each transaction waits for the disk.
        database.execute("PRAGMA synchronous=FULL")
        for statement in _SCHEMA:
            database.execute(statement)
    except BaseException:
        database.close()
        raise
    return database


def _locked(file: Path) -> Any:
    """Return a lock file, locked by this process until it ends or closes it; None if another process has it."""
    import fcntl

    held = file.open("a")
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        held.close()
        return None
    return held
