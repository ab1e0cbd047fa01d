"""The held-out test: are the rows that a coin chose for publication likelier than those that it held back?

Ten rows, of which the author published five, drawn at random, and kept five::

    published    a -2.1   c -1.9   d -2.4   g -2.0   j -2.2      mean log-probability per token
    held back    b -2.8   e -2.5   f -2.3   h -2.9   i -2.6

For a model that does not depend on the publication, all 252 ways to choose the five were alike. In 2 of them is the
sum of the published rows' scores at least the observed -10.6, so p = 2/252.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

from harness.contamination.statistics.diagnostics import DIAGNOSTICS_LEVEL
from harness.contamination.statistics.repairs import near_duplicates
from harness.contamination.statistics.tfidf import tfidf
from harness.errors import DataError
from harness.statistics.families import holm

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Chosen = NDArray[np.bool_]

MOST_ENUMERATED = 20_000
"""Largest number of ways to split the rows that are all looked at; with more, random ones are drawn."""

_CELLS = 2**22


@dataclass(frozen=True)
class Split:
    """A random split of rows into published and held-out ones, by units that stay together."""

    units: tuple[tuple[int, ...], ...]
    """The rows of each unit: near duplicates of each other. Rows are numbered from 0, the published file's first."""
    published: tuple[bool, ...]
    """True for each unit that was published."""
    left_out: int
    """Rows with near duplicates on both sides, which belong to no unit."""

    @cached_property
    def _sizes(self) -> dict[int, list[int]]:
        """The units of each size. Units change sides only with units of their size, which keeps both files' sizes."""
        by_size: dict[int, list[int]] = {}
        for place, unit in enumerate(self.units):
            by_size.setdefault(len(unit), []).append(place)
        return by_size

    @property
    def ways(self) -> int:
        """Number of ways in which the units could have been split, with as many of each size on either side."""
        return math.prod(
            math.comb(len(places), sum(self.published[place] for place in places)) for places in self._sizes.values()
        )

    def every(self, values: Sequence[float]) -> Floats:
        """Return the sum of the published units' values for every way to split them."""
        import numpy as np

        sums = np.zeros(1)
        for places in self._sizes.values():
            chosen = sum(self.published[place] for place in places)
            own = [math.fsum(values[place] for place in some) for some in combinations(places, chosen)]
            sums = (sums[:, None] + np.array(own)[None]).ravel()
        return sums

    def draws(self, rng: np.random.Generator, count: int) -> Chosen:
        """Return random ways to split the units, shape (count, units): True where a unit is published."""
        import numpy as np

        chosen = np.empty((count, len(self.units)), dtype=bool)
        for places in self._sizes.values():
            own = np.array([self.published[place] for place in places])
            chosen[:, places] = rng.permuted(np.tile(own, (count, 1)), axis=1)
        return chosen


@dataclass(frozen=True, slots=True)
class HeldOutResult:
    """What a held-out test found."""

    difference: float
    """The mean score of the published rows less that of the held-out ones."""
    p: float
    """The p-value."""
    ways: int
    """Number of ways to split the rows that the published one was compared with."""
    exact: bool
    """True if these are all ways; False if they were drawn at random."""


def split_of(published: Sequence[str], held_out: Sequence[str]) -> Split:
    """Return the split of two files' rows, with near duplicates as one unit.

    Rows with near duplicates on both sides are left out: they can show no difference. A coin that is tossed for each
    row leaves them out symmetrically, and one that is tossed for each group of near duplicates never makes them.

    Raises:
        DataError: A row is in both files, or nothing is left on a side.
    """
    _refuse_overlap(published, held_out)
    groups = near_duplicates([*published, *held_out])
    sides = [{row < len(published) for row in group} for group in groups]
    pure = [(tuple(group), side == {True}) for group, side in zip(groups, sides, strict=True) if len(side) == 1]
    left_out = sum(len(group) for group, side in zip(groups, sides, strict=True) if len(side) == 2)
    split = Split(tuple(unit for unit, _ in pure), tuple(side for _, side in pure), left_out)
    if len(set(split.published)) < 2:
        raise DataError("the test needs rows in both files that have no near duplicate in the other.")
    return split


