"""Estimates of inflation: none where there is none, the right size where there is some, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from harness.contamination.statistics.inflation import Scores, inflation
from harness.errors import DataError


def world(models: int, inflated: float, seed: int, instances: int = 400) -> tuple[Scores, float]:
    """Scores of models on a harder and an easier set, the first model's inflated; and the true inflation."""
    rng = np.random.default_rng(seed)
    skill = np.linspace(-0.5, 2.0, models)
    skill[[0, models // 2]] = skill[[models // 2, 0]]
    benchmark, reference = (
        1 / (1 + np.exp(rng.normal(hardness, 1.0, instances) - skill[:, None])) for hardness in (0.0, 0.5)
    )
    ours, theirs = (rng.random(chances.shape) < chances for chances in (benchmark, reference))
    ours[0] |= rng.random(instances) < inflated
    places = np.arange(instances)
    one, other = (table.astype(np.float64) for table in (ours, theirs))
    return Scores(one, other, places, places), float((1 - benchmark[0]).mean() * inflated)


@pytest.mark.slow
def test_the_estimate_is_near_the_truth() -> None:
    for inflated in (0.0, 0.4):
        errors = []
        for seed in range(6):
            scores, truth = world(10, inflated, seed)
            found = inflation(scores, resamples=2)
            assert found.estimate == pytest.approx(found.score - found.expected)
            errors.append(found.estimate - truth)
        assert abs(np.mean(errors)) < 0.03
        assert np.std(errors) < 0.06


def test_the_interval_shows_a_large_inflation_and_contains_none() -> None:
    scores, truth = world(8, 0.6, 1)
    found = inflation(scores, resamples=40)
    assert 0 < found.low < found.estimate < found.high
    assert found.estimate == pytest.approx(truth, abs=0.1)
    assert not found.extrapolated
    scores, _ = world(8, 0.0, 1)
    found = inflation(scores, resamples=40)
    assert found.low <= 0 <= found.high


def test_whole_clusters_are_resampled() -> None:
    scores, _ = world(6, 0.0, 3, instances=120)
    together = np.arange(120) // 30
    pairs = Scores(scores.benchmark, scores.reference, together, together)
    one, clustered = (inflation(each, resamples=20) for each in (scores, pairs))
    assert clustered.estimate == one.estimate
    assert (clustered.low, clustered.high) != (one.low, one.high)


def test_outside_the_other_models_it_is_a_guess() -> None:
    scores, _ = world(7, 0.0, 2)
    scores.reference[0] = 1.0
    found = inflation(scores, resamples=2)
    assert found.extrapolated
    assert found.expected == pytest.approx(1.0)


def test_too_few_models_are_refused() -> None:
    scores, _ = world(5, 0.0, 0)
    with pytest.raises(DataError, match="needs 5 other models; there are 4"):
        inflation(scores)
    same = np.zeros((7, 10))
    with pytest.raises(DataError, match="five different scores"):
        inflation(Scores(same, same, np.arange(10), np.arange(10)))
