"""What each head of a machine gets: graphics cards, and replicas of the models that it opens."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.contracts import Model
from harness.contracts.model_settings import Resources
from harness.contracts.plugins import BackendDetails, Kind
from harness.contracts.specs import Component, RunSpec
from harness.costs.graphics_cards import visible_devices
from harness.errors import HarnessError
from harness.executors.dealing import Load, replicas_for, worth_another
from harness.executors.guessed_time import LOADING_SECONDS, guessed_seconds
from harness.inference.model_pool import OpenModel, load_model
from harness.inference.replicated_model import replicated
from harness.plugins.registry import Registry
from harness.runs.elsewhere import Joins
from harness.sweeps.executor_keys import ExecutorKeys, LocalKeys

Cards = tuple[str, ...] | None
"""The graphics cards that a head may use, by number or UUID; None for all."""


@dataclass(frozen=True, slots=True)
class _Need:
    """What a model needs of a machine."""

    name: str
    """The model's name."""
    gpus: int
    """GPUs of one replica; 0 if it needs none."""
    replicas: int
    """Replicas at least."""
    resources: Resources
    """What the sweep says."""

    @property
    def least(self) -> int:
        """GPUs that a head must have to open it."""
        return self.gpus * self.replicas


def lay_out(runs: Sequence[RunSpec], registry: Registry, cards: Sequence[str], heads: int | None) -> list[Cards]:
    """Return the graphics cards of each head.

    Without a given number there is one head; if all models that load a checkpoint say how many GPUs they need, there is
    one for each group of as many as the largest needs. Replicas share the requests of each run, so where models have
    them there are not more heads than models.

    Args:
        runs: What to run.
        registry: Knows the backends.
        cards: The machine's graphics cards.
        heads: The number of heads; None to choose it from the GPUs.

    Raises:
        HarnessError: There are not as many GPUs as asked for.
    """
    models = {spec.configured_model.model_dump_json(): spec for spec in runs}
    needs = [_need(spec, registry, cards) for spec in models.values()]
    for need in needs:
        if need.least > len(cards):
            replicas = f" for each of {need.replicas} replicas" if need.replicas > 1 else ""
            raise HarnessError(
                f"{need.name} needs {_gpus(need.gpus)}{replicas} (`resources`), but this machine has {len(cards)}."
            )
    most = max((need.least for need in needs), default=0)
    loading = [need for need in needs if need.gpus]
    stated = bool(loading) and all(need.resources.gpus is not None for need in loading)
    if heads is None:
        heads = len(cards) // most if stated else 1
        if any(need.resources.replicas is not None for need in needs):
            heads = min(heads, len(needs))
    heads = max(1, min(heads, len(runs)))  # another one would have nothing to do
    each = len(cards) // heads
    if heads == 1 or not most or (each < most and not stated):
        return [None] * heads
    if each < most:
        raise HarnessError(
            f"{heads} heads need {_gpus(most)} each for the sweep's models, {heads * most} together, but this machine "
            f"has {len(cards)}."
        )
    return [tuple(cards[head * each : (head + 1) * each]) for head in range(heads)]


def check_cards(runs: Sequence[RunSpec], registry: Registry, settings: ExecutorKeys | None) -> str:
    """Return why a sweep would not start on this machine's graphics cards; '' if it would, or if it runs elsewhere.

    Args:
        runs: What to run.
        registry: Knows the backends.
        settings: The sweep's executor; None for the local one.
    """
    if not isinstance(settings or LocalKeys(), LocalKeys):
        return ""
    try:
        lay_out(runs, registry, visible_devices(), settings.heads if isinstance(settings, LocalKeys) else None)
    except HarnessError as error:
        return str(error)
    return ""


def opener(runs: Sequence[RunSpec], plugins: Sequence[Path]) -> OpenModel:
    """Return what opens the models of runs on this machine: with replicas where the sweep asks for several.

    ``replicas: auto`` makes as many as there are graphics cards for, and as are worth their loading.
    """
    runs = [spec for spec in runs if "resources" in spec.operational or "resources" in spec.model.arguments]
    asked = {spec.configured_model.model_dump_json(): spec for spec in runs}
    work = defaultdict[str, float](float)
    for spec in runs:
        work[spec.configured_model.model_dump_json()] += guessed_seconds(spec)

    def open_model(component: Component, registry: Registry) -> Model:
        key = component.model_dump_json()
        spec = asked.get(key)
        resources = spec.settings.resources if spec is not None else None
        if spec is None or resources is None or resources.replicas is None:
            return load_model(component, registry)
        cards = visible_devices()
        need = _need(spec, registry, cards)
        replicas = need.replicas
        if resources.replicas == "auto" and need.gpus:
            # Each run is divided among the replicas, so there is always a piece for another one.
            load = Load(key, work[key], len(cards), LOADING_SECONDS, gpus=need.gpus)
            replicas = replicas_for([load], len(cards))[key]
        if replicas < 2:
            return load_model(component, registry)
        return replicated(component, registry, replicas, need.gpus, plugins)

    return open_model


def joiner(registry: Registry) -> Joins:
    """Return what says if a process should open a model as well: if its share of the runs takes longer than loading."""

    def joins(free: Sequence[RunSpec], others: int) -> bool:
        loading = LOADING_SECONDS if free and loads_weights(free[0].model.name, registry) else 0.0
        return worth_another(Load("", sum(map(guessed_seconds, free)), len(free), loading, replicas=others))

    return joins


def _gpus(number: int) -> str:
    return f"{number} GPU{'' if number == 1 else 's'}"


def _need(spec: RunSpec, registry: Registry, cards: Sequence[str]) -> _Need:
    resources = spec.settings.resources or Resources()
    gpus = resources.gpus
    if gpus is None:
        gpus = int(bool(cards) and loads_weights(spec.model.name, registry))
    replicas = resources.replicas if isinstance(resources.replicas, int) else 1
    return _Need(spec.model.name, gpus, replicas, resources)


def loads_weights(model: str, registry: Registry) -> bool:
    """Return True if a model's weights are loaded by this program, and not asked of a server."""
    backend = registry.find(Kind.BACKEND, model.partition(":")[0])
    if backend is None or not isinstance(backend.details, BackendDetails) or backend.details.checkpoints is None:
        return False
    return getattr(backend.target, "keep_spending", None) is Model.keep_spending  # a server's model counts its calls
