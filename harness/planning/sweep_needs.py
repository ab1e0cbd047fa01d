"""The plan of a sweep's comparisons: what each question needs, and what its runs then ask of each model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.contracts.specs import RunSpec
from harness.costs.gpu_speed import Gpu
from harness.costs.prices import PriceTable
from harness.executors.gpu_plan import model_descriptions, plan_gpus, read_earlier
from harness.leaderboard.columns import grouped
from harness.planning.needs import Need, Target, needs
from harness.plugins.registry import Registry
from harness.runs.model_totals import ModelTotal, model_totals
from harness.runs.plan import Plan, Size
from harness.storage.results import RunRecord

AMOUNTS = ("asked", "needed", "holm")
"""How many instances are asked: as the sweep is written, as many as are needed, and with Holm's correction."""

Sized = list[tuple[RunSpec, Size]]


@dataclass(frozen=True, slots=True)
class Gpus:
    """The GPUs on which a sweep would run."""

    kind: Gpu
    """Their kind."""
    number: int
    """Their number."""
    results_dir: Path
    """Earlier runs, for the measured speed of models."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a sweep asks of one model with an amount of instances."""

    amount: str
    """One of :data:`AMOUNTS`."""
    total: ModelTotal
    """Requests, tokens and price."""
    gpu_hours: float | None = None
    """GPU hours at most; None if they were not asked for, or cannot be estimated."""


@dataclass(frozen=True, slots=True)
class SweepNeeds:
    """What the comparisons of a sweep need."""

    target: Target
    """What should be shown."""
    needs: tuple[Need, ...]
    """What each question needs."""
    costs: tuple[Cost, ...]
    """For each model and amount."""
    by_question: tuple[tuple[Cost, ...], ...]
    """The same for each question alone, without times."""
    hours: Mapping[str, float]
    """Hours on the given GPUs by amount; empty without GPUs, or if nothing can be estimated."""
    problems: tuple[str, ...]
    """Why runs would fail."""
    guessed: tuple[str, ...]
    """Models whose tokenizer is not known, so that four characters are counted as a token."""


def plan_sweep(
    runs: Sequence[RunSpec],
    plans: Mapping[int, Plan | str],
    earlier: Sequence[RunRecord],
    target: Target,
    registry: Registry,
    *,
    metric: str | None = None,
    prices: PriceTable | None = None,
    gpus: Gpus | None = None,
) -> SweepNeeds:
    """Return how many instances a sweep needs to show a difference between two models, and what that costs.

    Args:
        runs: The sweep's runs.
        plans: For the position of each run its plan without ``max_eval_instances``, or why it would fail.
        earlier: Runs from which variances are taken.
        target: What should be shown.
        registry: Knows the plugins.
        metric: The score to compare; the runs' main metrics by default.
        prices: Prices of tokens; None for none.
        gpus: The GPUs whose time is estimated; None for none.

    Raises:
        PluginError: No metric gives such a score.
    """
    found = needs(runs, plans, earlier, target, registry, metric)
    costs: list[Cost] = []
    by_question: list[list[Cost]] = [[] for _ in found]
    hours: dict[str, float] = {}
    for amount in AMOUNTS:
        sized = [list(_sized(need, runs, plans, amount)) for need in found]
        for costing, several in zip(by_question, sized, strict=True):
            costing += [Cost(amount, total) for total in model_totals(several, prices)]
        everything = [one for several in sized for one in several]
        times = _times(everything, registry, gpus, amount, hours) if gpus else {}
        costs += [Cost(amount, total, times.get(total.label)) for total in model_totals(everything, prices)]
    planned = {place: plan for place, plan in plans.items() if isinstance(plan, Plan)}
    return SweepNeeds(
        target,
        tuple(found),
        tuple(cost for several in grouped(costs, lambda cost: cost.total.label).values() for cost in several),
        tuple(map(tuple, by_question)),
        hours,
        tuple(dict.fromkeys(plan for plan in plans.values() if isinstance(plan, str))),
        tuple(dict.fromkeys(runs[place].model_label for place, plan in planned.items() if not plan.tokens_known)),
    )


def _sized(
    need: Need, runs: Sequence[RunSpec], plans: Mapping[int, Plan | str], amount: str
) -> Iterator[tuple[RunSpec, Size]]:
    """Yield the runs of a question with their sizes; as written if it is not known how many instances are needed."""
    wanted = {"needed": need.needed, "holm": need.holm}.get(amount)
    for place in need.question.runs:
        plan = plans.get(place)
        if isinstance(plan, Plan):
            limit = runs[place].max_eval_instances if wanted is None else wanted.limit
            taken = plan.instances if limit is None else min(limit, plan.instances)
            yield runs[place], plan.size.scaled(taken / max(1, plan.instances))


def _times(sized: Sized, registry: Registry, gpus: Gpus, amount: str, hours: dict[str, float]) -> Mapping[str, float]:
    """Return the GPU hours of each model, and note the hours of all on the given GPUs."""
    speeds = read_earlier(gpus.results_dir, gpus.kind)
    plan = plan_gpus(sized, model_descriptions([spec for spec, _ in sized], registry), speeds, gpus.kind, gpus.number)
    if plan.schedule.makespan:
        hours[amount] = plan.schedule.makespan / 3600
    return {one.model: one.seconds * one.gpus / 3600 for one in plan.models if one.gpus and not one.unknown}
