"""The interval of a ratio of sums: worked figures and its properties."""

from __future__ import annotations

import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness.statistics import ratio_interval, skewed_mean_interval

pairs = st.lists(st.tuples(st.floats(0.0, 1e3), st.floats(0.1, 1e3)), min_size=3, max_size=40)


def test_worked_figures() -> None:
    lengths = [10, 20, 30, 40, 50, 60, 80, 120, 200, 400]
    rates = [1.1, 0.9, 1.3, 0.8, 1, 1.2, 0.7, 1.1, 0.9, 1.05]
    found = ratio_interval([length * rate for length, rate in zip(lengths, rates, strict=True)], lengths)
    assert [found.low, found.high] == pytest.approx([0.737253, 1.199588], abs=1e-6)
    assert found.freedom == pytest.approx(1.810481, abs=1e-6)
    assert found.stderr == pytest.approx(0.047051, abs=1e-6)


@given(st.lists(st.floats(0.0, 1e3), min_size=3, max_size=40), st.floats(0.01, 1e3))
def test_equal_denominators_give_the_interval_of_the_mean(values: list[float], denominator: float) -> None:
    assume(max(values) - min(values) > 1e-3 * max(values) + 1e-6)
    found = ratio_interval([value * denominator for value in values], [denominator] * len(values))
    assert (found.low, found.high) == pytest.approx(skewed_mean_interval(values), rel=1e-6, abs=1e-9)
    assert found.freedom == pytest.approx(len(values) - 1)


@given(pairs, st.randoms(use_true_random=False))
def test_holds_the_ratio_whatever_the_order(found: list[tuple[float, float]], rng: random.Random) -> None:
    numerators, denominators = zip(*found, strict=True)
    interval = ratio_interval(numerators, denominators)
    ratio = sum(numerators) / sum(denominators)
    assert interval.low <= ratio * (1 + 1e-9) + 1e-12
    assert ratio * (1 - 1e-9) - 1e-12 <= interval.high
    assert interval.freedom >= 1.0
    numerators, denominators = zip(*rng.sample(found, len(found)), strict=True)
    assert ratio_interval(numerators, denominators) == interval


def test_a_constant_rate_has_no_width() -> None:
    found = ratio_interval([0.3, 0.6, 0.9, 2.1], [1.0, 2.0, 3.0, 7.0])
    assert (found.low, found.high, found.stderr) == pytest.approx((0.3, 0.3, 0.0))


@pytest.mark.parametrize(
    ("numerators", "denominators"), [([1.0, 2.0], [1.0, 1.0]), ([1.0] * 3, [1.0, 0.0, 1.0]), ([1.0] * 3, [1.0] * 4)]
)
def test_refuses_what_is_not_a_ratio(numerators: list[float], denominators: list[float]) -> None:
    with pytest.raises(ValueError, match="three pairs or more"):
        ratio_interval(numerators, denominators)
