"""The key of a sealed data set: what was drawn at random, and what was not published.

A key is JSON Lines: a header, then one line for each item that can be tested. It must stay private.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from harness.data.strict_json import parse_json
from harness.errors import DataError, StrictJsonError
from harness.storage.durable import write_whole, writing

KEY_SUFFIX = ".key.jsonl"


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SealHeader(_Line):
    """The first line of a key."""

    kind: Literal["seal"] = "seal"
    """Tells the line from others."""
    format: Literal[1] = 1
    """Version of the key's format."""
    source: str
    """Name of the file that was sealed."""
    source_sha256: str
    """Its SHA-256."""
    published: str
    """Name of the published file."""
    published_sha256: str
    """Its SHA-256."""
    rows: int
    """Number of its rows."""
    shuffled: bool
    """True if the order of its rows was drawn at random."""


class SealedChoice(_Line):
    """One item of which several texts exist, one of them published: a row with a twin, or a canary."""

    kind: Literal["twin", "canary"]
    """``twin``: a row and its rewritten forms; ``canary``: random words, and others that were not published."""
    row: int = Field(ge=1)
    """Number of the row in the published file, from 1."""
    prefix: str
    """The beginning of the row's line, which all texts share."""
    texts: tuple[str, ...] = Field(min_length=2)
    """What may follow it, the original first."""
    published: int = Field(ge=0)
    """Index of the text that was published."""

    @model_validator(mode="after")
    def _published_is_there(self) -> SealedChoice:
        if self.published >= len(self.texts):
            raise ValueError(f"published is {self.published}, but there are {len(self.texts)} texts")
        return self


class DyeQuestion(_Line):
    """A question without an answer, whose published one was drawn at random."""

    kind: Literal["dye"] = "dye"
    """Tells the line from others."""
    row: int = Field(ge=1)
    """Number of the row in the published file, from 1."""
    question: str
    """The question."""
    options: tuple[str, ...] = Field(min_length=2)
    """Its options."""
    target: int = Field(ge=0)
    """Index of the option that was published as the answer."""

    @model_validator(mode="after")
    def _target_is_there(self) -> DyeQuestion:
        if self.target >= len(self.options):
            raise ValueError(f"target is {self.target}, but there are {len(self.options)} options")
        return self


SealedItem = Annotated[SealedChoice | DyeQuestion, Field(discriminator="kind")]
_ITEM: TypeAdapter[SealedChoice | DyeQuestion] = TypeAdapter(SealedItem)


class SealKey(_Line):
    """A key."""

    header: SealHeader
    """What was sealed."""
    items: tuple[SealedItem, ...]
    """What can be tested besides the order."""

    def kinds(self) -> list[str]:
        """Return the kinds of items that the key has, in a fixed order."""
        there = {item.kind for item in self.items}
        return [kind for kind in ("twin", "canary", "dye") if kind in there]


def write_key(path: Path, key: SealKey) -> None:
    """Write a key that only its owner can read.

    Raises:
        StorageError: It cannot be written.
    """
    lines = [key.header.model_dump_json(), *(item.model_dump_json() for item in key.items)]
    with writing(path):
        before = os.umask(0o077)
        try:
            write_whole(path, "".join(f"{line}\n" for line in lines).encode())
        finally:
            os.umask(before)


def read_key(path: Path) -> SealKey:
    """Return a key.

    Raises:
        DataError: It cannot be read, or is not a key; the message has the line.
    """
    try:
        lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise DataError(f"cannot be read: {reason}.", file=path) from None
    header, *rest = _values(lines, path) or [None]
    if not isinstance(header, dict) or header.get("kind") != "seal":
        raise DataError("is not a key that `harness seal` wrote: its first line is not a seal.", file=path)
    try:
        return SealKey(header=SealHeader.model_validate(header), items=_items(rest, path))
    except ValidationError as error:
        raise DataError(f"has a damaged first line: {_reason(error)}.", file=path, row=1) from None


def _values(lines: Sequence[str], path: Path) -> list[object]:
    values: list[object] = []
    for number, line in enumerate(lines, 1):
        try:
            values.append(parse_json(line))
        except (StrictJsonError, json.JSONDecodeError) as error:
            raise DataError(str(error), file=path, row=number) from None
    return values


def _items(values: Sequence[object], path: Path) -> tuple[SealedChoice | DyeQuestion, ...]:
    def items() -> Iterator[SealedChoice | DyeQuestion]:
        for number, value in enumerate(values, 2):
            try:
                yield _ITEM.validate_python(value)
            except ValidationError as error:
                raise DataError(f"is not an item of a key: {_reason(error)}.", file=path, row=number) from None

    return tuple(items())


def _reason(error: ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else first["msg"]
