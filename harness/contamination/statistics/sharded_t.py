"""The sharded comparison test as published: a t-test over shards of published against mean shuffled likelihood."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.errors import MetricError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

_UNDERFLOWS_BELOW = 1e-280


@dataclass(frozen=True, slots=True)
class ShardedT:
    """The result of the sharded comparison test."""

    t: float
    """The statistic; positive where the published order is preferred."""
    df: int
    """Degrees of freedom: the number of shards less 1."""
    log10_p: float
    """Log10 of the one-sided p-value."""
    differences: tuple[float, ...]
    """Each shard's canonical less its mean shuffled log-likelihood, in nats."""

    @property
    def mean(self) -> float:
        """The mean difference, in nats."""
        return math.fsum(self.differences) / len(self.differences)

    @property
    def sd(self) -> float:
        """The population standard deviation of the differences, in nats."""
        return math.sqrt(_moment(self.differences, 2))

    @property
    def skew(self) -> float:
        """The differences' third standardized moment, 0 where they do not vary."""
        return _moment(self.differences, 3) / self.sd**3 if self.sd > 0 else 0.0


def sharded_t(scores: ArrayLike, ddof: int = 0) -> ShardedT:
    """Test whether shards are likelier in published order than in shuffled ones, by Student's t.

    With ``ddof`` 0 it is the computation of Oren et al. (2023, "Proving test set contamination in black box language
    models", algorithm 1) number for number: the standard deviation divides by r, not by r - 1, which rejects too often
    for few shards (0.058 at level 0.05 for 10 shards). ``ddof`` 1 is the repaired form. Both are approximate: the size
    is only right where the differences are nearly normal. It is 0.24 at level 0.05 where a few orders break a strong
    match (10 shards).

    Args:
        scores: Log-likelihoods, nats, shape (shards, 1 + shuffles); column 0 is the published order.
        ddof: The number of shards less the standard deviation's divisor.

    Raises:
        MetricError: There is one shard, or all differences are equal.
        ValueError: The scores have another shape or are not finite.
    """
    table = score_table(scores)
    r = len(table)
    if r < 2:
        raise MetricError("the sharded t-test needs at least 2 shards; there is 1.")
    differences = table[:, 0] - table[:, 1:].mean(axis=1)
    sd = float(differences.std(ddof=ddof))
    if sd <= 1e-14 * float(abs(table).max()):
        raise MetricError(
            "the sharded t-test has no variance: the scores of all shards change by the same amount with the order. "
            "Are all examples equal?"
        )
    t = float(differences.mean()) / sd * math.sqrt(r)
    return ShardedT(t, r - 1, log10_t_survival(t, r - 1), tuple(differences.tolist()))


def score_table(scores: ArrayLike) -> Floats:
    """Return scores as an array of shape (shards, 1 + shuffles).

    Raises:
        ValueError: The shape is wrong, there is no shuffle, or a score is not finite.
    """
    import numpy as np

    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or len(table) < 1 or table.shape[1] < 2:
        raise ValueError(f"scores have the shape (shards, 1 + shuffles), not {table.shape}")
    if not np.isfinite(table).all():
        raise ValueError("a score is not finite")
    return table


def log10_t_survival(t: float, df: int) -> float:
    """Return log10 of the probability that Student's t with ``df`` degrees of freedom exceeds ``t``.

    Where the probability underflows, the incomplete beta function's series (DLMF 8.17.8): with a = df/2, b = 1/2 and
    x = df/(df + t²), it is xᵃ(1 - x)ᵇ / (2a B(a, b)) · Σ (a + b)ₙ/(a + 1)ₙ xⁿ.
    """
    from scipy.special import stdtr

    probability = float(stdtr(df, -t))
    if t <= 0 or probability > _UNDERFLOWS_BELOW:
        return math.log10(probability)
    a, x = df / 2, df / (df + t * t)
    total = term = 1.0
    n = 0
    while term > 1e-17 * total:
        term *= (a + 0.5 + n) / (a + 1 + n) * x
        total += term
        n += 1
    log_beta = math.lgamma(a) + math.lgamma(0.5) - math.lgamma(a + 0.5)
    log_p = a * math.log(x) + 0.5 * math.log1p(-x) - math.log(2 * a) - log_beta + math.log(total)
    return log_p / math.log(10)


def _moment(values: tuple[float, ...], order: int) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** order for value in values) / len(values)
