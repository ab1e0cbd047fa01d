"""Power curves: anchored at the level, with intervals that cover, and honest where nothing was measured."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.contamination.lab.power import PowerCurve, Trial, power_curve

ALPHA = 0.01


def trials(*detected: tuple[int, int, int]) -> list[Trial]:
    """Trials from (copies, trials, detected)."""
    return [Trial(copies, i < found, -3.0 * (i < found)) for copies, count, found in detected for i in range(count)]


def curve(*detected: tuple[int, int, int]) -> PowerCurve:
    return power_curve(trials(*detected), ALPHA)


def test_no_copies_are_found_as_often_as_the_level_says() -> None:
    found = curve((0, 6, 2), (10, 6, 3), (40, 6, 6))
    assert found.probability(0) == pytest.approx((ALPHA, ALPHA, ALPHA))


def test_what_the_curve_says() -> None:
    found = curve((0, 12, 0), (1, 6, 0), (10, 6, 3), (40, 6, 6), (100, 6, 6))
    probability, low, high = found.probability(40)
    assert low < probability < high
    assert probability > 0.85
    assert found.probability(1)[0] < 0.2
    half, least, most = found.copies(0.5)
    assert least < half < most
    assert 5 < half < 20
    assert found.copies(0.9)[0] > half
    assert [(dose.copies, dose.trials, dose.detected) for dose in found.doses][2] == (10, 6, 3)
    assert found.doses[-1].low == pytest.approx(0.05 ** (1 / 6))  # mid-p, 6 of 6
    assert found.gap is None


def test_where_nothing_was_measured_between_the_interval_spans_the_gap() -> None:
    found = curve((0, 8, 0), (20, 8, 8))
    assert found.gap == (0, 20)
    _, low, high = found.copies(0.5)
    assert low < 1
    assert 10 < high < 40
    assert curve((0, 4, 0), (5, 4, 0), (20, 4, 4), (50, 4, 4)).gap == (5, 20)
    assert curve((0, 4, 0), (5, 4, 0), (20, 4, 3), (50, 4, 4)).gap is None
    assert curve((0, 4, 0), (5, 4, 4), (20, 4, 0)).gap is None
    assert curve((0, 4, 0), (50, 4, 0)).gap is None


def test_nothing_found_says_little() -> None:
    half, _, high = curve((0, 5, 0), (50, 5, 0)).copies(0.5)
    assert half > 100
    assert high > 1000


def test_intervals_cover_the_curve_that_made_the_trials() -> None:
    """A curve with h = 12 and k = 2: the 95 % interval of the probability at 15 copies, in 300 studies."""
    rng = np.random.default_rng(0)

    def true(copies: int) -> float:
        return float(ALPHA + (1 - ALPHA) * (1 - 2 ** -((copies / 12) ** 2)))

    doses = (0, 4, 10, 25, 50)
    covered = 0
    for _ in range(300):
        found = curve(*((dose, 4, int(rng.binomial(4, true(dose)))) for dose in doses))
        _, low, high = found.probability(15)
        covered += low <= true(15) <= high
    assert covered / 300 >= 0.92


def test_one_number_of_copies_is_no_curve() -> None:
    with pytest.raises(ValueError, match="two or more"):
        power_curve(trials((10, 5, 2)), ALPHA)


def test_its_json() -> None:
    value = json.loads(json.dumps(curve((0, 4, 0), (10, 4, 4)).as_json()))
    assert value["gap"] == [0, 10]
    assert [dose["copies"] for dose in value["doses"]] == [0, 10]
    assert value["copies_found_with_probability"]["0.5"][1] < value["copies_found_with_probability"]["0.5"][2]


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.tuples(st.integers(0, 1000), st.booleans()), min_size=2).filter(lambda x: len({c for c, _ in x}) > 1)
)
def test_every_outcome_has_a_curve_that_rises(seen: list[tuple[int, bool]]) -> None:
    found = power_curve([Trial(copies, detected, 0.0) for copies, detected in seen], ALPHA)
    before = 0.0
    for copies in (0, 1, 30, 1000):
        probability, low, high = found.probability(copies)
        assert 0 <= low <= high <= 1
        assert before - 1e-12 <= probability <= 1
        before = probability
