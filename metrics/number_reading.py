"""Numbers as people and models write them: signs, thousands, decimals."""

from __future__ import annotations

import re
from decimal import Decimal

_NUMBER = re.compile(
    r"(?:(?<![\w)])[-\u2212])?"  # a sign, not a dash
    r"(?:(?:[0-9]{1,3}(?:,[0-9]{2,3})*,[0-9]{3}(?![0-9])|[0-9]+)(?:\.[0-9]+)?"  # 1,234.5 or 1234.5; 12,34,567 in India
    r"|\.[0-9]+)"
)


def first_number(text: str) -> Decimal | None:
    """Return the first number in a text; None where there is none."""
    found = _NUMBER.search(text)
    return _decimal(found[0]) if found else None


def final_number(text: str) -> Decimal | None:
    """Return the last number in a text; None where there is none."""
    found = _NUMBER.findall(text)
    return _decimal(found[-1]) if found else None


def whole_number(text: str) -> Decimal | None:
    """Return the number that a text is, surrounding whitespace and a full stop aside; None where it is not one."""
    bare = text.strip().removesuffix(".")
    return _decimal(bare) if _NUMBER.fullmatch(bare) else None


def _decimal(written: str) -> Decimal:
    return Decimal(written.replace(",", "").replace("\u2212", "-"))
