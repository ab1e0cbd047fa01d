"""Means of ratings over items and raters."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contracts import Scale
from harness.statistics import FEWEST_RATERS, THESE_RATERS, clustered_mean, crossed_mean, t_quantile

SCALE = Scale("bounded", 1.0, 5.0)


def table(rows: list[list[int]]) -> tuple[list[float], list[int], list[int]]:
    """Return the ratings of a table, a row for each item and a column for each rater."""
    found = [(float(value), item, rater) for item, row in enumerate(rows) for rater, value in enumerate(row)]
    values, items, raters = zip(*found, strict=True)
    return list(values), list(items), list(raters)


RATINGS = st.integers(2, 8).flatmap(
    lambda raters: st.lists(st.lists(st.integers(1, 5), min_size=raters, max_size=raters), min_size=5, max_size=12)
)


@given(RATINGS)
def test_raters_only_ever_widen_the_interval(rows: list[list[int]]) -> None:
    values, items, raters = table(rows)
    plain, crossed = clustered_mean(values, items, SCALE), crossed_mean(values, items, raters, SCALE)
    assert crossed.value == plain.value
    assert crossed.low <= plain.low <= plain.high <= crossed.high  # type: ignore[operator]
    assert 1.0 <= crossed.low <= crossed.high <= 5.0  # type: ignore[operator]
    if len(rows[0]) < FEWEST_RATERS:
        assert crossed == replace(plain, note=THESE_RATERS)


def test_the_error_is_that_of_two_way_clusters_by_hand() -> None:
    rows = [[1 + rater % 3 + (item + rater) % 2 for rater in range(6)] for item in range(8)]
    values, items, raters = table(rows)
    mean = sum(values) / 48

    def variance(groups: list[object]) -> float:
        sums = dict.fromkeys(groups, 0.0)
        for value, group in zip(values, groups, strict=True):
            sums[group] += value - mean
        count = len(sums)
        return count / (count - 1) * sum(each**2 for each in sums.values()) / 48**2

    by_rater, by_both = variance(list(raters)), variance(list(zip(items, raters, strict=True)))
    plain, crossed = clustered_mean(values, items, SCALE), crossed_mean(values, items, raters, SCALE)
    assert by_rater > by_both
    assert plain.stderr is not None
    assert crossed.stderr == pytest.approx(math.sqrt(plain.stderr**2 + by_rater - by_both))
    assert plain.low is not None
    reach = math.hypot(plain.value - plain.low, t_quantile(0.975, 5.0) * math.sqrt(by_rater - by_both))
    assert crossed.low == pytest.approx(plain.value - reach)


def test_raters_of_different_strictness_are_covered() -> None:
    rng, alone, crossed = random.Random(3), 0, 0
    for _ in range(100):
        shifts = [rng.choice((-1, 0, 1)) for _ in range(6)]
        rows = [[3 + shift + rng.choice((-1, 0, 0, 1)) for shift in shifts] for _ in range(25)]
        values, items, raters = table(rows)
        plain, both = clustered_mean(values, items, SCALE), crossed_mean(values, items, raters, SCALE)
        alone += plain.low <= 3.0 <= plain.high  # type: ignore[operator]
        crossed += both.low <= 3.0 <= both.high  # type: ignore[operator]
    assert (alone < 60, crossed >= 90) == (True, True), (alone, crossed)
