"""The next-example test: exact ranks, a fair bet, and baselines that never look ahead."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import product
from random import Random

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from harness.contamination.statistics.next_example import Centring, EProcess, RankTest, RankTestResult

SCORES = st.lists(st.floats(-30, 30), min_size=2, max_size=8)


def rank_test(boundaries: Sequence[Sequence[float]], seed: int) -> RankTestResult:
    rng, test = Random(seed), RankTest()
    for scores in boundaries:
        test.add(scores, rng)
    return test.result()


def _ranked(ranks: tuple[int, ...], candidates: tuple[int, ...]) -> float:
    """p of given ranks, from scores that have them."""
    boundaries = [
        [-rank - 0.0, *(-other for other in range(1, k + 1) if other != rank)]
        for rank, k in zip(ranks, candidates, strict=True)
    ]
    found = rank_test([[float(score) for score in scores] for scores in boundaries], seed=0)
    assert found.ranks == ranks
    return 10**found.log10_p


def _normal_score(rank: int, candidates: int) -> float:
    return float(scipy.stats.norm.ppf(1 - (rank - 0.5) / candidates))


@pytest.mark.parametrize("candidates", [(2, 3, 4), (3, 3, 3), (2, 2, 5)])
def test_its_null_distribution_is_counted(candidates: tuple[int, ...]) -> None:
    ranks = list(product(*(range(1, k + 1) for k in candidates)))
    sums = [sum(map(_normal_score, rank, candidates)) for rank in ranks]
    for rank, observed in zip(ranks, sums, strict=True):
        expected = sum(value >= observed - 1e-9 for value in sums) / len(ranks)
        assert _ranked(rank, candidates) == pytest.approx(expected)


def test_many_boundaries_of_different_sizes() -> None:
    """The exact tail of 300 boundaries is close to the normal one, and its floor is the product of 1/K."""
    rng = np.random.default_rng(0)
    boundaries = [rng.normal(size=rng.integers(2, 9)).tolist() for _ in range(300)]
    for scores in boundaries:
        scores[0] += 0.4
    found = rank_test(boundaries, seed=1)
    scored = [_normal_score(rank, len(scores)) for rank, scores in zip(found.ranks, boundaries, strict=True)]
    variance = sum(np.mean([_normal_score(k, len(s)) ** 2 for k in range(1, len(s) + 1)]) for s in boundaries)
    assert found.log10_p < -3
    assert found.log10_p == pytest.approx(
        scipy.stats.norm.logsf(sum(scored) / math.sqrt(variance)) / math.log(10), rel=0.05
    )
    best = rank_test([[1.0] + [0.0] * (len(scores) - 1) for scores in boundaries], seed=0)
    assert best.log10_p == pytest.approx(-sum(math.log10(len(scores)) for scores in boundaries))
    assert (best.top1_rate, best.mean_rank, best.n) == (1.0, 1.0, 300)


def test_by_hand() -> None:
    found = rank_test([[5.0, 1.0, 2.0], [0.0, 1.0], [1.0, 2.0, 0.0, 3.0]], seed=0)
    assert found.ranks == (1, 2, 3)
    assert found.mean_rank == 2.0
    assert found.top1_rate == pytest.approx(1 / 3)


def test_ties_are_broken_at_random_and_reproducibly() -> None:
    tied = [[0.0, 0.0, 0.0, 0.0]] * 4000
    found = rank_test(tied, seed=7)
    counts = Counter(found.ranks)
    assert all(counts[rank] == pytest.approx(1000, abs=130) for rank in (1, 2, 3, 4))
    assert found == rank_test(tied, seed=7)
    assert found.ranks != rank_test(tied, seed=8).ranks
    partly = Counter(rank_test([[1.0, 1.0, 0.0, 2.0]] * 100, seed=0).ranks)
    assert set(partly) == {2, 3}


@given(SCORES, st.integers(0, 2**32))
def test_the_bet_is_fair(scores: list[float], seed: int) -> None:
    """Whatever the scores, the evidence is 1 on average over which candidate comes next."""
    after = []
    for true in range(len(scores)):
        process = EProcess()
        process.add([scores[true], *scores[:true], *scores[true + 1 :]])
        after.append(10**process.log10_e)
    assert np.mean(after) == pytest.approx(1.0)


def test_the_bets_multiply_for_each_stake() -> None:
    process = EProcess(lambdas=(0.5, 1.0))
    process.add([2.0, 0.0])
    once = [math.exp(stake * 2.0) / ((math.exp(stake * 2.0) + 1) / 2) for stake in (0.5, 1.0)]
    assert process.log10_e == pytest.approx(math.log10(np.mean(once)))
    process.add([2.0, 0.0])
    twice = [value**2 for value in once]
    assert process.log10_e == pytest.approx(math.log10(np.mean(twice)))
    assert process.add([0.0, 40.0]) == process.log10_e < 0


def test_evidence_is_rarely_large_under_the_null() -> None:
    """Ville: the chance that the evidence ever reaches 20 is at most 1/20."""
    rng = np.random.default_rng(2)
    reached = 0
    for _ in range(300):
        process = EProcess()
        evidence = [process.add(rng.normal(scale=4.0, size=6).tolist()) for _ in range(60)]
        reached += max(evidence) >= math.log10(20)
    assert reached / 300 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 300)


def test_a_baseline_is_what_an_example_scored_before() -> None:
    centring = Centring(4)
    assert centring.bet([0, 1], [-5.0, -6.0]) is None  # nothing is known of either
    for example, score in ((0, -4.0), (1, -6.0), (1, -8.0), (2, -1.0)):
        centring.neutral(example, score)
    assert centring.bet([0, 3], [-5.0, -6.0]) is None  # nothing of 3, and nothing was learnt
    assert centring.bet([0, 1], [-3.0, -9.0]) == [1.0, -2.0]
    # 1 lost: it learns -9 less the bet's level of -1/2; 0 was the true next one: nothing is learnt of it.
    assert centring.bet([2, 0, 1], [-1.0, -4.0, -7.5]) == pytest.approx([0.0, 0.0, -7.5 - (-6.0 - 8.0 - 8.5) / 3])


def test_what_is_no_boundary() -> None:
    centring = Centring(3)
    for use in (EProcess().add, lambda scores: RankTest().add(scores, Random(0))):
        with pytest.raises(ValueError, match="at least 2 candidates"):
            use([1.0])
        with pytest.raises(ValueError, match="not finite"):
            use([1.0, math.nan])
    with pytest.raises(ValueError, match="different examples"):
        centring.bet([1, 1], [0.0, 0.0])
    with pytest.raises(ValueError, match="different examples"):
        centring.bet([1, 2, 0], [0.0, 0.0])
    with pytest.raises(ValueError, match="no boundary"):
        RankTest().result()
    with pytest.raises(ValueError, match="needs a stake"):
        EProcess(())
