"""The setting ``answer`` of methods that generate: how answers are read from outputs, in one way or several."""

from __future__ import annotations

import json
import re
import string
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_serializer,
    model_validator,
)

from harness.answers.numbers import stated_number_text
from harness.answers.options import read_option, read_options
from harness.answers.statements import boxed_answer, final_answer
from harness.errors import ModelError, did_you_mean, shown

if TYPE_CHECKING:
    import regex

__all__ = ["ANSWER", "AnswerReading", "AnswerSetting", "read_answer", "reading_names"]

ANSWER = "answer"
"""The setting's name; also the name of a reading that has none."""

SECONDS = 5.0
"""Longest time that a pattern may take to search one answer; linear ones take microseconds."""

ReadingName = Literal["letter", "letters", "number", "boxed", "final_answer"]
StepName = Literal[
    "strip",
    "strip_punctuation",
    "lower",
    "upper",
    "remove_commas",
    "remove_currency",
    "remove_full_stop",
    "remove_punctuation",
    "remove_markup",
]

_LETTERS = tuple(string.ascii_uppercase)
_CURRENCY = "$€£¥₹₽₩"
_DELETED: Mapping[str, dict[int, None]] = {
    "remove_commas": dict.fromkeys(map(ord, ",")),
    "remove_currency": dict.fromkeys(map(ord, _CURRENCY)),
    "remove_punctuation": dict.fromkeys(map(ord, string.punctuation)),
    "remove_markup": dict.fromkeys(map(ord, "*_`")),
}
_MOST_JSON_STARTS = 200
_MOST_JSON = 200_000
"""Most characters of an answer that are searched for JSON, from the end, and most brackets at which it may begin."""
_FENCED = re.compile(r"```[^\n`]{0,40}\n(.*?)```", re.DOTALL)
_OPENING = re.compile(r"[{\[]")
_PLACE = re.compile(
    r"(?:\.|^)(?P<key>[^.\[\]]+)|\[(?P<index>-?\d{1,6})\]|\[(?P<quote>['\"])(?P<quoted>.+?)(?P=quote)\]"
)


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> regex.Pattern[str]:
    import regex

    return regex.compile(pattern)


def _check_pattern(pattern: str) -> str:
    import regex

    try:
        empty = _compiled(pattern).fullmatch("", timeout=SECONDS)
    except (regex.error, OverflowError, RecursionError) as error:
        raise ValueError(f"is not a regular expression: {error}") from None
    if empty is not None:
        raise ValueError("matches the empty text, and so would find an answer in every output")
    return pattern


def _check_path(path: str) -> str:
    _steps_of(path)
    return path


_Pattern = Annotated[str, AfterValidator(_check_pattern)]
_Marker = Annotated[str, Field(min_length=1)]
_Path = Annotated[str, AfterValidator(_check_path)]


