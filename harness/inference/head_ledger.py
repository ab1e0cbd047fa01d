"""What heads have spent: a file for each, so that a budget holds on all machines together.

In ``RESULTS/.answers/spending``: ``<head>.json`` has what one head has spent, and ``main.json`` what the main cache
counts, with the names of the files that it counts already. A total is the sum of both; whoever merges answers adds the
files of heads that have ended to the main cache.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import StorageError
from harness.inference.cache import ResponseCache
from harness.storage.durable import is_alive, make_folder, process_space, write_whole, writing

SPENDING_FOLDER = "spending"
_MAIN = "main.json"

_Accounts = dict[str, tuple[int, int]]


class HeadLedger:
    """The ledger of one head; its totals count all heads and the main cache.

    Args:
        answers: The folder ``.answers`` of the results.
        head: A name that no other ledger has.
    """

    def __init__(self, answers: Path, head: str) -> None:
        self._folder, self._head = answers / SPENDING_FOLDER, head
        self._number = 0
        self._own: _Accounts = {}

    def add(self, account: str, prompt: int, completion: int) -> tuple[int, int]:
        """Add tokens of prompts and of completions to an account's, and return its totals; both may be negative.

        Raises:
            StorageError: The results folder cannot be written, or what is there not be read.
        """
        with writing(self._folder):
            if self._file.name in _read_main(self._folder).folded:  # this head was taken for dead
                self._number, self._own = self._number + 1, {}
            before = self._own.get(account, (0, 0))
            self._own[account] = before[0] + prompt, before[1] + completion
            self._write(closed=False)
            return _total(self._folder, account)

    def close(self) -> None:
        """Say that nothing more is spent; it opens again when it is used."""
        if self._own:
            with writing(self._folder):
                self._write(closed=True)
                self._number, self._own = self._number + 1, {}

    @property
    def _file(self) -> Path:
        return self._folder / f"{self._head}-{self._number}.json"

    def _write(self, *, closed: bool) -> None:
        owner = {"host": platform.node(), "process": os.getpid(), "space": process_space()}
        make_folder(self._folder)
        write_whole(self._file, json.dumps({"accounts": self._own, "closed": closed, **owner}).encode())


def fold_spending(answers: Path, cache: ResponseCache) -> None:
    """Add what heads that have ended have spent to the main cache, and publish its totals for others.

    Raises:
        CacheError: The main cache cannot be written.
        OSError: A file cannot be read or written.
    """
    folder = answers / SPENDING_FOLDER
    ended = {file.name: value for file, value in _files(folder) if value["closed"] or _is_gone(value)}
    cache.ask("CREATE TABLE IF NOT EXISTS folded (name TEXT PRIMARY KEY) WITHOUT ROWID")
    cache.ask("BEGIN IMMEDIATE")
    for name, value in ended.items():
        if cache.ask("INSERT OR IGNORE INTO folded VALUES (?) RETURNING name", (name,)):
            for account, (prompt, completion) in value["accounts"].items():
                cache.spend(account, prompt, completion)
    cache.ask("COMMIT")
    publish_spending(answers, cache)
    for name in ended:
        (folder / name).unlink(missing_ok=True)


def publish_spending(answers: Path, cache: ResponseCache) -> None:
    """Write the main cache's totals where heads find them.

    Raises:
        CacheError: The main cache cannot be read.
        OSError: The file cannot be written.
    """
    rows = cache.ask("SELECT account, prompt, completion FROM spending")
    folded = [name for (name,) in cache.ask("SELECT name FROM folded")]
    value = {"accounts": {account: [prompt, completion] for account, prompt, completion in rows}, "folded": folded}
    make_folder(answers / SPENDING_FOLDER)
    write_whole(answers / SPENDING_FOLDER / _MAIN, json.dumps(value).encode())


@dataclass(frozen=True, slots=True)
class _Main:
    """What the main cache counts."""

    accounts: Mapping[str, tuple[int, int]]
    folded: frozenset[str]


def _total(folder: Path, account: str) -> tuple[int, int]:
    while True:
        main = _read_main(folder)
        counted = [main.accounts.get(account, (0, 0))]
        counted += [
            value["accounts"].get(account, (0, 0)) for file, value in _files(folder) if file.name not in main.folded
        ]
        if _read_main(folder) == main:  # else files were added to it meanwhile
            return sum(prompt for prompt, _ in counted), sum(completion for _, completion in counted)


def _read_main(folder: Path) -> _Main:
    try:
        value = _read(folder / _MAIN)
        return _Main(value["accounts"], frozenset(value["folded"]))
    except FileNotFoundError:
        return _Main({}, frozenset())


def _files(folder: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    for file in sorted(folder.glob("[!.]*.json")):
        if file.name != _MAIN:
            with suppress(FileNotFoundError):  # it was added to the main cache meanwhile
                yield file, _read(file)


def _read(file: Path) -> dict[str, Any]:
    try:
        value = json.loads(file.read_bytes())
        accounts = {
            account: (int(prompt), int(completion)) for account, (prompt, completion) in value["accounts"].items()
        }
        return {"closed": False, "folded": [], **value, "accounts": accounts}
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise StorageError(
            f"{file} is damaged ({error}). Remove it to go on; what it counts is then missing from budgets."
        ) from error


def _is_gone(value: Mapping[str, Any]) -> bool:
    return value.get("space") == process_space() and not is_alive(int(value.get("process", 0)))
