"""The neighbour test: is the published order of neighbouring examples likelier than their other orders?

Four examples in published order A B C D. The model scores the beginning of each one after each of the others::

                 A      B      C      D         order      sum      without effects
    after A           -20    -35    -33         A B C D    -79       9.6        the largest of 24: p = 1/24
    after B    -31           -30    -38         B C D A    -94       6.6
    after C    -32    -26           -29         C D B A    -84       6.5
    after D    -35    -24    -36                …
                                                A C B D    -99     -10.4        the smallest: p = 1

Some examples are likelier than others after any example, and some make any example that follows them likelier. With
these effects of rows and columns removed, what is left is how well one example fits after another. The same answers
give the score of every order, so the null distribution is known without further requests.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import TYPE_CHECKING

from harness.contamination.statistics.exact_tail import Tail, exact_tail

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

MOST_ORDERS = math.factorial(8)
"""Maximum number of orders of a block: those of eight examples."""

MANY = 1000
"""With more examples than this, blocks have at most seven, which takes an eighth of the time per block."""

STEP = 2.0**-10
"""Step, in nats, to which scores are rounded: smaller differences are errors of rounding, in the model or in the fit,
which may depend on the order of the requests."""

LARGEST_BLOCK = 16
"""Maximum number of examples of a block if only some of them may change places."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """A block of neighbouring examples, with the score of each one after each of the others."""

    groups: tuple[int, ...]
    """The group of each place; contents may only change places within a group."""
    scores: tuple[float, ...]
    """Log-likelihoods in nats: of examples 2, 3, … after example 1, then of all others after example 2, and so on."""


def neighbour_blocks(groups: Sequence[int]) -> list[tuple[int, int]]:
    """Return the blocks' half-open ranges: as large as possible, with at most :data:`MOST_ORDERS` orders each.

    Without groups, a block has eight examples, or seven if there are more than :data:`MANY` in all; with groups, up to
    :data:`LARGEST_BLOCK`. The last block has what is left. The rule uses only the number of examples and which places
    may be permuted, so it does not depend on the published order.

    Args:
        groups: The group of each place of the data set.
    """
    n = len(groups)
    most = MOST_ORDERS if n <= MANY else MOST_ORDERS // 8
    found, start = [], 0
    for stop in range(1, n + 1):
        if stop == n or stop - start == LARGEST_BLOCK or count_orders(groups[start : stop + 1]) > most:
            found.append((start, stop))
            start = stop
    return found


def count_orders(groups: Sequence[Hashable]) -> int:
    """Return the number of orders of places whose contents may only change places within their group."""
    return math.prod(math.factorial(count) for count in Counter(groups).values())


def neighbour_test(blocks: Sequence[Neighbours]) -> Tail:
    """Test whether examples fit after their published predecessors better than in other orders of their block.

    If the published order was drawn at random and the model does not depend on it, each block's published order is
    uniform among its possible orders, independently of the other blocks. The scores do not depend on the order, so the
    sum over a block is known for every order. The statistic is the sum over all blocks, and p its exact upper tail.

    The effects of rows and columns are subtracted from a block's scores (an additive model fitted by least squares),
    and the rest is rounded to steps of :data:`STEP`. The sums of blocks are not rescaled, so a block whose sums vary
    more weighs more.

    Raises:
        ValueError: There is no block, or a score is missing or not finite.
    """
    if not blocks:
        raise ValueError("there is no block of neighbours")
    return exact_tail([_sums(block)[None] for block in blocks])


def _sums(block: Neighbours) -> Floats:
    """Return the sum of each order's centred scores, the published order's first."""
    fit = _centred(_matrix(block))
    orders = _orders(block.groups)
    sums: Floats = fit[orders[:, :-1], orders[:, 1:]].sum(axis=1)
    return sums


def _matrix(block: Neighbours) -> Floats:
    """Return the scores, shape (examples, examples): [i, j] is example j after example i; the diagonal is 0."""
    import numpy as np

    n = len(block.groups)
    if len(block.scores) != n * (n - 1):
        raise ValueError(f"{len(block.scores)} scores of {n} examples, which need {n * (n - 1)}")
    scores = np.array(block.scores, dtype=np.float64)
    if not np.isfinite(scores).all():
        raise ValueError("a score is not finite")
    matrix = np.zeros((n, n))
    matrix[~np.eye(n, dtype=bool)] = scores
    return matrix


def _centred(matrix: Floats) -> Floats:
    """Return the matrix less the effects of rows and columns, in whole steps.

    The effects are fitted by least squares to all entries off the diagonal.
    """
    import numpy as np

    n = len(matrix)
    off = ~np.eye(n, dtype=bool)
    rows, columns = np.nonzero(off)
    design = np.zeros((len(rows), 2 * n))
    design[np.arange(len(rows)), rows] = 1
    design[np.arange(len(rows)), n + columns] = 1
    effects, *_ = np.linalg.lstsq(design, matrix[off], rcond=None)
    centred = np.zeros((n, n))
    centred[off] = np.rint((matrix[off] - design @ effects) / STEP) * STEP
    return centred


@lru_cache(maxsize=4)
def _orders(groups: tuple[int, ...]) -> Integers:
    """Return all orders of places within their groups, shape (orders, places), the published one first."""
    import numpy as np

    orders = np.arange(len(groups))[None]
    for group in dict.fromkeys(groups):
        places = [place for place, own in enumerate(groups) if own == group]
        permuted = np.array(list(permutations(places)))
        orders = np.repeat(orders, len(permuted), axis=0)
        orders[:, places] = np.tile(permuted, (len(orders) // len(permuted), 1))
    return orders
