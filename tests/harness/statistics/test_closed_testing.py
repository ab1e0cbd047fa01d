"""Closed testing against its definition, written out over all subsets, and its error rate by simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, norm

from harness.statistics import certain_count


def _simes_rejects(p: tuple[float, ...], level: float) -> bool:
    return any(value <= place * level / len(p) for place, value in enumerate(sorted(p), start=1))


def _fisher_rejects(p: tuple[float, ...], dependent: int, level: float) -> bool:
    size, rho = len(p), 0.5
    covariance = 3.263 * rho + 0.71 * rho**2 + 0.027 * rho**3
    variance = size * (4 + (min(dependent, size) - 1) * covariance)
    return bool(-2 * sum(map(math.log, p)) > variance / (4 * size) * chi2.isf(level, 8 * size**2 / variance))


def _by_definition(p: list[float], dependent: int, level: float) -> int:
    """A set may hold nothing but true nulls if the local test does not reject it: the largest such set counts."""
    most = [0, 0]
    for size in range(1, len(p) + 1):
        for chosen in itertools.combinations(p, size):
            if not _simes_rejects(chosen, level / 2):
                most[0] = size
            if not _fisher_rejects(chosen, dependent, level / 2):
                most[1] = size
    return len(p) - min(most)


P = st.one_of(st.floats(1e-12, 1.0), st.floats(-12, 0).map(lambda power: 10.0**power))


@given(st.lists(P, max_size=7), st.integers(1, 7))
@settings(deadline=None)
def test_it_is_closed_testing_by_definition(p: list[float], dependent: int) -> None:
    assert certain_count(np.log(np.array(p)), dependent, 0.025) == _by_definition(p, dependent, 0.025)


def test_by_hand() -> None:
    assert certain_count(np.array([]), 2, 0.025) == 0
    assert certain_count(np.log([0.9, 0.5, 0.2]), 2, 0.025) == 0
    assert certain_count(np.log([1e-9, 0.5, 0.2]), 2, 0.025) == 1
    assert certain_count(np.log([1e-9, 1e-8, 1e-7]), 2, 0.025) == 3
    # Many weak effects that no single test would find.
    assert certain_count(np.log(np.full(100, 0.03)), 1, 0.025) > 50
    assert certain_count(np.full(2900, -1000.0), 29, 0.025) == 2900


@pytest.mark.parametrize("true", [0, 20, 58])
def test_it_seldom_counts_too_many(true: int) -> None:
    """Twenty columns of 29 tests that share a model, of which ``true`` have an effect."""
    rng = np.random.default_rng(true)
    wrong = 0
    for _ in range(400):
        shared = rng.standard_normal((20, 1))
        z = (shared + rng.standard_normal((20, 29))) / math.sqrt(2)
        z.ravel()[:true] += 3.0
        wrong += certain_count(norm.logsf(z.ravel()), 29, 0.025) > true
    assert wrong / 400 <= 0.025 + 2 * math.sqrt(0.025 * 0.975 / 400)
