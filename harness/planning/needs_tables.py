"""What a sweep's comparisons need, as tables to read and as records for other programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from harness.leaderboard.formatting import arrow
from harness.output.display import brief, counted, sentence
from harness.output.result_table import ResultTable, TableCell, TableColumn, TableNote
from harness.planning.needs import Need, Target
from harness.planning.sweep_needs import AMOUNTS, Cost, SweepNeeds
from harness.plugins.titles import Titles
from harness.statistics.power import INDEPENDENT

NEEDS = (
    TableColumn(("scenario",)),
    TableColumn(("metric",), under="scenario"),
    TableColumn(("variance from",), under="scenario"),
    TableColumn(("needed",), numeric=True),
    TableColumn(("range",), numeric=True, under="needed"),
    TableColumn(("Holm",), numeric=True, under="needed"),
    TableColumn(("asked",), numeric=True),
    TableColumn(("shows",), numeric=True, under="asked"),
    TableColumn(("exist",), numeric=True),
    TableColumn(("could show",), numeric=True, under="exist"),
    TableColumn(("result",), under="scenario"),
)

COSTS = (
    TableColumn(("model",), name=True),
    TableColumn(("instances",), under="model"),
    TableColumn(("requests",), numeric=True),
    TableColumn(("prompt tokens",), numeric=True),
    TableColumn(("generated at most",), numeric=True, under="prompt tokens"),
    TableColumn(("cost at most",), numeric=True, under="requests"),
)
HOURS = TableColumn(("GPU hours at most",), numeric=True, under="requests")

_SIGNIFICANT = 3
_MOST_TOLD = 5
"""Earlier runs that are named as unusable."""


def needs_table(found: SweepNeeds, titles: Titles) -> ResultTable:
    """Return the table of what each scenario needs; its JSON value and its records have the costs too."""
    records = [
        record for need, costs in zip(found.needs, found.by_question, strict=True) for record in _records(need, costs)
    ]
    return ResultTable(
        columns=NEEDS,
        rows=[_row(need, titles) for need in found.needs],
        notes=[TableNote(note) for note in _notes(found)],
        caption=f"Instances needed to show a difference of {found.target.detect:g}.",
        fields=list(dict.fromkeys(name for record in records for name in record)),
        records=records,
        value={
            "target": asdict(found.target),
            "scenarios": [_value(need) for need in found.needs],
            "models": [_cost_value(cost) for cost in found.costs],
            "hours": dict(found.hours),
            "problems": list(found.problems),
        },
        nothing="The sweep has no runs.",
    )


def costs_table(found: SweepNeeds) -> ResultTable:
    """Return the table of what the sweep asks of each model."""
    timed = any(cost.gpu_hours is not None for cost in found.costs)
    return ResultTable(
        columns=(*COSTS, HOURS) if timed else COSTS,
        rows=[_cost_row(cost)[: len(COSTS) + timed] for cost in found.costs],
        notes=[TableNote(note) for note in _cost_notes(found)],
        caption="Requests and tokens by model.",
        fields=(),
        records=(),
        value=None,
        nothing="Nothing could be counted.",
    )


def _row(need: Need, titles: Titles) -> list[TableCell]:
    question = need.question
    metric = titles.metric(question.metric)
    spread = "" if need.least is None or need.most is None or need.pairs < 2 else f"{need.least:,}–{need.most:,}"
    return [
        TableCell(brief(question.title, 200)),
        TableCell(f"{brief(metric.title, 60)}{arrow(metric.higher_is_better)}"),
        TableCell(counted(need.pairs, "pair") if need.pairs else need.source),
        TableCell(f"{need.needed.instances:,}" if need.needed else ""),
        TableCell(spread),
        TableCell(f"{need.holm.instances:,}" if need.holm else ""),
        TableCell(f"{need.planned:,}" if need.sizes else ""),
        TableCell(_difference(need.shows, need)),
        TableCell(f"{need.available:,}" if need.sizes else ""),
        TableCell(_difference(need.shows_at_most, need)),
        TableCell(result(need)),
    ]


def result(need: Need) -> str:
    """Return in words if a question has enough instances, or what to do."""
    if need.needed is None:
        return "not planned"
    if need.enough:
        return "enough"
    if need.needed.limit is not None:
        each = " each" if len(need.sizes) > 1 else ""
        return f"max_eval_instances: {need.needed.limit}{each}"
    return f"samples: {need.samples}, on all" if need.samples else "too few"


def _difference(value: float | None, need: Need) -> str:
    return "" if need.needed is None else "none" if value is None else f"±{value:.3f}"


def _notes(found: SweepNeeds) -> Iterator[str]:
    target, known = found.target, [need for need in found.needs if need.needed is not None]
    if known:
        yield (
            f"needed: instances on which a true difference of {target.detect:g} between two models is shown with a "
            f"power of {target.power:g} at level {target.level:g}; Holm: the same with p adjusted for "
            f"{counted(len(known), 'scenario')}."
        )
        yield (
            "shows: the smallest difference that the instances asked show with this power, without Holm's correction; "
            "could show: the same for all existing instances."
        )
    if any(need.pairs for need in known):
        yield "pairs: the median over pairs of models in earlier runs; range: smallest and largest."
    if any(need.source == "bound" for need in known):
        yield _bound_note(target)
    for need in found.needs:
        yield from _notes_of(need)
    yield from (sentence(f"Would fail: {problem}") for problem in found.problems)


def _bound_note(target: Target) -> str:
    if target.agreement is not None:
        return (
            f"bound: no earlier runs, so an upper bound: two models whose scores are equal on a share of "
            f"{target.agreement:g} of the instances and differ by the whole range on the others."
        )
    return (
        f"bound: no earlier runs, so an upper bound: two models that are right on half of the instances each, "
        f"independently (agreement {INDEPENDENT:g}). Models that agree more need fewer: --agreement."
    )


def _notes_of(need: Need) -> Iterator[str]:
    title = brief(need.question.title, 100)
    if need.by_samples:
        counts = ", ".join(f"{samples}: {count:,}" for samples, count in need.by_samples.items())
        yield f"{title}: instances needed, by number of samples of each: {counts}."
    if need.needed is not None and need.question.prompts > 1:
        yield (
            f"{title}: asked with {need.question.prompts} prompts; the numbers hold for these. They ignore differences "
            "between prompts, which a comparison over three or more prompts takes into account."
        )
    if need.problem:
        yield sentence(f"{title}: {need.problem}")
    if need.unusable:
        told = "; ".join(one.rstrip(".") for one in need.unusable[:_MOST_TOLD])
        more = f"; and {len(need.unusable) - _MOST_TOLD} more" if len(need.unusable) > _MOST_TOLD else ""
        yield sentence(f"{title}: earlier runs not used: {told}{more}.", 2_000)


def _cost_row(cost: Cost) -> list[TableCell]:
    total = cost.total
    price = "no price" if total.cost is None or total.price is None else f"{total.cost:,.2f} {total.price.currency}"
    hours = "" if cost.gpu_hours is None else f"{cost.gpu_hours:,.2g}"
    return [
        TableCell(brief(total.label, 200)),
        TableCell(cost.amount.replace("holm", "Holm")),
        *(TableCell(f"{_rounded(value):,}") for value in _numbers(cost)),
        TableCell(price),
        TableCell(hours),
    ]


def _numbers(cost: Cost) -> tuple[float, float, float]:
    size = cost.total.size
    return size.requests, size.prompt_tokens, size.max_completion_tokens


def _rounded(value: float) -> int:
    whole = round(value)
    return round(whole, min(0, _SIGNIFICANT - len(str(whole))))


def _cost_notes(found: SweepNeeds) -> Iterator[str]:
    yield (
        "Estimated, to three digits: with the instances that the sweep asks as it is written, with those needed, and "
        "with those needed after Holm's correction; with all instances where there are too few."
    )
    if found.guessed:
        yield f"The tokenizer of {', '.join(found.guessed)} is not known, so four characters are counted as a token."
    if any(cost.total.price is None for cost in found.costs):
        yield "To give the prices of other models: --prices FILE."
    if found.hours:
        each = "; ".join(f"{amount.replace('holm', 'Holm')} {hours:,.2g} h" for amount, hours in found.hours.items())
        yield f"On all GPUs, at most: {each}."


def _records(need: Need, costs: Sequence[Cost]) -> Iterator[Mapping[str, Any]]:
    """Yield a record for each model: the scenario's numbers, and what they ask of the model."""
    value = _value(need)
    common = {name: item for name, item in value.items() if name not in ("by_samples", "unusable")}
    by_model: dict[str, dict[str, Cost]] = {}
    for cost in costs:
        by_model.setdefault(cost.total.label, {})[cost.amount] = cost
    for model, amounts in (by_model or {"": {}}).items():
        asked = {
            f"{name}_{amount}": _cost_value(amounts[amount]).get(name) if amount in amounts else None
            for amount in AMOUNTS
            for name in ("requests", "prompt_tokens", "max_completion_tokens", "cost", "currency")
        }
        yield {**common, "model": model, **asked}


