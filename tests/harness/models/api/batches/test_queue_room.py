"""How the size and time of the next batch follow from what the provider refused and admitted."""

from __future__ import annotations

from harness.models.api.batches.queue_room import GIVE_UP_SECONDS, LONGEST_WAIT, QueueRoom


def test_without_a_refusal_there_is_no_limit() -> None:
    room = QueueRoom(60)
    room.admitted(1, 1000)
    room.ended()
    assert room.most is None
    assert room.is_due(0)


def test_a_batch_that_is_too_large_alone_is_halved_at_once() -> None:
    room = QueueRoom(60)
    for number, size in enumerate([1000, 500, 250], 1):
        room.refused(number, number, size, False, 10.0 * number, "full")
        assert room.most == size // 2
        assert room.is_due(10.0 * number)
    room.admitted(4, 1000)
    assert room.most == 250


def test_waits_double_up_to_an_hour_and_end_when_a_batch_ends() -> None:
    room, now, waits = QueueRoom(60), 0.0, []
    for number in range(1, 10):
        room.refused(number, number, 2**20 >> number, True, now, "full")
        waits.append(next(wait for wait in (60 * 2**n for n in range(10)) if room.is_due(now + min(wait, 3600))))
        now += LONGEST_WAIT
    assert waits == [60, 120, 240, 480, 960, 1920, 3840, 3840, 3840]
    assert not room.is_due(now - 1)
    room.ended()
    assert room.is_due(now - 1)


def test_refusals_of_batches_that_were_submitted_together_count_once() -> None:
    room = QueueRoom(60)
    for number in (1, 2, 3):
        room.refused(number, 3, 1000, True, 0.0, "full")
    room.admitted(3, 1000)
    assert room.most == 500
    assert room.is_due(60)
    assert not room.is_due(59)
    room.admitted(4, 1000)
    assert room.most is None
    assert room.is_due(0)


def test_it_is_hopeless_when_everything_is_refused_for_a_day_with_nothing_of_ours_in_the_queue() -> None:
    room = QueueRoom(60)
    room.refused(1, 1, 1, False, 0.0, "full")
    assert not room.is_hopeless(GIVE_UP_SECONDS)
    assert room.is_hopeless(GIVE_UP_SECONDS + 1)
    room.refused(2, 2, 1, True, 5.0, "full")
    assert not room.is_hopeless(2 * GIVE_UP_SECONDS)
    room.refused(3, 3, 1, False, 10.0, "full")
    assert room.is_hopeless(2 * GIVE_UP_SECONDS)
    room.admitted(4, 1)
    assert not room.is_hopeless(2 * GIVE_UP_SECONDS)
