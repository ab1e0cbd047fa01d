"""The next-example test: after a prefix of the data set, does the model pick the example that really comes next?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from harness.contamination.statistics.exact_tail import exact_tail

LAMBDAS = (0.05, 0.1, 0.25, 0.5, 1.0)
"""Stakes per nat over which the e-process averages."""


@dataclass(frozen=True, slots=True)
class RankTestResult:
    """The test on the ranks of the true next examples."""

    n: int
    """Number of boundaries."""
    mean_rank: float
    """Mean rank of the true next example; 1 is the best."""
    top1_rate: float
    """Share of boundaries at which it was the best."""
    log10_p: float
    """Log10 of the exact p-value."""
    ranks: tuple[int, ...]
    """Its rank at each boundary, among that boundary's candidates."""


@dataclass(slots=True)
class RankTest:
    """Ranks of the true next examples, collected boundary by boundary.

    Where the published order was drawn at random and the model does not depend on it, the true next example is, given
    the past and the set of candidates, uniform on that set: the ranks are independent and uniform on 1 to K. The
    statistic is the sum of their normal scores Φ⁻¹(1 - (rank - 1/2)/K), its tail exact, also where K varies.
    """

    ranks: list[int] = field(default_factory=list)
    """Rank of the true next example at each boundary, 1 the best."""
    candidates: list[int] = field(default_factory=list)
    """Number of candidates at each boundary."""

    def add(self, scores: Sequence[float], rng: Random) -> int:
        """Rank one boundary's candidates and return the rank of the true next example.

        Args:
            scores: The candidates' scores, the true next example's first.
            rng: Breaks ties, so that the rank is uniform under the null hypothesis also where scores tie.

        Raises:
            ValueError: There are fewer than 2 candidates, or a score is not finite.
        """
        _check(scores)
        true, others = scores[0], scores[1:]
        ties = sum(other == true for other in others)
        rank = 1 + sum(other > true for other in others) + rng.randint(0, ties)
        self.ranks.append(rank)
        self.candidates.append(len(scores))
        return rank

    def result(self) -> RankTestResult:
        """Return the test of all boundaries so far.

        Raises:
            ValueError: There is no boundary.
        """
        import numpy as np
        from scipy.special import ndtri

        if not self.ranks:
            raise ValueError("there is no boundary")
        by_candidates: dict[int, list[int]] = {}
        for rank, candidates in zip(self.ranks, self.candidates, strict=True):
            by_candidates.setdefault(candidates, []).append(rank)
        tables = []
        for candidates, ranks in sorted(by_candidates.items()):
            scores = ndtri(1 - (np.arange(1, candidates + 1) - 0.5) / candidates)
            turns = (np.array(ranks)[:, None] - 1 + np.arange(candidates)) % candidates
            tables.append(scores[turns])
        n = len(self.ranks)
        found = exact_tail(tables)
        top1 = sum(rank == 1 for rank in self.ranks) / n
        return RankTestResult(n, sum(self.ranks) / n, top1, found.log10_p, tuple(self.ranks))


class EProcess:
    """Evidence against exchangeability that may be looked at after every boundary.

    Before each boundary it bets on the true next example, with a stake of ``l`` per nat of its score s: the evidence
    is multiplied by exp(l s) / mean over the candidates of exp(l s), whose expectation is 1 under the null hypothesis,
    whatever the past. The average over several l is a test martingale E; the probability that it ever reaches 1/alpha
    is at most alpha (Ville 1939), so that 1 / max E is a p-value.

    With candidates that score 2 (the true one) and 0 and a single stake of 1, the first bet multiplies the evidence by
    e² / ((e² + 1) / 2) = 1.76; had the other candidate been the true one, by 1 / ((e² + 1) / 2) = 0.24.

    Args:
        lambdas: Stakes per nat over which it averages.

    Attributes:
        log10_e: Log10 of the evidence so far.

    Raises:
        ValueError: There is no stake.
    """

    def __init__(self, lambdas: Sequence[float] = LAMBDAS) -> None:
        if not lambdas:
            raise ValueError("an e-process needs a stake")
        self.log10_e = 0.0
        self._lambdas = tuple(lambdas)
        self._logs = [0.0] * len(self._lambdas)

    def add(self, scores: Sequence[float]) -> float:
        """Bet on one boundary and return log10 of the evidence so far.

        Args:
            scores: The candidates' scores, nats, the true next example's first; any function of the past and of the
                set of candidates.

        Raises:
            ValueError: There are fewer than 2 candidates, or a score is not finite.
        """
        _check(scores)
        for index, stake in enumerate(self._lambdas):
            self._logs[index] += stake * scores[0] - _log_mean_exp([stake * score for score in scores])
        self.log10_e = _log_mean_exp(self._logs) / math.log(10)
        return self.log10_e


class Centring:
    """Baselines of examples, the scores to expect whatever the order, learnt from the past alone.

    An example's baseline is its mean score after neutral contexts, drawn independently of the published order, and
    after earlier prefixes where it was a losing candidate; the latter less what that boundary's bet gave on average,
    so that boundaries compare. Because nothing is learnt from a boundary before its bet, and nothing from the true
    next example, centred scores keep the test exact.

    Args:
        examples: Number of examples.
    """

    def __init__(self, examples: int) -> None:
        self._sums = [0.0] * examples
        self._counts = [0] * examples

    def neutral(self, example: int, score: float) -> None:
        """Learn an example's score after a context that was drawn independently of the published order."""
        self._sums[example] += score
        self._counts[example] += 1

    def bet(self, candidates: Sequence[int], scores: Sequence[float]) -> list[float] | None:
        """Return the candidates' scores less their baselines, then learn from the losing candidates.

        None where a candidate has no baseline yet: a rule on the set of candidates, which keeps the test exact.

        Args:
            candidates: The candidates' indices, the true next example first.
            scores: Their scores after the prefix, nats.

        Raises:
            ValueError: There are fewer than 2 candidates, one occurs twice, or a score is not finite.
        """
        _check(scores)
        if len(candidates) != len(scores) or len(set(candidates)) < len(candidates):
            raise ValueError("candidates are different examples with one score each")
        if not all(self._counts[candidate] for candidate in candidates):
            return None
        centred = [
            score - self._sums[candidate] / self._counts[candidate]
            for candidate, score in zip(candidates, scores, strict=True)
        ]
        level = math.fsum(centred) / len(centred)
        for candidate, score in zip(candidates[1:], scores[1:], strict=True):
            self.neutral(candidate, score - level)
        return centred


def _check(scores: Sequence[float]) -> None:
    if len(scores) < 2:
        raise ValueError("a boundary needs at least 2 candidates")
    if not all(map(math.isfinite, scores)):
        raise ValueError("a score is not finite")


def _log_mean_exp(values: Sequence[float]) -> float:
    largest = max(values)
    return largest + math.log(math.fsum(math.exp(value - largest) for value in values) / len(values))
