"""The simple permutation test and its early stop."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contamination.statistics.permutation import BesagClifford


def simple_p(canonical: float, shuffled: Sequence[float]) -> float:
    """The p-value after all orders, of a test that none of them ends early."""
    test = BesagClifford(h=len(shuffled) + 1, most=len(shuffled))
    for score in shuffled:
        test.add(score >= canonical)
    return test.p


def test_by_hand() -> None:
    assert simple_p(5.0, [1.0, 2.0, 3.0]) == 1 / 4
    assert simple_p(2.0, [1.0, 2.0, 3.0]) == 3 / 4  # a tie counts against contamination
    assert simple_p(0.0, [1.0, 2.0, 3.0]) == 1.0


@given(st.permutations(range(8)))
def test_it_is_the_rank(order: list[int]) -> None:
    assert simple_p(order[0], order[1:]) == (8 - order[0]) / 8


def test_it_stops_at_the_h_th_order_that_does_as_well() -> None:
    test = BesagClifford(h=2, most=9)
    assert [test.add(better) for better in (False, True, False, True)] == [False, False, False, True]
    assert test.p == 2 / 4
    with pytest.raises(ValueError, match="has stopped"):
        test.add(True)


def test_it_stops_at_the_last_order() -> None:
    test = BesagClifford(h=10, most=3)
    assert [test.add(False) for _ in range(3)] == [False, False, True]
    assert test.p == 1 / 4


def test_its_level_is_exact() -> None:
    """Over all orders of 6 different scores, the chance of p ≤ u is u for every p that can occur."""
    found: list[Fraction] = []
    for scores in permutations(range(6)):
        test = BesagClifford(h=2, most=5)
        for score in scores[1:]:
            if test.add(score >= scores[0]):
                break
        found.append(Fraction(test.p).limit_denominator(100))
    for p in set(found):
        assert Fraction(sum(other <= p for other in found), len(found)) == p


@pytest.mark.parametrize(("h", "most"), [(0, 9), (1, 0)])
def test_what_cannot_stop(h: int, most: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        BesagClifford(h=h, most=most)
