"""A few cells of the coverage table, quickly: docs/coverage.md has all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from harness.contracts import SIGNED
from harness.statistics import mean_estimate
from tests.benchmarks.coverage_table import TABLES, Cell, exact_proportions, misses, simulate

if TYPE_CHECKING:
    pass

QUICK = [(cells[0], cells[0].sizes[-3 if len(cells[0].sizes) > 2 else 0]) for cells in TABLES.values()]


@pytest.mark.parametrize(("cell", "n"), QUICK, ids=lambda part: part.title if isinstance(part, Cell) else str(part))
def test_intervals_cover(cell: Cell, n: int) -> None:
    assert not misses(cell, n, simulate(cell, n, 300))


def test_students_t_would_miss_where_most_scores_are_zero() -> None:
    # The simulation can fail: the same scores declared as any number have Student's t.
    zeros = TABLES["Bounded scores: Jeffreys–Dirichlet"][1]
    drawn = Cell(
        zeros.title, lambda rng, n: (mean_estimate(list(rng.random(n) * (rng.random(n) < 0.02)), SIGNED), 0.01)
    )
    assert misses(drawn, 50, simulate(drawn, 50, 300))


def test_mid_p_is_never_far_below_the_target() -> None:
    for n in (10, 50):
        mean, smallest, share = exact_proportions(n)
        assert mean > 0.95
        assert smallest > 0.92
        assert share < 0.1
