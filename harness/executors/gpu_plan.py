"""How long a planned sweep would take on a number of GPUs: speeds of models, measured or assumed, and a simulation."""

from __future__ import annotations

import heapq
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any

from harness.contracts.specs import RunSpec
from harness.costs.gpu_speed import Gpu
from harness.errors import DataError, HarnessError
from harness.executors.dealing import Load, longest_piece, lower_bound, split
from harness.executors.simulation import ModelWork, Piece, Schedule, simulate
from harness.inference.model_pool import load_model
from harness.plugins.registry import Registry
from harness.runs.plan import Size
from harness.storage.regular_files import read_regular
from harness.storage.results import RUN_FILE, is_hidden

MOST_READ = 2_000
"""Earlier runs that are looked at for measured speeds, the newest first."""
PART = 512
"""Requests that are answered by one replica in one piece."""


@dataclass(slots=True)
class Measured:
    """What earlier runs say of a model's speed on a kind of GPU."""

    runs: int = 0
    """Number of runs."""
    seconds: float = 0.0
    """Seconds that the model took."""
    assumed: float = 0.0
    """Seconds that it would have taken as assumed."""

    @property
    def factor(self) -> float:
        """How many times the assumed seconds it takes."""
        return self.seconds / self.assumed


@dataclass(slots=True)
class Earlier:
    """What earlier runs say of models, by name."""

    parameters: dict[str, int] = field(default_factory=dict)
    """Numbers of parameters."""
    speeds: dict[str, Measured] = field(default_factory=dict)
    """Speeds on the kind of GPU."""


@dataclass(frozen=True, slots=True)
class ModelPlan:
    """What one model needs."""

    model: str
    """Its label."""
    runs: int
    """Number of its runs."""
    gpus: int = 0
    """GPUs of one replica; 0 for a model that needs none here."""
    seconds: float = 0.0
    """Seconds of one replica for all runs, without loading."""
    measured: Measured | None = None
    """Earlier runs that its speed is from; None if it is assumed."""
    unknown: str = ""
    """Why nothing is known about its time; '' if it is."""
    unfit: str = ""
    """Why there is no place for a replica; '' if there is."""

    @property
    def planned(self) -> bool:
        """True if it needs GPUs and is part of the simulation."""
        return self.gpus > 0 and not (self.unknown or self.unfit)


@dataclass(frozen=True, slots=True)
class GpuPlan:
    """How a sweep would go on a number of GPUs."""

    gpus: int
    """Number of GPUs."""
    models: Sequence[ModelPlan]
    """What each model needs, the longest first."""
    schedule: Schedule
    """The simulation, of those models whose time is known."""


