"""What a Ray cluster is to do for each model of a job: its runs, its heads, its replicas. No call to Ray."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.contracts.model_settings import Resources
from harness.contracts.specs import Component, RunSpec
from harness.executors.dealing import Load, next_model
from harness.executors.guessed_time import LOADING_SECONDS
from harness.executors.layout import loads_weights
from harness.executors.ray_nodes import Demand
from harness.plugins.registry import Registry
from harness.storage.results import RunRecord

MOST_REPLICAS = 8
"""Replicas that one head can feed: preparing and scoring take 0.2 to 0.3 ms of its processor for each request."""


@dataclass(slots=True, eq=False)
class Head:
    """A head, or those that follow each other in its place."""

    number: int
    """Its number in the job."""
    replicas: int
    """Its replicas; 0 if it holds the model itself."""
    actor: Any = None
    """The actor; None between an end and the next start."""
    running: Any = None
    """What its ``run`` will return."""
    ping: Any = None
    """What its last ``ping`` will return; None if it has answered."""
    heard: float = 0.0
    """When it last answered a ping, or joined."""
    joined: bool = False
    """True once it has begun."""
    unplaced_at: float | None = None
    """Since when its replicas wait for a place on the cluster; None if one has it."""
    told: bool = False
    """True if it has been logged that they wait."""
    again_at: float = 0.0
    """When it may be started again."""
    idle: int = 0
    """Times that it has found nothing left to do since a run of its model ended."""


@dataclass(slots=True, eq=False)
class ModelWork:
    """What is to be done for one model."""

    name: str
    """The model's name, for messages."""
    component: Component
    """The model with its arguments."""
    gpus: int
    """GPUs of a replica; 0 for a model that needs none."""
    wanted: int | None
    """Number of replicas that the sweep asks for; None for as many as are worth their loading."""
    left: dict[tuple[str, str], float]
    """Estimated seconds of each run that has not ended, by suite and name."""
    heads: list[Head] = field(default_factory=list)
    """Its heads; empty until it begins, and after its end."""
    deaths: int = 0
    """Heads that died since the last run ended."""

    @property
    def in_head(self) -> bool:
        """True if a head holds the model itself."""
        return not self.gpus and self.wanted == 1

    @property
    def replicas(self) -> int:
        """Replicas that have been asked for."""
        return sum(head.replicas for head in self.heads)

    @property
    def cpus(self) -> float:
        """CPUs of its actors."""
        return sum(1 + head.replicas for head in self.heads)

    @property
    def demand(self) -> Demand:
        """What it needs at once."""
        return Demand(self.name, self.gpus, 0 if self.in_head else self.wanted or 1)

    @property
    def seconds(self) -> float:
        """Estimated seconds of all that is left, on one replica."""
        return sum(self.left.values())

    def ended(self, record: RunRecord) -> None:
        """Note that a run has ended, if it is one of this model."""
        if self.left.pop((record.suite, record.name), None) is not None:
            self.deaths = 0
            for head in self.heads:
                head.idle = 0


def work_of(runs: Sequence[RunSpec], seconds: Sequence[float], registry: Registry, *, gpus: bool) -> list[ModelWork]:
    """Return what is to be done for each model, the longest first.

    Args:
        runs: The runs.
        seconds: Estimated seconds of each on one replica.
        registry: Knows the backends.
        gpus: True if the cluster has GPUs: then a model that loads a checkpoint gets one, unless the sweep says
            otherwise.
    """
    found: dict[str, ModelWork] = {}
    for spec, own in zip(runs, seconds, strict=True):
        component = spec.configured_model
        key = component.model_dump_json()
        if key not in found:
            asked = spec.settings.resources or Resources()
            each = int(gpus and loads_weights(component.name, registry)) if asked.gpus is None else asked.gpus
            replicas = None if asked.replicas == "auto" else asked.replicas or 1
            found[key] = ModelWork(spec.model.name, component, each, replicas, {})
        found[key].left[spec.suite, spec.name] = own
    return sorted(found.values(), key=lambda work: -work.seconds)


def next_replica(models: Iterable[ModelWork], gpus: float) -> ModelWork | None:
    """Return the model that another replica helps most; None if it helps none, or none fits into the free GPUs."""
    known = {str(number): work for number, work in enumerate(models)}
    able = {key: work for key, work in known.items() if work.heads and work.left and not work.in_head}
    loads = [_load(key, work) for key, work in able.items() if work.gpus <= gpus]
    chosen = next_model(loads, max((load.gpus for load in loads), default=0))
    return None if chosen is None else known[chosen]


def _load(key: str, work: ModelWork) -> Load:
    # A run is divided into parts, so there is always a piece for another replica.
    loading = 0.0 if work.wanted is not None else LOADING_SECONDS
    pieces = work.replicas + 1
    return Load(key, work.seconds, pieces, loading, work.replicas, max(1, work.gpus), work.wanted)
