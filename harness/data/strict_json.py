"""Strict JSON: only finite numbers, and no key twice in an object."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from harness.errors import StrictJsonError

MAX_DEPTH = 100
"""How deeply lists and objects may be nested."""

MAX_DIGITS = 300
"""Digits of the longest whole number; a larger one is not even a floating-point number."""

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?")


def parse_json(text: str) -> Any:
    """Return the value that JSON text describes.

    Raises:
        StrictJsonError: It is not JSON, is nested too deeply, or holds a key twice, ``NaN``, ``Infinity``, or a number
            too large to be a floating-point number.
    """
    try:
        value = _DECODER.decode(text)
        if text.count("[") + text.count("{") > MAX_DEPTH and _deeper(value, MAX_DEPTH):
            raise RecursionError
    except json.JSONDecodeError as error:
        raise StrictJsonError(f"is not valid JSON: {error.msg}", error.lineno, error.colno) from None
    except RecursionError:
        raise StrictJsonError(f"is nested more than {MAX_DEPTH} levels deep") from None
    except _UnplacedError as error:
        raise _located(text, str(error)) from None
    return value


class _UnplacedError(Exception):
    """An error whose place the decoder does not know."""


def _refuse_constant(name: str) -> Any:
    raise _UnplacedError(_not_finite(name))


def _float(written: str) -> float:
    number = float(written)
    if math.isinf(number):
        raise _UnplacedError(_not_finite(written))
    return number


def _int(written: str) -> int:
    if len(written) > MAX_DIGITS:
        raise _UnplacedError(_not_finite(written))
    return int(written)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _UnplacedError("a key twice")
    return found


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_refuse_constant, parse_float=_float, parse_int=_int
)


def _not_finite(written: str) -> str:
    shown = written if len(written) <= 20 else f"{written[:17]}…"
    digits = f" with {len(written)} digits" if len(written) > MAX_DIGITS else ""
    return f"holds {shown}{digits}, which is not a finite number; write null for a missing one"


def _deeper(value: Any, levels: int) -> bool:
    """Return whether a value is nested more deeply than that."""
    here = [value]
    for _ in range(levels):
        here = [
            item
            for container in here
            if isinstance(container, dict | list)
            for item in (container.values() if isinstance(container, dict) else container)
        ]
    return any(isinstance(item, dict | list) for item in here)


def _located(text: str, message: str) -> StrictJsonError:
    """Return the first error of JSON text that the decoder has refused, with its place."""
    keys: list[set[str] | None] = []
    expecting_key = False
    for token in _TOKEN.finditer(text):
        written = token[0]
        if written in "{[":
            keys.append(set() if written == "{" else None)
        elif written in "}]":
            keys.pop()
        elif expecting_key and keys and (known := keys[-1]) is not None and written.startswith('"'):
            key = str(json.loads(written))
            if key in known:
                shown = key if len(key) <= 40 else f"{key[:39]}…"
                return _at(text, token.start(), f"holds the key {shown!r} twice in one object")
            known.add(key)
        elif written in {"NaN", "Infinity", "-Infinity"} or (_NUMBER.fullmatch(written) and _too_large(written)):
            return _at(text, token.start(), _not_finite(written))
        expecting_key = written == "{" or (written == "," and bool(keys) and keys[-1] is not None)
    return StrictJsonError(message)


def _too_large(written: str) -> bool:
    return len(written) > MAX_DIGITS if written.lstrip("-").isdigit() else math.isinf(float(written))


def _at(text: str, position: int, message: str) -> StrictJsonError:
    line = text.count("\n", 0, position) + 1
    return StrictJsonError(message, line, position - text.rfind("\n", 0, position))
