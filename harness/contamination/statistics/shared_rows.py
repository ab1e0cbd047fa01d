"""Which data sets have rows in common, whatever the format of their files; uses digests small enough for run.json.

A row is reduced to its words, without case, punctuation and line breaks; of JSON only the values count. Its digest is
the hash of five consecutive words, which are chosen by their hash among those that are rare in the data set::

    {"goal": "Boil an egg.", "answer": "Put it in hot water."}    boil an egg put it in hot water
    Goal: Boil an egg. Answer: Put it in hot water.          goal boil an egg answer put it in hot water
                                                                                     ~~~~~~~~~~~~~~~~~~~

Two forms of a row differ in few groups of five words, so most rows have the same digest in both. Of large data sets
only the smallest digests are kept, which are those of the same rows in each data set (bottom-k sketch, Broder 1997).

Of a multiple-choice question all words of its options are hashed, since their order is what is tested.
"""

from __future__ import annotations

import base64
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from heapq import nsmallest
from itertools import pairwise
from typing import Any
from zlib import crc32

MOST_DIGESTS = 4096
"""Largest number of digests of a data set: 22 kB. Of 50 rows among 10,000, about twenty are then compared."""

SHARED = 0.2
"""Share of the smaller data set's rows in common that makes a re-test; with fewer, p-values hardly depend."""

FEWEST_SHARED = 3
"""Fewest rows in common that make a re-test."""

IN_ORDER = 0.75
"""Share of neighbouring common rows that must be in the same order in both; about half if an order is random."""

_RUN = 5
_CANDIDATES = 8
_WORD = re.compile(r"\w+")


def row_digests(rows: Sequence[str]) -> str:
    """Return digests of rows in their order, 32 bits each, as base64; rows with the same words share a digest."""
    candidates = list(dict.fromkeys(_candidates(_words(row)) for row in rows))
    known = Counter(digest for own in candidates for digest in own)
    return _kept(min(own, key=lambda digest: (known[digest], digest)) for own in candidates if own)


def option_digests(questions: Sequence[Sequence[str]]) -> str:
    """Return digests of questions' options, each question's in its order, 32 bits a question, as base64.

    Options that several questions have, such as yes and no, are left out.
    """
    texts = Counter(" | ".join(" ".join(_words(option)) for option in options) for options in questions)
    return _kept(_digest(text) for text, questions_with in texts.items() if questions_with == 1)


@lru_cache(maxsize=100_000)
def share_rows(one: str, other: str) -> bool:
    """Return True if two data sets share a fifth of the smaller one's rows, at least three, mostly in the same order.

    Args:
        one: Digests by :func:`row_digests`.
        other: Those of the other data set.

    Raises:
        ValueError: They are not digests.
    """
    places = _shared_places(one, other)
    if not places:
        return False
    back = sorted((theirs_at, ours_at) for ours_at, theirs_at in places)
    forward = [before[1] < after[1] for pairs in (places, back) for before, after in pairwise(pairs)]
    return sum(forward) >= IN_ORDER * len(forward)


def share_options(one: str, other: str) -> bool:
    """Return True if two data sets share a fifth of the smaller one's questions, at least three, in whatever order.

    Args:
        one: Digests by :func:`option_digests`.
        other: Those of the other data set.

    Raises:
        ValueError: They are not digests.
    """
    return bool(_shared_places(one, other))


def _shared_places(one: str, other: str) -> list[tuple[int, int]]:
    """Return the places of the common digests in both data sets; none if they are too few."""
    ours, theirs = digest_places(one), digest_places(other)
    if ours.keys().isdisjoint(theirs.keys()):
        return []
    kept = [max(each) for each in (ours, theirs) if len(each) >= MOST_DIGESTS]
    limit = min(kept, default=2**32)
    places = [(place, theirs[digest]) for digest, place in ours.items() if digest <= limit and digest in theirs]
    smaller = min(sum(digest <= limit for digest in each) for each in (ours, theirs))
    return places if len(places) >= max(FEWEST_SHARED, SHARED * smaller) else []


@lru_cache(maxsize=4096)
def digest_places(digests: str) -> dict[int, int]:
    """Return the place of each digest.

    Raises:
        ValueError: They are not digests.
    """
    raw = base64.b64decode(digests, validate=True)
    if len(raw) % 4:
        raise ValueError("row_digests has an incomplete digest")
    return {int.from_bytes(raw[start : start + 4], "big"): start // 4 for start in range(0, len(raw), 4)}


def _kept(found: Iterable[int]) -> str:
    """Return different digests in their order as base64; of too many, the smallest."""
    digests = list(dict.fromkeys(found))
    if len(digests) > MOST_DIGESTS:
        largest = sorted(digests)[MOST_DIGESTS - 1]
        digests = [digest for digest in digests if digest <= largest]
    return base64.b64encode(b"".join(digest.to_bytes(4, "big") for digest in digests)).decode("ascii")


def _digest(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"))


def _candidates(words: Sequence[str]) -> tuple[int, ...]:
    runs = {" ".join(words[start : start + _RUN]) for start in range(max(1, len(words) - _RUN + 1))} - {""}
    return tuple(nsmallest(_CANDIDATES, set(map(_digest, runs))))


def _words(row: str) -> list[str]:
    text = unicodedata.normalize("NFKC", " ".join(_values(row))).casefold()
    return _WORD.findall(text) or text.split()


def _values(row: str) -> Iterator[str]:
    """Yield the values of a JSON record in their order, or the text itself if it is not one."""
    value: Any = row
    if row.lstrip().startswith(("{", "[")):
        try:
            value = json.loads(row, parse_int=str, parse_float=str, parse_constant=str)
        except (json.JSONDecodeError, RecursionError):
            value = row
    pending = [value]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            pending.extend(reversed(value.values()))
        elif isinstance(value, list):
            pending.extend(reversed(value))
        elif value is not None:
            yield str(value)