def held_out_test(split: Split, scores: Sequence[float], draws: int = 9999, seed: int = 0) -> HeldOutResult:
    """Test whether a model gives published rows higher scores than rows that were held back by chance.

    The statistic is the sum of the published rows' scores, and p the share of the ways to split the rows in which it is
    at least as large: exact over all ways if these are at most 20,000, otherwise (1 + those among random
    draws)/(draws + 1), which is exact too.

    Args:
        split: Which rows were published.
        scores: Each row's score, the published file's rows first; higher is likelier to have been read.
        draws: Number of random ways to split the rows, where there are too many.
        seed: Seeds them.

    Raises:
        ValueError: There are not as many scores as rows, or one is not finite.
    """
    import numpy as np

    rows = sum(map(len, split.units)) + split.left_out
    if len(scores) != rows or not all(map(math.isfinite, scores)):
        raise ValueError(f"{len(scores)} scores of {rows} rows, or one is not finite")
    values = [math.fsum(scores[row] for row in unit) for unit in split.units]
    sizes = [len(unit) for unit in split.units]
    ours = [place for place, side in enumerate(split.published) if side]
    total, count = math.fsum(values[place] for place in ours), sum(sizes[place] for place in ours)
    difference = total / count - (math.fsum(values) - total) / (sum(sizes) - count)
    tolerance = 1e-9 * max(1.0, math.fsum(map(abs, values)))  # sums in another order differ in the last digits
    if (ways := split.ways) <= MOST_ENUMERATED:
        return HeldOutResult(difference, float((split.every(values) >= total - tolerance).mean()), ways, exact=True)
    rng = np.random.default_rng(seed)
    as_large, left = 1, draws
    while left:
        some = min(left, max(1, _CELLS // len(values)))
        as_large += int((split.draws(rng, some) @ np.array(values) >= total - tolerance).sum())
        left -= some
    return HeldOutResult(difference, as_large / (draws + 1), draws + 1, exact=False)


def smallest_p(split: Split, draws: int) -> float:
    """Return the smallest p-value that :func:`held_out_test` can give."""
    return 1 / split.ways if split.ways <= MOST_ENUMERATED else 1 / (draws + 1)


def telling_texts(split: Split, texts: Sequence[str], draws: int = 999, seed: int = 0) -> dict[str, float]:
    """Return p-values, corrected by Holm, of whether the texts alone tell published rows from held-out ones.

    If the split was random, they do not, whatever the model: ``lengths`` compares the mean number of characters,
    ``words`` the distance of the two sides' mean tf-idf vectors.

    Args:
        split: Which rows were published.
        texts: The rows, the published file's first.
        draws: Number of random ways to split them to compare with.
        seed: Seeds these.
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    chosen = np.vstack([np.array(split.published)[None], split.draws(rng, draws)])
    owner = np.repeat(np.arange(len(split.units)), [len(unit) for unit in split.units])
    rows = [row for unit in split.units for row in unit]
    sides = chosen[:, owner]
    weights = np.where(sides, 1 / sides.sum(axis=1, keepdims=True), -1 / (~sides).sum(axis=1, keepdims=True))
    lengths = np.abs(weights @ np.array([float(len(texts[row])) for row in rows]))
    transposed = tfidf([texts[row] for row in rows]).T.tocsr()
    distances = np.empty(len(weights))
    at_once = max(1, _CELLS // max(transposed.shape))
    for start in range(0, len(weights), at_once):
        distances[start : start + at_once] = np.linalg.norm(transposed @ weights[start : start + at_once].T, axis=0)
    p_values = [float((found >= found[0] - 1e-9 * abs(found[0])).mean()) for found in (lengths, distances)]
    return dict(zip(("lengths", "words"), holm(p_values), strict=True))


def split_at_random(found: dict[str, float]) -> bool:
    """Return True if no text-only test of :func:`telling_texts` rejects."""
    return all(p > DIAGNOSTICS_LEVEL for p in found.values())


def _refuse_overlap(published: Sequence[str], held_out: Sequence[str]) -> None:
    first = {text.strip().casefold(): row for row, text in reversed(list(enumerate(published, start=1)))}
    both = [
        (row, first[key]) for row, text in enumerate(held_out, start=1) if (key := text.strip().casefold()) in first
    ]
    if both:
        row, other = both[0]
        raise DataError(
            f"{len(both)} of {len(held_out)} held-out rows are published too, the first is row {row}, which is row "
            f"{other} of the published file. Rows that are in both files were not held back; remove them from both."
        )
