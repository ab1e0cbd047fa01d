"""The scheduler keeps a model busy: it takes the next request as soon as it has room, and each different one once."""

from __future__ import annotations

import gc
import random
import time
import weakref
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from harness import Adapted, Completion, GenerateRequest, Instance, Model, ModelError, Request, Response
from harness.errors import StorageError
from harness.inference import prompt_thread, scheduler
from harness.inference.cache import ResponseCache
from harness.inference.cache_file import CacheError
from harness.inference.caching_model import CachingModel
from harness.inference.prompt_thread import Ask
from harness.inference.scheduler import Scheduler

LIMIT = 8


class Server(Model):
    """Has up to LIMIT requests in flight, whose answers come in any order; writes down how many they were."""

    answers = frozenset({"generate"})

    def __init__(self, seed: int = 0, stumbles: str = "") -> None:
        self.asked: list[str] = []
        self.busy: list[int] = []
        self._draw, self._stumbles = random.Random(seed), stumbles

    def fingerprint(self) -> Mapping[str, Any]:
        return {"server": 1}

    def answer(self, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
        coming, in_flight = enumerate(requests), list[tuple[int, str]]()
        while True:
            for index, request in islice(coming, LIMIT - len(in_flight)):
                assert isinstance(request, GenerateRequest)
                in_flight.append((index, str(request.prompt)))
                self.asked.append(str(request.prompt))
            if not in_flight:
                return
            self.busy.append(len(in_flight))
            index, prompt = in_flight.pop(self._draw.randrange(len(in_flight)))
            if prompt == self._stumbles:
                raise ModelError(f"I stumble over {prompt}")
            yield index, Response((Completion(prompt.upper()),))


class Job:
    """Asks some prompts; those that begin with "wait" are awaited, those with "talk" have up to two more turns."""

    def __init__(self, name: str, prompts: Iterable[str], breaks_at: str = "") -> None:
        self.name, self.prompts, self.breaks_at = name, list(prompts), breaks_at
        self.begun = False
        self.made: list[str] = []
        self.answers: list[tuple[str, str | None, bool]] = []
        self.error: BaseException | None = None
        self.ends = 0

    def prepare(self) -> Iterator[Ask] | None:
        return self._asks() if self.prompts else None

    def _asks(self) -> Iterator[Ask]:
        for number, prompt in enumerate(self.prompts):
            awaited = prompt.startswith("wait")
            if awaited:  # what comes before it need not be read, but what was awaited must be
                assert len([one for one in self.answers if one[0].startswith("wait")]) == len(
                    [one for one in self.made if one.startswith("wait")]
                )
            self.made.append(prompt)
            requests = (GenerateRequest(prompt, 5),)
            yield Ask(Adapted(Instance(f"{number}", prompt, ()), requests, awaited=awaited), list(requests))

    def begin(self) -> None:
        self.begun = True

    def answered(self, ask: Ask, response: Response) -> None:
        assert self.begun

    def follow_up(self, ask: Ask) -> list[Request]:
        prompt, turns = talk(ask)
        if not prompt.startswith("talk") or len(turns) > int(prompt[5:]) % 3:
            return []
        if f"{turns[-1]}?" == self.breaks_at:
            raise ValueError("I break")
        return [GenerateRequest(f"{turns[-1]}?", 5)]

    def complete(self, ask: Ask) -> None:
        request, response = ask.requests[0], ask.responses[0]
        assert isinstance(request, GenerateRequest)
        assert response is not None
        prompt, turns = talk(ask)
        if prompt.startswith("talk"):
            assert turns == [prompt.upper() + "?" * turn for turn in range(int(prompt[5:]) % 3 + 1)]
        if request.prompt == self.breaks_at:
            raise ValueError("I break")
        text = response.completions[0].text if response.completions else None
        self.answers.append((str(request.prompt), text, response.cached))

    def end(self, error: BaseException | None) -> None:
        self.error = error
        self.ends += 1


def talk(ask: Ask) -> tuple[str, list[str]]:
    """Return what was asked first, and all that was answered."""
    assert isinstance(ask.requests[0], GenerateRequest)
    assert len(ask.requests) == len(ask.answers)
    return str(ask.requests[0].prompt), [response.completions[0].text for response in ask.answers]


class NoMeter:
    """Measures nothing, but counts."""

    def __init__(self) -> None:
        self.worked = 0

    def working(self) -> None:
        self.worked += 1

    def leave_out(self, seconds: float) -> None:
        assert seconds >= 0

    def idle(self) -> None: ...


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[ResponseCache]:
    opened = ResponseCache(tmp_path / "responses.sqlite")
    yield opened
    opened.close()


def run(model: Model, jobs: list[Job], cache: ResponseCache | None = None) -> list[str]:
    ended = [job.name for job in Scheduler(CachingModel(model, "server:0", cache), jobs, NoMeter()).run()]
    assert sorted(ended) == sorted(job.name for job in jobs)
    assert [job.ends for job in jobs] == [1] * len(jobs)
    return ended


def names(letter: str, count: int) -> list[str]:
    return [f"{letter} {number}" for number in range(count)]


@pytest.mark.parametrize("seed", range(5))
def test_the_model_is_full_until_the_last_answers(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Every request is made before the model asks for the first, so that no slot is empty because of the prompts.
    monkeypatch.setattr(Server, "look_ahead", 300)
    server, jobs = Server(seed), [Job(letter, names(letter, 100)) for letter in "abc"]
    run(server, jobs)
    assert server.busy == [LIMIT] * (300 - LIMIT) + list(range(LIMIT, 0, -1))
    assert [[prompt for prompt, _, _ in job.answers] for job in jobs] == [job.prompts for job in jobs]
    assert all(text == prompt.upper() for job in jobs for prompt, text, _ in job.answers)


@pytest.mark.parametrize("seed", range(3))
def test_turns_that_follow_an_answer_keep_the_model_full(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 100 conversations of three turns, no turn waits for another conversation."""
    monkeypatch.setattr(Server, "look_ahead", 100)
    server, job = Server(seed), Job("a", [f"talk {3 * number + 2}" for number in range(100)])
    run(server, [job])
    assert len(server.asked) == 300
    assert server.busy[: 300 - 3 * LIMIT] == [LIMIT] * (300 - 3 * LIMIT)
    assert [prompt for prompt, _, _ in job.answers] == job.prompts


def test_turns_that_were_answered_before_are_not_asked_again(cache: ResponseCache) -> None:
    prompts = [f"talk {number}" for number in range(30)]

    class Killed(Server):
        def answer(self, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
            for count, answer in enumerate(super().answer(requests)):
                if count == 37:
                    raise KeyboardInterrupt
                yield answer

    first, second = Killed(), Server(1)
    with pytest.raises(KeyboardInterrupt):
        run(first, [Job("a", prompts)], cache)
    known = set(first.asked[: 37 + LIMIT])
    assert len(cache) == 37
    job = Job("a", prompts)
    run(second, [job], cache)
    assert len(cache) == 60
    assert len(set(second.asked)) == len(second.asked) == 60 - 37
    assert len(known & set(second.asked)) <= LIMIT  # in flight when it was killed
    assert [prompt for prompt, _, _ in job.answers] == prompts


def test_equal_conversations_are_asked_once(cache: ResponseCache) -> None:
    server, jobs = Server(), [Job("a", ["talk 2", "talk 2"]), Job("b", ["x", "talk 2"])]
    run(server, jobs, cache)
    assert sorted(server.asked) == ["TALK 2?", "TALK 2??", "talk 2", "x"]


def test_a_run_whose_next_turn_breaks_ends_alone() -> None:
    jobs = [Job("a", ["talk 1", "talk 2"], breaks_at="TALK 2?"), Job("b", ["talk 2"])]
    run(Server(), jobs)
    assert isinstance(jobs[0].error, ValueError)
    assert jobs[1].error is None
    assert jobs[1].answers == [("talk 2", "TALK 2", False)]


def test_a_run_with_more_requests_than_may_be_on_their_way_leaves_no_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next request follows an answer, not a window: with windows of 50, the slots would run empty ten times."""
    monkeypatch.setattr(prompt_thread, "MOST_UNANSWERED", 50)

    class Waiting(Server):
        """Takes a request when the prompt thread had time to make it, so that no slot is empty because of prompts."""

        def answer(self, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
            for answered in super().answer(requests):
                yield answered
                deadline = time.monotonic() + 60
                while len(jobs[0].made) + len(jobs[1].made) < min(500, len(self.asked) + LIMIT):
                    assert time.monotonic() < deadline
                    time.sleep(0.001)

    server, jobs = Waiting(), [Job("a", names("a", 250)), Job("b", names("b", 250))]
    run(server, jobs)
    full = server.busy[LIMIT:-LIMIT]
    assert sum(count < LIMIT for count in full) < 0.05 * len(full)


def test_what_waits_holds_back_itself_alone() -> None:
    waiting = Job("w", [f"wait {number}" for number in range(20)])
    others = [Job("a", names("a", 100)), Job("b", names("b", 100))]
    server = Server()
    ended = run(server, [waiting, *others])
    assert [text for _, text, _ in waiting.answers] == [f"WAIT {number}" for number in range(20)]
    # One of its requests is under way at a time, while the others keep the server full.
    assert sum(count == LIMIT for count in server.busy) > 150
    assert set(ended) == {"w", "a", "b"}


def test_equal_requests_of_all_runs_are_asked_once(cache: ResponseCache) -> None:
    server = Server()
    jobs = [Job("a", ["p", "q", "p"]), Job("b", ["q", "r"]), Job("c", ["p"])]
    run(server, jobs, cache)
    assert sorted(server.asked) == ["p", "q", "r"]
    assert [[prompt for prompt, _, _ in job.answers] for job in jobs] == [job.prompts for job in jobs]
    assert sum(cached for job in jobs for _, _, cached in job.answers) == 3


def test_what_is_known_does_not_reach_the_model(cache: ResponseCache) -> None:
    run(Server(), [Job("a", names("a", 30))], cache)
    server, again, new = Server(), Job("a", names("a", 30)), Job("b", [*names("a", 20), *names("b", 5)])
    run(server, [again, new], cache)
    assert sorted(server.asked) == names("b", 5)
    assert all(cached for _, _, cached in again.answers)


def test_more_known_answers_than_may_be_on_their_way(cache: ResponseCache, monkeypatch: pytest.MonkeyPatch) -> None:
    run(Server(), [Job("a", names("a", 40))], cache)
    monkeypatch.setattr(prompt_thread, "MOST_UNANSWERED", 7)
    server, jobs = Server(), [Job("a", names("a", 40)), Job("b", [*names("a", 40), *names("b", 9), *names("a", 40)])]
    assert run(server, jobs, cache) == ["a", "b"]
    assert sorted(server.asked) == names("b", 9)


@pytest.mark.parametrize("kept", [True, False])
def test_a_run_that_breaks_takes_no_other_with_it(cache: ResponseCache, kept: bool) -> None:
    jobs = [Job("a", names("x", 30)), Job("b", names("x", 30), breaks_at="x 7"), Job("c", names("c", 30))]
    run(Server(), jobs, cache if kept else None)
    assert [type(job.error) for job in jobs] == [type(None), ValueError, type(None)]
    assert [len(job.answers) for job in jobs] == [30, 7, 30]


def test_what_the_model_stumbles_over_fails_every_run_that_asks_it_and_no_other(cache: ResponseCache) -> None:
    jobs = [Job("a", names("a", 20)), Job("b", [*names("b", 9), "bad"]), Job("c", ["bad", *names("c", 20)])]
    jobs.append(Job("d", names("b", 9)))
    server = Server(stumbles="bad")
    run(server, jobs, cache)
    assert [str(job.error) for job in jobs] == ["None", "I stumble over bad", "I stumble over bad", "None"]
    assert [len(job.answers) for job in (jobs[0], jobs[3])] == [20, 9]


def test_a_model_that_takes_nothing_fails_the_runs(cache: ResponseCache) -> None:
    class Idle(Server):
        def answer(self, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
            return iter(())

    jobs = [Job("a", names("a", 3)), Job("b", names("b", 3))]
    run(Idle(), jobs, cache)
    assert all("answered none of its requests" in str(job.error) for job in jobs)


def test_nothing_to_ask() -> None:
    jobs = [Job("a", []), Job("b", ["p"]), Job("c", [])]
    run(Server(), jobs)
    assert run(Server(), []) == []
    assert [job.begun for job in jobs] == [False, True, False]


def test_a_cache_that_cannot_be_read_ends_everything(cache: ResponseCache, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [Job("a", names("a", 3)), Job("b", names("b", 3))]

    def broken(*_: Any) -> None:
        raise CacheError("the disk is gone")

    monkeypatch.setattr(ResponseCache, "get", broken)
    with pytest.raises(StorageError, match="gone"):
        run(Server(), jobs, cache)
    assert all(isinstance(job.error, StorageError) for job in jobs)


def test_an_interrupt_ends_all_runs_and_the_thread() -> None:
    class Interrupted(Server):
        def answer(self, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
            yield from islice(super().answer(requests), 5)
            raise KeyboardInterrupt

    jobs = [Job("a", names("a", 100_000)), Job("b", names("b", 3))]
    with pytest.raises(KeyboardInterrupt):
        run(Interrupted(), jobs)
    assert isinstance(jobs[0].error, KeyboardInterrupt)
    assert len(jobs[0].made) < 3 * prompt_thread.MOST_UNANSWERED


def test_nothing_is_lost_when_the_prompts_end_between_two_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both threads are held up where the end of the prompts can fall between the answer thread's questions."""
    prompts = prompt_thread.PromptThread
    exhausted, hand_over = prompts.exhausted, prompts._hand_over

    def asked(self: Any) -> bool:
        found: bool = exhausted.fget(self)  # type: ignore[attr-defined]
        time.sleep(0.02)
        return found

    def handed_over(self: Any) -> None:
        hand_over(self)
        time.sleep(0.01)

    monkeypatch.setattr(prompts, "exhausted", property(asked))
    monkeypatch.setattr(prompts, "_hand_over", handed_over)
    monkeypatch.setattr(Server, "look_ahead", 300)
    jobs = [Job("a", names("a", 3)), Job("b", names("b", 3))]
    run(Server(), jobs)
    assert [len(job.answers) for job in jobs] == [3, 3]


def test_what_is_put_back_twice_is_asked_once(cache: ResponseCache) -> None:
    """The request that a failing run shares with one that goes on is put back for both."""

    class Stumbling(Server):
        look_ahead = 50

        def answer(self, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
            coming, in_flight = enumerate(requests), dict[int, str]()
            while True:
                in_flight |= {index: str(request.prompt) for index, request in coming}  # type: ignore[union-attr]
                together.append(sorted(in_flight.values()))
                if not in_flight:
                    return
                if "bad" in in_flight.values():
                    time.sleep(0.05)  # meanwhile the other run, which has its answer, asks for the shared ones
                    raise ModelError("bad")
                index = next(iter(in_flight))
                yield index, Response((Completion(in_flight.pop(index).upper()),))

    class Pair(Job):
        def _asks(self) -> Iterator[Ask]:
            yield from super()._asks()
            requests = GenerateRequest("shared", 5), GenerateRequest("other", 5)
            yield Ask(Adapted(Instance("pair", "pair", ()), requests), list(requests))

        def complete(self, ask: Ask) -> None:
            if len(ask.requests) == 1:
                super().complete(ask)
            else:
                pairs.append([response.completions[0].text if response else None for response in ask.responses])

    together: list[list[str]] = []
    pairs: list[list[str | None]] = []
    jobs = [Pair("a", ["wait"]), Job("b", ["shared", "bad"])]
    run(Stumbling(), jobs, cache)
    assert [str(job.error) for job in jobs] == ["None", "bad"]
    assert pairs == [["SHARED", "OTHER"]]
    assert all(len(set(prompts)) == len(prompts) for prompts in together)


def test_a_request_that_the_cache_cannot_name_fails_its_run_alone(cache: ResponseCache) -> None:
    class Odd(Job):
        def _asks(self) -> Iterator[Ask]:
            yield from super()._asks()
            requests = (GenerateRequest("odd", object()),)  # type: ignore[arg-type]
            yield Ask(Adapted(Instance("odd", "odd", ()), requests), list(requests))

    jobs = [Job("a", names("a", 5)), Odd("odd", ["p"]), Job("c", names("c", 5))]
    run(Server(), jobs, cache)
    assert [type(job.error) for job in jobs] == [type(None), TypeError, type(None)]
    assert [len(job.answers) for job in (jobs[0], jobs[2])] == [5, 5]


def test_a_next_turn_that_the_cache_cannot_name_is_not_held(cache: ResponseCache) -> None:
    class Odd(Job):
        def follow_up(self, ask: Ask) -> list[Request]:
            return [GenerateRequest("odd", object())] * 5  # type: ignore[arg-type]

    odd, other = Odd("odd", ["talk 1"]), Job("a", names("a", 5))
    scheduling = Scheduler(CachingModel(Server(), "server:0", cache), [odd, other], NoMeter())
    list(scheduling.run())
    assert isinstance(odd.error, TypeError)
    assert (len(other.answers), scheduling._held, scheduling._unanswered) == (5, 0, 0)


def test_answers_that_wait_for_a_late_one_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_thread, "MOST_UNANSWERED", 10)
    monkeypatch.setattr(scheduler, "MOST_HELD", 40)

    class Late(Server):
        """Answers the first request of all when it gets no more of the others."""

        def answer(self, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
            coming = enumerate(requests)
            held, _ = next(coming)
            empty = 0
            while empty < 20:
                for index, _ in coming:
                    self.asked.append("")
                    empty = 0
                    yield index, Response((Completion("x"),))
                empty += 1
                time.sleep(0.002)
            before.append(len(self.asked))
            yield held, Response((Completion("x"),))

    before: list[int] = []
    job = Job("a", names("a", 500))
    run(Late(), [job])
    assert len(job.answers) == 500
    assert before[0] < 60


def test_a_run_that_has_ended_is_let_go_while_the_model_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Server, "look_ahead", 3000)  # so that the model is called once
    jobs = [Job(f"{number}", names("a", 3)) for number in range(7)]
    jobs.append(Job("last", names("z", 3000)))
    alive = [weakref.ref(job) for job in jobs[:-1]]
    ending = Scheduler(CachingModel(Server(), "server:0", None), jobs, NoMeter()).run()
    del jobs
    assert {next(ending).name for _ in alive} == {f"{number}" for number in range(7)}
    gc.collect()
    assert sum(job() is not None for job in alive) < 5  # those that the two threads look at just now
    list(ending)


@pytest.mark.parametrize("seed", range(20))
def test_any_mixture_gives_every_run_its_answers(
    seed: int, cache: ResponseCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(seed)
    monkeypatch.setattr(prompt_thread, "MOST_UNANSWERED", draw.choice([1, 3, 10, 100]))
    monkeypatch.setattr(prompt_thread, "RUNS_AT_ONCE", draw.choice([1, 2, 8]))
    monkeypatch.setattr(Server, "look_ahead", draw.choice([1, 5, 200]))
    jobs = []
    for number in range(draw.randrange(1, 8)):
        prompts = [draw.choice(["wait ", "x ", "talk "]) + str(draw.randrange(30)) for _ in range(draw.randrange(40))]
        breaks = draw.choice(prompts) if prompts and draw.random() < 0.2 else ""
        jobs.append(Job(f"{number}", prompts, breaks))
    stumbles = draw.choice(["", "x 3"])
    server = Server(seed, stumbles)
    run(server, jobs, cache)
    failed = deque(job for job in jobs if job.error is not None)
    for job in jobs:
        if job in failed:
            assert job.breaks_at or stumbles in job.prompts
        else:
            assert [prompt for prompt, _, _ in job.answers] == job.prompts
            assert all(text == prompt.upper() for prompt, text, _ in job.answers)
    answered = [prompt for prompt in server.asked if prompt != stumbles]
    if not stumbles:
        assert len(set(answered)) == len(answered)
    assert max(server.busy, default=0) <= LIMIT
