"""The published t-test, number for number, and its tail beyond the range of floating point."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats

from harness import MetricError
from harness.contamination.statistics.sharded_t import log10_t_survival, sharded_t


def _scores(seed: int, shards: int = 10, shuffles: int = 25, shift: float = 0.5) -> np.ndarray:
    scores = np.random.default_rng(seed).normal(-300.0, 5.0, size=(shards, shuffles + 1))
    scores[:, 0] += 5.0 * shift
    return scores


@pytest.mark.parametrize("seed", range(5))
def test_the_repaired_form_is_the_textbook_t_test(seed: int) -> None:
    scores = _scores(seed)
    differences = scores[:, 0] - scores[:, 1:].mean(axis=1)
    expected = scipy.stats.ttest_1samp(differences, 0.0, alternative="greater")
    found = sharded_t(scores, ddof=1)
    assert found.t == pytest.approx(expected.statistic, rel=1e-12)
    assert found.log10_p == pytest.approx(math.log10(expected.pvalue), rel=1e-9)
    assert found.df == 9


def test_as_published_divides_by_the_number_of_shards() -> None:
    scores = _scores(0)
    assert sharded_t(scores).t == pytest.approx(sharded_t(scores, ddof=1).t * math.sqrt(10 / 9), rel=1e-12)
    assert sharded_t(scores).log10_p == pytest.approx(scipy.stats.t.logsf(sharded_t(scores).t, 9) / math.log(10))


def test_by_hand() -> None:
    found = sharded_t([[3.0, 1.0, 1.0], [5.0, 1.0, 1.0], [4.0, 0.0, 2.0]])
    assert found.differences == (2.0, 4.0, 3.0)
    assert found.mean == 3.0
    assert found.sd == pytest.approx(math.sqrt(2 / 3))
    assert found.t == pytest.approx(3.0 / math.sqrt(2 / 3) * math.sqrt(3))
    assert found.skew == pytest.approx(0.0)


# From 30-digit arithmetic, as log10 of half the regularized incomplete beta function.
@pytest.mark.parametrize(
    ("t", "df", "log10_p"),
    [
        (60.0, 9, -12.601956600580168),
        (60.0, 199, -128.97871163165139),
        (60.0, 1999, -449.02779163540212),
        (500.0, 199, -309.94242407451549),
        (1e4, 199, -568.81326652797522),
    ],
)
def test_the_far_tail(t: float, df: int, log10_p: float) -> None:
    assert log10_t_survival(t, df) == pytest.approx(log10_p, rel=1e-10)


def test_the_far_tail_in_closed_form() -> None:
    # 2 degrees of freedom: 1/2 - t / (2 √(2 + t²)), which is 1/(2 t²) far out.
    assert log10_t_survival(1e150, 2) == pytest.approx(-300 - math.log10(2), rel=1e-12)
    assert log10_t_survival(1e152, 2) == pytest.approx(-304 - math.log10(2), rel=1e-12)
    assert log10_t_survival(-1e150, 2) == 0.0
    assert log10_t_survival(0.0, 7) == pytest.approx(math.log10(0.5))


def test_a_vanishing_p_value_is_finite() -> None:
    scores = _scores(1, shards=200, shift=100.0)
    found = sharded_t(scores)
    assert found.t > 60
    assert -2000 < found.log10_p < -300


def test_what_has_no_t() -> None:
    with pytest.raises(MetricError, match="at least 2 shards"):
        sharded_t([[1.0, 2.0]])
    with pytest.raises(MetricError, match="Are all examples equal"):
        sharded_t([[-5.1, -5.1, -5.1], [-7.3, -7.3, -7.3]])


@pytest.mark.parametrize("scores", [[1.0, 2.0], [[1.0], [2.0]], [], [[1.0, math.nan], [1.0, 2.0]]])
def test_what_is_no_table_of_scores(scores: Any) -> None:
    with pytest.raises(ValueError, match=r"score"):
        sharded_t(scores)
