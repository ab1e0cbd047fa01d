"""``harness run --dry-run --gpus N``: how long a sweep would take on GPUs, and what that assumes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from harness.contracts.specs import RunSpec
    from harness.costs.gpu_speed import Gpu
    from harness.executors.gpu_plan import GpuPlan
    from harness.plugins.registry import Registry
    from harness.runs.plan import Size


def show_gpus(
    runs: Sequence[tuple[RunSpec, Size]], registry: Registry, results_dir: Path, gpu: Gpu, gpus: int, console: Console
) -> None:
    """Print GPU hours and cost of each model, the time on all GPUs, and the assumptions."""
    from rich.box import SIMPLE_HEAD

    from harness.executors.gpu_plan import plan_gpus, read_earlier
    from harness.output.console import plain_table

    plan = plan_gpus(runs, _descriptions(runs, registry), read_earlier(results_dir, gpu), gpu, gpus)
    layout = {"box": SIMPLE_HEAD, "show_edge": False, "pad_edge": False, "padding": (0, 1, 0, 0)}
    heads = ["Model", "Runs", "GPUs of\na replica", "GPU hours\nat most", "Ends\nafter"]
    table = plain_table(*heads, *(["Cost\nat most"] if gpu.price is not None else []), numeric=slice(1, None), **layout)
    table.columns[0].overflow = "fold"
    for one in plan.models:
        known = one.gpus and not one.unknown
        hours = one.seconds * one.gpus / 3600
        row = [
            one.model,
            f"{one.runs:,}",
            f"{one.gpus}" if known else "-",
            _hours(hours) if known else "not known" if one.unknown else "none",
            duration(plan.schedule.ends.get(one.model, 0.0)) if known else "-",
        ]
        if gpu.price is not None:
            row.append(f"{hours * gpu.price:,.2f} {gpu.currency}" if known else "-")
        table.add_row(*row)
    console.print()
    console.print(table)
    for line in _lines(plan, gpu):
        console.print(line, soft_wrap=True)


def duration(seconds: float) -> str:
    """Return a time in the unit that fits it."""
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"


def _hours(hours: float) -> str:
    return f"{hours:,.1f}" if hours >= 10 else f"{hours:.2g}"


def _lines(plan: GpuPlan, gpu: Gpu) -> Iterator[str]:
    """Yield the totals, and what a reader must know about them."""
    schedule, number = plan.schedule, f"{plan.gpus:,} GPU{'s' if plan.gpus > 1 else ''}"
    if schedule.makespan:
        took = f"{number}: {duration(schedule.makespan)} at most, {schedule.makespan / schedule.bound:.3f} of the "
        took += f"shortest possible ({duration(schedule.bound)}); {_hours(schedule.busy / 3600)} GPU hours, of which "
        work = sum(one.seconds * one.gpus for one in plan.models if not one.unknown)
        took += f"{_hours((schedule.busy - work) / 3600)} for {schedule.loads:,} loading"
        yield took + ("s." if schedule.loads != 1 else ".")
        if gpu.price is not None:
            cost = gpu.price * plan.gpus * schedule.makespan / 3600
            yield f"{number} for that time: {cost:,.2f} {gpu.currency}."
        yield f"Assumed: {gpu.assumptions()}; generated tokens at their maximum, each prompt read in full."
    elif any(one.unknown for one in plan.models):
        yield f"{number}: no time can be estimated."
    else:
        yield f"{number}: nothing in this sweep needs a GPU here, as far as is known."
    for one in plan.models:
        if one.unknown:
            yield f"Not in these numbers: {one.unknown}"
        elif one.measured is not None:
            yield (
                f"Measured: {one.model} takes {one.measured.factor:.2g} times the assumed seconds in "
                f"{one.measured.runs} earlier run{'s' if one.measured.runs > 1 else ''}."
            )


def _descriptions(runs: Sequence[tuple[RunSpec, Size]], registry: Registry) -> Mapping[str, Mapping[str, Any]]:
    """Return what each model says of itself, by label, without loading weights."""
    from harness.errors import HarnessError
    from harness.inference.model_pool import load_model

    found: dict[str, Mapping[str, Any]] = {}
    for spec, _ in runs:
        if spec.model_label not in found:
            try:
                found[spec.model_label] = load_model(spec.configured_model, registry).description()
            except HarnessError:
                found[spec.model_label] = {}  # the plan of its runs says why
    return found
