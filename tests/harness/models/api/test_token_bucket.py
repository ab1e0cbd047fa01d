"""A limit on a rate, by a clock that the tests turn."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.models.api.token_bucket import TokenBucket


def test_one_a_second_after_the_first() -> None:
    bucket = TokenBucket(60)
    assert bucket.wait(1, 0.0) == 0.0
    bucket.take(1, 0.0)
    assert bucket.wait(1, 0.0) == pytest.approx(1.0)
    assert bucket.wait(1, 0.75) == pytest.approx(0.25)
    assert bucket.wait(1, 100.0) == 0.0


def test_more_than_the_bucket_holds_waits_for_a_full_one_and_leaves_a_debt() -> None:
    bucket = TokenBucket(600)
    assert bucket.wait(50, 0.0) == 0.0
    bucket.take(50, 0.0)
    assert bucket.wait(1, 0.0) == pytest.approx(4.1)


def test_a_guess_is_corrected() -> None:
    bucket = TokenBucket(600)
    bucket.take(50, 0.0)
    bucket.correct(45)
    assert bucket.wait(5, 0.0) == 0.0


@given(st.floats(1, 10_000), st.lists(st.integers(1, 50), min_size=1, max_size=100))
def test_no_minute_has_more_than_it_may(per_minute: float, amounts: list[int]) -> None:
    bucket = TokenBucket(per_minute)
    now = 0.0
    taken: list[tuple[float, int]] = []
    for amount in amounts:
        now += bucket.wait(amount, now)
        bucket.take(amount, now)
        taken.append((now, amount))
    burst = max(1.0, per_minute / 60) + max(amounts)
    for start, _ in taken:
        within = sum(amount for moment, amount in taken if start <= moment < start + 60)
        assert within <= (per_minute + burst) * (1 + 1e-9)
