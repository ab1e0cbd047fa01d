"""The published-choice test: does a model prefer the texts that were published to those that were kept private?

A coin chose which of two texts of each item was published. The scores of published texts are starred::

                  original   rewritten    difference    normal score of its rank   sign of the coin   term
    item 1          -20*        -27            7                 0.97                     +           0.97
    item 2          -31         -33*           2                 0.00                     -           0.00
    item 3          -18         -17*          -1                -0.97                     -           0.97

Originals are likelier here, whichever was published: that is why differences are ranked among the items. The terms add
up to 1.94; under the null hypothesis each coin might have fallen otherwise, which gives the sums 1.94, 0, 0 and -1.94,
twice each, and p = 2/8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.contamination.statistics.exact_tail import exact_tail

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Choice:
    """The scores of one item's texts."""

    scores: tuple[float, ...]
    """How likely the model finds each text, in an order that the coin does not change: the original first."""
    published: int
    """Index of the published text, drawn at random."""


@dataclass(frozen=True, slots=True)
class PublishedChoiceResult:
    """The test over all items."""

    items: int
    """Number of items."""
    preferred: float
    """Share of the items whose published text is the likeliest one, shared where texts tie."""
    preferred_by_chance: float
    """The share that is expected of a model that does not depend on what was published."""
    log10_p: float
    """Log10 of the exact p-value."""
    log10_certified: float
    """Log10 of its Chernoff bound."""
    log10_floor: float
    """Log10 of the smallest p-value that is possible with this number of items."""


def published_choice_test(choices: Sequence[Choice]) -> PublishedChoiceResult:
    """Test whether published texts are likelier than the private alternatives that might have been published.

    Each item's published text was drawn uniformly from its texts, independently of the others. For a model that does
    not depend on the draws, the scores are then fixed numbers, and the draws alone are random: p is exact, whatever the
    texts are, even if all originals are likelier than all rewritten ones. The texts' scores are taken relative to their
    item, ranked over the items that have as many texts for each place (original, first rewritten, …), and replaced by
    normal scores; the statistic is the sum over the published ones.

    Raises:
        ValueError: There is no item, one has fewer than 2 texts, or a score is not finite.
    """
    import numpy as np

    if not choices:
        raise ValueError("there is no item")
    by_texts: dict[int, list[Choice]] = {}
    for choice in choices:
        if len(choice.scores) < 2 or not 0 <= choice.published < len(choice.scores):
            raise ValueError("an item needs 2 texts, one of them published")
        by_texts.setdefault(len(choice.scores), []).append(choice)
    tables, preferred = [], 0.0
    for _, alike in sorted(by_texts.items()):
        scores = np.array([choice.scores for choice in alike], dtype=np.float64)
        if not np.isfinite(scores).all():
            raise ValueError("a score is not finite")
        places = np.array([choice.published for choice in alike])
        tables.append(_published_first(_ranked(scores), places))
        likeliest = scores == scores.max(axis=1, keepdims=True)
        preferred += float((likeliest[np.arange(len(alike)), places] / likeliest.sum(axis=1)).sum())
    found = exact_tail(tables)
    chance = sum(1 / len(choice.scores) for choice in choices)
    n = len(choices)
    return PublishedChoiceResult(n, preferred / n, chance / n, found.log10_p, found.log10_certified, found.log10_floor)


def _ranked(scores: Floats) -> Floats:
    """Return the normal score of each text among the texts of its place, shape (items, texts)."""
    import numpy as np
    from scipy.special import ndtri
    from scipy.stats import rankdata

    if len(scores) == 1:
        alone: Floats = scores - scores.mean()
        return alone
    # Rounding must not tell equal differences apart.
    relative = np.round(scores - scores.mean(axis=1, keepdims=True), 9)
    ranked: Floats = ndtri((rankdata(relative, axis=0) - 0.5) / len(scores))
    return ranked


def _published_first(table: Floats, places: NDArray[np.int64]) -> Floats:
    """Return the table with each row's published text in column 0."""
    import numpy as np

    turned = (np.arange(table.shape[1])[None] + places[:, None]) % table.shape[1]
    published_first: Floats = np.take_along_axis(table, turned, axis=1)
    return published_first
