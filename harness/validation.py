"""Pydantic's errors as diagnostics in our words: which key, what is wrong, what would be right.

A key that fits none of a union's types gives one error for each type; only one of them is reported.
"""

from __future__ import annotations

import typing
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

from harness.errors import Diagnostic, KeyPath, did_you_mean, shown

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError
    from pydantic.fields import FieldInfo

UNKNOWN: Any = object()
"""Stands in for data that are not at hand."""

_EXPECTED = {
    "bool": "true or false",
    "dict": "a mapping",
    "float": "a number",
    "int": "a whole number",
    "list": "a list",
    "model": "a mapping",
    "string": "text",
    "tuple": "a list",
}
"""What pydantic's errors ``int_type``, ``int_parsing``, ``int_from_float`` and so on ask for."""

_LIMITS = {
    "greater_than": "more than",
    "greater_than_equal": "at least",
    "less_than": "less than",
    "less_than_equal": "at most",
}


def explain(error: ValidationError, model: type, data: Any = UNKNOWN, *, noun: str = "key") -> list[Diagnostic]:
    """Return one diagnostic for each key that is wrong, in pydantic's order.

    Args:
        error: What pydantic raised.
        model: The model, or the dataclass, that the data do not fit.
        data: The data, to tell keys from names of types in pydantic's paths.
        noun: What messages call a key.
    """
    found: dict[KeyPath, Mapping[str, Any]] = {}
    for details in error.errors(include_url=False):
        keys = (
            tuple(details["loc"])
            if data is UNKNOWN
            else _keys(data, details["loc"], absent=details["type"] == "missing")
        )
        if details["type"] == "literal_error" and not isinstance(details["input"], Mapping):
            found[keys] = details  # says more than that it is not one of the union's other types either
        else:
            found.setdefault(keys, details)
    return [
        _diagnostic(model, keys, details, noun)
        for keys, details in found.items()
        if not (details["type"] == "literal_error" and isinstance(details["input"], Mapping) and _within(keys, found))
    ]


def allowed_values(annotation: Any) -> tuple[str, ...]:
    """Return the values that a type allows, as YAML has them; none for a type that is not a choice of values."""
    return tuple(str(value).lower() if isinstance(value, bool) else str(value) for value in _choices(annotation))


def _within(keys: KeyPath, others: Mapping[KeyPath, Any]) -> bool:
    return any(len(other) > len(keys) and other[: len(keys)] == keys for other in others)


def _keys(data: Any, loc: Sequence[str | int], *, absent: bool) -> tuple[str | int, ...]:
    """Return the keys in pydantic's path, without the names of the types that it tried; the last may be absent."""
    keys: list[str | int] = []
    for index, step in enumerate(loc):
        if isinstance(data, Mapping) and step in data:
            data = data[step]
        elif step == "[key]":  # pydantic's word for a wrong key; a file may have a key of that name
            continue
        elif isinstance(data, list | tuple) and isinstance(step, int) and step < len(data):
            data = data[step]
        elif index < len(loc) - 1 or not absent:
            continue
        keys.append(step)
    return tuple(keys)


def _diagnostic(model: type, keys: KeyPath, details: Mapping[str, Any], noun: str) -> Diagnostic:
    kind, given = details["type"], details["input"]
    fields = _fields(model, keys[:-1])
    field = fields.get(str(keys[-1])) if keys else None
    allowed = allowed_values(field.annotation) if field else ()
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        what = f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
        if not fields and " of " in noun:
            return Diagnostic(keys, f"is not {what}, which has none.")
        return Diagnostic(keys, f"is not {what}.", did_you_mean(str(keys[-1]), fields) or f"It takes no {noun}s.")
    if kind in ("missing", "missing_argument"):
        if field and len(allowed) == 1:  # a consent
            why = f": {field.description}" if field.description else ""
            return Diagnostic(keys, f"is required{why}.", f"Write {keys[-1]}: {allowed[0]}.")
        return Diagnostic(keys, "is required.", f"One of: {_listed(allowed)}." if allowed else "")
    if kind in ("literal_error", "enum"):
        allowed = allowed or allowed_values(_annotation(details))
        written = str(given).lower() if isinstance(given, bool) else shown(given)
        return Diagnostic(keys, f"{written} is not one of the choices.", did_you_mean(str(given), allowed))
    if kind == "value_error":
        message = str(details["ctx"]["error"]).rstrip(".")
    elif kind in _LIMITS:
        (limit,) = (value for key, value in details["ctx"].items() if key in ("gt", "ge", "lt", "le"))
        message = f"must be {_LIMITS[kind]} {limit}"
    elif kind.partition("_")[0] in _EXPECTED and kind.endswith(("_type", "_parsing", "_from_float")):
        message = f"must be {_EXPECTED[kind.partition('_')[0]]}"
    else:
        message = details["msg"].removesuffix(".").replace("Input should", "must").replace("String should", "must")
        message = message.replace("List should", "must").replace("Dictionary should", "must")
    if kind != "value_error" and not isinstance(given, Mapping) and shown(given) not in message:
        message += f", not {'null' if given is None else shown(given)}"
    hint = ""
    if kind == "list_type" and isinstance(given, str):
        hint = f"Write [{given}]."
    elif kind == "string_type" and isinstance(given, Mapping):
        message, hint = "must be text, not a mapping", "Put a template that begins with '{{' in quotes."
    return Diagnostic(keys, f"{message}.", hint)


def _listed(values: Sequence[str]) -> str:
    return ", ".join(values[:20]) + (", …" if len(values) > 20 else "")


def _annotation(details: Mapping[str, Any]) -> Any:
    """Return a literal of the values that an error of an enumeration in a list or among a mapping's keys names."""
    expected = str(details.get("ctx", {}).get("expected", ""))
    values = tuple(part.strip("'") for part in expected.replace(" or ", ", ").split(", ") if part)
    return typing.Literal[values] if values else None


def _choices(annotation: Any) -> Iterator[Any]:
    if typing.get_origin(annotation) is typing.Literal:
        yield from typing.get_args(annotation)
    elif isinstance(annotation, type) and issubclass(annotation, Enum):
        yield from (member.value for member in annotation)
    else:
        for part in typing.get_args(annotation):
            yield from _choices(part)


def _fields(model: type, keys: KeyPath) -> dict[str, FieldInfo]:
    """Return the fields that a mapping at a path may have; only those of pydantic's models are known."""
    found = [*_models(model)]
    for key in keys:
        annotations = [each.model_fields[str(key)].annotation for each in found if str(key) in each.model_fields]
        found = [inner for annotation in annotations for inner in _models(annotation)] or found
    return {field.alias or name: field for each in found for name, field in each.model_fields.items()}


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and hasattr(annotation, "model_fields"):
        yield annotation
    for part in typing.get_args(annotation):
        yield from _models(part)
