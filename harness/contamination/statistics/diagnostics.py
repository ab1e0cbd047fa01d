"""Permutation tests of whether the text alone shows that a data set's order is not random; no model is needed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.contamination.statistics.tfidf import similarity_rows, tfidf
from harness.statistics.families import holm

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Orders = NDArray[np.int64]
    Statistic = Callable[[Orders], Floats]

DIAGNOSTICS_LEVEL = 0.01
"""Level of the whole battery: of a hundred data sets in random order, one is wrongly called not exchangeable."""

MOST_EXAMPLES = 5000
"""Largest number of examples to use, from the first: the table of their similarities takes 100 MB."""

_NUMBER = re.compile(r"\d+")
_NUMBER_WITHIN = 200
_NUMBERED = 0.9
_FEWEST = 4
_CELLS = 2**21
"""Numbers that are computed at once: 16 MB."""


@dataclass(frozen=True, slots=True)
class OrderDiagnostic:
    """One test of the battery."""

    name: str
    """The pattern that it tests for."""
    statistic: float
    """The statistic of the published order."""
    z: float
    """The statistic less its mean over shuffled orders, in standard deviations; 0 if they do not vary."""
    p: float
    """The permutation p-value."""
    p_holm: float
    """Holm's adjustment over the battery."""


@dataclass(frozen=True, slots=True)
class OrderDiagnostics:
    """The results of the battery."""

    tests: tuple[OrderDiagnostic, ...]
    """The tests that apply to these texts."""
    examples: int
    """Number of examples used, from the first."""
    alpha: float
    """The level of the whole battery."""

    @property
    def exchangeable(self) -> bool:
        """True if no test of the battery rejects, after Holm."""
        return not self.faults

    @property
    def faults(self) -> tuple[str, ...]:
        """The names of the tests that reject, after Holm."""
        return tuple(test.name for test in self.tests if test.p_holm <= self.alpha)


