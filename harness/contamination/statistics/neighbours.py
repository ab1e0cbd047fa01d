"""The neighbour test: do neighbouring examples follow one another in a likelier order than in all their other orders?

Four examples in published order A B C D. The model is asked how likely the beginning of each is after each other::

                 A      B      C      D         order      sum      without effects
    after A           -20    -35    -33         A B C D    -79       9.6
    after B    -31           -30    -38         B C D A    -94       6.6
    after C    -32    -26           -29         C D B A    -84       6.5
    after D    -35    -24    -36                …
                                                A C B D    -99     -10.4        p = 1/24

Some examples are likelier than others after anything, and some make everything after them likelier. Without these
effects of rows and columns, what is left is how well two examples fit each other. The answers for one order are the
answers for every other order, too, so the null distribution is known without asking more.
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
from harness.contamination.statistics.shards import shard_bounds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

MOST_ORDERS = math.factorial(8)
"""Most orders of a block: those of eight examples."""

MANY = 1000
"""Number of examples above which blocks have seven examples, whose orders are known eight times as fast."""

LARGEST_BLOCK = 16
"""Most examples of a block, where only some of them may change places."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """A block of neighbouring examples, and how well each follows each other one."""

    groups: tuple[int, ...]
    """The group of each place; contents may only change places within a group."""
    scores: tuple[float, ...]
    """Log-likelihoods, nats: of the second, third, … example after the first, then of all others after the second, …"""


def neighbour_blocks(groups: Sequence[int]) -> list[tuple[int, int]]:
    """Return the blocks' half-open ranges: as large as possible, with at most :data:`MOST_ORDERS` orders each.

    Without groups, a block has eight examples at most, or seven of more than :data:`MANY`; with groups, up to
    :data:`LARGEST_BLOCK`. The rule reads only how many examples there are and which places may be permuted, so it does
    not depend on the published order.

    Args:
        groups: The group of each place of the data set.
    """
    n = len(groups)
    most = MOST_ORDERS if n <= MANY else MOST_ORDERS // 8
    for size in range(min(n, LARGEST_BLOCK), 1, -1):
        found = shard_bounds(n, -(-n // size))
        if all(count_orders(groups[start:stop]) <= most for start, stop in found):
            return found
    return [(0, n)]


def count_orders(groups: Sequence[Hashable]) -> int:
    """Return the number of orders of places whose contents may only change places within their group."""
    return math.prod(math.factorial(count) for count in Counter(groups).values())


def neighbour_test(blocks: Sequence[Neighbours]) -> Tail:
    """Test whether examples follow their published neighbours better than in the other orders of their block.

    Where the published order was drawn at random and the model does not depend on it, each block's published order is
    uniform among its possible orders, independently of the other blocks. The scores do not depend on the order, so the
    sum over a block is known for every order. The statistic is the sum over all blocks, and p its exact upper tail.

    A block's scores are taken less the means of both examples (an additive model fitted by least squares), and a block
    counts with the standard deviation of its sums.

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
    """Return the scores, shape (examples, examples): row and then column; the diagonal is 0."""
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
    """Return the matrix less the effects of rows and columns, by least squares over all entries off the diagonal."""
    import numpy as np

    n = len(matrix)
    off = ~np.eye(n, dtype=bool)
    rows, columns = np.nonzero(off)
    design = np.zeros((len(rows), 2 * n))
    design[np.arange(len(rows)), rows] = 1
    design[np.arange(len(rows)), n + columns] = 1
    effects, *_ = np.linalg.lstsq(design, matrix[off], rcond=None)
    centred = np.zeros((n, n))
    centred[off] = matrix[off] - design @ effects
    return centred


@lru_cache(maxsize=16)
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
