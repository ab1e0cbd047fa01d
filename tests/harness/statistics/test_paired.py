"""Paired differences and tests against tables by hand and another library."""

from __future__ import annotations

import itertools
import random

import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from harness.contracts import BOUNDED, COUNT, PROPORTION, SMOOTH, Scale
from harness.statistics import bounded_mean_interval, mcnemar_test, paired_difference, permutation_test


def test_smooth_and_unbounded_scores_have_students_interval() -> None:
    rng = random.Random(4)
    first = [rng.gauss(0.7, 0.05) for _ in range(12)]
    second = [score - rng.gauss(0.02, 0.03) for score in first]
    test = scipy.stats.ttest_rel(first, second)
    low, high = test.confidence_interval(0.95)
    for scale in (SMOOTH, COUNT):
        found = paired_difference(first, second, scale)
        assert [found.low, found.high] == pytest.approx([low, high])
        assert found.stderr == pytest.approx(found.value / test.statistic)
        assert found.count == 12


def test_bounded_scores_guard_against_differences_that_were_not_seen() -> None:
    first = [0.5, 0.2, 0.0] + [0.25] * 17
    second = [0.0, 0.0, 0.1] + [0.25] * 17
    found = paired_difference(first, second, BOUNDED)
    assert (found.low, found.high) == pytest.approx((-0.058426, 0.119634), abs=1e-6)
    differences = [one - other for one, other in zip(first, second, strict=True)]
    assert (found.low, found.high) == bounded_mean_interval(differences, (-1.0, 1.0), guard=0.25)


@pytest.mark.parametrize(
    ("first", "scale", "note"),
    [
        ([0.3] * 4, BOUNDED, "n too small for an interval"),
        ([0.3] * 9, SMOOTH, "n too small for an interval"),
        ([1.0], PROPORTION, "n too small for an interval"),
        ([0.3] * 20, COUNT, "all 20 values are 0"),
        ([0.3] * 20, None, "no interval: the metric does not declare its scale"),
    ],
)
def test_where_there_is_no_interval_the_note_says_why(first: list[float], scale: Scale | None, note: str) -> None:
    found = paired_difference(first, first, scale)
    assert (found.value, found.low, found.high, found.note) == (0.0, None, None, note)


def test_right_and_wrong_by_bonett_and_price() -> None:
    # f12 = 12, f21 = 5 of 40: (13 - 6)/42 ± 1.96·√((19/42 - (7/42)²)/42)
    first = [1.0] * 12 + [0.0] * 5 + [1.0] * 13 + [0.0] * 10
    second = [0.0] * 12 + [1.0] * 5 + [1.0] * 13 + [0.0] * 10
    found = paired_difference(first, second, PROPORTION)
    assert found.value == pytest.approx(7 / 40)
    reach = 1.959964 * ((19 / 42 - (7 / 42) ** 2) / 42) ** 0.5
    assert [found.low, found.high] == pytest.approx([7 / 42 - reach, 7 / 42 + reach])


def test_agreement_has_an_interval_with_a_width() -> None:
    same = [1.0, 0.0, 1.0] * 10
    found = paired_difference(same, same, PROPORTION)
    assert found.low is not None
    assert found.high is not None
    assert (found.value, found.stderr) == (0.0, 0.0)
    assert -0.15 < found.low < 0.0 < found.high < 0.15


@pytest.mark.parametrize(("first", "second"), [([], []), ([1.0], [])])
def test_what_is_no_pair(first: list[float], second: list[float]) -> None:
    with pytest.raises(ValueError, match=r"pairs need two scores|undefined"):
        paired_difference(first, second, BOUNDED)


_PAIRS = st.lists(st.tuples(*[st.sampled_from([0.0, 1.0]) | st.floats(0, 1)] * 2), min_size=5, max_size=30)


@given(_PAIRS)
def test_turning_the_pairs_turns_the_sign(pairs: list[tuple[float, float]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    one, other = paired_difference(first, second, BOUNDED), paired_difference(second, first, BOUNDED)
    assert one.low is not None
    assert one.high is not None
    assert other.low is not None
    assert other.high is not None
    assert one.low <= one.value <= one.high
    assert [one.value, one.low, one.high] == pytest.approx([-other.value, -other.high, -other.low], abs=1e-8)


@pytest.mark.parametrize(("gains", "losses"), [(0, 0), (1, 0), (5, 1), (10, 10), (3, 19), (400, 350), (60_000, 59_000)])
def test_mcnemar_is_the_binomial_test(gains: int, losses: int) -> None:
    expected = scipy.stats.binomtest(gains, gains + losses, 0.5).pvalue if gains + losses else 1.0
    assert mcnemar_test(gains, losses) == pytest.approx(expected, rel=1e-9)
    assert mcnemar_test(gains, losses) == mcnemar_test(losses, gains)


def test_darwins_maize_as_fisher_did() -> None:
    # Fisher (1935, section 21): 863 of the 2^15 ways to choose the signs give a sum of 314 eighths or more.
    maize = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
    assert permutation_test(maize) == pytest.approx(2 * 863 / 2**15)


@given(st.lists(st.integers(-8, 8).map(lambda n: n / 8), min_size=1, max_size=9))
def test_permutations_one_by_one(differences: list[float]) -> None:
    observed = abs(sum(differences))
    ways = [
        abs(sum(sign * size for sign, size in zip(signs, differences, strict=True))) >= observed
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    assert permutation_test(differences) == pytest.approx(sum(ways) / len(ways))


def test_many_differences_are_permuted_at_random() -> None:
    rng = random.Random(2)
    signs = [rng.choice((1.0, -1.0, 0.0)) for _ in range(300)]
    gains, losses = signs.count(1.0), signs.count(-1.0)
    assert permutation_test(signs, seed=3) == pytest.approx(mcnemar_test(gains, losses), abs=0.02)
    assert permutation_test(signs, seed=3) == permutation_test(signs, seed=3)
    smooth = [rng.gauss(0.1, 1.0) for _ in range(500)]
    t_test = scipy.stats.ttest_1samp(smooth, 0.0).pvalue
    assert permutation_test(smooth) == pytest.approx(t_test, abs=0.02)
    assert permutation_test([1.0] * 200) == pytest.approx(1 / 10_001)


def test_no_difference_is_no_evidence() -> None:
    assert permutation_test([0.0, 0.0]) == 1.0
    with pytest.raises(ValueError, match="needs differences"):
        permutation_test([])