def _value(need: Need) -> dict[str, Any]:
    question, needed, holm = need.question, need.needed, need.holm
    return {
        "title": question.title,
        "scenario": question.spec.scenario.label,
        "adapter": question.spec.adapter.name,
        "metric": question.metric,
        "prompts": question.prompts,
        "source": need.source,
        "pairs": need.pairs,
        "models": need.models,
        "variance": need.variance,
        "samples": question.spec.samples,
        "needed": needed.instances if needed else None,
        "needed_least": need.least,
        "needed_most": need.most,
        "max_eval_instances": needed.limit if needed else None,
        "needed_holm": holm.instances if holm else None,
        "max_eval_instances_holm": holm.limit if holm else None,
        "asked": need.planned,
        "shows": need.shows,
        "exist": need.available,
        "could_show": need.shows_at_most,
        "enough": need.enough,
        "samples_needed": need.samples,
        "by_samples": dict(need.by_samples) if need.by_samples else None,
        "unusable": list(need.unusable),
        "problem": need.problem,
    }


def _cost_value(cost: Cost) -> dict[str, Any]:
    requests, prompt, generated = map(round, _numbers(cost))
    return {
        "model": cost.total.label,
        "instances": cost.amount,
        "runs": cost.total.runs,
        "requests": requests,
        "prompt_tokens": prompt,
        "max_completion_tokens": generated,
        "cost": cost.total.cost,
        "currency": cost.total.price.currency if cost.total.price else None,
        "gpu_hours": cost.gpu_hours,
    }
