"""The mid-p interval against published properties and worked figures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binom

from harness.statistics import midp_interval
from harness.statistics.proportions import finite_interval


@pytest.mark.parametrize(
    ("successes", "count", "expected"),
    [
        (0, 20, (0.0, 0.139108)),
        (1, 20, (0.002501, 0.222806)),
        (13, 20, (0.426951, 0.832265)),
        (95, 100, (0.892679, 0.981452)),
        (1000, 1000, (0.997009, 1.0)),
    ],
)
def test_worked_figures(successes: int, count: int, expected: tuple[float, float]) -> None:
    assert midp_interval(successes, count) == pytest.approx(expected, abs=1e-6)


@given(st.integers(0, 3000), st.integers(1, 3000), st.sampled_from([0.975, 0.95, 0.9995]))
def test_the_ends_solve_the_equations(successes: int, count: int, upper_tail: float) -> None:
    assume(successes <= count)
    low, high = midp_interval(successes, count, upper_tail)
    assert 0.0 <= low <= successes / count <= high <= 1.0
    if successes:
        tail = binom.sf(successes, count, low) + binom.pmf(successes, count, low) / 2
        assert tail == pytest.approx(1 - upper_tail, abs=1e-8)
    if successes < count:
        tail = binom.cdf(successes - 1, count, high) + binom.pmf(successes, count, high) / 2
        assert tail == pytest.approx(1 - upper_tail, abs=1e-8)


@given(st.integers(0, 400), st.integers(1, 400))
def test_more_successes_never_lower_an_end(successes: int, count: int) -> None:
    assume(successes < count)
    fewer, more = midp_interval(successes, count), midp_interval(successes + 1, count)
    assert fewer[0] < more[0] or fewer[0] == more[0] == 0.0
    assert fewer[1] < more[1] or fewer[1] == more[1] == 1.0


@pytest.mark.parametrize("count", [10, 20, 50, 100, 500])
def test_exact_coverage_never_falls_far(count: int) -> None:
    grid = [place / 997 for place in range(1, 997)]
    ends = [midp_interval(k, count) for k in range(count + 1)]
    covering = np.array([_covering(ends, p) for p in grid])
    coverage = binom.cdf(covering[:, 1], count, grid) - binom.cdf(covering[:, 0] - 1, count, grid)
    assert coverage.min() > 0.91
    assert coverage.mean() > 0.95


def _covering(ends: list[tuple[float, float]], p: float) -> tuple[int, int]:
    """Return the smallest and the largest number of successes whose interval contains p."""
    inside = [k for k, (low, high) in enumerate(ends) if low <= p <= high]
    return inside[0], inside[-1]


@pytest.mark.parametrize(("successes", "count"), [(-1, 5), (6, 5), (0, 0)])
def test_refuses_what_is_not_a_proportion(successes: int, count: int) -> None:
    with pytest.raises(ValueError, match="0 to n successes"):
        midp_interval(successes, count)


@pytest.mark.parametrize(("population", "count"), [(1, 1), (7, 3), (12, 12), (23, 9)])
def test_the_interval_of_a_finite_population_is_the_inverted_test(population: int, count: int) -> None:
    from scipy.stats import hypergeom

    for seen in range(count + 1):
        kept = [
            total
            for total in range(seen, population - count + seen + 1)
            if hypergeom.sf(seen - 1, population, total, count) >= 0.025
            and hypergeom.cdf(seen, population, total, count) >= 0.025
        ]
        assert finite_interval(seen, count, population) == (min(kept) / population, max(kept) / population)


@pytest.mark.parametrize(("population", "count", "total"), [(40, 10, 4), (200, 50, 90), (60, 59, 1)])
def test_the_interval_of_a_finite_population_covers(population: int, count: int, total: int) -> None:
    from scipy.stats import hypergeom

    covered = 0.0
    for seen in range(max(0, count - population + total), min(count, total) + 1):
        low, high = finite_interval(seen, count, population)
        covered += hypergeom.pmf(seen, population, total, count) * (low <= total / population <= high)
    assert covered >= 0.95


@pytest.mark.parametrize(("successes", "count", "population"), [(2, 1, 5), (0, 0, 5), (1, 6, 5), (-1, 2, 5)])
def test_impossible_samples_are_refused(successes: int, count: int, population: int) -> None:
    with pytest.raises(ValueError, match="impossible"):
        finite_interval(successes, count, population)
