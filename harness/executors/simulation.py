"""A sweep on a cluster in simulated time, dealt by the policy of :mod:`harness.executors.dealing`. No I/O.

GPUs are on nodes; a replica has all of its GPUs on one node. A worker that becomes idle takes the longest piece that is
left for its model, or goes where the policy sends it, and loads::

    node 1  gpu 0   ▒▒▒ loading A ▒▒▒│ run 7 │ run 9 │▒ loading C ▒│ run 31 │
            gpu 1   ▒▒▒ loading A ▒▒▒│ run 8 │   run 12  │ idle: nothing is worth its loading

The policy sees estimates; the clock goes by what pieces really take.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from harness.executors.dealing import Load, longest_first, lower_bound, next_model


@dataclass(frozen=True, slots=True)
class Piece:
    """A run, or a part of one."""

    estimate: float
    """Seconds on one replica, as the policy sees them."""
    actual: float
    """Seconds that it takes."""


@dataclass(frozen=True, slots=True)
class ModelWork:
    """Everything that is to be done for one model."""

    model: str
    """Identifies the model."""
    pieces: Sequence[Piece]
    """The runs, or their parts, in the order in which they were written."""
    loading: float
    """Seconds until a replica gives its first answer."""
    gpus: int = 1
    """GPUs of one replica."""
    most: int | None = None
    """Maximum number of replicas; None for as many as are worth their loading."""


@dataclass(slots=True)
class Schedule:
    """How a simulated sweep went."""

    makespan: float = 0.0
    """Seconds until the last piece ended."""
    bound: float = 0.0
    """Seconds below which no schedule ends."""
    loads: int = 0
    """Number of loadings."""
    busy: float = 0.0
    """GPU seconds of work and loading."""
    ends: dict[str, float] = field(default_factory=dict)
    """Seconds until each model's last piece ended."""
    never: list[str] = field(default_factory=list)
    """Models that need more GPUs than any node has."""


def simulate(work: Sequence[ModelWork], nodes: Sequence[int], *, file_order: bool = False) -> Schedule:
    """Run a sweep in simulated time.

    Args:
        work: The work of each model.
        nodes: Number of GPUs of each node.
        file_order: Begin pieces in the order in which they were written, instead of the longest first.
    """
    widest = max(nodes)
    able = [one for one in work if one.gpus <= widest]
    schedule = Schedule(never=[one.model for one in work if one.gpus > widest])
    waiting = {one.model: _waiting(one, file_order) for one in able}
    of = {one.model: one for one in able}
    loads = {one.model: _load(one, [piece.estimate for piece in one.pieces]) for one in able}
    actual = [_load(one, [piece.actual for piece in one.pieces]) for one in able]
    schedule.bound = lower_bound(actual, sum(nodes))
    free = list(nodes)
    events: list[tuple[float, int, int, str]] = []  # when, tie-break, node, the model of a worker that becomes idle
    number, now = 0, 0.0

    def begin(node: int, model: str, loading: float) -> None:
        """Let a worker take its model's next piece, after loading."""
        nonlocal number
        piece = waiting[model].pop()
        left = waiting[model]
        loads[model] = replace(loads[model], left=loads[model].left - piece.estimate if left else 0.0, pieces=len(left))
        end = now + loading + piece.actual
        number += 1
        heapq.heappush(events, (end, number, node, model))
        schedule.busy += (loading + piece.actual) * of[model].gpus
        schedule.makespan = max(schedule.makespan, end)
        schedule.ends[model] = max(schedule.ends.get(model, 0.0), end)

    def fill(node: int) -> None:
        """Start workers on a node's free GPUs while that is worth it."""
        while free[node] and (model := next_model(loads.values(), free[node])) is not None:
            free[node] -= of[model].gpus
            loads[model] = replace(loads[model], replicas=loads[model].replicas + 1)
            schedule.loads += 1
            begin(node, model, of[model].loading)

    # One worker a node in turn, as machines of a cluster start: wide models find whole nodes free.
    for node in range(len(nodes)):
        fill(node)
    while events:
        now, _, node, model = heapq.heappop(events)
        if waiting[model]:
            begin(node, model, 0.0)
            continue
        free[node] += of[model].gpus
        loads[model] = replace(loads[model], replicas=loads[model].replicas - 1)
        fill(node)
    return schedule


def _waiting(work: ModelWork, file_order: bool) -> list[Piece]:
    """Return a model's pieces, the next one last."""
    order = list(work.pieces) if file_order else longest_first(work.pieces, lambda piece: piece.estimate)
    return order[::-1]


def _load(work: ModelWork, seconds: Sequence[float]) -> Load:
    return Load(work.model, sum(seconds), len(seconds), work.loading, gpus=work.gpus, most=work.most)
