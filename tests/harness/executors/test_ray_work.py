"""What a Ray cluster is to do for each model, and who gets another replica."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.errors import HarnessError
from harness.executors import ray_cluster
from harness.executors.job import Job
from harness.executors.ray_work import Head, ModelWork, next_replica, work_of
from harness.runs.settings import Settings
from harness.runs.sweep_state import SweepState
from harness.sweeps.load import sweep_from_mapping

MODELS = [
    {"name": "fake:plain"},
    {"name": "fake:two", "resources": {"gpus": 0, "replicas": 2}},
    {"name": "fake:many", "resources": {"gpus": 2, "replicas": "auto"}},
    {"name": "hf:openai-community/gpt2"},
]
SECONDS = {"fake:plain": 1.0, "fake:two": 3.0, "fake:many": 900.0, "hf:openai-community/gpt2": 2.0}


def work(*, gpus: bool) -> dict[str, ModelWork]:
    sweep, registry = sweep_from_mapping({"suite": "s", "models": MODELS, "runs": ["boolq", "imdb"]})
    seconds = [SECONDS[spec.model.name] for spec in sweep.runs]
    return {one.name: one for one in work_of(sweep.runs, seconds, registry, gpus=gpus)}


def test_longest_first_with_what_the_sweep_asks_for() -> None:
    found = work(gpus=True)
    assert list(found) == ["fake:many", "fake:two", "hf:openai-community/gpt2", "fake:plain"]
    assert [one.seconds for one in found.values()] == [1800.0, 6.0, 4.0, 2.0]
    assert [(one.gpus, one.wanted) for one in found.values()] == [(2, None), (0, 2), (1, 1), (0, 1)]
    assert [one.in_head for one in found.values()] == [False, False, False, True]


def test_checkpoints_run_in_heads_where_there_are_no_gpus() -> None:
    model = work(gpus=False)["hf:openai-community/gpt2"]
    assert (model.gpus, model.in_head) == (0, True)


def test_replicas_that_are_asked_for_come_up_to_their_number() -> None:
    model = work(gpus=True)["fake:two"]
    assert next_replica([model], 8) is None  # it has not begun
    model.heads.append(Head(0, replicas=1))
    assert next_replica([model], 0) is model
    model.heads[0].replicas = 2
    assert next_replica([model], 0) is None


@pytest.mark.parametrize(("seconds", "replicas"), [(100.0, 1), (130.0, 2), (700.0, 11)])
def test_replicas_come_as_long_as_they_are_worth_their_loading(seconds: float, replicas: int) -> None:
    model = work(gpus=True)["fake:many"]
    model.left = {("s", "run"): seconds}
    model.heads.append(Head(0, replicas=1))
    while next_replica([model], 2) is not None:
        model.heads[0].replicas += 1
    assert model.heads[0].replicas == replicas
    model.left = {("s", "run"): 1e6}
    assert next_replica([model], 2) is model
    assert next_replica([model], 1) is None  # two GPUs do not fit


def test_runs_that_end_are_taken_out_and_forgive_deaths() -> None:
    model = work(gpus=True)["fake:plain"]
    model.deaths = 3
    (suite, name), *_ = model.left
    another: Any = SimpleNamespace(suite=suite, name="another")
    model.ended(another)
    assert (model.deaths, model.seconds) == (3, 2.0)
    own: Any = SimpleNamespace(suite=suite, name=name)
    model.ended(own)
    assert (model.deaths, model.seconds) == (0, 1.0)


def test_results_that_never_appear_end_the_sweep(tmp_path: Path) -> None:
    """Heads that find nothing left are started again, as the file system may be slow, but not for ever."""
    ray = pytest.importorskip("ray")
    model = work(gpus=False)["fake:plain"]
    one, other = model.heads = [Head(0, 0), Head(1, 0)]
    cluster = ray_cluster._Cluster(Job([], Settings(tmp_path)), tmp_path / "job", SweepState(), [model])
    for _ in range(ray_cluster.MOST_IDLE - 1):
        cluster._conclude(model, one, "")
        cluster._conclude(model, other, "")
    model.ended(SimpleNamespace(suite="s", name=next(iter(model.left))[1]))  # type: ignore[arg-type]
    for _ in range(ray_cluster.MOST_IDLE - 1):
        cluster._conclude(model, one, "")
    with pytest.raises(HarnessError, match="fake:plain: 1 runs have ended, but their results are not in"):
        cluster._conclude(model, one, "")
    assert not ray.is_initialized()