def plan_gpus(
    runs: Iterable[tuple[RunSpec, Size]],
    descriptions: Mapping[str, Mapping[str, Any]],
    earlier: Earlier,
    gpu: Gpu,
    gpus: int,
) -> GpuPlan:
    """Return how a planned sweep would go on a number of GPUs.

    A model with ``resources: {replicas: …}`` shares long runs between its replicas; the others' runs stay whole.

    Args:
        runs: The sweep's runs with their sizes.
        descriptions: What each model says of itself, by label.
        earlier: What earlier runs say.
        gpu: The kind of GPU.
        gpus: Their number.
    """
    by_model: dict[str, list[tuple[RunSpec, Size]]] = {}
    for spec, size in runs:
        by_model.setdefault(spec.model_label, []).append((spec, size))
    nodes = [gpu.node] * (gpus // gpu.node) + ([gpus % gpu.node] if gpus % gpu.node else [])
    models, work, whole = list[ModelPlan](), list[ModelWork](), dict[str, list[tuple[RunSpec, Size, float]]]()
    for label, sized in by_model.items():
        plan, loading = _model_plan(label, sized, descriptions.get(label, {}), earlier, gpu, max(nodes))
        models.append(plan)
        if plan.planned:
            whole[label] = [
                (spec, size, _seconds(spec, size, descriptions[label], earlier, gpu)) for spec, size in sized
            ]
            work.append(ModelWork(label, (), loading, plan.gpus, _most(sized[0][0])))
    loads = [Load(one.model, _total(whole[one.model]), len(whole[one.model]), one.loading, 0, one.gpus) for one in work]
    longest = longest_piece(lower_bound(loads, gpus))
    filled = [
        ModelWork(one.model, list(_pieces(whole[one.model], longest)), one.loading, one.gpus, one.most) for one in work
    ]
    return GpuPlan(gpus, sorted(models, key=lambda one: -one.seconds * one.gpus), simulate(filled, nodes))


def model_descriptions(specs: Iterable[RunSpec], registry: Registry) -> Mapping[str, Mapping[str, Any]]:
    """Return what each model says of itself, by label, without loading weights; {} for one that cannot be used."""
    found: dict[str, Mapping[str, Any]] = {}
    for spec in specs:
        if spec.model_label not in found:
            try:
                found[spec.model_label] = load_model(spec.configured_model, registry).description()
            except HarnessError:
                found[spec.model_label] = {}  # the plan of its runs says why
    return found


def read_earlier(results_dir: Path, gpu: Gpu) -> Earlier:
    """Return what the newest runs of a results folder say of models: parameters, and speed on this kind of GPU."""
    chip = re.search(r"[A-Z]+\d+[A-Za-z]*", gpu.name)
    files = (file for file in results_dir.glob(f"*/*/{RUN_FILE}") if not is_hidden(file.relative_to(results_dir)))
    newest = heapq.nlargest(MOST_READ, files, key=_changed)
    found = Earlier()
    for file in newest:
        with suppress(OSError, ValueError, LookupError, TypeError, AttributeError, DataError):
            value = json.loads(read_regular(file))
            name, model, spent = value["spec"]["model"]["name"], value["provenance"]["model"], value["efficiency"]
            parameters = int(model.get("parameters") or 0)
            if value["status"] != "ok" or not parameters:
                continue
            found.parameters.setdefault(name, parameters)
            cards = value["provenance"]["host"].get("gpus") or [""]
            if chip and chip.group() in str(cards[0]) and spent["model_seconds"] > 0:
                speed = found.speeds.setdefault(name, Measured())
                tokens = spent["prompt_tokens"], spent["completion_tokens"], spent["queries"]
                speed.assumed += gpu.seconds(parameters, *tokens)
                speed.seconds += spent["model_seconds"]
                speed.runs += 1
    return found


def _changed(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _model_plan(
    label: str,
    sized: Sequence[tuple[RunSpec, Size]],
    description: Mapping[str, Any],
    earlier: Earlier,
    gpu: Gpu,
    widest: int,
) -> tuple[ModelPlan, float]:
    """Return what a model needs, and the seconds that it takes to load."""
    spec = sized[0][0]
    resources = spec.settings.resources
    given = resources.gpus if resources else None
    if given == 0 or "server" in description:
        return ModelPlan(label, len(sized)), 0.0
    parameters = _parameters(spec, description, earlier)
    unknown = f"no parameters known for {label}: add `about: {{parameters: …}}` to its entry."
    if given is None and not parameters:
        return ModelPlan(label, len(sized), unknown=unknown if parameters is None else ""), 0.0
    gpus = given or gpu.needed(parameters or 0)
    seconds = sum(_seconds(one, size, description, earlier, gpu) for one, size in sized)
    measured = earlier.speeds.get(spec.model.name)
    unfit = ""
    if gpus > widest:
        of_entry = ", says `resources` of its entry" if given else ", for its weights in 16 bits"
        unfit = f"{label} needs {gpus} GPUs of one machine{of_entry}; here a machine has {widest}."
    plan = ModelPlan(label, len(sized), gpus, seconds, measured, "" if parameters is not None else unknown, unfit)
    return plan, gpu.loading(parameters or 0)


def _parameters(spec: RunSpec, description: Mapping[str, Any], earlier: Earlier) -> int | None:
    """Return a model's number of parameters: from its entry, its files, or an earlier run."""
    about = spec.settings.about
    if about is not None and about.parameters:
        return about.parameters
    known = description.get("parameters")
    return known if isinstance(known, int) else earlier.parameters.get(spec.model.name)


def _seconds(spec: RunSpec, size: Size, description: Mapping[str, Any], earlier: Earlier, gpu: Gpu) -> float:
    """Return the seconds that one replica takes for a run."""
    parameters = _parameters(spec, description, earlier) or 0
    resources = spec.settings.resources
    gpus = (resources.gpus if resources else None) or gpu.needed(parameters)
    speed = earlier.speeds.get(spec.model.name)
    assumed = gpu.seconds(parameters, size.prompt_tokens, size.max_completion_tokens, size.requests, gpus)
    return assumed * (speed.factor if speed else 1.0)


def _most(spec: RunSpec) -> int | None:
    resources = spec.settings.resources
    return resources.replicas if resources and isinstance(resources.replicas, int) else None


def _total(runs: Sequence[tuple[RunSpec, Size, float]]) -> float:
    return sum(seconds for _, _, seconds in runs)


def _pieces(runs: Sequence[tuple[RunSpec, Size, float]], longest: float) -> Iterable[Piece]:
    for spec, size, seconds in runs:
        resources = spec.settings.resources
        shared = resources is not None and resources.replicas not in (None, 1)
        most = max(1, ceil(size.requests / PART)) if shared else 1
        yield from (Piece(part, part) for part in split(seconds, longest, most))
