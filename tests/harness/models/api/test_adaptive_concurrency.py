"""How many calls are made at once, by a clock that the tests turn."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.models.api.adaptive_concurrency import COOLDOWN_SECONDS, INITIAL_LIMIT, AdaptiveConcurrency


def succeed(concurrency: AdaptiveConcurrency, times: int, now: float = 0.0, *, saturated: bool = True) -> None:
    for _ in range(times):
        concurrency.succeeded(now, saturated=saturated)


def test_each_round_doubles_the_limit_until_the_most() -> None:
    concurrency = AdaptiveConcurrency(50)
    limits = []
    for _ in range(4):
        limits.append(concurrency.limit)
        succeed(concurrency, concurrency.limit)
    assert limits == [8, 16, 32, 50]
    assert concurrency.limit == 50


def test_a_limit_that_was_not_reached_does_not_grow() -> None:
    concurrency = AdaptiveConcurrency(100)
    succeed(concurrency, 1000, saturated=False)
    assert concurrency.limit == INITIAL_LIMIT


def test_refusals_of_one_episode_cut_once() -> None:
    concurrency = AdaptiveConcurrency(100)
    succeed(concurrency, 8 + 16 + 32)
    assert concurrency.limit == 64
    for moment in (0.0, 1.0, COOLDOWN_SECONDS - 0.1):
        concurrency.throttled(moment)
    assert concurrency.limit == 51
    concurrency.throttled(COOLDOWN_SECONDS + 0.1)
    assert concurrency.limit == 40


def test_what_was_sent_before_the_cut_does_not_count_after_it() -> None:
    concurrency = AdaptiveConcurrency(100)
    concurrency.throttled(0.0)
    succeed(concurrency, 1000, now=COOLDOWN_SECONDS - 0.1)
    assert concurrency.limit == 6


def test_after_a_cut_it_grows_by_steps() -> None:
    concurrency = AdaptiveConcurrency(1000)
    succeed(concurrency, 8 + 16 + 32 + 64)
    concurrency.throttled(0.0)
    assert concurrency.limit == 102
    succeed(concurrency, 102, now=COOLDOWN_SECONDS)
    assert concurrency.limit == 107


def test_the_server_is_left_alone_for_as_long_as_it_says() -> None:
    concurrency = AdaptiveConcurrency(100)
    concurrency.throttled(10.0, 60.0)
    concurrency.throttled(11.0, 5.0)
    assert concurrency.paused_until == 70.0
    succeed(concurrency, 1000, now=69.0)
    assert concurrency.limit == 6


@given(st.integers(1, 300), st.lists(st.tuples(st.booleans(), st.booleans(), st.floats(0, 30)), max_size=300))
def test_the_limit_stays_within_its_bounds(most: int, events: list[tuple[bool, bool, float]]) -> None:
    concurrency = AdaptiveConcurrency(most)
    now = 0.0
    for success, flag, elapsed in events:
        now += elapsed
        if success:
            concurrency.succeeded(now, saturated=flag)
        else:
            concurrency.throttled(now, 1.0 if flag else None)
        assert 1 <= concurrency.limit <= most
