"""The pool's rules, on replicas that do what a test says."""

from __future__ import annotations

import itertools
import logging
import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from harness import ModelError, Request, Response, ScoreRequest
from harness.inference import parts, replica_pool
from harness.inference.replica_pool import ReplicaPool
from harness.inference.replicas import (
    Answers,
    Begun,
    Dead,
    Done,
    Event,
    Facts,
    Failed,
    Numbered,
    Pong,
    Post,
    Refused,
    Unavailable,
    Used,
)

FACTS = Facts({"backend": "scripted"}, {}, {"host": "here"})
Behaviour = Callable[["Scripted", int, Sequence[Numbered]], None]


class Scripted:
    """A replica whose behaviour is a function; it runs on a thread of its own, as real ones do."""

    made: list[Scripted]

    def __init__(self, label: str, behaviour: Behaviour, post: Post) -> None:
        self.label, self.post, self.behaviour = label, post, behaviour
        self.parts: list[list[int]] = []
        self.pings = self.stored_answers = 0
        self.closed = False
        self.answers_pings = True
        post(FACTS)

    def send(self, part: int, requests: Sequence[Numbered]) -> None:
        self.parts.append([number for number, _ in requests])
        threading.Thread(target=self.behaviour, args=(self, part, requests), daemon=True).start()

    def stored(self, answers: int) -> None:
        self.stored_answers += answers

    def ping(self) -> None:
        self.pings += 1
        if self.answers_pings:
            self.post(Pong())

    def close(self) -> None:
        self.closed = True

    def join(self, seconds: float) -> None:
        pass


def answer(replica: Scripted, part: int, requests: Sequence[Numbered], upto: int | None = None) -> None:
    """Answer all requests of a part, or the first of them."""
    replica.post(Begun(part))
    for start in range(0, len(requests[:upto]), 64):
        block = requests[:upto][start : start + 64]
        replica.post(Answers(part, [(number, response(request)) for number, request in block]))
    if upto is None:
        replica.post(Done(part))


def response(request: Request) -> Response:
    assert isinstance(request, ScoreRequest)
    return Response(logprobs=(-float(len(str(request.context))),), greedy=True)


def asked(count: int) -> list[Request]:
    return [ScoreRequest(f"question {number}" + "." * (number % 7), " a") for number in range(count)]


class Launches:
    """Starts scripted replicas, each place with its behaviours one after the other; the last is repeated."""

    def __init__(self) -> None:
        self.made: list[Scripted] = []

    def place(self, label: str, *behaviours: Behaviour) -> Callable[[Post], Scripted]:
        coming = itertools.chain(behaviours, itertools.repeat(behaviours[-1]))

        def launch(post: Post) -> Scripted:
            self.made.append(Scripted(label, next(coming), post))
            return self.made[-1]

        return launch


@pytest.fixture
def launches() -> Launches:
    return Launches()


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (
        ("PING_SECONDS", 0.1),
        ("SILENT_SECONDS", 0.3),
        ("POLL_SECONDS", 0.05),
        ("BACK_OFF_SECONDS", (0.2, 1.0)),
    ):
        monkeypatch.setattr(replica_pool, name, seconds)


def check(found: list[tuple[int, Response]], requests: list[Request], errors: int = 0) -> None:
    assert sorted(number for number, _ in found) == list(range(len(requests)))
    wrong = [number for number, given in found if not given.error and given != response(requests[number])]
    assert not wrong
    assert sum(bool(given.error) for _, given in found) == errors


@pytest.mark.parametrize("count", [0, 1, 100, 5000])
@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_each_request_is_answered_once(launches: Launches, count: int, replicas: int) -> None:
    pool = ReplicaPool("it", [launches.place(f"{place}", answer) for place in range(replicas)])
    requests = asked(count)
    for _ in range(2):  # the replicas are used again
        check(list(pool.answer(requests)), requests)
    assert len(launches.made) == replicas
    assert all(len(part) <= parts.LARGEST for one in launches.made for part in one.parts)
    pool.close()
    assert all(one.closed for one in launches.made)


def test_a_part_of_one_that_died_is_finished_by_another(launches: Launches, caplog: pytest.LogCaptureFixture) -> None:
    def die(replica: Scripted, part: int, requests: Sequence[Numbered]) -> None:
        answer(replica, part, requests, upto=64)
        replica.post(Dead("was killed by SIGKILL"))

    pool = ReplicaPool("it", [launches.place("a", die, answer), launches.place("b", answer)])
    requests = asked(5000)
    check(list(pool.answer(requests)), requests)
    assert "the process on a was killed by SIGKILL; another takes its place" in caplog.text
    assert len(launches.made) == 3
    # What it had answered is not asked again, and its replacement takes part.
    times = [number for one in launches.made for part in one.parts for number in part]
    assert len(times) - len(set(times)) <= 2 * 512 - 64
    assert launches.made[2].parts


