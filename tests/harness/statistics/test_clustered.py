"""The interval of a mean over items in clusters: worked figures and its properties."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.statistics import bounded_mean_interval, clustered_mean_interval

clusters = st.lists(
    st.integers(1, 40).flatmap(lambda size: st.tuples(st.integers(0, size).map(float), st.just(size))),
    min_size=2,
    max_size=25,
)


def test_worked_figures() -> None:
    equal = clustered_mean_interval([9, 8, 10, 3, 7], [10] * 5)
    assert [equal.low, equal.high, equal.correlation] == pytest.approx([0.431100, 0.888470, 0.280730], abs=1e-6)
    perfect = clustered_mean_interval([5] * 5, [5] * 5)
    assert [perfect.low, perfect.high] == pytest.approx([0.615479, 1.0], abs=1e-6)
    unequal = clustered_mean_interval([4, 18, 2, 39, 1, 7], [5, 20, 4, 50, 3, 8])
    assert [unequal.low, unequal.high] == pytest.approx([0.033923, 0.987325], abs=1e-6)
    assert [unequal.correlation, unequal.freedom] == pytest.approx([0.046526, 1.593742], abs=1e-6)


@given(st.lists(st.integers(0, 12), min_size=5, max_size=30))
def test_equal_sizes_give_the_interval_of_the_cluster_means(sums: list[int]) -> None:
    found = clustered_mean_interval(sums, [12] * len(sums))
    expected = bounded_mean_interval([total / 12 for total in sums])
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-5)


@settings(max_examples=30)
@given(clusters, st.randoms(use_true_random=False))
def test_stays_in_range_and_holds_the_mean_whatever_the_order(
    found: list[tuple[float, int]], rng: random.Random
) -> None:
    sums, sizes = zip(*found, strict=True)
    interval = clustered_mean_interval(sums, sizes)
    mean = sum(sums) / sum(sizes)
    assert 0.0 <= interval.low <= mean + 1e-12
    assert mean - 1e-12 <= interval.high <= 1.0
    assert 0.0 <= interval.correlation <= 1.0
    again = clustered_mean_interval(*zip(*rng.sample(found, len(found)), strict=True))
    assert (again.low, again.high) == (interval.low, interval.high)


@settings(max_examples=30)
@given(clusters)
def test_the_mirror_image_has_the_mirrored_interval(found: list[tuple[float, int]]) -> None:
    interval = clustered_mean_interval(*zip(*found, strict=True))
    mirrored = clustered_mean_interval(*zip(*((size - total, size) for total, size in found), strict=True))
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - interval.high, 1 - interval.low), abs=1e-7)


def test_correlated_items_widen_the_interval() -> None:
    items = bounded_mean_interval([1.0] * 60 + [0.0] * 60)
    clustered = clustered_mean_interval([10.0, 0.0] * 6, [10] * 12)
    assert clustered.correlation > 0.9
    assert clustered.high - clustered.low > 2.5 * (items[1] - items[0])


@pytest.mark.parametrize(("sums", "sizes"), [([1.0], [2]), ([3.0, 1.0], [2, 2]), ([1.0, 1.0], [2, 0])])
def test_refuses_what_is_not_clustered(sums: list[float], sizes: list[int]) -> None:
    with pytest.raises(ValueError, match="two clusters or more"):
        clustered_mean_interval(sums, sizes)
