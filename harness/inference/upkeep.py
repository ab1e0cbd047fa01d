"""Maintain a response cache: count, prune, export and merge its answers."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from harness.errors import DataError
from harness.inference.cache import ResponseCache
from harness.inference.cache_entries import CachedAnswer, CachedModel, fingerprint_digest
from harness.storage.encoding import decode_response, encode_response
from harness.storage.results import RunRecord

_AT_ONCE = 1000
_DAY = 86_400


@dataclass(frozen=True, slots=True)
class Holding:
    """The answers of one model in a cache."""

    digest: bytes
    """The model's digest."""
    model: CachedModel | None
    """The model; None where the cache does not know whose the answers are."""
    answers: int
    """How many answers."""
    bytes: int
    """Their compressed size, without the file's own overhead."""
    first: int | None
    """When the first of them was given, in seconds since 1970; None if there is none."""
    last: int | None
    """When the last of them was given."""
    imported: int = 0
    """How many of them were imported from files."""

    @property
    def name(self) -> str:
        """The model's name."""
        return "?" if self.model is None else self.model.name


def holdings(cache: ResponseCache) -> list[Holding]:
    """Return the contents of a cache by model, the largest first.

    Raises:
        CacheError: The file cannot be read.
    """
    query = (
        "SELECT model, COUNT(*), SUM(LENGTH(key) + LENGTH(value)), MIN(created), MAX(created), COUNT(origin) "
        "FROM responses GROUP BY 1"
    )
    counted = {row[0]: row[1:] for row in cache.ask(query)}
    known = {model.digest: model for model in cache.models()}
    empty = (0, 0, None, None, 0)
    found = [Holding(digest, known.get(digest), *counted.get(digest, empty)) for digest in known | counted]
    return sorted(found, key=lambda held: (-held.bytes, held.name))


def models_in_use(records: Iterable[RunRecord]) -> set[bytes]:
    """Return the digests of the models that runs asked, the models of their judges included."""
    used = set()
    for record in records:
        model = record.provenance.get("model")
        asked = [model] if isinstance(model, Mapping) else []
        for found in (*asked, *_judges(record.details)):
            name, fingerprint = found.get("name"), found.get("fingerprint")
            if not isinstance(fingerprint, Mapping):  # a judge's, next to its name and settings
                fingerprint = {key: value for key, value in found.items() if key not in ("name", "settings")}
            if isinstance(name, str):
                used.add(fingerprint_digest(name.partition(":")[0], fingerprint))
    return used


def removable(
    cache: ResponseCache, *, models: Sequence[str] = (), days: float | None = None, used: set[bytes] | None = None
) -> list[Holding]:
    """Return what :func:`prune` would remove: the answers to which all that is given applies.

    Args:
        cache: The cache.
        models: Patterns of models' names, such as ``hf:*``.
        days: How old answers are at least.
        used: Models that runs asked; the answers of others are removed.
    """
    before = 2**62 if days is None else int(time.time() - days * _DAY)
    found = []
    for held in holdings(cache):
        if (models and not any(fnmatchcase(held.name, model) for model in models)) or held.digest in (used or ()):
            continue
        query = (
            "SELECT COUNT(*), COALESCE(SUM(LENGTH(key) + LENGTH(value)), 0), MIN(created), MAX(created), COUNT(origin) "
            "FROM responses WHERE model = ? AND created <= ?"
        )
        ((answers, size, first, last, imported),) = cache.ask(query, (held.digest, before))
        if answers or not held.answers:
            found.append(Holding(held.digest, held.model, answers, size, first, last, imported))
    return found


def prune(cache: ResponseCache, what: Sequence[Holding]) -> None:
    """Remove answers that :func:`removable` found, and give their room back to the disk.

    Raises:
        CacheError: The file cannot be written, for example since another process uses it.
    """
    for held in what:
        cache.ask("DELETE FROM responses WHERE model = ? AND created <= ?", (held.digest, held.last or 0))
        cache.ask(
            "DELETE FROM models WHERE digest = ? AND NOT EXISTS (SELECT 1 FROM responses WHERE model = ?)",
            (held.digest, held.digest),
        )
    cache.ask("VACUUM")
    cache.ask("PRAGMA wal_checkpoint(TRUNCATE)")


