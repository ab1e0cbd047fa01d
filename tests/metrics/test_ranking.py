"""RR and NDCG by hand, and ties as the mean over all orders."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import Example, Instance, MetricError, Reference
from metrics.ranking import ranking


def _ranked(
    scores: tuple[float, ...] | None, correct: tuple[bool, ...], grades: tuple[int | None, ...] = ()
) -> Example:
    grades = grades or (None,) * len(correct)
    references = tuple(
        Reference(f"p{i}", right, grade) for i, (right, grade) in enumerate(zip(correct, grades, strict=True))
    )
    return Example(Instance("a", "", references), choice_scores=scores)


def test_binary_relevance_by_hand() -> None:
    scores = ranking(_ranked((1.0, 3.0, 2.0), (True, False, True)))
    assert scores is not None
    assert scores["RR@10"] == 0.5
    ideal = 1 + 1 / math.log2(3)
    assert scores["NDCG@10"] == pytest.approx((1 / math.log2(3) + 1 / math.log2(4)) / ideal)


def test_graded_relevance_by_hand() -> None:
    # The worked example of Järvelin and Kekäläinen's measure with grades 3, 2, 3, 0, 1, 2 (DCG 6.861, ideal 7.141).
    example = _ranked((6.0, 5.0, 4.0, 3.0, 2.0, 1.0), (True,) * 6, (3, 2, 3, 0, 1, 2))
    scores = ranking(example, k=6)
    assert scores == {"RR@6": 1.0, "NDCG@6": pytest.approx(6.861 / 7.141, abs=1e-3), "recall@6": 1.0, "success@6": 1.0}


def test_the_cut_off() -> None:
    example = _ranked((4.0, 3.0, 2.0, 1.0), (False, False, True, True))
    assert ranking(example, k=2) == {"RR@2": 0.0, "NDCG@2": 0.0, "recall@2": 0.0, "success@2": 0.0}
    scores = ranking(example, k=3)
    assert scores is not None
    assert scores["RR@3"] == pytest.approx(1 / 3)
    assert (scores["recall@3"], scores["success@3"]) == (0.5, 1.0)
    assert scores["NDCG@3"] == pytest.approx(0.5 / (1 + 1 / math.log2(3)))


def test_correct_decides_rr_and_grades_decide_ndcg() -> None:
    # As in TREC 2019: grade 1 is not relevant enough to be correct, but has a gain.
    example = _ranked((2.0, 1.0), (False, True), (1, 3))
    scores = ranking(example)
    assert scores is not None
    assert scores["RR@10"] == 0.5
    assert scores["NDCG@10"] == pytest.approx((1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3)))


def test_what_is_undefined_is_left_out() -> None:
    assert ranking(_ranked((1.0, 2.0), (False, False))) is None
    assert set(ranking(_ranked((1.0, 2.0), (False, False), (1, 0))) or {}) == {"NDCG@10"}


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=6), st.integers(1, 7))
def test_ties_get_the_mean_over_all_orders(items: list[tuple[int, bool]], k: int) -> None:
    scores, correct = zip(*items, strict=True)
    example = _ranked(tuple(map(float, scores)), correct)
    orders = list(itertools.permutations(range(len(items))))
    strict = []
    for order in orders:
        distinct = tuple(score + place / 100 for score, place in zip(scores, order, strict=True))
        strict.append(ranking(_ranked(distinct, correct), k=k))
    expected = ranking(example, k=k)
    if expected is None:
        assert not any(correct)
        return
    for name, value in expected.items():
        assert value == pytest.approx(sum(one[name] for one in strict if one) / len(orders))


@pytest.mark.parametrize("scores", [None, (1.0,), (1.0, math.nan)])
def test_a_missing_score_is_an_error(scores: tuple[float, ...] | None) -> None:
    with pytest.raises(MetricError, match="a score for each reference"):
        ranking(_ranked(scores, (True, False)))
