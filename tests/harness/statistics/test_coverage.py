"""How often 95 % intervals contain what they are for, by simulation.

| interval                  | n = 20 | n = 100 | n = 1000 |
|---------------------------|--------|---------|----------|
| mean, t                   |     95 |      95 |       95 |
| mean of trials, t         |     95 |      95 |       95 |
| proportion, Wilson        |     95 |      95 |       95 |
| ratio of sums, t          |     95 |      96 |       95 |
| perplexity                |     95 |      95 |       96 |
| paired difference, t      |     93 |      95 |       95 |
| paired 0/1, Bonett–Price  |     97 |      96 |       94 |
| paired difference, BCa    |     94 |      96 |       95 |
| F1, BCa                   |     98 |      95 |       95 |
| gap of two groups         |     98 |      95 |       96 |
| gap, shared instances     |     95 |      95 |       95 |
| absolute mean             |    >96 |     >95 |      >94 |
| gap of four equal groups  |     91 |      95 |       96 |

In per cent; within 1.5 points of 95 from n = 100. The last two are conservative by design and may have more.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest

from harness import Estimate
from harness.statistics import (
    absolute_mean_estimates,
    bootstrap_estimate,
    gap_estimate,
    mean_estimate,
    paired_difference,
    ratio_estimate,
    transformed,
)

if TYPE_CHECKING:
    from numpy.random import Generator

Drawn = tuple[Estimate, float]
Draw = Callable[["Generator", int], Drawn]
"""Draws n instances; returns the estimate and the truth."""


def _mean_t(rng: Generator, n: int) -> Drawn:
    return mean_estimate(rng.beta(2, 4, n).tolist()), 2 / 6


def _trials(rng: Generator, n: int) -> Drawn:
    """Means over three trials, which depend on how hard the instance is."""
    return mean_estimate((rng.binomial(3, rng.beta(3, 2, n)) / 3).tolist()), 3 / 5


def _wilson(rng: Generator, n: int) -> Drawn:
    share = rng.uniform(0.1, 0.9)  # at one share, coverage swings with n
    return mean_estimate((rng.random(n) < share).astype(float).tolist()), share


def _ratio(rng: Generator, n: int) -> Drawn:
    lengths = rng.integers(10, 60, n).astype(float)
    return ratio_estimate((2.0 * lengths + rng.normal(0.0, np.sqrt(lengths))).tolist(), lengths.tolist()), 2.0


def _perplexity(rng: Generator, n: int) -> Drawn:
    estimate, truth = _ratio(rng, n)
    return transformed(estimate, math.exp, math.exp), math.exp(truth)


def _paired_t(rng: Generator, n: int) -> Drawn:
    first = rng.beta(2, 2, n)
    return paired_difference(first.tolist(), (first * rng.beta(5, 3, n)).tolist()), 0.5 * (1 - 5 / 8)


def _paired_shares(rng: Generator, n: int) -> Drawn:
    better, worse = rng.uniform(0.4, 0.9), rng.uniform(0.1, 0.6)
    hard = rng.random(n)
    other = np.where(rng.random(n) < 0.7, hard, rng.random(n))
    return paired_difference((hard < better) * 1.0, (other < worse) * 1.0), better - worse  # type: ignore[arg-type]


def _paired_bootstrap(rng: Generator, n: int) -> Drawn:
    first, second = rng.binomial(2, 0.6, n) / 2, rng.binomial(2, 0.5, n) / 2
    return paired_difference(first.tolist(), second.tolist(), method="bootstrap", seed=int(rng.integers(2**32))), 0.1


def _bootstrap_f1(rng: Generator, n: int) -> Drawn:
    counts = rng.multinomial(n, [0.3, 0.15, 0.1, 0.45]).astype(float)  # true and false positives, false negatives, rest
    estimate = bootstrap_estimate(
        lambda draws: 2 * draws[:, 0] / np.maximum(2 * draws[:, 0] + draws[:, 1] + draws[:, 2], 1.0),
        counts,
        seed=int(rng.integers(2**32)),
    )
    return estimate, 0.6 / 0.85


def _gap_of_two(rng: Generator, n: int) -> Drawn:
    first = np.arange(n) % 5 < 2
    scores = (rng.random(n) < np.where(first, 0.75, 0.45)).astype(float)
    return gap_estimate(scores.tolist(), [np.flatnonzero(first).tolist(), np.flatnonzero(~first).tolist()]), 0.3


def _gap_that_shares(rng: Generator, n: int) -> Drawn:
    kind = rng.integers(0, 3, n)  # in the first group, in both, in the second
    scores = rng.beta(np.array([6, 4, 2])[kind], 2)
    groups = [np.flatnonzero(kind <= 1).tolist(), np.flatnonzero(kind >= 1).tolist()]
    return gap_estimate(scores.tolist(), groups), (6 / 8 - 2 / 4) / 2


def _calibration(rng: Generator, n: int, slope: float, offset: float) -> Estimate:
    stated = np.sort(rng.beta(5, 2, n))
    differences = stated - (rng.random(n) < offset + slope * stated)
    bins = np.arange(n) * 10 // n
    return absolute_mean_estimates(differences.tolist(), bins.tolist(), range(n))[0]


def _overconfident(rng: Generator, n: int) -> Drawn:
    return _calibration(rng, n, 0.85, 0.0), 0.15 * 5 / 7


def _strongly_overconfident(rng: Generator, n: int) -> Drawn:
    return _calibration(rng, n, 0.5, 0.05), 0.5 * 5 / 7 - 0.05


def _perfectly_calibrated(rng: Generator, n: int) -> Drawn:
    return _calibration(rng, n, 1.0, 0.0), 0.0


def _underconfident(rng: Generator, n: int) -> Drawn:
    return _calibration(rng, n, 0.5, 0.5), 0.5 * 2 / 7


def _equal_groups(rng: Generator, n: int) -> Drawn:
    scores = (rng.random(n) < 0.6).astype(float)
    return gap_estimate(scores.tolist(), [range(start, n, 4) for start in range(4)]), 0.0


NOMINAL: tuple[Draw, ...] = (
    _mean_t,
    _trials,
    _wilson,
    _ratio,
    _perplexity,
    _paired_t,
    _paired_shares,
    _paired_bootstrap,
    _bootstrap_f1,
    _gap_of_two,
    _gap_that_shares,
)

CONSERVATIVE: tuple[Draw, ...] = (
    _perfectly_calibrated,
    _overconfident,
    _strongly_overconfident,
    _underconfident,
    _equal_groups,
)


def coverage(draw: Draw, n: int, times: int) -> float:
    """Return how often the interval contains the truth."""
    rng = np.random.default_rng(zlib.crc32(draw.__name__.encode()) + n)
    hits = 0
    for _ in range(times):
        estimate, truth = draw(rng, n)
        assert estimate.low is not None
        assert estimate.high is not None
        hits += estimate.low <= truth + 1e-12 and truth - 1e-12 <= estimate.high
    return hits / times


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, 1000])
@pytest.mark.parametrize("draw", NOMINAL, ids=lambda draw: draw.__name__.strip("_"))
def test_coverage_is_nominal(draw: Draw, n: int) -> None:
    times = 1500 if "bootstrap" in draw.__name__ else 2000
    assert coverage(draw, n, times) == pytest.approx(0.95, abs=0.015)


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, 1000])
@pytest.mark.parametrize("draw", CONSERVATIVE, ids=lambda draw: draw.__name__.strip("_"))
def test_coverage_is_nominal_or_more(draw: Draw, n: int) -> None:
    assert coverage(draw, n, 500) >= 0.935
