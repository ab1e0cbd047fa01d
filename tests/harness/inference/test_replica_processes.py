"""Replicas in real processes: what is killed loses no answer, and answers are those of one process."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness import GenerateRequest, ModelError, Request, Response, ScoreRequest
from harness.contracts.specs import Component
from harness.inference import replica_pool
from harness.inference.model_pool import load_model
from harness.inference.process_replica import ProcessReplica, local_replica
from harness.inference.replica_pool import ReplicaPool
from harness.inference.replicas import MOST_ANSWERS, ModelSource
from harness.inference.replicated_model import ReplicatedModel, replicated
from harness.plugins.registry import Registry, default_registry

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX's")

FRAGILE = """\
import os
import time
from harness import Completion, Model, ModelError, Response, backend

@backend("fragile", source="Made up.")
class Fragile(Model):
    '''Ends its process, fails or hangs at certain requests.'''

    answers = frozenset({"score"})

    def __init__(self, identifier):
        self.name = identifier

    def fingerprint(self):
        return {"backend": "fragile", "card": os.environ.get("CARD", "")}

    def answer(self, requests):
        for index, request in enumerate(requests):
            if "poison" in request.context:
                os._exit(3)
            if "stumble" in request.context:
                raise ValueError("I stumble")
            if "refuse" in request.context:
                raise ModelError("I refuse")
            if self.name == "slow":
                time.sleep(0.01)
            yield index, Response(logprobs=(0.0,), greedy=True)
