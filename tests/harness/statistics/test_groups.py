"""The gap between groups by hand and against closed forms."""

from __future__ import annotations

import random

import pytest
import scipy.stats

from harness.contracts import BOUNDED, COUNT, PROPORTION, SIGNED
from harness.statistics import gap_estimate, midp_interval


def test_two_groups_of_right_and_wrong_join_their_own_intervals() -> None:
    # Newcombe (1998), table II, example (a): 56/70 and 48/80; his method 10, from Wilson's, gives 0.0524 to 0.3339.
    values = [1.0] * 56 + [0.0] * 14 + [1.0] * 48 + [0.0] * 32
    found = gap_estimate(values, [range(70), range(70, 150)], PROPORTION)
    (first_low, first_high), (second_low, second_high) = midp_interval(56, 70), midp_interval(48, 80)
    assert found.value == pytest.approx(0.2)
    assert found.low == pytest.approx(0.2 - ((0.8 - first_low) ** 2 + (second_high - 0.6) ** 2) ** 0.5)
    assert found.high == pytest.approx(0.2 + ((first_high - 0.8) ** 2 + (0.6 - second_low) ** 2) ** 0.5)
    assert [found.low, found.high] == pytest.approx([0.0524, 0.3339], abs=5e-3)
    assert (found.count, found.min, found.max) == (150, 0.6, 0.8)
    assert found.stderr == pytest.approx((0.8 * 0.2 / 69 + 0.6 * 0.4 / 79) ** 0.5)


def test_two_groups_of_other_values_are_near_welch() -> None:
    rng = random.Random(0)
    first, second = [rng.gauss(1.0, 0.3) for _ in range(80)], [rng.gauss(0.5, 0.2) for _ in range(120)]
    found = gap_estimate([*first, *second], [range(80), range(80, 200)], SIGNED)
    low, high = scipy.stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    assert [found.low, found.high] == pytest.approx([low, high], abs=0.003)


def test_equal_groups_have_no_gap_and_may_have_one() -> None:
    found = gap_estimate([0.0, 1.0] * 20, [range(20), range(20, 40)], PROPORTION)
    assert (found.value, found.low) == (0.0, 0.0)
    assert found.high is not None
    assert 0.2 < found.high < 0.4


def test_groups_that_share_all_their_instances_cannot_differ() -> None:
    values = [float(index % 3) for index in range(60)]
    found = gap_estimate(values, [range(60), range(60)], COUNT)
    assert [found.value, found.stderr, found.low, found.high] == pytest.approx([0.0, 0.0, 0.0, 0.0], abs=1e-6)
    assert found.count == 60


def test_shared_instances_narrow_the_interval() -> None:
    rng = random.Random(1)
    values = [rng.random() for _ in range(200)]
    apart = gap_estimate(values, [range(100), range(100, 200)], BOUNDED)
    shared = gap_estimate(values, [range(110), range(90, 200)], BOUNDED)
    assert apart.stderr is not None
    assert shared.stderr is not None
    assert shared.stderr < apart.stderr


def test_more_groups_need_a_wider_interval() -> None:
    values = ([1.0] * 30 + [0.0] * 20) * 4
    widths = []
    for count in (2, 3, 4):
        found = gap_estimate(values, [range(start * 50, (start + 1) * 50) for start in range(count)], PROPORTION)
        assert found.high is not None
        widths.append(found.high)
    assert widths == sorted(set(widths))


def test_groups_without_spread() -> None:
    found = gap_estimate([2.0] * 20 + [3.0] * 20, [range(20), range(20, 40)], COUNT)
    assert (found.value, found.stderr, found.low, found.high) == (1.0, 0.0, None, None)
    assert found.note == "a group's mean has no interval: all 20 values are 2"
    found = gap_estimate([1.0] * 10 + [0.0] * 10, [range(10), range(10, 20)], PROPORTION)
    low, _ = midp_interval(10, 10)
    assert found.low == pytest.approx(1 - 2**0.5 * (1 - low))
    assert found.high == 1.0


def test_a_gap_without_a_scale_has_no_interval() -> None:
    found = gap_estimate([1.0] * 10 + [0.0] * 10, [range(10), range(10, 20)], None)
    assert (found.value, found.low, found.high) == (1.0, None, None)
    assert "does not declare its scale" in found.note


@pytest.mark.parametrize("groups", [[], [range(3)], [range(3), range(1)]])
def test_what_has_no_gap(groups: list[range]) -> None:
    with pytest.raises(ValueError, match="two groups of two"):
        gap_estimate([0.0, 1.0, 0.5], groups, BOUNDED)


def test_copies_of_every_instance_add_no_certainty_if_they_are_clusters() -> None:
    values = [1.0] * 40 + [0.0] * 10 + [1.0] * 25 + [0.0] * 25
    once = gap_estimate(values, [range(50), range(50, 100)], PROPORTION)
    four = [value for value in values for _ in range(4)]
    groups = [range(200), range(200, 400)]
    clustered = gap_estimate(four, groups, PROPORTION, [index // 4 for index in range(400)])
    ignored = gap_estimate(four, groups, PROPORTION)
    assert clustered.value == once.value == ignored.value
    assert clustered.stderr == pytest.approx(once.stderr)
    assert [clustered.low, clustered.high] == pytest.approx([once.low, once.high], abs=0.01)
    assert ignored.high is not None
    assert once.high is not None
    assert ignored.high < once.high - 0.05


def test_clusters_of_one_instance_change_nothing() -> None:
    values = [float(index % 3 == 0) for index in range(80)]
    groups = [range(30), range(30, 80)]
    assert gap_estimate(values, groups, PROPORTION, list(range(80))) == gap_estimate(values, groups, PROPORTION)


def test_groups_that_share_clusters_are_correlated() -> None:
    """Each cluster has an instance of either group, and both have the same score: the groups cannot differ."""
    values = [float(index % 3 == 0) for index in range(60)] * 2
    found = gap_estimate(values, [range(60), range(60, 120)], PROPORTION, list(range(60)) * 2)
    assert [found.value, found.stderr] == pytest.approx([0.0, 0.0], abs=1e-9)


def test_few_clusters_leave_a_gap_without_an_interval() -> None:
    clusters = [0] * 10 + list(range(1, 11))
    found = gap_estimate([0.0, 1.0] * 10, [range(10), range(10, 20)], PROPORTION, clusters)
    assert (found.low, found.note) == (None, "a group's mean has no interval: 1 cluster is too few for an interval")
