"""Replicas in actors of a real Ray: the same answers, and nothing lost when one is killed."""

from __future__ import annotations

import os
import random
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import ModelError, Request, ScoreRequest
from harness.contracts.specs import Component
from harness.inference.model_pool import load_model
from harness.inference.ray_replica import ray_replica
from harness.inference.replicas import MOST_ANSWERS, ModelSource
from harness.inference.replicated_model import ReplicatedModel
from harness.plugins.registry import default_registry
from tests.harness.inference.test_replica_processes import FRAGILE, asked
from tests.ray_nodes import one_ray_node

ray = pytest.importorskip("ray")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module", autouse=True)
def _ray() -> Iterator[None]:
    """A Ray of one node, which ends with these tests."""
    with one_ray_node():
        yield


def model_of(component: Component, replicas: int, *plugins: Path) -> ReplicatedModel:
    source = ModelSource(component, plugins)
    head = load_model(component, default_registry(plugins))
    return ReplicatedModel(head, component.name, [ray_replica(source) for _ in range(replicas)], elsewhere=True)


def test_actors_answer_alike_and_lose_nothing_when_killed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    component = Component(name="fake:7", arguments={"window": 40, "delay": 0.0005, "log": str(log)})
    requests = asked(3000)
    plain = load_model(Component(name="fake:7", arguments={"window": 40, "delay": 0.0005}), default_registry())
    expected = dict(plain.answer(requests))
    model = model_of(component, 2)
    try:
        found = dict(model.answer(requests[:1000]))
        assert found == {index: expected[index] for index in range(1000)}  # to the last digit
        log.unlink()
        draw = random.Random(3)
        moments = sorted(draw.sample(range(300, 2700), 2))
        found = {}
        for index, response in model.answer(requests):
            assert index not in found
            found[index] = response
            if moments and len(found) >= moments[0]:
                moments.pop(0)
                pids = [facts.worker["pid"] for facts in model.pool.facts() if _lives(facts.worker["pid"])]
                os.kill(draw.choice(pids), signal.SIGKILL)
        assert found == expected
        asked_again = sum(count - 1 for count in Counter(log.read_text().split()).values())
        assert asked_again <= 2 * MOST_ANSWERS
        assert {worker["host"] for worker in model.description()["workers"]}
    finally:
        model.close()


def test_a_poisoned_part_fails_alone_and_actors_come_and_go(tmp_path: Path) -> None:
    (tmp_path / "fragile.py").write_text(FRAGILE)
    component = Component(name="fragile:slow")
    model = model_of(component, 1, tmp_path / "fragile.py")
    requests: list[Request] = [ScoreRequest(f"question {number}", " a") for number in range(600)]
    requests[490] = ScoreRequest("poison", " a")
    try:
        found, first = {}, ""
        for index, response in model.answer(requests):
            found[index] = response
            if len(found) == 10:
                first = model.pool.running[0].label
                model.pool.add(ray_replica(ModelSource(component, (tmp_path / "fragile.py",))))
            if len(found) == 300:
                assert model.pool.remove(first)
        assert sorted(found) == list(range(600))
        failed = {index for index, response in found.items() if response.error}
        assert 490 in failed
        assert failed <= set(range(450, 525))  # its part
        assert "2 processes died while they answered this request" in str(found[490].error)
        assert first not in [replica.label for replica in model.pool.running]
    finally:
        model.close()


def test_what_an_actor_cannot_open_is_said() -> None:
    head = load_model(Component(name="fake:0"), default_registry())
    model = ReplicatedModel(head, "fake:0", [ray_replica(ModelSource(Component(name="nothing:0")))], elsewhere=True)
    with pytest.raises(ModelError, match="there is no backend named 'nothing'"):
        list(model.answer(asked(5)))
    model = ReplicatedModel(head, "fake:0", [ray_replica(ModelSource(Component(name="fake:1")))], elsewhere=True)
    with pytest.raises(ModelError, match="another model: seed is '1' there and '0' here"):
        list(model.answer(asked(5)))
    model.close()


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