def test_what_two_replicas_died_of_fails_alone(launches: Launches) -> None:
    def fragile(replica: Scripted, part: int, requests: Sequence[Numbered]) -> None:
        poisoned = [place for place, (number, _) in enumerate(requests) if number == 700]
        answer(replica, part, requests, upto=poisoned[0] if poisoned else None)
        if poisoned:
            replica.post(Dead("ended with code 3"))

    pool = ReplicaPool("it", [launches.place("a", fragile), launches.place("b", fragile)])
    requests = asked(5000)
    found = list(pool.answer(requests))
    check(found, requests, errors=1024 - 700)
    errors = {number: given.error for number, given in found if given.error}
    assert set(errors) == set(range(700, 1024))
    assert "2 processes died while they answered this request" in str(errors[700])
    assert "ended with code 3" in str(errors[700])


def test_a_part_that_goes_on_between_deaths_is_not_blamed(launches: Launches) -> None:
    def die(replica: Scripted, part: int, requests: Sequence[Numbered]) -> None:
        answer(replica, part, requests, upto=100)
        replica.post(Dead("was killed by SIGKILL"))

    pool = ReplicaPool("it", [launches.place("a", die, die, die, die, answer)])
    requests = asked(4096)
    check(list(pool.answer(requests)), requests)
    assert [len(one.parts[0]) for one in launches.made] == [512, 412, 312, 212, 112]


def test_a_part_that_was_only_waiting_is_not_blamed(launches: Launches) -> None:
    """The second part of a replica that dies of the first is answered."""

    def fragile(replica: Scripted, part: int, requests: Sequence[Numbered]) -> None:
        if 127 in dict(requests):
            answer(replica, part, requests, upto=max(0, len(requests) - 100))
            while len(launches.made) == 1 and len(replica.parts) < 2:
                time.sleep(0.01)
            replica.post(Dead("ended with code 3"))
        elif len(replica.parts[0]) > 100 and 127 not in replica.parts[0]:
            answer(replica, part, requests)

    pool = ReplicaPool("it", [launches.place("a", fragile)])
    requests = asked(1024)
    found = list(pool.answer(requests))
    assert {number for number, given in found if given.error} == set(range(28, 128))
    check(found, requests, errors=100)
    assert [len(one.parts) for one in launches.made[:2]] == [2, 1]


def test_a_place_whose_replicas_die_is_given_up(launches: Launches, caplog: pytest.LogCaptureFixture) -> None:
    def die(replica: Scripted, part: int, requests: Sequence[Numbered]) -> None:
        replica.post(Begun(part))
        replica.post(Dead("ended with code 3"))

    pool = ReplicaPool("it", [launches.place("a", die), launches.place("b", answer)])
    requests = asked(5000)
    check(list(pool.answer(requests)), requests)
    pool = ReplicaPool("it", [launches.place("a", die), launches.place("b", die)], advice="Buy memory.")
    with pytest.raises(ModelError, match=r"3 processes in a row died on .* no other device is left.*Buy memory\."):
        list(pool.answer(requests))
    assert not pool.running


def test_one_that_cannot_be_reached_is_left_alone_and_blames_nobody(launches: Launches) -> None:
    tries: list[float] = []

    def away(replica: Scripted, part: int, requests: Sequence[Numbered]) -> None:
        tries.append(time.monotonic())
        if len(tries) < 4:
            replica.post(Begun(part))
            replica.post(Unavailable("no way"))
        else:
            answer(replica, part, requests)

    pool = ReplicaPool("it", [launches.place("a", away)])
    requests = asked(100)
    check(list(pool.answer(requests)), requests)
    assert len(launches.made) == 1
    waits = [later - earlier for earlier, later in itertools.pairwise(sorted(tries[:4]))]
    assert max(waits) > 0.39  # 0.2 s, then twice as long


def test_a_silent_one_gives_its_parts_back_and_the_first_answer_stays(
    launches: Launches, caplog: pytest.LogCaptureFixture
) -> None:
    late: list[tuple[Scripted, int, Sequence[Numbered]]] = []

    def silent(replica: Scripted, part: int, requests: Sequence[Numbered]) -> None:
        replica.answers_pings = False
        late.append((replica, part, requests))

    pool = ReplicaPool("it", [launches.place("a", silent), launches.place("b", answer)])
    requests = asked(1000)
    found = []
    for number, given in pool.answer(requests):
        found.append((number, given))
        if len(found) == 990:  # it speaks again, when others have answered
            answer(*late[0])
    check(found, requests)
    assert "a is silent; others take over" in caplog.text
    assert launches.made[0].pings
    check(list(pool.answer(requests)), requests)


def test_a_slow_one_that_answers_pings_keeps_its_parts(launches: Launches) -> None:
    def slow(replica: Scripted, part: int, requests: Sequence[Numbered]) -> None:
        time.sleep(0.6)
        answer(replica, part, requests)

    pool = ReplicaPool("it", [launches.place("a", slow), launches.place("b", answer)])
    requests = asked(200)
    check(list(pool.answer(requests)), requests)
    assert launches.made[0].pings
    assert not {number for part in launches.made[0].parts for number in part} & {
        number for part in launches.made[1].parts for number in part
    }


