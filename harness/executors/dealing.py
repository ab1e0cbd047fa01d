"""Which model an idle worker serves next, and when another replica is worth its loading. Pure policy, no I/O.

A worker keeps the model that it has while anything is left for it, the longest first. Then it goes where it is needed
most: to the model that would end last if it helped, unless loading takes longer than the help would save::

    left (seconds)   A  ████████████ 1200      replicas  1      90 + 1200 / 2 = 690   an idle worker goes here
                     B  ██████ 600                       1      90 +  600 / 2 = 390
                     C  █ 60                             1      60 / 2 = 30 is not worth 90 s of loading

Work is in seconds of one replica. Nothing here depends on the order in which models or runs were written, except
between equals. Estimates may be wrong: they decide when something is done, never what comes out.

Source of the order within a model: Graham 1969, Bounds on Multiprocessing Timing Anomalies (longest processing time
first ends within 4/3 - 1/(3 m) of the best schedule on m machines).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

T = TypeVar("T")

PIECES_PER_REPLICA = 8
"""Pieces that each replica should get at least of evenly dealt work, so that the last to end is late by an eighth."""


@dataclass(frozen=True, slots=True)
class Load:
    """What is left to do for one model."""

    model: str
    """Identifies the model."""

    left: float
    """Seconds that one replica would take for all pieces (runs, or parts of runs) that nobody has begun."""

    pieces: int
    """Number of these pieces: more replicas than that cannot help."""

    loading: float = 0.0
    """Seconds until another replica could give its first answer."""

    replicas: int = 0
    """Replicas that are loaded or being loaded, and still serve."""

    gpus: int = 1
    """GPUs that one replica needs, all on one node."""

    most: int | None = None
    """Maximum number of replicas (``resources: {replicas: N}``); None for as many as are worth their loading."""


def longest_first(pieces: Iterable[T], seconds: Callable[[T], float]) -> list[T]:
    """Return pieces in the order in which they should be begun: by decreasing seconds, equals as they came."""
    return sorted(pieces, key=lambda piece: -seconds(piece))


def worth_another(load: Load) -> bool:
    """Return True if another replica of a model would save more time than its loading takes.

    The first replica always is, if there is anything to do: without it the work is never done.
    """
    if load.pieces <= 0 or (load.most is not None and load.replicas >= load.most):
        return False
    return load.replicas == 0 or load.left / (load.replicas + 1) > load.loading


def next_model(loads: Iterable[Load], free_gpus: int = 1, loaded: str | None = None) -> str | None:
    """Return the model that an idle worker should serve next; None if there is nothing worth its while.

    Args:
        loads: What is left for each model; ``replicas`` counts the idle worker for the model that it has loaded.
        free_gpus: GPUs that are free on the worker's node, including the worker's own.
        loaded: The model that the worker has loaded; None if it has none.
    """
    loads = list(loads)
    if any(load.model == loaded and load.pieces > 0 for load in loads):
        return loaded
    useful = [load for load in loads if load.gpus <= free_gpus and worth_another(load)]
    return max(useful, key=_urgency).model if useful else None


def _urgency(load: Load) -> tuple[bool, float]:
    # Several GPUs of one node are rarely free together once everything is under way, so they are taken first.
    return load.replicas == 0 and load.gpus > 1, load.loading + load.left / (load.replicas + 1)


def replicas_for(loads: Iterable[Load], gpus: int) -> dict[str, int]:
    """Return how many replicas each model should have on that many free GPUs, with those that it has already.

    One after another goes where it is needed most, as :func:`next_model` says; GPUs for which none is worth its loading
    stay free. Nodes are not considered: GPUs of one replica are taken to be on one node.
    """
    known = {load.model: load for load in loads}
    while (chosen := next_model(known.values(), gpus)) is not None:
        load = known[chosen]
        known[chosen] = replace(load, replicas=load.replicas + 1)
        gpus -= load.gpus
    return {model: load.replicas for model, load in known.items()}


def first_models(loads: Iterable[Load], workers: int) -> list[str | None]:
    """Return the model that each of some equal workers should begin with, when all begin at once; None for no work.

    Workers that cannot talk to each other reckon the same list and take the entry of their own number.
    """
    known = {load.model: load for load in loads}
    dealt: list[str | None] = []
    for _ in range(workers):
        chosen = next_model(known.values(), max((load.gpus for load in known.values()), default=1))
        if chosen is not None:
            known[chosen] = replace(known[chosen], replicas=known[chosen].replicas + 1)
        dealt.append(chosen)
    return dealt


def lower_bound(loads: Iterable[Load], gpus: int) -> float:
    """Return seconds below which no schedule ends, however finely work is divided.

    That is the largest of: all work and one loading of each model, evenly on all GPUs; all work after the shortest
    loading; and each model alone on all GPUs.

    Args:
        loads: All work, before anything is loaded.
        gpus: Number of GPUs.
    """
    busy = [load for load in loads if load.pieces > 0]
    if not busy:
        return 0.0
    work = sum(load.left * load.gpus for load in busy) / gpus
    loading = sum(load.loading * load.gpus for load in busy) / gpus
    alone = max(load.loading + load.left / _most_replicas(load, gpus) for load in busy)
    return max(work + loading, work + min(load.loading for load in busy), alone)


def _most_replicas(load: Load, gpus: int) -> float:
    return min(gpus / load.gpus, load.most or math.inf)


def longest_piece(bound: float) -> float:
    """Return the seconds above which a run should be split over replicas, given the sweep's lower bound."""
    return bound / PIECES_PER_REPLICA


def must_split(seconds: float, bound: float) -> bool:
    """Return True if a run would keep the others waiting at the end unless several replicas share it."""
    return seconds > longest_piece(bound)


def split(seconds: float, longest: float, most: int | None = None) -> list[float]:
    """Return the seconds of the equal pieces of a run, each at most ``longest``, at most ``most`` in number."""
    pieces = max(1, math.ceil(seconds / longest)) if longest > 0 else 1
    pieces = min(pieces, most) if most is not None else pieces
    return [seconds / pieces] * pieces