def export(cache: ResponseCache, models: Sequence[str] = ()) -> Iterator[str]:
    """Yield a cache as lines of JSON: of each model what it is, then its answers, one per line.

    A key is a digest of model and question; the questions are in the runs' examples. Files of such lines may be put
    together as they are.

    Args:
        cache: The cache.
        models: Patterns of models' names (default: all models).

    Raises:
        CacheError: The file cannot be read.
    """
    for held in holdings(cache):
        model = held.model
        if model is None or (models and not any(fnmatchcase(held.name, pattern) for pattern in models)):
            continue
        about = {"name": model.name, "fingerprint": dict(model.fingerprint), "used": _written(model.used)}
        yield json.dumps({"model": held.digest.hex(), **about}, ensure_ascii=False)
        for answer in cache.answers(held.digest):
            value = {
                "key": answer.key.hex(),
                "model": answer.model.hex(),
                "created": _written(answer.created),
                "response": encode_response(answer.response),
            }
            yield json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def merge(file: Path, into: ResponseCache) -> tuple[int, int]:
    """Add the answers of another cache, or of an export, marked with the file's SHA-256; what is known stays as it is.

    Returns:
        How many answers were added, and how many were known.

    Raises:
        DataError: The file is neither, or is damaged; what precedes the damage was added.
        CacheError: A cache cannot be read or written.
    """
    added = known = 0
    part: list[CachedAnswer] = []
    origin = _digest(file)
    into.note_import(origin, file.name)
    for item in _other(file) if _is_database(file) else _exported(file):
        if isinstance(item, CachedModel):
            if into.asked(item.name, item.fingerprint, item.used) != item.digest:
                raise DataError(f"the digest of model {item.name!r} does not match its fingerprint.", file=file)
            continue
        part.append(replace(item, origin=origin))
        if len(part) == _AT_ONCE:
            added, known, part = *_add(part, into, added, known), []
    return _add(part, into, added, known)


def _add(part: Sequence[CachedAnswer], into: ResponseCache, added: int, known: int) -> tuple[int, int]:
    there = into.get([answer.key for answer in part])
    new = {answer.key: answer for answer in part if answer.key not in there}
    if new:
        into.add(new.values())
    return added + len(new), known + len(part) - len(new)


def _digest(file: Path) -> bytes:
    try:
        with file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").digest()
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error}).", file=file) from error


def _is_database(file: Path) -> bool:
    try:
        with file.open("rb") as content:
            return content.read(16) == b"SQLite format 3\0"
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error}).", file=file) from error


def _other(file: Path) -> Iterator[CachedModel | CachedAnswer]:
    other = ResponseCache(file)
    try:
        yield from other.models()
        yield from other.answers()
    finally:
        other.close()


def _exported(file: Path) -> Iterator[CachedModel | CachedAnswer]:
    row = 0
    models: set[bytes] = set()
    try:
        with file.open(encoding="utf-8") as lines:
            for row, line in enumerate(lines, 1):
                value = json.loads(line)
                model = bytes.fromhex(value["model"])
                if "fingerprint" in value:
                    models.add(model)
                    yield CachedModel(model, str(value["name"]), dict(value["fingerprint"]), _read(value["used"]))
                    continue
                if model not in models:
                    raise DataError("an answer of a model that no earlier line describes.", file=file, row=row)
                response = decode_response(value["response"])
                yield CachedAnswer(bytes.fromhex(value["key"]), model, _read(value["created"]), response)
    except KeyError as error:
        raise DataError(f"not a line of an exported response cache (it has no {error}).", file=file, row=row) from error
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"not a line of an exported response cache ({error}).", file=file, row=row) from error


def _judges(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the models of the judges that a run's details name, at any depth."""
    if isinstance(value, Mapping):
        judge = value.get("judge")
        if isinstance(judge, Mapping) and isinstance(model := judge.get("model"), Mapping):
            yield model
        for item in value.values():
            yield from _judges(item)


def _written(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def _read(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())
