"""The next-example test: after a prefix of the data set, does the model pick the example that really comes next?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LAMBDAS = (0.05, 0.1, 0.25, 0.5, 1.0)
"""Stakes per nat over which the e-process averages."""


@dataclass(frozen=True, slots=True)
class RankTestResult:
    """What the ranks of the true next examples say.

    Attributes:
        n: Boundaries.
        mean_rank: Mean rank of the true next example; 1 is the best.
        top1_rate: Share of boundaries at which it was the best.
        log10_p: Log10 of the exact p-value.
        ranks: Its rank at each boundary, among that boundary's candidates.
    """

    n: int
    mean_rank: float
    top1_rate: float
    log10_p: float
    ranks: tuple[int, ...]


@dataclass(slots=True)
class RankTest:
    """Ranks of the true next examples, collected boundary by boundary.

    Attributes:
        ranks: Rank of the true next example at each boundary, 1 the best.
        candidates: How many candidates each boundary had.
    """

    ranks: list[int] = field(default_factory=list)
    candidates: list[int] = field(default_factory=list)

    def add(self, scores: Sequence[float], rng: Random) -> int:
        """Rank one boundary's candidates and return the rank of the true next example.

        Args:
            scores: The candidates' scores, the true next example's first.
            rng: Breaks ties, so that the rank is uniform under the null hypothesis also where scores tie.

        Raises:
            ValueError: There are fewer than 2 candidates, or a score is no number.
        """
        raise NotImplementedError

    def result(self) -> RankTestResult:
        """Return the test of all boundaries so far.

        Raises:
            ValueError: There is no boundary.
        """
        raise NotImplementedError


def rank_test(boundaries: Sequence[Sequence[float]], seed: int) -> RankTestResult:
    """Test whether the true next examples rank higher than chance.

    Args:
        boundaries: Per boundary the candidates' scores, the true next example's first.
        seed: Seeds the tie-breaks.
    """
    rng = Random(seed)  # noqa: S311 - reproducible tie-breaks, not secrets
    test = RankTest()
    for scores in boundaries:
        test.add(scores, rng)
    return test.result()


class EProcess:
    """Evidence against exchangeability that may be looked at after every boundary.

    Args:
        lambdas: Stakes per nat.
        threshold: The evidence at which the process counts as stopped: 1/alpha.
    """

    def __init__(self, lambdas: Sequence[float] = LAMBDAS, threshold: float = 1000.0) -> None:
        self.log10_e = 0.0
        self.max_log10_e = 0.0
        self.stopped_at: int | None = None
        self.n = 0

    def add(self, scores: Sequence[float]) -> float:
        """Bet on one boundary and return log10 of the evidence so far; the true next example's score is first."""
        raise NotImplementedError


class Centring:
    """What each example scores anyway, learnt from the past alone.

    Args:
        examples: How many examples there are.
    """

    def __init__(self, examples: int) -> None:
        raise NotImplementedError

    def neutral(self, example: int, score: float) -> None:
        """Learn an example's score after a context that was drawn independently of the published order."""

    def bet(self, candidates: Sequence[int], scores: Sequence[float]) -> list[float] | None:
        """Return the candidates' scores less what each scores anyway, then learn from the losing ones.

        None where a candidate has no baseline yet: a rule on the set of candidates, which keeps the test exact.

        Args:
            candidates: The candidates' indices, the true next example first.
            scores: Their scores after the prefix, nats.
        """
        raise NotImplementedError


def mean_e(log10_es: Sequence[float]) -> float:
    """Return log10 of the mean of e-values, itself an e-value whatever their dependence (Vovk and Wang 2021).

    Raises:
        ValueError: There is no e-value.
    """
    if not log10_es:
        raise ValueError("there is no e-value")
    largest = max(log10_es)
    if largest == -math.inf:
        return largest
    return largest + math.log10(math.fsum(10 ** (value - largest) for value in log10_es) / len(log10_es))
