"""What runs in a replica: parts one after the other, blocks of answers, energy."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from itertools import count, islice
from typing import Any

import pytest

from harness import Model, Request, Response, ScoreRequest
from harness.costs.energy import Counter
from harness.inference import replica_server
from harness.inference.replica_server import ReplicaServer
from harness.inference.replicas import (
    MOST_ANSWERS,
    Answers,
    Begun,
    Done,
    Event,
    Facts,
    Failed,
    ModelSource,
    Refused,
    Used,
)


class Batches(Model):
    """Collects what there is, as `hf:` does, and writes down how many requests that were."""

    answers = frozenset({"score"})

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.closed = False

    def fingerprint(self) -> Mapping[str, Any]:
        return {"backend": "batches"}

    def answer(self, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
        numbered = enumerate(requests)
        while batch := list(islice(numbered, 4096)):
            self.sizes.append(len(batch))
            for index, request in reversed(batch):
                assert isinstance(request, ScoreRequest)
                yield index, Response(logprobs=(float(str(request.context)),), greedy=True)

    def close(self) -> None:
        self.closed = True


class Lazy(Batches):
    """Takes requests and answers none."""

    def answer(self, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
        yield from islice(super().answer(requests), 0)
        next(iter(requests))


class Server:
    """A server whose model a test has, on a thread of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, model: Model) -> None:
        monkeypatch.setattr(ModelSource, "open", lambda self: model)
        self.server = ReplicaServer(ModelSource(component=None))  # type: ignore[arg-type]

    def events(self, *parts: tuple[int, list[tuple[int, Request]]]) -> list[Event]:
        """Return what is said about parts that are all there at the beginning."""
        for part in parts:
            self.server.take(*part)
        thread = threading.Thread(target=self.server.run)
        thread.start()
        found: list[Event] = []
        while sum(isinstance(event, Done | Failed | Refused) for event in found) < len(parts):
            block = self.server.outbox.take(60)
            assert block, "nothing more is said"
            answers = sum(len(event.answers) for event in block if isinstance(event, Answers))
            assert answers <= MOST_ANSWERS
            found += block
            self.server.outbox.sent()
            self.server.outbox.stored(answers)
            if any(isinstance(event, Failed | Refused) for event in block):
                break
        self.server.close()
        thread.join(60)
        assert not thread.is_alive()
        return found


def part(number: int, first: int, size: int) -> tuple[int, list[tuple[int, Request]]]:
    return number, [(one, ScoreRequest(str(one), " a")) for one in range(first, first + size)]


def test_parts_are_never_mixed_and_all_is_answered_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Batches()
    events = Server(monkeypatch, model).events(part(3, 0, 300), part(4, 300, 200), part(5, 500, 1))
    assert model.sizes == [300, 200, 1]
    assert model.closed
    assert isinstance(events[0], Facts)
    kinds = [event for event in events if isinstance(event, Begun | Done)]
    assert kinds == [Begun(3), Done(3), Begun(4), Done(4), Begun(5), Done(5)]
    given = {number: one.logprobs for event in events if isinstance(event, Answers) for number, one in event.answers}
    assert given == {number: (float(number),) for number in range(501)}


def test_the_model_waits_until_its_answers_are_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(monkeypatch, Batches()).server
    server.take(*part(0, 0, 200))
    thread = threading.Thread(target=server.run)
    thread.start()
    outbox, came = server.outbox, 0
    for stored in (0, 10, 64):
        outbox.stored(stored)
        wanted = came + (stored or MOST_ANSWERS)
        while came < wanted:
            block = outbox.take(60)
            assert block, "nothing more is said"
            came += sum(len(event.answers) for event in block if isinstance(event, Answers))
            outbox.sent()
        assert came == wanted
        assert outbox.take(0.2) == []
    server.close()
    thread.join(60)
    assert not thread.is_alive()


def test_the_energy_of_a_part_is_told_before_its_last_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    joules = count(100.0, 5.0)
    monkeypatch.setattr(replica_server, "gpu_counters", lambda: [Counter("gpu", lambda: next(joules))])
    events = Server(monkeypatch, Batches()).events(part(0, 0, 100), part(1, 100, 100))
    told = [event for event in events if not isinstance(event, Facts)]
    assert [event for event in told if isinstance(event, Used)] == [Used(5.0), Used(5.0)]
    for number in (0, 1):
        end = told.index(Done(number))
        assert [type(event) for event in told[end - 2 : end + 1]] == [Used, Answers, Done]


def test_a_card_that_cannot_be_read_is_not_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> float:
        raise OSError("no counter")

    monkeypatch.setattr(replica_server, "gpu_counters", lambda: [Counter("gpu", broken)])
    assert not [one for one in Server(monkeypatch, Batches()).events(part(0, 0, 5)) if isinstance(one, Used)]


def test_a_model_that_answers_nothing_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    last = Server(monkeypatch, Lazy()).events(part(0, 0, 5))[-1]
    assert isinstance(last, Refused)
    assert last.message == "the model's backend answered 0 of 1 requests."