"""


def asked(count: int) -> list[Request]:
    score: list[Request] = [ScoreRequest(f"question {number}", " answer") for number in range(count)]
    for number in range(0, count, 3):
        score[number] = GenerateRequest(f"question {number}", max_tokens=3)
    return score


def pool_of(source: ModelSource, replicas: int) -> ReplicaPool:
    return ReplicaPool("it", [local_replica(source, f"place {place}") for place in range(replicas)])


@pytest.fixture(scope="module")
def registry() -> Registry:
    return default_registry()


@pytest.fixture
def fragile(tmp_path: Path) -> Callable[..., ModelSource]:
    """Return a function that returns a model that fails at certain requests."""
    (tmp_path / "fragile.py").write_text(FRAGILE)

    def make(identifier: str = "x", **environment: str) -> ModelSource:
        return ModelSource(Component(name=f"fragile:{identifier}"), (tmp_path / "fragile.py",), environment)

    return make


@pytest.fixture
def opened() -> Iterator[list[Any]]:
    """What to close at the end, after which no process may be left."""
    found: list[Any] = []
    yield found
    for one in found:
        one.close()
    deadline = time.monotonic() + 20
    while left := [child for child in multiprocessing.active_children() if child.name.startswith("replica")]:
        # One that has ended counts until the thread that waited for it has noted how.
        assert time.monotonic() < deadline, left
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_one_two_and_three_replicas_answer_alike(registry: Registry, opened: list[Any]) -> None:
    component = Component(name="fake:7", arguments={"window": 40})
    requests = asked(1200)
    expected = dict(load_model(component, registry).answer(requests))
    for replicas in (1, 2, 3):
        model = replicated(component, registry, replicas)
        opened.append(model)
        found = dict(model.answer(requests))
        assert found == expected  # to the last digit
        assert 1 <= len(model.description()["workers"]) <= replicas  # one may have been quicker than others began


def kill_at_random(
    model: ReplicatedModel, requests: list[Request], draw: random.Random, times: int
) -> Iterator[tuple[int, Response]]:
    """Answer requests, and kill a replica at random moments."""
    moments = sorted(draw.sample(range(len(requests) // 10, len(requests) * 9 // 10), times))
    for count, one in enumerate(model.answer(requests)):
        yield one
        while moments and count >= moments[0]:
            moments.pop(0)
            victim = draw.choice(model.pool.running)
            assert isinstance(victim, ProcessReplica)
            assert victim.process.pid is not None
            os.kill(victim.process.pid, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_killed_replicas_lose_nothing_and_ask_at_most_a_block_again(
    registry: Registry, tmp_path: Path, opened: list[Any]
) -> None:
    draw = random.Random(5)
    for times in (1, 3):
        log = tmp_path / f"log-{times}"
        component = Component(name="fake:0", arguments={"delay": 0.0005, "log": str(log)})
        model = replicated(component, registry, 3)
        opened.append(model)
        requests = asked(5000)
        found = list(kill_at_random(model, requests, draw, times))
        assert sorted(index for index, _ in found) == list(range(len(requests)))
        assert not [given.error for _, given in found if given.error]
        plain = load_model(Component(name="fake:0", arguments={"delay": 0.0005}), registry)
        expected = dict(plain.answer([requests[index] for index in range(0, len(requests), 50)]))
        answers = dict(found)
        assert all(answers[50 * place] == given for place, given in expected.items())
        asked_again = sum(count - 1 for count in Counter(log.read_text().split()).values())
        assert asked_again <= times * MOST_ANSWERS


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_poisoned_part_fails_alone(fragile: Callable[..., ModelSource], opened: list[Any]) -> None:
    pool = pool_of(fragile(), 2)
    opened.append(pool)
    requests = [ScoreRequest("poison" if number == 90 else f"question {number}", " a") for number in range(600)]
    found = dict(pool.answer(requests))
    assert sorted(found) == list(range(600))
    failed = {number for number, response in found.items() if response.error}
    assert 90 in failed
    assert failed <= set(range(75, 150))  # its part
    assert "2 processes died while they answered this request" in str(found[90].error)
    assert "ended with code 3" in str(found[90].error)


@pytest.mark.timeout(300)
def test_errors_of_a_model_are_raised_and_the_replica_goes_on(
    fragile: Callable[..., ModelSource], opened: list[Any]
) -> None:
    pool = pool_of(fragile(), 1)
    opened.append(pool)
    before = pool.ready().worker["pid"]
    with pytest.raises(RuntimeError, match="ValueError: I stumble"):
        list(pool.answer([ScoreRequest("question", " a"), ScoreRequest("stumble", " a")]))
    assert len(list(pool.answer([ScoreRequest("question", " a")]))) == 1
    assert pool.facts()[0].worker["pid"] == before
    with pytest.raises(ModelError, match="I refuse"):
        list(pool.answer([ScoreRequest("refuse", " a")]))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_frozen_replica_does_not_hold_up_the_others(
    fragile: Callable[..., ModelSource], opened: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replica_pool, "PING_SECONDS", 0.5)
    monkeypatch.setattr(replica_pool, "SILENT_SECONDS", 1.0)
    monkeypatch.setattr(replica_pool, "CLOSE_SECONDS", 1.0)
    pool = pool_of(fragile("slow"), 2)
    opened.append(pool)
    requests: list[Request] = [ScoreRequest(f"question {number}", " a") for number in range(400)]
    found = []
    for one in pool.answer(requests):
        found.append(one[0])
        if len(found) == 100:
            frozen = pool.running[0]
            assert isinstance(frozen, ProcessReplica)
            os.kill(frozen.process.pid or 0, signal.SIGSTOP)
    assert sorted(found) == list(range(400))


@pytest.mark.timeout(300)
def test_a_replica_with_another_fingerprint_is_refused(
    fragile: Callable[..., ModelSource], opened: list[Any], tmp_path: Path
) -> None:
    head = load_model(Component(name="fragile:x"), default_registry([tmp_path / "fragile.py"]))
    model = ReplicatedModel(head, "fragile:x", [local_replica(fragile(CARD="other"), "place 0")])
    opened.append(model)
    with pytest.raises(ModelError, match=r"the replica on place 0 is another model: card is 'other' there and '' here"):
        list(model.answer(asked(3)))


@pytest.mark.timeout(300)
def test_a_model_that_is_not_there_is_refused(opened: list[Any]) -> None:
    pool = pool_of(ModelSource(Component(name="nothing:x")), 2)
    opened.append(pool)
    with pytest.raises(ModelError, match="there is no backend named 'nothing'"):
        list(pool.answer(asked(3)))


def test_more_gpus_than_there_are_and_servers_are_refused(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(ModelError, match=r"3 replicas with 2 GPUs each need 6, but this machine has 0"):
        replicated(Component(name="fake:0"), registry, 3, gpus=2)
    pytest.importorskip("openai")
    with pytest.raises(ModelError, match="answered by a server"):
        replicated(Component(name="openai:gpt"), registry, 2)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_an_iteration_that_is_broken_off_ends_the_processes(registry: Registry, opened: list[Any]) -> None:
    model = replicated(Component(name="fake:0", arguments={"delay": 0.001}), registry, 2)
    opened.append(model)
    coming = model.answer(asked(2000))
    next(coming)
    processes = [one.process for one in model.pool.running if isinstance(one, ProcessReplica)]
    assert len(processes) == 2
    coming.close()  # type: ignore[attr-defined]
    assert not any(process.is_alive() for process in processes)
    assert len(list(model.answer(asked(20)))) == 20


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("end", ["pass", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_processes_end_with_the_one_that_started_them(tmp_path: Path, end: str) -> None:
    script = f"""\
import os, signal
from harness.contracts.specs import Component
from harness.inference.replicated_model import replicated
from harness.plugins.registry import default_registry
from tests.harness.inference.test_replica_processes import asked

if __name__ == "__main__":
    model = replicated(Component(name="fake:0"), default_registry(), 2)
    print(len(list(model.answer(asked(20)))), *(one.process.pid for one in model.pool.running), flush=True)
    {end}
"""
    (tmp_path / "script.py").write_text(script)
    ended = subprocess.run([sys.executable, tmp_path / "script.py"], capture_output=True, text=True, timeout=250)
    count, *pids = map(int, ended.stdout.split())
    assert count == 20
    until = time.monotonic() + 60
    while any(map(_lives, pids)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(_lives, pids))


def _lives(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().split()[2] != "Z"
    except OSError:
        return False