class MapStep(BaseModel):
    """Replace the whole text by another one; a text that is not a key is not an answer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    map: dict[str, str]
    """The texts, each with its replacement."""


def _check_step(step: Any) -> Any:
    if isinstance(step, str) and step not in get_args(StepName):
        hint = did_you_mean(step, get_args(StepName)).rstrip(".")
        raise ValueError(f"{step!r} is not a step ({hint[0].lower()}{hint[1:]})")
    if not isinstance(step, str | Mapping | MapStep):
        raise ValueError(f"must be the name of a step or a mapping with `map`, not {shown(step)}")
    return MapStep.model_validate(step) if isinstance(step, Mapping) and set(step) == {"map"} else step


def _listed(steps: Any) -> Any:
    return [steps] if isinstance(steps, str | Mapping) else steps


_Step = Annotated[StepName | MapStep, BeforeValidator(_check_step)]


class AnswerReading(BaseModel):
    """One way to read an answer: a part of the text is chosen, then read, then changed step by step.

    What is left has no whitespace around it; where nothing is left, there is no answer.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    last: _Pattern | None = None
    """The last match of a regular expression: its first group that matched, or the whole match without groups."""

    first: _Pattern | None = None
    """The first match of a regular expression."""

    after: _Marker | None = None
    """The text after the last occurrence of a marker, such as ``####``; case is ignored."""

    until: _Marker | None = None
    """With ``after``, where the text ends if this follows (default: at the end of the answer)."""

    path: _Path | None = Field(default=None, alias="json")
    """A value in the last JSON object or array of the answer, also in a fenced block: ``result.items[0]``."""

    read: ReadingName | None = None
    r"""A ready-made reading of the chosen part: ``letter`` (one of the options), ``letters`` (several), ``number``,
    ``boxed`` (the last ``\boxed{…}``) or ``final_answer`` (what follows "the answer is" and the like)."""

    steps: Annotated[tuple[_Step, ...], BeforeValidator(_listed)] = ()
    """Changes in order: ``lower``, ``upper``, ``strip``, ``strip_punctuation``, ``remove_commas``, ``remove_currency``,
    ``remove_full_stop`` (one at the end), ``remove_punctuation``, ``remove_markup``, or ``map: {text: replacement}``.
    """

    @model_validator(mode="after")
    def _one_choice(self) -> AnswerReading:
        given = [key for key, value in self._choices().items() if value is not None]
        if len(given) > 1:
            raise ValueError(f"chooses a part of the answer twice: by {' and by '.join(map(repr, given))}; keep one")
        if self.until is not None and self.after is None:
            raise ValueError("'until' needs 'after', which is not set")
        if not given and self.read is None and not self.steps:
            raise ValueError("reads nothing: set one of 'last', 'first', 'after', 'json' and 'read'")
        return self

    @model_serializer
    def _short(self) -> dict[str, Any]:
        steps = [step if isinstance(step, str) else {"map": step.map} for step in self.steps]
        values = {**self._choices(), "until": self.until, "read": self.read, "steps": steps or None}
        return {key: value for key, value in values.items() if value is not None}

    def _choices(self) -> dict[str, str | None]:
        return {"last": self.last, "first": self.first, "after": self.after, "json": self.path}

    def __call__(self, text: str, labels: Sequence[str] = (), options: Sequence[str] = ()) -> str | None:
        """Return what is read out of a text; None if nothing is.

        Args:
            text: What the model wrote.
            labels: The letters of the options, for ``letter`` and ``letters`` (default: A to Z).
            options: The texts of the options, in the same order.

        Raises:
            ModelError: A pattern takes too long to search the text.
        """
        part = self._part(text)
        if part is not None and self.read is not None:
            part = _ready_made(self.read, part, labels, options)
        for step in self.steps:
            if part is None:
                return None
            part = _after_step(step, part)
        return (part or "").strip() or None

    def _part(self, text: str) -> str | None:
        if self.last is not None:
            return _match(self.last, text, last=True)
        if self.first is not None:
            return _match(self.first, text, last=False)
        if self.after is not None:
            return _between(text, self.after, self.until)
        if self.path is not None:
            return _json_value(text, self.path)
        return text


_KEYS = frozenset({"last", "first", "after", "until", "json", "read", "steps"})


def _named(value: Any) -> Any:
    """Return the readings by name, of whatever form of the setting."""
    if isinstance(value, AnswerReading):
        return {ANSWER: value}
    if isinstance(value, str):
        return {ANSWER: {"read": value}}
    if isinstance(value, list) and value and all(isinstance(item, Mapping) and "name" in item for item in value):
        return {item["name"]: {key: part for key, part in item.items() if key != "name"} for item in value}
    if not isinstance(value, Mapping):
        return value
    if not value:
        raise ValueError("is empty; name a reading or leave it out")
    if _KEYS & value.keys():
        _check_not_mixed(value)
        return {ANSWER: value}
    if not any(isinstance(reading, str | Mapping | AnswerReading) for reading in value.values()):
        return {ANSWER: value}  # a misspelt key of one reading, which is reported as such
    if len(value) == 1 and (wrong := next(iter(value))) not in _KEYS and isinstance(value[wrong], str):
        hint = did_you_mean(str(wrong), _KEYS)
        if value[wrong] not in get_args(ReadingName) and hint.startswith("Did"):
            return {ANSWER: value}
    return {name: {"read": reading} if isinstance(reading, str) else reading for name, reading in value.items()}


