"""The gap between groups by hand and against closed forms."""

from __future__ import annotations

import random

import pytest
import scipy.stats

from harness.statistics import gap_estimate, wilson_interval


def test_two_groups_of_right_and_wrong_are_newcombes_interval() -> None:
    # Newcombe (1998), table II, example (a): 56/70 and 48/80, method 10: 0.0524 to 0.3339.
    values = [1.0] * 56 + [0.0] * 14 + [1.0] * 48 + [0.0] * 32
    found = gap_estimate(values, [range(70), range(70, 150)])
    assert found.value == pytest.approx(0.2)
    assert [found.low, found.high] == pytest.approx([0.0524, 0.3339], abs=5e-5)
    assert (found.count, found.min, found.max) == (150, 0.6, 0.8)
    assert found.stderr == pytest.approx((0.8 * 0.2 / 69 + 0.6 * 0.4 / 79) ** 0.5)


def test_two_groups_of_other_values_are_near_welch() -> None:
    rng = random.Random(0)
    first, second = [rng.gauss(1.0, 0.3) for _ in range(80)], [rng.gauss(0.5, 0.2) for _ in range(120)]
    found = gap_estimate([*first, *second], [range(80), range(80, 200)])
    low, high = scipy.stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    assert [found.low, found.high] == pytest.approx([low, high], abs=0.003)


def test_equal_groups_have_no_gap_and_may_have_one() -> None:
    found = gap_estimate([0.0, 1.0] * 20, [range(20), range(20, 40)])
    assert (found.value, found.low) == (0.0, 0.0)
    assert found.high is not None
    assert 0.2 < found.high < 0.4


def test_groups_that_share_all_their_instances_cannot_differ() -> None:
    values = [float(index % 3) for index in range(60)]
    found = gap_estimate(values, [range(60), range(60)])
    assert [found.value, found.stderr, found.low, found.high] == pytest.approx([0.0, 0.0, 0.0, 0.0], abs=1e-6)
    assert found.count == 60


def test_shared_instances_narrow_the_interval() -> None:
    rng = random.Random(1)
    values = [rng.random() for _ in range(200)]
    apart = gap_estimate(values, [range(100), range(100, 200)])
    shared = gap_estimate(values, [range(110), range(90, 200)])
    assert apart.stderr is not None
    assert shared.stderr is not None
    assert shared.stderr < apart.stderr


def test_more_groups_need_a_wider_interval() -> None:
    values = ([1.0] * 30 + [0.0] * 20) * 4
    widths = []
    for count in (2, 3, 4):
        found = gap_estimate(values, [range(start * 50, (start + 1) * 50) for start in range(count)])
        assert found.high is not None
        widths.append(found.high)
    assert widths == sorted(set(widths))


def test_groups_without_spread() -> None:
    found = gap_estimate([2.0] * 5 + [3.0] * 5, [range(5), range(5, 10)])
    assert (found.value, found.stderr, found.low, found.high) == (1.0, 0.0, 1.0, 1.0)
    found = gap_estimate([1.0] * 10 + [0.0] * 10, [range(10), range(10, 20)])
    low, _ = wilson_interval(1.0, 10)
    assert found.low == pytest.approx(1 - 2**0.5 * (1 - low))
    assert found.high == 1.0


@pytest.mark.parametrize("groups", [[], [range(3)], [range(3), range(1)]])
def test_what_has_no_gap(groups: list[range]) -> None:
    with pytest.raises(ValueError, match="two groups of two"):
        gap_estimate([0.0, 1.0, 0.5], groups)
