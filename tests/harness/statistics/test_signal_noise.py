"""Signal and noise over a training: known values, and what they estimate."""

from __future__ import annotations

import math

import numpy as np
import pytest

from harness.statistics.signal_noise import SignalNoise, change_signal, training_signal


def test_the_signal_of_changes_is_what_the_errors_leave() -> None:
    found = change_signal([0.3, -0.4, 0.0], [0.01, 0.02, 0.03])
    assert found is not None
    assert found.noise == pytest.approx(math.sqrt(0.02))
    assert found.signal == pytest.approx(math.sqrt((0.09 + 0.16) / 3 - 0.02))
    assert found.ratio == pytest.approx(found.signal / found.noise)


def test_changes_that_the_errors_explain_are_no_signal() -> None:
    assert change_signal([0.01, -0.02], [0.01, 0.01]) == SignalNoise(0.0, 0.1)
    assert change_signal([], []) is None
    assert change_signal([0.1], [0.0]) == SignalNoise(0.1, 0.0)
    assert SignalNoise(0.1, 0.0).ratio is None


@pytest.mark.parametrize("true", [0.0, 0.02, 0.05])
def test_the_mean_square_of_the_signal_is_that_of_true_changes(true: float) -> None:
    rng = np.random.default_rng(1)
    error, size = 0.02, 4000
    changes = rng.normal(0.0, true, size) + rng.normal(0.0, error, size)
    found = change_signal(changes.tolist(), [error**2] * size)
    assert found is not None
    assert found.signal**2 == pytest.approx(true**2, abs=5e-5)


def test_between_trainings_the_signal_is_the_range_and_the_noise_the_spread_of_the_last() -> None:
    first, second, third = [0.0, 0.5, 0.5, 0.6, 0.7, 0.7], [0.2, 0.4], [0.1, 0.2, 0.3]
    found = training_signal([first, second, third])
    assert found is not None
    assert found.signal == pytest.approx(0.4)
    assert found.noise == pytest.approx((np.std([0.5, 0.5, 0.6, 0.7, 0.7], ddof=1) + 0.1) / 2)
    assert training_signal([first]) is None
    assert training_signal([second, [0.1, 0.2]]) is None
