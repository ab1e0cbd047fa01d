"""Two looks keep the level whatever the rule for the second, and cost little power where one look would do."""

from __future__ import annotations

import itertools
import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contamination.statistics.looks import combined_looks
from harness.statistics.families import benjamini_hochberg, fisher, holm

LOG10_P = st.floats(-50, 0)
SHARE = st.floats(0.01, 0.99)


def test_the_module_s_example() -> None:
    found = combined_looks(math.log10(0.004), math.log10(0.0008), 0.2, 0.2)
    assert 10**found == pytest.approx(0.001)
    assert 10 ** combined_looks(math.log10(0.004), None, 0.2, 0.2) == pytest.approx(0.02)


def test_a_first_look_without_any_sign_is_the_result() -> None:
    assert combined_looks(math.log10(0.6), None, 0.2, 0.2) == math.log10(0.6)
    assert combined_looks(math.log10(0.15), math.log10(0.9), 0.2, 0.2) == math.log10(0.2)


@given(LOG10_P, LOG10_P, SHARE, SHARE)
def test_it_is_never_below_either_look_and_never_above_one(
    first: float, second: float, share: float, limit: float
) -> None:
    alone, both = combined_looks(first, None, share, limit), combined_looks(first, second, share, limit)
    assert min(first, second) <= both <= alone <= 0


@given(st.integers(2, 30), st.integers(1, 29), st.integers(1, 30), st.integers(0, 2**30))
def test_it_keeps_every_level_under_the_worst_rule(grid: int, share: int, limit: int, seed: int) -> None:
    """p₁ and p₂ uniform on a grid, coupled anyhow; there is a second look wherever the limit allows one.

    Counted over all couplings of the grid: at each level, no more pairs reject than may.
    """
    weight = share / 30
    coupling = list(range(1, grid + 1))
    Random(seed).shuffle(coupling)
    found = sorted(
        10 ** combined_looks(math.log10(i / grid), math.log10(j / grid), weight, limit / 30)
        for i, j in enumerate(coupling, start=1)
    )
    for level in (0.01, 0.05, 0.2, 0.5, 0.9):
        assert sum(p <= level + 1e-12 for p in found) <= level * grid + 1e-6


@given(st.integers(2, 12), st.integers(1, 29), st.integers(1, 30), st.randoms(use_true_random=False))
def test_a_family_keeps_its_levels_even_if_other_sets_decide_who_gets_a_second_look(
    grid: int, share: int, limit: int, random: Random
) -> None:
    """Two independent data sets; all outcomes are equally likely, and any rule chooses the second looks."""
    looks = [list(range(1, grid + 1)) for _ in range(2)]
    for look in looks:
        random.shuffle(look)
    outcomes = []
    for first in itertools.product(range(grid), repeat=2):
        family = [
            combined_looks(
                math.log10((i + 1) / grid), math.log10(look[i] / grid) if again else None, share / 30, limit / 30
            )
            for i, look, again in zip(first, looks, random.choices([True, False], k=2), strict=True)
        ]
        outcomes.append((min(holm(family, log10=True)), min(benjamini_hochberg(family, log10=True)), fisher(family)))
    for found in zip(*outcomes, strict=True):
        for level in (0.01, 0.05, 0.2, 0.5, 0.9):
            assert sum(10**log10_p <= level + 1e-12 for log10_p in found) <= level * grid**2 + 1e-6


def test_what_is_no_p_value_is_refused() -> None:
    with pytest.raises(ValueError, match="share"):
        combined_looks(-1.0, None, 0.0, 0.2)
    with pytest.raises(ValueError, match="not the log10"):
        combined_looks(0.1, None, 0.5, 0.2)
    with pytest.raises(ValueError, match="not the log10"):
        combined_looks(-1.0, 0.1, 0.5, 0.2)
    with pytest.raises(ValueError, match="limit"):
        combined_looks(-1.0, None, 0.5, 0.0)
