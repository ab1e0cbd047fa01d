"""Texts as sets of hashed n-grams of bytes and words, computed for many texts at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Hashes = NDArray[np.uint64]

BITS = 20
"""Features are hashed into 2**BITS buckets."""

BYTE_LENGTHS = (2, 3, 4, 5)

LONGEST_TEXT = 20_480
"""Characters of a text that count; Perspective's limit is 20 KB."""

_CHUNK = 1 << 17
_BASE = 0x9E3779B97F4A7C15  # odd, so that it has an inverse modulo 2**64
_MIX = 0xFF51AFD7ED558CCD  # the finaliser of MurmurHash3 (Appleby 2011)
_SALT = 0xD6E8FEB86659FD93


def hashed_ngrams(texts: Sequence[str]) -> Iterator[tuple[Integers, Integers]]:
    """Yield, for consecutive blocks of texts, the buckets of each text's n-grams.

    A text is lower-cased, whitespace is collapsed to single spaces, and a space is added at both ends. Its features are
    the n-grams of 2 to 5 bytes of its UTF-8 form, its words (runs of ASCII letters, digits, apostrophes and all
    non-ASCII characters), and pairs of adjacent words. Each bucket occurs once for each text.

    Yields:
        The texts' indices, in order, and the buckets, below 2**20; both of shape (features,).
    """
    start, size, run = 0, 0, list[bytes]()
    for index, text in enumerate(texts):
        encoded = f" {' '.join(text[:LONGEST_TEXT].lower().split())} ".encode("utf-8", "replace")[: 4 * LONGEST_TEXT]
        if run and size + len(encoded) > _CHUNK:
            yield _features(run, start)
            start, size, run = index, 0, []
        run.append(encoded)
        size += len(encoded)
    if run:
        yield _features(run, start)


def _features(texts: Sequence[bytes], start: int) -> tuple[Integers, Integers]:
    import numpy as np

    data = np.frombuffer(b"".join(texts), dtype=np.uint8)
    owner = np.repeat(np.arange(len(texts), dtype=np.int64), [len(text) for text in texts])
    powers, inverses = _powers(len(data))
    prefix = np.zeros(len(data) + 1, dtype=np.uint64)
    np.cumsum((data.astype(np.uint64) + np.uint64(1)) * powers, out=prefix[1:])
    owners, hashes = [], []
    for length in BYTE_LENGTHS:
        first = np.flatnonzero(owner[: max(0, len(data) - length + 1)] == owner[length - 1 :])
        owners.append(owner[first])
        hashes.append(_mixed((prefix[first + length] - prefix[first]) * inverses[first], length))
    edges = np.flatnonzero(np.diff(np.concatenate(([False], _is_word()[data], [False])).astype(np.int8)))
    begin, end = edges[::2], edges[1::2]  # no word crosses texts, since each begins and ends with a space
    words = _mixed((prefix[end] - prefix[begin]) * inverses[begin], 0)
    owners.append(owner[begin])
    hashes.append(words)
    pairs = np.flatnonzero(owner[begin[:-1]] == owner[begin[1:]])
    owners.append(owner[begin[pairs]])
    hashes.append(_mixed(words[pairs] * np.uint64(_BASE) + words[pairs + 1], 1))
    buckets = (np.concatenate(hashes) >> np.uint64(64 - BITS)).astype(np.int64)
    distinct = np.unique((np.concatenate(owners) << BITS) | buckets)
    return (distinct >> BITS) + start, distinct & ((1 << BITS) - 1)


def _mixed(hashes: Hashes, salt: int) -> Hashes:
    import numpy as np

    mixed = hashes + np.uint64(salt * _SALT % 2**64)
    mixed ^= mixed >> np.uint64(33)
    mixed *= np.uint64(_MIX)
    mixed ^= mixed >> np.uint64(33)
    return mixed * np.uint64(_BASE)


def _powers(count: int) -> tuple[Hashes, Hashes]:
    """Return at least ``count`` powers of the base, and of its inverse, modulo 2**64."""
    powers, inverses = _power_table(max(_CHUNK, 1 << (count - 1).bit_length()) if count else _CHUNK)
    return powers[:count], inverses


@cache
def _power_table(count: int) -> tuple[Hashes, Hashes]:
    import numpy as np

    tables = []
    for base in (_BASE, pow(_BASE, -1, 2**64)):
        steps = np.full(count, base, dtype=np.uint64)
        steps[0] = 1
        tables.append(np.cumprod(steps))
    return tables[0], tables[1]


@cache
def _is_word() -> NDArray[np.bool_]:
    import numpy as np

    table = np.zeros(256, dtype=np.bool_)
    table[list(b"abcdefghijklmnopqrstuvwxyz0123456789'")] = True
    table[128:] = True
    return table
