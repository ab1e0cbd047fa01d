"""Means of human labels sharpened by a judge: vectors, limits, and coverage where both are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.statistics import bounded_mean_interval, corrected_mean, t_quantile


def ones(count: int, of: int) -> list[float]:
    return [1.0] * count + [0.0] * (of - count)


def test_vectors_worked_out_elsewhere() -> None:
    labels, rated = ones(12, 20), [*ones(10, 12), *ones(2, 8)]
    found = corrected_mean(labels, rated, ones(550, 1000))
    assert found is not None
    assert found.weight == pytest.approx(0.506937, abs=1e-6)
    assert [found.estimate.value, found.estimate.low, found.estimate.high] == pytest.approx(
        [0.574653, 0.375151, 0.757241], abs=1e-6
    )
    assert found.helps
    agreed = corrected_mean(ones(20, 20), ones(20, 20), ones(900, 1000))
    assert agreed is not None
    assert agreed.weight == 0.0
    assert not agreed.helps
    assert [agreed.estimate.value, agreed.estimate.low, agreed.estimate.high] == pytest.approx(
        [1.0, 0.869555, 1.0], abs=1e-6
    )


def test_a_judge_that_knows_nothing_leaves_the_labels_mean() -> None:
    labels = [0.0, 0.25, 0.5, 0.75, 1.0] * 5
    found = corrected_mean(labels, [0.5] * 25, [0.5] * 100)
    assert found is not None
    assert found.weight == 0.0
    interval = bounded_mean_interval(labels, z=t_quantile(0.975, 24))
    assert (found.estimate.value, found.estimate.low, found.estimate.high) == (0.5, *interval)


def test_a_good_judge_narrows_the_interval() -> None:
    rng = np.random.default_rng(0)
    truth = (rng.random(2100) < 0.5).astype(float)
    judge = np.where(rng.random(2100) < 0.9, truth, 1 - truth)
    found = corrected_mean(truth[:100].tolist(), judge[:100].tolist(), judge[100:].tolist())
    low, high = bounded_mean_interval(truth[:100])
    assert found is not None
    assert found.estimate.low is not None
    assert found.estimate.high is not None
    assert found.estimate.high - found.estimate.low < 0.8 * (high - low)


_SHARE = st.floats(0.0, 1.0)


@given(st.lists(st.tuples(_SHARE, _SHARE), min_size=20, max_size=40), st.lists(_SHARE, min_size=1, max_size=60))
def test_the_interval_holds_the_estimate_and_stays_in_range(
    pairs: list[tuple[float, float]], others: list[float]
) -> None:
    labels, rated = ([pair[side] for pair in pairs] for side in (0, 1))
    found = corrected_mean(labels, rated, others)
    assert found is not None
    assert 0.0 <= found.weight <= 1.0
    assert found.estimate.low is not None
    assert found.estimate.high is not None
    assert 0.0 <= found.estimate.low <= found.estimate.value <= found.estimate.high <= 1.0


def test_too_few_labels_have_no_corrected_figure_and_what_does_not_fit_is_refused() -> None:
    assert corrected_mean(ones(10, 19), ones(10, 19), ones(5, 10)) is None
    for arguments in (
        (ones(10, 20), ones(10, 19), ones(5, 10)),
        (ones(10, 20), ones(10, 20), []),
        ([2.0] * 20, ones(10, 20), ones(5, 10)),
        (ones(10, 20), [float("nan")] * 20, ones(5, 10)),
    ):
        with pytest.raises(ValueError, match="ratings"):
            corrected_mean(*arguments)


@pytest.mark.parametrize(
    ("share", "right", "wrong", "count"), [(0.5, 0.85, 0.85, 20), (0.97, 0.98, 0.6, 100), (0.05, 0.8, 0.97, 20)]
)
def test_coverage(share: float, right: float, wrong: float, count: int) -> None:
    """``right`` and ``wrong`` are the judge's chances to know a label of 1 and of 0."""
    rng = np.random.default_rng(count)
    held = 0
    for _ in range(400):
        truth = rng.random(count + 1000) < share
        judge = np.where(truth, rng.random(count + 1000) < right, rng.random(count + 1000) >= wrong).astype(float)
        found = corrected_mean(truth[:count].astype(float).tolist(), judge[:count].tolist(), judge[count:].tolist())
        assert found is not None
        assert found.estimate.low is not None
        assert found.estimate.high is not None
        held += found.estimate.low <= share <= found.estimate.high
    assert held / 400 >= 0.93 - 2 * (0.93 * 0.07 / 400) ** 0.5
