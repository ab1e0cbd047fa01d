"""Identifiers in an example's text: a leading number or id, or one among the keys of a JSON record."""

from __future__ import annotations

import json
import re

_LEADING = re.compile(
    r"""\s*[\[(#]*\s*
    (?:
        (?:id|\#)[\s.:\#=_-]*\d+[\])]*(?:[.:)\]]*\s+|\s*[|,;]\s*)       # id 12 …, #12: …
      | (?:(?:no|nr|number|question|item|example|problem|q)[\s.:\#_-]*)?  # Question 12. …
        \d+ (?:[.:)\]]+\s+ | \t\s* | \s*[|;]\s*)       # 12. …, 12) …, 12 | …
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_KEY = re.compile(r"(?:(?:.*[_-])?(?i:id|idx|index|ind|uid|uuid|guid))|.*[a-z0-9](?:ID|Id|Idx|Index)")
_SPACE = re.compile(r"\s*")
_DECODER = json.JSONDecoder()

Member = tuple[str, int, int]
"""A key of a JSON object, and where the key begins and its value ends."""


def id_prefix(text: str) -> str:
    """Return the part of a text before its content: a number with its punctuation, or a record's first keys.

    An empty string if the text begins with neither. A number only counts with punctuation after it: ``12. Who …`` has a
    prefix, ``1984 was written by …`` has none.
    """
    members = _members(text)
    if not members:
        found = _LEADING.match(text)
        return found[0] if found else ""
    leading = 0
    while leading < len(members) and _KEY.fullmatch(members[leading][0]):
        leading += 1
    return text[: members[leading][1]] if 0 < leading < len(members) else ""


def without_ids(text: str) -> str:
    """Return a text without its leading number, or a JSON record without the keys that hold identifiers."""
    members = _members(text)
    if not members:
        return text[len(id_prefix(text)) :]
    kept = [member for member in members if not _KEY.fullmatch(member[0])]
    if len(kept) == len(members) or not kept:
        return text
    joint = text[members[0][2] : members[1][1]]
    body = joint.join(text[start:end] for _, start, end in kept)
    return text[: members[0][1]] + body + text[members[-1][2] :]


def _members(text: str) -> list[Member]:
    """Return the members of a text that is a JSON object; an empty list for any other text."""
    members: list[Member] = []
    at = _skip(text, 0)
    if not text.startswith("{", at):
        return []
    try:
        while not text.startswith("}", at):
            start = _skip(text, at + 1)
            key, after_key = _DECODER.raw_decode(text, start)
            _, end = _DECODER.raw_decode(text, _skip(text, _skip(text, after_key) + 1))
            members.append((str(key), start, end))
            at = _skip(text, end)
            if at >= len(text):
                return []
    except json.JSONDecodeError:
        return []
    return members if _skip(text, at + 1) == len(text) else []


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
