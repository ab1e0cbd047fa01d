"""Make text from models, data, servers and plugins safe to print.

Such text may hold terminal escape sequences, bidirectional overrides and invisible characters. They are written as
escapes, so that a reader sees them and the terminal does not obey them. :mod:`harness.output.terminal` applies this to
everything that the command line prints.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

# Control, format (zero-width, bidirectional), surrogate; line and paragraph separator.
ESCAPED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Letters and symbols that show nothing: Hangul fillers and the empty Braille cell.
BLANK = frozenset("\u115f\u1160\u3164\uffa0\u2800")
# More marks on one letter than any script needs.
MARKS = 4


def visible(text: str) -> str:
    r"""Return the text on one line with every invisible character as an escape, for example ``\u202e`` or ``\n``.

    Beyond four, combining marks on one letter are left out, so that they do not cover other lines.
    """
    if text.isascii() and text.isprintable():
        return text
    shown = []
    marks = 0
    for character in text:
        category = unicodedata.category(character)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if category in ESCAPED or character in BLANK:
            shown.append(character.encode("unicode_escape").decode("ascii"))
        elif marks <= MARKS:
            shown.append(character)
    return "".join(shown)


def lines(text: str) -> str:
    """Return the text with every invisible character but line feeds and tabs as an escape, see :func:`visible`.

    A carriage return before a line feed is dropped.
    """
    if text.isascii() and text.isprintable():
        return text
    return "\n".join("\t".join(map(visible, line.split("\t"))) for line in text.replace("\r\n", "\n").split("\n"))


def json_text(value: Any) -> str:
    r"""Return a value as indented JSON in which every invisible character is a ``\uXXXX`` escape.

    Raises:
        ValueError: A number is NaN or infinite.
    """
    return _NOT_ASCII.sub(_json_escape, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


_NOT_ASCII = re.compile(r"[^\n -~]")


def _json_escape(found: re.Match[str]) -> str:
    character = found[0]
    if visible(character) == character:
        return character
    return r"\u007f" if character == "\x7f" else json.dumps(character)[1:-1]


def brief(text: str, limit: int = 80) -> str:
    """Return the text made visible and, if longer than the limit, without its middle: both ends tell names apart."""
    if len(text) > 4 * limit:
        # What will be cut anyway need not be looked at.
        text = f"{text[: 2 * limit]}…{text[-2 * limit :]}"
    shown = visible(text)
    if len(shown) <= limit:
        return shown
    head = (limit - 1) * 2 // 3
    return f"{shown[:head]}…{shown[len(shown) - (limit - 1 - head) :]}"


def sentence(text: str, limit: int = 400) -> str:
    """Return a message on one line, runs of white space as one space, and cut at its end if it is longer."""
    shown = visible(" ".join(text[: 4 * limit].split()))
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"
