"""The exact relabelling test: the published order's ranks within shards, against all relabellings of the orders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from harness.contamination.statistics.exact_tail import Tail, exact_tail
from harness.contamination.statistics.sharded_t import score_table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

Transform = Literal["normal_scores", "raw"]

_PRIOR_SIZES = [2.0**power for power in range(-2, 8)]
"""Possible sizes a + b of the beta distribution of the shards' probabilities, all equally likely a priori."""


def relabelling_test(scores: ArrayLike, transform: Transform = "normal_scores") -> Tail:
    """Test by exact relabelling whether shards are likelier in published order than in shuffled ones.

    Where the published order was drawn at random and the model does not depend on it, each shard's published score is
    uniform among the shard's m + 1 scores, independently of the other shards. The statistic is the sum over the shards
    of the published order's score, transformed within its shard; its null distribution is that of (m + 1)^r
    relabellings, and p is its exact upper tail, with the floor (m + 1)^-r.

    Args:
        scores: Log-likelihoods, nats, shape (shards, 1 + shuffles); column 0 is the published order.
        transform: ``normal_scores``: Φ⁻¹((rank - 1/2)/(m + 1)), ties sharing their mean rank (van der Waerden 1952),
            the better choice where shards differ in length or scores are skew; ``raw``: the log-likelihoods less their
            shard's mean.

    Raises:
        ValueError: The scores have another shape or are not finite.
    """
    return pooled_relabelling([scores], transform)


def pooled_relabelling(tables: Sequence[ArrayLike], transform: Transform = "normal_scores") -> Tail:
    """Test the shards of several data sets together, for a weak but general dependence.

    The data sets' orders must have been drawn independently of each other. That holds for the files of one benchmark
    and one model, but not for several models on the same order.

    Raises:
        ValueError: There is no table, or one has another shape or is not finite.
    """
    if not tables:
        raise ValueError("there is no table of scores")
    if transform not in ("normal_scores", "raw"):
        raise ValueError(f"transform is 'normal_scores' or 'raw', not {transform!r}")
    transformed = normal_scores if transform == "normal_scores" else _centred
    return exact_tail([transformed(score_table(table)) for table in tables])


def relabelling_spread(scores: ArrayLike, share: float = 0.8, draws: int = 400) -> tuple[float, float]:
    """Return the range of log10 p in which the test would end with other random shuffles, with about this probability.

    Each shard's number of shuffles that are less likely than the published order is binomial. The shards' probabilities
    are drawn from one beta distribution, whose mean and size the observed numbers estimate (empirical Bayes; a prior
    for each shard alone would pull all shards towards one half). The number of another draw is therefore beta-binomial;
    the range lies between quantiles of the statistic over such draws.

    Args:
        scores: As for :func:`relabelling_test`.
        share: The probability.
        draws: Number of draws to simulate.
    """
    import numpy as np
    from scipy.special import betaln

    table = score_table(scores)
    shuffles = table.shape[1] - 1
    published, shuffled = table[:, :1], table[:, 1:]
    below = (shuffled < published).sum(axis=1) + (shuffled == published).sum(axis=1) / 2
    rng = np.random.default_rng(0)
    total = below.sum()
    mean = (total + 0.5) / (len(table) * shuffles + 1)
    likelihoods = [
        (
            betaln(below + size * mean, shuffles - below + size * (1 - mean)) - betaln(size * mean, size * (1 - mean))
        ).sum()
        for size in _PRIOR_SIZES
    ]
    weights = np.exp(likelihoods - np.max(likelihoods))
    sizes = rng.choice(_PRIOR_SIZES, size=(draws, 1), p=weights / weights.sum())
    means = rng.beta(total + 0.5, len(table) * shuffles - total + 0.5, size=(draws, 1))
    chance = rng.beta(below + sizes * means, shuffles - below + sizes * (1 - means))
    ranks = rng.binomial(shuffles, chance)
    values = normal_scores(np.arange(shuffles + 1.0)[None])[0]
    ordered = ranks[np.argsort(values[ranks].sum(axis=1), kind="stable")]
    edge = int(draws * (1 - share) / 2)
    weak, strong = (
        relabelling_test((np.arange(shuffles + 1) + chosen[:, None]) % (shuffles + 1)).log10_p
        for chosen in (ordered[edge], ordered[-1 - edge])
    )
    return strong, weak


def normal_scores(table: Floats) -> Floats:
    """Return Φ⁻¹((rank - 1/2)/M) of each entry of shape (rows, M) within its row; ties share their mean rank."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    scores: Floats = ndtri((rankdata(table, axis=1) - 0.5) / table.shape[1])
    return scores


def _centred(table: Floats) -> Floats:
    centred: Floats = table - table.mean(axis=1, keepdims=True)
    return centred
