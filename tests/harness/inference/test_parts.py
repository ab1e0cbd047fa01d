"""Parts have borders that depend on the requests alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness import Request, ScoreRequest
from harness.inference import parts as parts_module
from harness.inference.parts import BLOCK, LARGEST, SMALLEST, Parts, cut


def asked(count: int) -> list[Request]:
    return [ScoreRequest(f"question {number}", " a") for number in range(count)]


@pytest.mark.parametrize(
    ("count", "sizes"),
    [
        (1, [1]),
        (15, [15]),
        (50, [16, 16, 16, 2]),
        (1000, [125] * 8),
        (4096, [512] * 8),
        (9000, [512] * 16 + [101] * 8),
    ],
)
def test_parts_are_neighbours_of_known_sizes(count: int, sizes: list[int]) -> None:
    parts = Parts(asked(count), 0)
    found: list[list[int]] = []
    while True:
        parts.take()
        if not parts.waiting:
            break
        found += [list(part.requests) for part in parts.waiting]
        parts.waiting.clear()
    assert [len(part) for part in found] == sizes
    assert [number for part in found for number in part] == list(range(count))
    assert all(SMALLEST <= len(part) <= LARGEST for part in found[:-1])


class Trickle(Iterator[Request]):
    """Gives requests a few at a time, and ends for a moment after each few."""

    def __init__(self, requests: list[Request], few: int) -> None:
        self._requests, self._few, self._given = requests, few, 0
        self.exhausted = False

    def __next__(self) -> Request:
        if not self._requests:
            self.exhausted = True
            raise StopIteration
        if self._given == self._few:
            self._given = 0
            raise StopIteration
        self._given += 1
        return self._requests.pop(0)


@pytest.mark.parametrize("few", [1, 7, 600, 5000])
def test_the_pace_of_the_requests_moves_no_border(few: int) -> None:
    parts = Parts(Trickle(asked(5000), few), 0)
    for _ in range(6000):
        parts.take()
    assert [len(part.requests) for part in parts.waiting] == [512] * 8 + [113] * 8


def test_idle_replicas_do_not_wait_for_ever_for_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(Trickle):
        def __next__(self) -> Request:
            if not self._requests:
                raise StopIteration  # and does not say that it is exhausted
            return super().__next__()

    parts = Parts(Slow(asked(20), 100), 0)
    parts.take()
    assert parts.partial
    assert not parts.waiting
    monkeypatch.setattr(parts_module, "LINGER_SECONDS", 0.0)
    parts.take()
    assert [len(part.requests) for part in parts.waiting] == [16, 4]


def test_an_answer_counts_once_and_unfinished_parts_go_first() -> None:
    parts = Parts(asked(40), 5)
    parts.take()
    first, second, third = parts.waiting
    assert (first.number, second.number, third.number) == (5, 6, 7)
    parts.waiting.clear()
    assert parts.answered(6, 16)
    assert not parts.answered(6, 16)
    assert not parts.answered(99, 16)
    parts.again([first, second])
    parts.again([second])
    assert list(parts.waiting) == [first, second]
    for number in range(17, 32):
        assert parts.answered(6, number)
    assert list(parts.waiting) == [first]
    assert set(parts.open) == {5, 7}


def test_cutting_a_block() -> None:
    assert [len(part) for part in cut(list(enumerate(asked(BLOCK))))] == [LARGEST] * 8
