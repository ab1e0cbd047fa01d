"""``ratings.jsonl``: what raters chose, one JSON object per line, on the disk before the page says "Saved".

Lines are never changed: of several lines about one question the last counts, and null withdraws an answer.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from harness.annotation.questionnaire import Value
from harness.annotation.study import Item, Study
from harness.errors import DataError, StorageError
from harness.storage.durable import sync_folder, writing

EXTRA = ("note", "skip")
"""What raters may say about every item: a note, and that it cannot be judged."""


@dataclass(frozen=True, slots=True)
class Rating:
    """A rater's answer to a question about an item."""

    rater: str
    """The rater's name."""
    item: str
    """The item's id."""
    question: str
    """The question's id, or ``note`` or ``skip``."""
    value: Value | bool | None
    """What was chosen or written; None if it was taken back. A preference is in the item's order, not the page's."""


Values = Mapping[str, Value | bool]
"""A rater's answers about an item, by question."""


class RatingsFile:
    """A file of ratings, open for more; one process at a time.

    Raises:
        DataError: A line is not a rating of the study.
        StorageError: The file cannot be written, or another process is writing it.
    """

    def __init__(self, path: Path, study: Study) -> None:
        self._path, self._items = path, study.by_id
        self._lock = threading.Lock()
        with writing(path):
            created = not path.exists()
            self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
            if created:
                sync_folder(path.parent)
        try:
            _lock_whole(self._file, path)
            self._mend()
            self._latest = latest(read_ratings(path, study))
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> RatingsFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)

    def values(self, rater: str) -> dict[str, Values]:
        """Return a rater's answers so far, by item and question."""
        with self._lock:
            return {item: dict(values) for (who, item), values in self._latest.items() if who == rater}

    def add(self, ratings: Iterable[Rating]) -> None:
        """Append ratings and wait until they are on the disk: all of them or, if that fails, none.

        Raises:
            StorageError: They cannot be written.
        """
        given = list(ratings)
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        lines = [json.dumps(_line(rating, self._items[rating.item], now), ensure_ascii=False) for rating in given]
        content = "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")
        with self._lock, writing(self._path):
            end = os.fstat(self._file).st_size
            try:
                while content:
                    content = content[os.write(self._file, content) :]
                os.fsync(self._file)
            except OSError:
                with suppress(OSError):
                    os.ftruncate(self._file, end)
                raise
            _apply(self._latest, given)

    def _mend(self) -> None:
        """Remove a last line that a killed process wrote only in part; it was never confirmed to anyone."""
        with writing(self._path):
            content = self._path.read_bytes()
            whole = content.rfind(b"\n") + 1
            if whole == len(content):
                return
            try:
                json.loads(content[whole:])
                os.write(self._file, b"\n")
            except ValueError:
                os.ftruncate(self._file, whole)
            os.fsync(self._file)


def read_ratings(path: Path, study: Study) -> list[Rating]:
    """Read all ratings of a file, in the order in which they were given; a line that has no end yet is left out.

    Raises:
        DataError: The file cannot be read, or a line is not a rating of the study.
    """
    items, questions = study.by_id, study.questionnaire
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error}).", file=path) from error
    found = []
    for row, line in enumerate(content.split(b"\n")[:-1], start=1):
        try:
            value = json.loads(line)
            rating = Rating(str(value["rater"]), value["item"], value["question"], value["value"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise DataError(f"not a rating ({error!r}).", file=path, row=row) from error
        question = questions.question(rating.question) if isinstance(rating.question, str) else None
        if rating.item not in items or (question is None and rating.question not in EXTRA):
            raise DataError("a rating of an item or a question that the study does not have.", file=path, row=row)
        if question is not None and rating.value is not None and question.read(rating.value) != rating.value:
            raise DataError(f"{rating.value!r} is not an answer to {question.id!r}.", file=path, row=row)
        found.append(rating)
    return found


def latest(ratings: Iterable[Rating]) -> dict[tuple[str, str], dict[str, Value | bool]]:
    """Return the answers that count, by rater and item, then by question."""
    found: dict[tuple[str, str], dict[str, Value | bool]] = {}
    _apply(found, ratings)
    return found


def _apply(found: dict[tuple[str, str], dict[str, Value | bool]], ratings: Iterable[Rating]) -> None:
    for rating in ratings:
        values = found.setdefault((rating.rater, rating.item), {})
        if rating.value is None:
            values.pop(rating.question, None)
        else:
            values[rating.question] = rating.value


def _line(rating: Rating, item: Item, time: str) -> dict[str, Any]:
    """Return a line that says by itself what was rated."""
    return {
        "time": time,
        "rater": rating.rater,
        "item": rating.item,
        "question": rating.question,
        "value": rating.value,
        "scenario": item.scenario,
        "instance": item.instance,
        "models": [answer.model for answer in item.answers],
    }


def _lock_whole(file: int, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StorageError(f"{path} is being written by another process. Stop it first.") from None
    except OSError:  # file systems without locks
        return