def _check_not_mixed(value: Mapping[str, Any]) -> None:
    names = [
        key
        for key, reading in value.items()
        if key not in _KEYS and isinstance(reading, str | Mapping) and not did_you_mean(key, _KEYS).startswith("Did")
    ]
    if names:
        raise ValueError(
            f"has keys of a single reading ({', '.join(key for key in value if key in _KEYS)}) next to the name of one "
            f"({', '.join(names)}); give each reading a name, as in {{strict: {{after: '####'}}, flexible: number}}"
        )


def _check_names(readings: Mapping[str, AnswerReading]) -> Mapping[str, AnswerReading]:
    for name in readings:
        if not name.replace("-", "_").isidentifier():
            raise ValueError(f"{name!r} cannot be the name of a reading; use letters, digits, '_' and '-'")
    return readings


def _shortest(readings: Mapping[str, AnswerReading]) -> Any:
    """Return the setting as JSON: several readings as a list, since their order matters and that of JSON's keys not."""
    written = {name: reading.model_dump() for name, reading in readings.items()}
    if len(written) > 1:
        return [{"name": name, **value} for name, value in written.items()]
    short = {name: value["read"] if value.keys() == {"read"} else value for name, value in written.items()}
    return short[ANSWER] if short.keys() == {ANSWER} else short


_NAMES: dict[str, Any] = {"enum": list(get_args(ReadingName))}
_STEP = {
    "anyOf": [
        {"enum": list(get_args(StepName))},
        {
            "type": "object",
            "properties": {"map": {"type": "object", "additionalProperties": {"type": "string"}}},
            "required": ["map"],
            "additionalProperties": False,
        },
    ]
}
_TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
_ONE: dict[str, Any] = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("last", "first", "after", "until", "json"), _TEXT),
        "read": _NAMES,
        "steps": {"anyOf": [_STEP, {"type": "array", "items": _STEP}]},
    },
    "additionalProperties": False,
    "minProperties": 1,
}
_SEVERAL: dict[str, Any] = {
    "type": "object",
    "propertyNames": {"not": {"enum": sorted(_KEYS)}},
    "additionalProperties": {"anyOf": [_NAMES, _ONE]},
    "minProperties": 1,
}

AnswerSetting = Annotated[
    dict[str, AnswerReading],
    BeforeValidator(_named),
    AfterValidator(_check_names),
    PlainSerializer(_shortest),
    WithJsonSchema({"anyOf": [_NAMES, _ONE, _SEVERAL]}),
]
"""The type of a method's setting ``answer``: readings by name, of which the first gives the prediction.

Written as the name of a ready-made reading, as one reading, or as a mapping of names to readings.
"""


def read_answer(
    setting: Mapping[str, AnswerReading] | None,
    text: str,
    labels: Sequence[str] = (),
    options: Sequence[str] = (),
) -> dict[str, str | None]:
    """Return what each reading of a setting reads out of a text, by name; None where it reads nothing.

    Args:
        setting: The value of the setting ``answer``; None gives an empty mapping.
        text: What the model wrote.
        labels: The letters of the options, if there are any.
        options: The texts of the options, in the same order.

    Raises:
        ModelError: A pattern takes too long to search the text.
    """
    return {name: reading(text, labels, options) for name, reading in (setting or {}).items()}


def reading_names(setting: Any) -> tuple[str, ...]:
    """Return the names of the readings of a resolved setting ``answer``, as JSON has it."""
    if isinstance(setting, list):
        return tuple(reading["name"] for reading in setting)
    if not isinstance(setting, Mapping) or _KEYS & setting.keys():
        return () if setting is None else (ANSWER,)
    return tuple(setting)