def diagnose(
    texts: Sequence[str],
    labels: Sequence[str] | None = None,
    permutations: int = 999,
    seed: int = 0,
    alpha: float = DIAGNOSTICS_LEVEL,
    groups: Sequence[Sequence[int]] | None = None,
) -> OrderDiagnostics:
    """Test whether the order of texts looks random.

    Every test compares the published order with random ones: p = (1 + #{random ≥ published}) / (permutations + 1),
    exact. The tests share the random orders and depend on each other; Holm's adjustment allows for that.

    - ``leading numbers``: rises minus falls of each text's first number, where nine texts in ten begin with one;
    - ``alphabetical order``: rises minus falls in alphabetical order;
    - ``length trend``: rank correlation of length with position;
    - ``neighbouring lengths``: lag-1 autocorrelation of the ranks of the lengths;
    - ``neighbours alike``: mean tf-idf cosine of neighbours; ``near neighbours alike``: at distances 1 to 5;
    - ``topic drift``: distance of the centroids of the first and second half;
    - ``neighbouring duplicates``: equal neighbours, where any texts are equal;
    - ``label runs``: neighbours with the same label, where there are several labels.

    The first four look at both directions: their statistics are absolute values.

    Args:
        texts: The examples as published, in published order; those after the first 5,000 are left out.
        labels: Each example's label, where there are labels.
        permutations: Number of random orders to compare with.
        seed: Seeds the random orders.
        alpha: The level of the whole battery.
        groups: Positions that may be permuted among themselves; the published order is then compared with orders that
            keep every text in its group, so that only what the order shows within groups counts. None for one group.

    Raises:
        ValueError: There are not as many labels as texts, or too few permutations for any test to reject.
    """
    import numpy as np

    if labels is not None and len(labels) != len(texts):
        raise ValueError(f"{len(labels)} labels for {len(texts)} texts")
    texts = texts[:MOST_EXAMPLES]
    n = len(texts)
    if n < _FEWEST:
        return OrderDiagnostics((), n, alpha)
    statistics = dict(_battery(texts, None if labels is None else labels[:n]))
    if len(statistics) / (permutations + 1) > alpha:
        raise ValueError(f"{permutations} permutations are too few for {len(statistics)} tests at level {alpha}")
    published = np.array([statistic(np.arange(n)[None])[0] for statistic in statistics.values()])
    generator = np.random.default_rng(seed)
    shuffle = _shuffling(n, groups)
    shuffled = np.empty((permutations, len(statistics)))
    at_once = max(1, _CELLS // n)
    for start in range(0, permutations, at_once):
        orders = np.array([shuffle(generator) for _ in range(min(at_once, permutations - start))])
        shuffled[start : start + at_once] = np.stack([statistic(orders) for statistic in statistics.values()], axis=1)
    means, sds = shuffled.mean(axis=0), shuffled.std(axis=0)
    tolerance = 1e-6 * np.maximum(np.abs(published), sds)  # sums in another order differ in the last digits
    p_values = ((1 + (shuffled >= published - tolerance).sum(axis=0)) / (permutations + 1)).tolist()
    varies = sds > tolerance
    z = np.where(varies, (published - means) / np.where(varies, sds, 1.0), 0.0).tolist()
    tests = map(OrderDiagnostic, statistics, published.tolist(), z, p_values, holm(p_values))
    return OrderDiagnostics(tuple(tests), n, alpha)


def _shuffling(n: int, groups: Sequence[Sequence[int]] | None) -> Callable[[np.random.Generator], Orders]:
    """Return what draws an order of n texts, permuted within groups alone."""
    import numpy as np

    if groups is None or len(groups) == 1:
        return lambda generator: generator.permutation(n)
    group = np.zeros(n, dtype=np.int64)
    for number, members in enumerate(groups):
        group[[place for place in members if place < n]] = number
    places = np.argsort(group, kind="stable")

    def draw(generator: np.random.Generator) -> Orders:
        order = np.empty(n, dtype=np.int64)
        order[places] = np.lexsort((generator.random(n), group))
        return order

    return draw


def _battery(texts: Sequence[str], labels: Sequence[str] | None) -> Iterator[tuple[str, Statistic]]:
    import numpy as np

    n = len(texts)
    numbers = [_NUMBER.search(text, 0, _NUMBER_WITHIN) for text in texts]
    if sum(number is not None for number in numbers) >= _NUMBERED * n:
        yield "leading numbers", _rises([float(number[0]) if number else float("nan") for number in numbers])
    folded = [text.strip().casefold() for text in texts]
    places = {text: float(place) for place, text in enumerate(sorted(set(folded)))}
    yield "alphabetical order", _rises([places[text] for text in folded])

    lengths = _centred_ranks([len(text) for text in texts])
    positions = np.arange(n) - (n - 1) / 2
    scale = float(lengths @ lengths) or 1.0
    trend = float(np.sqrt(scale * (positions @ positions)))
    yield "length trend", lambda orders: np.abs(lengths[orders] @ positions) / trend

    def neighbouring(orders: Orders) -> Floats:
        placed = lengths[orders]
        sums: Floats = np.abs((placed[:, :-1] * placed[:, 1:]).sum(axis=1)) / scale
        return sums

    yield "neighbouring lengths", neighbouring

    yield from _topics(texts)

    keys = np.array([places[text] for text in folded])
    if len(places) < n:
        yield "neighbouring duplicates", _alike_neighbours(keys)
    if labels is not None and 1 < len(set(labels)) < n:
        coded = np.unique(np.array(labels, dtype=str), return_inverse=True)[1].ravel()
        yield "label runs", _alike_neighbours(coded)


def _topics(texts: Sequence[str]) -> Iterator[tuple[str, Statistic]]:
    import numpy as np

    n = len(texts)
    matrix = tfidf(texts)
    alike = np.empty((n, n), dtype=np.float32)
    for start, rows in similarity_rows(matrix):
        alike[start : start + len(rows)] = rows
    flat = alike.ravel()

    def at_distance(orders: Orders, distance: int) -> Floats:
        pairs = flat.take(orders[:, :-distance] * n + orders[:, distance:])
        means: Floats = pairs.sum(axis=1, dtype=np.float64) / (n - distance)
        return means

    distances = range(1, min(6, n // 2 + 1))
    yield "neighbours alike", lambda orders: at_distance(orders, 1)

    def near(orders: Orders) -> Floats:
        means: Floats = np.mean([at_distance(orders, distance) for distance in distances], axis=0)
        return means

    yield "near neighbours alike", near

    half = n // 2
    transposed = matrix.T.tocsr()
    sides = np.where(np.arange(n) < half, 1 / half, -1 / (n - half))

    def drift(orders: Orders) -> Floats:
        distances = np.empty(len(orders))
        at_once = max(1, _CELLS // max(transposed.shape))
        for start in range(0, len(orders), at_once):
            part = orders[start : start + at_once]
            weights = np.empty((n, len(part)))
            np.put_along_axis(weights, part.T, np.broadcast_to(sides[:, None], weights.shape), axis=0)
            distances[start : start + at_once] = np.linalg.norm(transposed @ weights, axis=0)
        return distances

    yield "topic drift", drift


def _alike_neighbours(keys: NDArray[Any]) -> Statistic:
    """Return the statistic that is an order's share of neighbours with the same key."""

    def statistic(orders: Orders) -> Floats:
        placed = keys[orders]
        shares: Floats = (placed[:, :-1] == placed[:, 1:]).mean(axis=1)
        return shares

    return statistic


def _rises(values: Sequence[float]) -> Statistic:
    """Return the statistic |rises - falls| / (n - 1) of an order; NaN neither rises nor falls."""
    import numpy as np

    given = np.array(values)

    def statistic(orders: Orders) -> Floats:
        steps = np.diff(given[orders], axis=1)
        differences = (steps > 0).sum(axis=1) - (steps < 0).sum(axis=1)
        shares: Floats = np.abs(differences) / steps.shape[1]
        return shares

    return statistic


def _centred_ranks(values: Sequence[float]) -> Floats:
    """Return mid-ranks less their mean, shape (n,)."""
    from scipy.stats import rankdata

    ranks: Floats = rankdata(values)
    return ranks - (len(values) + 1) / 2