def test_one_that_is_silent_for_long_is_replaced(launches: Launches, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica_pool, "LOST_SECONDS", 0.5)

    def silent(replica: Scripted, part: int, requests: Sequence[Numbered]) -> None:
        replica.answers_pings = False

    pool = ReplicaPool("it", [launches.place("a", silent, answer)])
    requests = asked(100)
    check(list(pool.answer(requests)), requests)
    assert launches.made[0].closed


def test_a_failure_waits_for_what_others_are_answering(launches: Launches) -> None:
    go_on = threading.Event()

    def fail(replica: Scripted, part: int, requests: Sequence[Numbered]) -> None:
        replica.post(Failed("Traceback: ValueError"))
        go_on.set()

    def wait(replica: Scripted, part: int, requests: Sequence[Numbered]) -> None:
        go_on.wait(60)
        answer(replica, part, requests)

    pool = ReplicaPool("it", [launches.place("a", fail), launches.place("b", wait)])
    found: list[tuple[int, Response]] = []
    with pytest.raises(RuntimeError, match="a replica failed on a"):
        found.extend(pool.answer(asked(5000)))
    assert len(found) >= 512
    assert len(launches.made) == 2
    assert len(pool.running) == 2  # they go on


def test_a_model_that_cannot_be_loaded_in_one_place_is_used_in_the_others(
    launches: Launches, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(replica: Scripted, part: int, requests: Sequence[Numbered]) -> None:
        replica.post(Refused("out of memory"))

    pool = ReplicaPool("it", [launches.place("a", refuse), launches.place("b", answer)])
    requests = asked(1000)
    check(list(pool.answer(requests)), requests)
    assert "a is not used: out of memory" in caplog.text
    pool = ReplicaPool("it", [launches.place("a", refuse), launches.place("b", refuse)])
    with pytest.raises(ModelError, match="out of memory"):
        list(pool.answer(requests))


def test_another_model_is_refused(launches: Launches) -> None:
    pool = ReplicaPool("it", [launches.place("a", answer)], check=lambda facts: f"it is {facts.fingerprint}")
    with pytest.raises(ModelError, match=r"the replica on a is another model: it is .*scripted"):
        list(pool.answer(asked(3)))
    with pytest.raises(ModelError, match="another model"):
        pool.ready()


def test_replicas_join_and_leave_while_there_are_answers(launches: Launches) -> None:
    def slow(replica: Scripted, part: int, requests: Sequence[Numbered]) -> None:
        time.sleep(0.02)
        answer(replica, part, requests)

    pool = ReplicaPool("it", [launches.place("a", slow)])
    requests = asked(20_000)
    found = []
    for one in pool.answer(requests):
        found.append(one)
        if len(found) == 2000:
            pool.add(launches.place("b", slow))
            pool.add(launches.place("c", slow))
        if len(found) == 8000:
            assert pool.remove("a")
            assert not pool.remove("nobody")
    check(found, requests)
    first, second, third = launches.made
    assert first.closed
    assert second.parts
    assert third.parts
    assert max(number for part in first.parts for number in part) < 16_000
    assert len(pool.running) == 2


def test_a_pool_that_nobody_joins_says_so(
    launches: Launches, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(replica_pool, "START_SECONDS", 0.5)
    monkeypatch.setattr(replica_pool, "REMIND_SECONDS", 0.2)
    with pytest.raises(ModelError, match="no replica has started within"):
        list(ReplicaPool("it", []).answer(asked(3)))
    assert "no replica has started for" in caplog.text


def test_joules_of_replicas_add_up(launches: Launches) -> None:
    def count(replica: Scripted, part: int, requests: Sequence[Numbered]) -> None:
        answer(replica, part, requests, upto=len(requests))
        replica.post(Used(2.0))
        replica.post(Done(part))

    pool = ReplicaPool("it", [launches.place("a", count), launches.place("b", count)])
    assert pool.joules() is None
    list(pool.answer(asked(1000)))
    assert pool.joules() == 16.0


def test_random_faults_lose_nothing(launches: Launches, caplog: pytest.LogCaptureFixture) -> None:
    """Replicas that die, go away and fall silent at random moments."""
    caplog.set_level(logging.ERROR)
    for seed in range(5):
        draw = random.Random(seed)
        faults = [*["die"] * 4, *["away"] * 4, *[None] * 8]
        draw.shuffle(faults)
        coming = itertools.chain([(fault, draw.random()) for fault in faults], itertools.repeat((None, 1.0)))

        def faulty(replica: Scripted, part: int, requests: Sequence[Numbered], coming: Any = coming) -> None:
            fault, share = next(coming)
            upto = int(share * len(requests))
            if fault is None or replica.closed:
                answer(replica, part, requests)
                return
            answer(replica, part, requests, upto=upto)
            event: Event = Unavailable("gone") if fault == "away" else Dead("ended with code 1", blameless=True)
            replica.post(event)

        pool = ReplicaPool("it", [launches.place(f"{place}", faulty) for place in range(3)])
        requests = asked(6000)
        check(list(pool.answer(requests)), requests)
        pool.close()
