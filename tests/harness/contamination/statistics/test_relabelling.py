"""The exact relabelling test: its level, its floor and what it does not depend on."""

from __future__ import annotations

import math
from itertools import product
from typing import Any, get_args

import numpy as np
import pytest
import scipy.stats

from harness.contamination.statistics.relabelling import (
    Transform,
    normal_scores,
    pooled_relabelling,
    relabelling_spread,
    relabelling_test,
)

TRANSFORMS: tuple[Transform, ...] = get_args(Transform)


def _relabelled(scores: Any, choice: tuple[int, ...]) -> Any:
    """The table in which each shard's chosen order is the published one."""
    table = scores.copy()
    for row, column in enumerate(choice):
        table[row, [0, column]] = table[row, [column, 0]]
    return table


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("ties", [False, True])
def test_every_relabelling_has_the_share_that_does_as_well(transform: Transform, ties: bool) -> None:
    """3 shards, 2 shuffles: 27 tables, of which the one with the k-th largest statistic has p = k/27."""
    scores = np.random.default_rng(3).normal(size=(3, 3))
    if ties:
        scores[1, 2] = scores[1, 0]
    found = [relabelling_test(_relabelled(scores, choice), transform) for choice in product(range(3), repeat=3)]
    p_values = [10**result.log10_p for result in found]
    for result, p in zip(found, p_values, strict=True):
        assert p == pytest.approx(sum(other <= p + 1e-9 for other in p_values) / 27)
        assert p == pytest.approx(sum(other.z >= result.z - 1e-9 for other in found) / 27)
        assert result.log10_certified >= result.log10_p
    if not ties and transform == "raw":
        assert sorted(p_values) == pytest.approx([k / 27 for k in range(1, 28)])


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_the_floor(transform: Transform) -> None:
    scores = np.random.default_rng(0).normal(size=(8, 26))
    scores[:, 0] += 10
    found = relabelling_test(scores, transform)
    assert found.log10_p == found.log10_floor == pytest.approx(-8 * math.log10(26))


@pytest.mark.parametrize(("shards", "shuffles"), [(6, 5), (50, 25)])
def test_what_it_does_not_depend_on(shards: int, shuffles: int) -> None:
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(shards, shuffles + 1))
    scores[:, 0] += 0.5
    others = 1 + rng.permutation(shuffles)
    rearranged = scores[rng.permutation(shards)][:, [0, *others]]
    for transform in TRANSFORMS:
        expected = relabelling_test(scores, transform).log10_p
        assert relabelling_test(rearranged, transform).log10_p == pytest.approx(expected, rel=1e-9)
        moved = 7.0 * scores + 100.0 * rng.normal(size=(shards, 1))
        assert relabelling_test(moved, transform).log10_p == pytest.approx(expected, rel=1e-3)
    ranks = relabelling_test(scores).log10_p
    assert relabelling_test(np.exp(scores) * rng.uniform(1, 9, size=(shards, 1))).log10_p == pytest.approx(ranks)


def test_normal_scores_are_van_der_waerdens() -> None:
    table = np.array([[3.0, 1.0, 2.0, 2.0]])
    expected = scipy.stats.norm.ppf((scipy.stats.rankdata(table[0]) - 0.5) / 4)
    assert normal_scores(table)[0] == pytest.approx(expected)


def test_equal_scores_prove_nothing() -> None:
    for transform in TRANSFORMS:
        assert relabelling_test(np.full((10, 11), -42.0), transform).log10_p == 0.0


def test_pooling_adds_weak_evidence_up() -> None:
    rng = np.random.default_rng(5)
    tables = [rng.normal(size=(rng.integers(3, 8), rng.integers(5, 12))) for _ in range(49)]
    for table in tables:
        table[:, 0] += 0.4
    single = [relabelling_test(table).log10_p for table in tables]
    pooled = pooled_relabelling(tables)
    assert pooled.log10_p < -6 < min(single)
    assert pooled_relabelling([tables[0]]) == relabelling_test(tables[0])
    with pytest.raises(ValueError, match="no table"):
        pooled_relabelling([])


def _null(kind: str, rng: np.random.Generator) -> Any:
    scores = rng.standard_t(3, size=(6, 11)) if kind == "heavy tails" else rng.normal(0.0, 0.5, size=(6, 11))
    if "skew" in kind:
        scores += (4.0 if kind == "right skew" else -4.0) * (rng.random((6, 11)) < 0.1)
    if "uneven" in kind:
        scores *= np.exp(rng.normal(size=(6, 1)))
    return scores


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["normal", "heavy tails", "right skew", "left skew", "uneven, left skew"])
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_its_size(kind: str, transform: Transform) -> None:
    """Of 500 null tables 5 % are rejected at 0.05, within 3.5 standard errors."""
    rng = np.random.default_rng(11)
    rejected = np.mean([relabelling_test(_null(kind, rng), transform).log10_p <= math.log10(0.05) for _ in range(500)])
    assert rejected == pytest.approx(0.05, abs=3.5 * math.sqrt(0.05 * 0.95 / 500))


@pytest.mark.parametrize("scores", [[1.0, 2.0], [[1.0], [2.0]], [[1.0, math.inf]]])
def test_what_is_no_table_of_scores(scores: Any) -> None:
    with pytest.raises(ValueError, match="score"):
        relabelling_test(scores)


def test_an_unknown_transform() -> None:
    with pytest.raises(ValueError, match="'normal_scores' or 'raw', not 'ranks'"):
        relabelling_test([[1.0, 2.0]], "ranks")  # type: ignore[arg-type]


@pytest.mark.parametrize("effect", [0.0, 0.7, 2.0])
def test_other_shuffles_end_in_the_stated_range_about_as_often_as_stated(effect: float) -> None:
    rng = np.random.default_rng(3)
    inside = 0
    for _ in range(150):
        published = rng.normal(effect, 1.0, size=(8, 1))
        first, second = (np.hstack([published, rng.normal(size=(8, 10))]) for _ in range(2))
        strong, weak = relabelling_spread(first)
        inside += strong <= relabelling_test(second).log10_p <= weak
        assert strong <= relabelling_test(first).log10_p <= weak
    assert 0.65 <= inside / 150 <= 0.9
