"""``harness run --dry-run --gpus N``: how long a sweep would take on GPUs, and what that assumes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from harness.contracts.specs import RunSpec
    from harness.costs.gpu_speed import Gpu
    from harness.executors.gpu_plan import GpuPlan
    from harness.plugins.registry import Registry
    from harness.runs.plan import Size


def show_gpus(
    runs: Sequence[tuple[RunSpec, Size]], registry: Registry, results_dir: Path, gpu: Gpu, gpus: int, console: Console
) -> bool:
    """Print GPU time and cost of each model, the time on all GPUs, and the assumptions.

    Returns:
        True if a model needs more GPUs than there are on one machine.
    """
    from rich.box import SIMPLE_HEAD

    from harness.executors.gpu_plan import model_descriptions, plan_gpus, read_earlier
    from harness.output.console import plain_table

    plan = plan_gpus(
        runs, model_descriptions([spec for spec, _ in runs], registry), read_earlier(results_dir, gpu), gpu, gpus
    )
    layout = {"box": SIMPLE_HEAD, "show_edge": False, "pad_edge": False, "padding": (0, 1, 0, 0)}
    heads = ["Model", "Runs", "GPUs of\na replica", "GPU time\nat most", "Ends\nafter"]
    table = plain_table(*heads, *(["Cost\nat most"] if gpu.price is not None else []), numeric=slice(1, None), **layout)
    table.columns[0].overflow = "fold"
    for one in plan.models:
        seconds = one.seconds * one.gpus
        row = [
            one.model,
            f"{one.runs:,}",
            f"{one.gpus}" if one.gpus else "-",
            "not known" if one.unknown else duration(seconds) if one.gpus else "none",
            duration(plan.schedule.ends.get(one.model, 0.0)) if one.planned else "-",
        ]
        if gpu.price is not None:
            row.append(_cost(seconds, gpu) if one.gpus and not one.unknown else "-")
        table.add_row(*row)
    console.print()
    console.print(table)
    for line in _lines(plan, gpu):
        console.print(line, soft_wrap=True)
    return any(one.unfit for one in plan.models)


def duration(seconds: float) -> str:
    """Return a time as a reader would say it: ``0.1 s``, ``3 min``, ``2 h 10 min`` or ``1,289 h``."""
    if seconds < 0.05:
        return "< 0.1 s" if seconds else "0 s"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    if hours >= 100:
        return f"{round(seconds / 3600):,} h"
    return " ".join([*([f"{hours} h"] if hours else []), *([f"{minutes} min"] if minutes else [])])


def _cost(gpu_seconds: float, gpu: Gpu) -> str:
    cost = gpu_seconds / 3600 * (gpu.price or 0.0)
    return f"{'< 0.01' if 0 < cost < 0.01 else f'{cost:,.2f}'} {gpu.currency}"


def _lines(plan: GpuPlan, gpu: Gpu) -> Iterator[str]:
    """Yield the totals, and what a reader must know about them."""
    schedule, number = plan.schedule, f"{plan.gpus:,} GPU{'s' if plan.gpus > 1 else ''}"
    if schedule.makespan:
        work = sum(one.seconds * one.gpus for one in plan.models if one.planned)
        loads = f"{schedule.loads:,} loading{'s' if schedule.loads != 1 else ''}"
        yield (
            f"{number}: {duration(schedule.makespan)} at most, {schedule.makespan / schedule.bound:.3f} of the "
            f"shortest possible time ({duration(schedule.bound)})."
        )
        yield f"GPU time: {duration(schedule.busy)}, of which {duration(schedule.busy - work)} for {loads}."
        if gpu.price is not None:
            yield f"{number} for that time: {_cost(plan.gpus * schedule.makespan, gpu)}."
    elif any(one.unfit or one.unknown for one in plan.models):
        yield f"{number}: no time can be estimated."
    else:
        yield f"{number}: nothing in this sweep needs a GPU here, as far as is known."
    for one in plan.models:
        if one.unfit:
            yield f"Too few GPUs: {one.unfit}"
        elif one.unknown:
            yield f"Not in these numbers: {one.unknown}"
    if schedule.makespan:
        yield "Assumptions:"
        for assumption in (*gpu.assumptions(), "generated tokens at their maximum, each prompt read in full"):
            yield f"  {assumption}"
    for one in plan.models:
        if one.measured is not None and one.planned:
            yield (
                f"  {one.model} takes {one.measured.factor:.2g} times the assumed seconds, as measured in "
                f"{one.measured.runs} earlier run{'s' if one.measured.runs > 1 else ''}"
            )
