r"""Read numbers out of texts.

The table is the complete rules; a later row is tried only if the earlier ones find nothing.

=====================  ==============================================  =======================================
Numbers                Written                                         Read
=====================  ==============================================  =======================================
plain                  ``12``, ``-1,234.5``, ``.5``, ``12,34,567``     12, -1234.5, 0.5, 1234567
in LaTeX               ``1{,}234``, ``12\,345``                        1234, 12345
with a decimal comma   ``1.234,56``, ``1.234.567,8``                   1234.56, 1234567.8
money                  ``$5``, ``-$5``                                 5, -5
exponent               ``1e3``, ``1.5E-3``                             1000, 0.0015
power of ten           ``3 × 10^8``, ``3 \times 10^{8}``, ``3*10⁸``    300000000
power                  ``5^2``, ``5**2``, ``5²``, ``5^{-2}``           25, 25, 25, 0.04
fraction               ``3/4``, ``¾``, ``\frac{3}{4}``                 0.75
mixed number           ``2½``, ``2 1/2``                               2.5
a dash, not a sign     ``10-5``, ``(4)-3``                             10 and 5, 4 and 3
exponent of a name     ``x^2``                                         nothing
three parts            ``3/4/2020``                                    3, 4 and 2020
division by zero       ``1/0``                                         nothing
=====================  ==============================================  =======================================

Digits may be those of any script. Exponents of more than three digits are not read. ``9/11`` is a fraction.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Iterator
from decimal import Context, Decimal, DivisionByZero, InvalidOperation, Overflow
from typing import NamedTuple

from harness.answers.statements import statements

__all__ = ["final_number", "first_number", "stated_number", "stated_number_text", "whole_number"]

_MINUS = "\u2212"
_SIGN = rf"(?:(?P<sign>(?<![\w)}}])[-{_MINUS}])\\?[$€£¥₹]?)?"  # also of -$5
_THOUSANDS = r"(?:\{,\}|,\\!|\\[,;!]|[\u00a0\u2009\u202f])"  # in LaTeX, and in texts with narrow spaces
_WHOLE = rf"(?:\d{{1,3}}(?:,\d{{2,3}}){{0,12}},\d{{3}}(?!\d)|\d{{1,3}}(?:{_THOUSANDS}\d{{3}}){{1,12}}(?!\d)|\d+)"
_DECIMAL = rf"(?:{_WHOLE}(?:\.\d+)?|\.\d+)"  # 1,234.5 or 1234.5; 12,34,567 in India
_VULGAR = "[¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞]"
_OVER = "[/\u2044]"


def _raised(name: str) -> str:
    """Return the pattern of an exponent, which is in one of the groups ``NAME1`` to ``NAME3``."""
    sign = rf"[-+{_MINUS}]?"
    return rf"(?:(?:\^|\*\*)(?:\{{(?P<{name}1>{sign}\d+)\}}|(?P<{name}2>{sign}\d+))|(?P<{name}3>⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+))"


_NUMBER = re.compile(
    rf"(?P<skipped>\^\{{?[-+{_MINUS}]?\d+)"
    rf"|{_SIGN}(?:"
    rf"(?P<factor>{_DECIMAL})\s?(?:[×xX*·]|\\times\b|\\cdot\b)\s?10{_raised('ten')}"
    rf"|(?P<base>{_DECIMAL}){_raised('power')}"
    rf"|(?P<exponent>(?<![\w.]){_DECIMAL}[eE][-+{_MINUS}]?\d{{1,3}}(?!\w)(?!\.\d))"
    rf"|(?P<comma>(?<![\d.,])\d{{1,3}}(?:\.\d{{3}}){{1,12}},\d{{1,2}}(?![\d,]|\.\d))"
    rf"|\\[dt]?frac\{{\s*(?P<over>\d+)\s*\}}\{{\s*(?P<under>\d+)\s*\}}"
    rf"|(?:(?<!\d)(?P<whole>\d{{1,3}})[ ])?(?<![\d./\u2044])(?P<top>\d+){_OVER}(?P<bottom>\d+)(?![\d/\u2044]|\.\d)"
    rf"|(?:(?P<units>\d+)[ ]?)?(?P<vulgar>{_VULGAR})"
    rf"|(?P<plain>{_DECIMAL}))"
)
_SEPARATOR = re.compile(rf"{_THOUSANDS}|,")
_EXACT = Context(prec=400, traps=[DivisionByZero, InvalidOperation, Overflow])
_CLAUSE = re.compile(r"[ \t:：]{0,9}(?P<clause>(?:(?![,;.]\s|[。，；]|\n|\b(?i:since|because)\b).)*)")
_LONGEST_PLAIN = 40
"""Most characters of a number that is written out in full."""
_MOST_EXPONENT = 999
_LONGEST_BASE = 40
"""Most characters of a number that is raised to a power, so that no text takes long to read."""


def first_number(text: str) -> Decimal | None:
    """Return the first number in a text; None if there is no number."""
    return next((found.value for found in _numbers(text)), None)


def final_number(text: str) -> Decimal | None:
    """Return the last number in a text; None if there is no number."""
    found = _last(text)
    return None if found is None else found.value


def stated_number(text: str) -> Decimal | None:
    r"""Return the number that a text states last, else the last one in it; None if there is no number.

    The number stated last is the first one after the last "answer is", "answer:", ``####`` or ``\boxed``: "The answer
    is 7, since 5 + 2 = 7 and not 8" states 7. Of an equation, such as "5 + 2 = 7", the right-hand side counts.
    """
    found = _stated(text)
    return None if found is None else found.value


def stated_number_text(text: str) -> str | None:
    """Return the number that a text states last, written plainly: ``1e3`` as 1000 and ``½`` as 0.5.

    A number without a short plain form, such as ``1/3``, stays as it is written.
    """
    found = _stated(text)
    if found is None:
        return None
    plain = format(found.value, "f") if abs(found.value.adjusted()) < _LONGEST_PLAIN else ""
    plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
    plain = "0" if found.value == 0 else plain
    return plain if 0 < len(plain) <= _LONGEST_PLAIN else found.written.strip()


def _stated(text: str) -> _Found | None:
    places = list(statements(text))
    if places:
        clause = text[places[-1].answer : places[-1].end]
        if places[-1].end is None:
            found = _CLAUSE.match(clause)
            clause = "" if found is None else found["clause"]
        stated = next(_numbers(clause.rpartition("=")[2]), None)
        if stated is not None:
            return stated
    return _last(text)


def _last(text: str) -> _Found | None:
    """Return the last number of a text; no number is on two lines."""
    for line in reversed(text.split("\n")):
        found = deque(_numbers(line), maxlen=1)
        if found:
            return found[0]
    return None


def whole_number(text: str) -> Decimal | None:
    """Return the number that a text is, surrounding whitespace and a full stop aside; None if it is not a number."""
    bare = text.strip().removesuffix(".")
    found = list(_numbers(bare))
    return found[0].value if len(found) == 1 and (found[0].start, found[0].end) == (0, len(bare)) else None


class _Found(NamedTuple):
    value: Decimal
    start: int
    end: int
    written: str


def _numbers(text: str) -> Iterator[_Found]:
    for match in _NUMBER.finditer(text):
        if match["whole"] and Decimal(match["top"]) >= Decimal(match["bottom"]):  # "12 5/3" is two numbers
            yield _Found(_signed(match, Decimal(match["whole"])), match.start(), match.end("whole"), match["whole"])
            value = _divided(match["top"], match["bottom"])
            start = match.start("top")
        else:
            value, start = _value(match), match.start()
        if value is not None:
            signed = _signed(match, value) if start == match.start() else value
            yield _Found(signed, start, match.end(), text[start : match.end()])


def _value(match: re.Match[str]) -> Decimal | None:
    """Return the number without its sign; None if it is not a number after all."""
    if match["plain"]:
        return _decimal(match["plain"])
    if match["comma"]:
        return Decimal(match["comma"].replace(".", "").replace(",", "."))
    if match["exponent"]:
        return _decimal(match["exponent"])
    if match["vulgar"]:
        fraction = unicodedata.normalize("NFKC", match["vulgar"]).split("\u2044")
        part = _divided(*fraction)
        return None if part is None else _EXACT.add(Decimal(match["units"] or 0), part)
    if match["top"] or match["over"]:
        part = _divided(match["top"] or match["over"], match["bottom"] or match["under"])
        return part if part is None or not match["whole"] else _EXACT.add(Decimal(match["whole"]), part)
    for kind, written in (("ten", match["factor"]), ("power", match["base"])):
        if written:
            return _raised_to(written, match[f"{kind}1"] or match[f"{kind}2"] or match[f"{kind}3"], ten=kind == "ten")
    return None


def _raised_to(written: str, exponent: str, *, ten: bool) -> Decimal | None:
    """Return a number to a power or, with ``ten``, times a power of ten; None if it is implausibly large."""
    if len(exponent) > 4 or len(written) > _LONGEST_BASE:
        return None
    power = int(unicodedata.normalize("NFKC", exponent).replace(_MINUS, "-"))
    if abs(power) > _MOST_EXPONENT:
        return None
    try:
        number = _decimal(written)
        return _EXACT.scaleb(number, power) if ten else _EXACT.power(number, power)
    except (DivisionByZero, InvalidOperation, Overflow):
        return None


def _divided(top: str, bottom: str) -> Decimal | None:
    try:
        return _EXACT.divide(Decimal(top), Decimal(bottom))
    except (DivisionByZero, InvalidOperation, Overflow):  # also of more than a million digits
        return None


def _decimal(written: str) -> Decimal:
    return Decimal(_SEPARATOR.sub("", written))


def _signed(match: re.Match[str], value: Decimal) -> Decimal:
    return value.copy_negate() if match["sign"] else value
