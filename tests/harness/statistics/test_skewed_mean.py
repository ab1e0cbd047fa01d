"""Hall's transformation: worked figures and its properties."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from harness.statistics import skewed_mean_interval

samples = st.lists(st.floats(0.0, 1e6), min_size=3, max_size=60)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (range(1, 21), (7.731189, 13.268811)),
        ([2**i for i in range(10)], (27.696136, 464.446289)),
        ([i * i for i in range(1, 21)], (91.104305, 215.500304)),
        ([0] * 15 + [1, 1, 2, 3, 8], (0.205770, 3.376042)),
    ],
)
def test_worked_figures(values: list[float], expected: tuple[float, float]) -> None:
    assert skewed_mean_interval([float(value) for value in values]) == pytest.approx(expected, abs=1e-6)


def test_symmetric_values_have_students_interval() -> None:
    values = [1.0, 2.0, 4.0, 5.0, 7.0, 8.0]
    expected = stats.t.interval(0.95, 5, loc=4.5, scale=stats.sem(values))
    assert skewed_mean_interval(values) == pytest.approx(expected)


@given(samples, st.randoms(use_true_random=False))
def test_holds_the_mean_whatever_the_order(values: list[float], rng: random.Random) -> None:
    assume(max(values) - min(values) > 1e-6 * max(values))
    low, high = skewed_mean_interval(values)
    assert low < math.fsum(values) / len(values) < high
    assert skewed_mean_interval(rng.sample(values, len(values))) == (low, high)


@given(samples, st.floats(-100.0, 100.0), st.floats(0.01, 100.0))
def test_a_change_of_scale_changes_the_ends_alike(values: list[float], shift: float, scale: float) -> None:
    assume(max(values) - min(values) > 1e-2 * max(values) + 1e-3)
    low, high = skewed_mean_interval(values)
    moved = skewed_mean_interval([shift + scale * value for value in values])
    assert moved == pytest.approx((shift + scale * low, shift + scale * high), rel=1e-6, abs=1e-6 * scale * max(values))


@given(samples)
def test_the_mirror_image_has_the_mirrored_interval(values: list[float]) -> None:
    assume(max(values) - min(values) > 1e-6 * max(values))
    low, high = skewed_mean_interval(values)
    assert skewed_mean_interval([-value for value in values]) == pytest.approx((-high, -low))


@pytest.mark.parametrize("values", [[1.0, 2.0], [5.0] * 12])
def test_refuses_values_without_a_spread(values: list[float]) -> None:
    with pytest.raises(ValueError, match="three values that are not all equal"):
        skewed_mean_interval(values)
