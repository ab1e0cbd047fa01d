"""The null distribution of relabelling and rank tests: cumulants, tilting, Chernoff bound, saddlepoint.

The statistic is a sum of independent choices. Row i offers M_i values; under the null hypothesis each of them is the
observed one with probability 1/M_i, and the statistic is the sum of the observed values.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

LN10 = math.log(10)


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Different rows of one length."""

    values: Integers
    """Each row's values, ascending, shape (rows, choices)."""
    counts: Integers
    """Number of times that each row occurs, shape (rows,)."""


@dataclass(frozen=True, eq=False)
class NullDistribution:
    """A sum of independent uniform choices of whole numbers, and its observed value."""

    blocks: tuple[Block, ...]
    observed: int

    @cached_property
    def top(self) -> int:
        """The largest sum."""
        return sum(int(block.counts @ block.values[:, -1]) for block in self.blocks)

    @cached_property
    def bottom(self) -> int:
        """The smallest sum."""
        return sum(int(block.counts @ block.values[:, 0]) for block in self.blocks)

    @cached_property
    def log_top(self) -> float:
        """Log of the probability of the largest sum."""
        import numpy as np

        return math.fsum(
            float(block.counts @ np.log((block.values == block.values[:, -1:]).mean(axis=1))) for block in self.blocks
        )

    @cached_property
    def _centred(self) -> list[tuple[Floats, Integers]]:
        return [(block.values - block.values.mean(axis=1, keepdims=True), block.counts) for block in self.blocks]

    @cached_property
    def excess(self) -> float:
        """The observed sum less its mean."""
        return self.observed - math.fsum(float(block.counts @ block.values.mean(axis=1)) for block in self.blocks)

    @cached_property
    def sd(self) -> float:
        """The standard deviation of the sum."""
        return math.sqrt(math.fsum(float(counts @ (values**2).mean(axis=1)) for values, counts in self._centred))

    def cumulants(self, t: float) -> tuple[float, float, float]:
        """Return the cumulant generating function of the sum about its mean, and its two derivatives, at ``t``."""
        import numpy as np

        total = np.zeros(3)
        for values, counts in self._centred:
            exponents = t * values
            largest = exponents.max(axis=1, keepdims=True)
            weights = np.exp(exponents - largest)
            sums = weights.sum(axis=1)
            weights /= sums[:, None]
            means = (weights * values).sum(axis=1)
            variances = (weights * (values - means[:, None]) ** 2).sum(axis=1)
            generating = np.log(sums / values.shape[1]) + largest[:, 0]
            total += [counts @ generating, counts @ means, counts @ variances]
        return float(total[0]), float(total[1]), float(total[2])

    @cached_property
    def tilt(self) -> float:
        """The t at which the exponentially tilted sum has the observed value as its mean; 0 below the mean.

        Newton's method inside a bracket. The observed value must not be the largest.
        """
        if self.excess <= 0:
            return 0.0
        low, high = 0.0, self.excess / self.sd**2
        while self.cumulants(high)[1] < self.excess and high < 1e300:
            low, high = high, 2 * high
        t = (low + high) / 2
        for _ in range(200):
            _, mean, variance = self.cumulants(t)
            if abs(mean - self.excess) <= 1e-12 * self.sd or high - low <= 1e-15 * high:
                break
            low, high = (t, high) if mean < self.excess else (low, t)
            step = t - (mean - self.excess) / variance if variance > 0 else low
            t = step if low < step < high else (low + high) / 2
        return t

    @cached_property
    def log_chernoff(self) -> float:
        """Log of the bound exp(K(t) - tT) on the probability of a sum at least as large; valid whatever t ≥ 0."""
        if self.observed == self.top:
            return self.log_top
        if self.excess <= 0:
            return 0.0
        return min(0.0, self.cumulants(self.tilt)[0] - self.tilt * self.excess)

    def log_saddlepoint(self) -> float:
        """Return the log of the tail's saddlepoint approximation (Lugannani and Rice 1980).

        With w = √(2(tT - K)) and u = t√K″ it is Φ(-w) + φ(w)(1/u - 1/w), for a continuous sum; where rounding would
        leave nothing of that, Barndorff-Nielsen's Φ(-(w + log(u/w)/w)). It never exceeds the Chernoff bound.
        """
        from scipy.special import log_ndtr

        if self.observed == self.top:
            return self.log_top
        if self.excess < 0:
            mirrored = self.mirrored().log_saddlepoint()
            return math.log1p(-min(math.exp(mirrored), 1.0 - 1e-16))
        t = self.tilt
        generating, _, variance = self.cumulants(t)
        w, u = math.sqrt(max(2 * (t * self.excess - generating), 0.0)), t * math.sqrt(variance)
        if w < 1e-3:
            return float(log_ndtr(-self.excess / self.sd))
        log_density = -w * w / 2 - math.log(2 * math.pi) / 2
        factor = math.exp(float(log_ndtr(-w)) - log_density) + 1 / u - 1 / w
        direct = log_density + math.log(factor) if factor > 1e-9 else float(log_ndtr(-(w + math.log(u / w) / w)))
        return min(direct, self.log_chernoff)

    def mirrored(self) -> NullDistribution:
        """Return the sum with all signs turned."""
        return NullDistribution(
            tuple(Block(-block.values[:, ::-1], block.counts) for block in self.blocks), -self.observed
        )


def spread(tables: Sequence[Floats]) -> float:
    """Return the standard deviation of the sum of choices from the rows of tables, shapes (rows, choices)."""
    return math.sqrt(math.fsum(float(table.var(axis=1).sum()) for table in tables))


def null_distribution(tables: Sequence[Floats], step: float) -> NullDistribution:
    """Return the sum of choices from rows of numbers, rounded to whole multiples of ``step``.

    The rounded numbers define a statistic of their own. Rounding treats all choices of a row alike, and so the
    statistic's null distribution is exactly that of the sum returned.

    Args:
        tables: Rows, shapes (rows, choices); column 0 holds the observed choices.
        step: The lattice's step, which must not depend on the observed choices.
    """
    import numpy as np

    observed = 0
    by_length: dict[int, list[Integers]] = defaultdict(list)
    for table in tables:
        whole = np.rint((table - table.mean(axis=1, keepdims=True)) / step).astype(np.int64)
        observed += int(whole[:, 0].sum())
        by_length[whole.shape[1]].append(np.sort(whole, axis=1))
    blocks = []
    for rows in by_length.values():
        values, counts = np.unique(np.concatenate(rows), axis=0, return_counts=True)
        blocks.append(Block(values, counts.astype(np.int64)))
    return NullDistribution(tuple(blocks), observed)