def _match(pattern: str, text: str, *, last: bool) -> str | None:
    """Return the last or first match of a pattern.

    The standard library's engine can be stopped by nothing: ``(a|aa)+$`` runs for years on an answer of fifty letters.
    The engine ``regex`` reads the same patterns, look-behind included, and stops after a given time.
    """
    try:
        matches = _compiled(pattern).finditer(text, timeout=SECONDS)
        found = deque(matches, maxlen=1) if last else [match for match, _ in zip(matches, (0,), strict=False)]
    except TimeoutError:
        raise ModelError(
            f"the pattern {shown(pattern)} of `answer` takes more than {SECONDS:g} s to search one output of "
            f"{len(text):,} characters. Avoid nested repeats, such as (a+)+."
        ) from None
    if not found:
        return None
    match = found[0]
    groups: list[str] = [group for group in match.groups() if group is not None]
    whole: str = match[0]
    return groups[0] if groups else None if match.re.groups else whole


def _between(text: str, marker: str, until: str | None) -> str | None:
    import regex

    found = deque(regex.finditer(regex.escape(marker), text, regex.IGNORECASE), maxlen=1)
    if not found:
        return None
    rest = text[found[0].end() :]
    end = regex.search(regex.escape(until), rest.lstrip(), regex.IGNORECASE) if until else None
    return rest.lstrip()[: end.start()] if end else rest


def _ready_made(name: ReadingName, text: str, labels: Sequence[str], options: Sequence[str]) -> str | None:
    if name == "letter":
        labels = labels or _LETTERS
        position = read_option(text, labels, options)
        return None if position is None else labels[position]
    if name == "letters":
        labels = labels or _LETTERS
        return ", ".join(labels[position] for position in read_options(text, labels, options))
    if name == "number":
        return stated_number_text(text)
    return boxed_answer(text) if name == "boxed" else final_answer(text)


def _after_step(step: StepName | MapStep, text: str) -> str | None:
    if isinstance(step, MapStep):
        return step.map.get(text.strip())
    if step == "strip":
        return text.strip()
    if step == "strip_punctuation":
        return text.strip(string.punctuation + string.whitespace + "“”‘’「」。！？、，")
    if step == "lower":
        return text.lower()
    if step == "upper":
        return text.upper()
    if step == "remove_full_stop":
        return text.removesuffix(".")
    return text.translate(_DELETED[step])


def _steps_of(path: str) -> list[str | int]:
    """Return the keys and positions of a path: ``a.b[0]`` gives a, b and 0.

    Raises:
        ValueError: It is not a path.
    """
    steps: list[str | int] = []
    rest = path.removeprefix("$").removeprefix(".")
    at = 0
    while at < len(rest):
        match = _PLACE.match(rest, at)
        if match is None:
            raise ValueError(f"{path!r} is not a path such as 'result.items[0]'")
        index = match["index"]
        steps.append(int(index) if index is not None else match["key"] or match["quoted"])
        at = match.end()
    return steps


def _json_value(text: str, path: str) -> str | None:
    for value in _json_values(text):
        found = _at(value, _steps_of(path))
        if found is not None:
            return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
    return None


def _at(value: Any, steps: Sequence[str | int]) -> Any:
    for step in steps:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and -len(value) <= step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
        if value is None:
            return None
    return value


def _json_values(text: str) -> Iterator[Any]:
    """Yield the outermost objects and arrays of JSON in a text: those of fenced blocks first, the last one first."""
    text = text[-_MOST_JSON:]
    for block in reversed(_FENCED.findall(text)):
        yield from _outermost(block)
    yield from _outermost(text)


def _outermost(text: str) -> list[Any]:
    decoder = json.JSONDecoder()
    found: list[Any] = []
    place = 0
    for _ in range(_MOST_JSON_STARTS):
        opening = _OPENING.search(text, place)
        if opening is None:
            break
        try:
            value, place = decoder.raw_decode(text, opening.start())
            found.append(value)
        except (ValueError, RecursionError):
            place = opening.end()
    return found[::-1]
