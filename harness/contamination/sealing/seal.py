"""Draws what makes a data set testable: an order, twins, canaries and dye."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from random import Random
from typing import Any

from harness.contamination.sealing.key import DyeQuestion, SealedChoice, SealHeader, SealKey
from harness.errors import DataError

CANARY_COLUMN = "canary"
"""The column that holds a canary, which nothing else reads."""

CANARY_WORDS = 12
"""Words of a canary: of 256 words, 96 bits."""


@dataclass(frozen=True, slots=True)
class DyeColumns:
    """The columns of a multiple-choice data set, for dye."""

    question: str
    """The column of the question."""
    options: str
    """The column of the options, a list of texts."""
    answer: str
    """The column of the answer: an index from 0, a letter, or the text of an option, as in the rows that are there."""


@dataclass(frozen=True, slots=True)
class SealSettings:
    """What to draw."""

    shuffle: bool = True
    """Publish the rows in a random order."""
    canaries: int = 0
    """Number of rows that get a canary."""
    alternatives: int = 99
    """Private alternatives of each canary."""
    dye: int = 0
    """Number of dye questions to add."""
    dye_columns: DyeColumns | None = None
    """The columns of the data set; needed for dye."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """A sealed data set."""

    lines: tuple[str, ...]
    """The lines to publish, without line breaks."""
    key: SealKey
    """The private key."""

    @property
    def content(self) -> bytes:
        """The file to publish."""
        return _content(self.lines)


@dataclass(slots=True)
class _Line:
    """A line on its way to be published."""

    record: dict[str, Any]
    twins: tuple[dict[str, Any], ...] = ()
    chosen: int = 0
    canaries: tuple[str, ...] = ()
    canary: int = 0
    dye: DyeQuestion | None = None

    def text(self, record: Mapping[str, Any], canary: str | None) -> str:
        return _line({**record, CANARY_COLUMN: canary} if canary is not None else record)

    @property
    def published(self) -> str:
        return self.text((self.record, *self.twins)[self.chosen], self.canaries[self.canary] if self.canaries else None)


def seal(
    records: Sequence[Mapping[str, Any]],
    twins: Sequence[Sequence[Mapping[str, Any]]],
    settings: SealSettings,
    rng: Random,
    *,
    source: str,
    source_sha256: str,
    published: str,
) -> Sealed:
    """Return a data set as it should be published, with its key.

    Args:
        records: The rows.
        twins: For each row, other records that could be published instead of it; empty for a row without twins.
        settings: What to draw.
        rng: Draws everything; for a real seal, the operating system's randomness.
        source: Name of the file that is sealed.
        source_sha256: Its SHA-256.
        published: Name of the file to publish.

    Raises:
        DataError: The rows do not allow these settings, or nothing would be drawn at random.
    """
    if len(twins) != len(records):
        raise DataError(f"there are twins for {len(twins)} rows, but {len(records)} rows.")
    lines = [_Line(dict(record), tuple(map(dict, others))) for record, others in zip(records, twins, strict=True)]
    for line in lines:
        line.chosen = rng.randrange(1 + len(line.twins))
    if settings.canaries > len(lines):
        raise DataError(f"canaries is {settings.canaries}, but there are {len(lines)} rows for them.")
    words = canary_words()
    for line in rng.sample(lines, settings.canaries):
        if CANARY_COLUMN in line.record:
            raise DataError(f"the rows already have a column {CANARY_COLUMN!r}.")
        line.canaries = _different(settings.alternatives + 1, words, rng)
        line.canary = rng.randrange(len(line.canaries))
    lines += _dyed(records, settings, words, rng)
    if settings.shuffle:
        rng.shuffle(lines)
    elif settings.dye:
        rest = lines[: len(records)]
        for line in lines[len(records) :]:
            rest.insert(rng.randrange(len(rest) + 1), line)
        lines = rest
    texts = tuple(line.published for line in lines)
    header = SealHeader(
        source=source,
        source_sha256=source_sha256,
        published=published,
        published_sha256=hashlib.sha256(_content(texts)).hexdigest(),
        rows=len(texts),
        shuffled=settings.shuffle,
    )
    items = [item for number, line in enumerate(lines, 1) for item in _items(line, number)]
    if not items and not settings.shuffle:
        raise DataError(
            "nothing would be drawn at random, so no model could be tested for the sealed file. Publish the rows in a "
            "random order, or add twins, canaries or dye."
        )
    return Sealed(texts, SealKey(header=header, items=tuple(items)))


def canary_words() -> list[str]:
    """Return the words that canaries are made of."""
    text = files(__package__).joinpath("canary_words.txt").read_text(encoding="utf-8")
    return [word for line in text.splitlines() if not line.startswith("#") for word in line.split()]


def _items(line: _Line, number: int) -> Iterable[SealedChoice | DyeQuestion]:
    if line.dye is not None:
        yield line.dye.model_copy(update={"row": number})
    canary = line.canaries[line.canary] if line.canaries else None
    if line.twins:
        forms = [line.text(record, canary) for record in (line.record, *line.twins)]
        yield _choice("twin", number, forms, line.chosen)
    if line.canaries:
        record = (line.record, *line.twins)[line.chosen]
        yield _choice("canary", number, [line.text(record, other) for other in line.canaries], line.canary)


def _choice(kind: Any, number: int, forms: Sequence[str], published: int) -> SealedChoice:
    """Return an item whose texts are the forms without the beginning that they share."""
    shortest = min(map(len, forms))
    shared = next((place for place in range(shortest) if len({form[place] for form in forms}) > 1), shortest)
    # At the beginning of a word: a tokenizer would see a word cut in two.
    while shared and not forms[0][shared - 1].isspace() and forms[0][shared - 1] != '"':
        shared -= 1
    texts = tuple(form[shared:] for form in forms)
    return SealedChoice(kind=kind, row=number, prefix=forms[0][:shared], texts=texts, published=published)


def _different(number: int, words: Sequence[str], rng: Random) -> tuple[str, ...]:
    found: dict[str, None] = {}
    while len(found) < number:
        found[" ".join(rng.choice(words) for _ in range(CANARY_WORDS))] = None
    return tuple(found)


def _dyed(
    records: Sequence[Mapping[str, Any]], settings: SealSettings, words: Sequence[str], rng: Random
) -> list[_Line]:
    """Return rows of dye: random words as the question, options of other rows, and a random answer."""
    if not settings.dye:
        return []
    columns = settings.dye_columns
    if columns is None:
        raise DataError(
            "dye needs the names of the columns of question, options and answer: --dye-columns QUESTION,OPTIONS,ANSWER."
        )
    pool = [_question_of(record, columns, number) for number, record in enumerate(records, 1)]
    every = sorted({option for options, _ in pool for option in options})
    names = _identifiers(records)
    made = []
    for number in range(1, settings.dye + 1):
        place = rng.randrange(len(records))
        like, (options, form) = records[place], pool[place]
        if len(every) < len(options):
            raise DataError(f"there are {len(every)} different options, too few for dye.")
        drawn = tuple(rng.sample(every, len(options)))
        question = " ".join(rng.choice(words) for _ in range(CANARY_WORDS)).capitalize() + "?"
        target = rng.randrange(len(drawn))
        record = {
            **like,
            **{name: largest + number if largest else f"{rng.getrandbits(48):012x}" for name, largest in names.items()},
            columns.question: question,
            columns.options: list(drawn),
            columns.answer: {"index": target, "letter": chr(65 + target), "text": drawn[target]}[form],
        }
        made.append(_Line(record, dye=DyeQuestion(row=1, question=question, options=drawn, target=target)))
    return made


def _identifiers(records: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the columns whose values are numbers or texts and all different, with the largest number or 0."""
    found = {}
    for name in records[0]:
        values = [record.get(name) for record in records]
        numbers = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
        texts = [value for value in values if isinstance(value, str)]
        if len(values) > 1 and len(records) in (len(set(numbers)), len(set(texts))):
            found[name] = max([1, *numbers]) if numbers else 0
    return found


def _question_of(record: Mapping[str, Any], columns: DyeColumns, number: int) -> tuple[Sequence[str], str]:
    """Return a row's options, and the form of its answer."""
    for name in (columns.question, columns.options, columns.answer):
        if name not in record:
            raise DataError(f"row {number} has no column {name!r}; it has {', '.join(map(repr, record))}.")
    options, answer = record[columns.options], record[columns.answer]
    if not isinstance(options, list) or len(options) < 2 or not all(isinstance(one, str) for one in options):
        raise DataError(f"row {number}: {columns.options!r} is not a list of at least two texts.")
    if isinstance(answer, int) and not isinstance(answer, bool) and 0 <= answer < len(options):
        return options, "index"
    if answer in options:
        return options, "text"
    if isinstance(answer, str) and len(answer) == 1 and 0 <= ord(answer) - 65 < len(options):
        return options, "letter"
    raise DataError(
        f"row {number}: {columns.answer!r} is {answer!r}, neither an index from 0, a letter, nor an option."
    )


def _line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False)


def _content(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()
