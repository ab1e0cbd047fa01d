"""The exact re-labelling test: would any of a shard's orders have done as well under the name of the published one?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Transform = Literal["normal_scores", "raw"]


@dataclass(frozen=True, slots=True)
class Relabelling:
    """What the re-labelling test found.

    Attributes:
        log10_p: Log10 of the p-value.
        log10_certified: Log10 of the Chernoff bound, a p-value by proof alone: never below the exact one.
        log10_floor: Log10 of the smallest p-value that these scores could have given.
        z: The statistic in standard deviations of its null distribution; 0 where it cannot vary.
        method: How ``log10_p`` was computed.
    """

    log10_p: float
    log10_certified: float
    log10_floor: float
    z: float
    method: str


def relabelling_test(scores: ArrayLike, transform: Transform = "normal_scores") -> Relabelling:
    """Test by exact re-labelling whether shards are likelier in published order than in shuffled ones.

    Args:
        scores: Log-likelihoods, nats, shape (shards, 1 + shuffles); column 0 is the published order.
        transform: ``normal_scores`` (van der Waerden) or ``raw`` (centred log-likelihoods).
    """
    raise NotImplementedError


def pooled_relabelling(tables: Sequence[ArrayLike], transform: Transform = "normal_scores") -> Relabelling:
    """Test the shards of several data sets as if they were of one.

    Args:
        tables: One table of scores per data set, as :func:`relabelling_test` takes them.
        transform: As there.
    """
    raise NotImplementedError
