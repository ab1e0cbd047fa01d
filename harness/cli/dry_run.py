"""``harness run --dry-run``: what a sweep would ask of each model, and what that costs at most."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from harness.contracts.specs import RunSpec
    from harness.costs.gpu_speed import Gpu
    from harness.plugins.registry import Registry
    from harness.runs.plan import Plan, Size
    from harness.runs.runner import Settings

SIGNIFICANT = 3
"""Digits of an estimate."""
HEADS = ("Examples", "Requests", "Prompt\ntokens", "Generated\nat most", "Shortened")


def show_plans(
    runs: Sequence[RunSpec],
    registry: Registry,
    settings: Settings,
    gpu: Gpu | None = None,
    gpus: int = 0,
    obstacle: str = "",
) -> None:
    """Print the size of each run, the totals and price of each model, and what would fail; exit 2 if anything would.

    Args:
        runs: The sweep's runs.
        registry: Knows the plugins.
        settings: Folders and prices.
        gpu: A kind of GPU, to print how long the sweep would take on it.
        gpus: The number of GPUs of that kind.
        obstacle: Why no run would start here; '' if nothing is in the way.
    """
    from harness.output.console import make_console
    from harness.output.display import counted
    from harness.storage.run_labels import distinctions

    planned: dict[int, Plan] = {}
    failing: dict[int, str] = {}
    finished = 0
    for index, outcome in counted_runs(runs, registry, settings):
        if outcome is None:
            finished += 1
        elif isinstance(outcome, str):
            failing[index] = outcome
        else:
            planned[index] = outcome
    planned = dict(sorted(planned.items()))

    console = make_console()
    told_apart = distinctions(runs, lambda spec: f"{spec.scenario.label} by {spec.adapter.name} with {spec.model.name}")
    table = _table("Run", "Model")
    for index, found in planned.items():
        spec = runs[index]
        label = f"{spec.scenario.label} by {spec.adapter.name}{told_apart[index]}"
        table.add_row(label, spec.model.name, *_numbers(found.size, found.uncertain))
    table.add_section()
    total = _sum(planned.values())
    table.add_row(counted(len(runs) - finished, "run"), "", *_numbers(total, _uncertain(planned.values())))
    console.print(table)
    if planned:
        console.print()
        console.print(_by_model(runs, planned, settings))
    for note in _notes(runs, planned, total, settings):
        console.print(note, soft_wrap=True)
    unfit = False
    if gpu is not None and planned:
        from harness.cli.gpu_table import show_gpus

        sized = [(runs[index], found.size) for index, found in planned.items()]
        unfit = show_gpus(sized, registry, settings.results_dir, gpu, gpus, console)
    if finished:
        console.print(f"{finished} of {len(runs)} runs are finished and would be skipped.")
    for problem, times in Counter(failing[index] for index in sorted(failing)).items():
        console.print(f"Would fail, {counted(times, 'run')}: {problem}", soft_wrap=True)
    if obstacle:
        console.print(f"The sweep would not start here: {obstacle}", soft_wrap=True)
    if failing or obstacle or unfit:
        sys.exit(2)


def counted_runs(
    runs: Sequence[RunSpec], registry: Registry, settings: Settings
) -> Iterator[tuple[int, Plan | str | None]]:
    """Yield the position of each run with its plan, why it would fail, or None if it is finished; show the progress."""
    from rich.progress import Progress, SpinnerColumn, TextColumn

    from harness.output.console import make_console
    from harness.runs.sweep_plan import plan_runs

    outcomes = plan_runs(runs, registry, settings)  # starts processes, so before the thread of the progress line
    columns = SpinnerColumn(), TextColumn("counting {task.completed} of {task.total} runs: {task.description}")
    with Progress(*columns, console=make_console(err=True), transient=True) as progress:
        task = progress.add_task("", total=len(runs))
        for index, spec, outcome in outcomes:
            progress.update(task, advance=1, description=spec.scenario.label)
            yield index, outcome


def _by_model(runs: Sequence[RunSpec], planned: dict[int, Plan], settings: Settings) -> Table:
    """Return the table of totals by model, with prices."""
    from harness.runs.model_totals import model_totals

    table = _table("Model", "Runs", "At most")
    plans = _plans_by_model(runs, planned)
    for total in model_totals(((runs[index], found.size) for index, found in planned.items()), settings.prices):
        cost = "no price" if total.cost is None or total.price is None else f"{total.cost:,.2f} {total.price.currency}"
        table.add_row(total.label, f"{total.runs:,}", cost, *_numbers(total.size, _uncertain(plans[total.label])))
    return table


def _plans_by_model(runs: Sequence[RunSpec], planned: dict[int, Plan]) -> dict[str, list[Plan]]:
    found: dict[str, list[Plan]] = {}
    for index, plan in planned.items():
        found.setdefault(runs[index].model_label, []).append(plan)
    return found


def _notes(runs: Sequence[RunSpec], planned: dict[int, Plan], total: Size, settings: Settings) -> Iterator[str]:
    """Yield what a reader must know about the numbers."""
    estimates = [found for found in planned.values() if found.estimated]
    if estimates:
        # Errors of runs with equal data are alike, so they are added up.
        width = sum(found.error for found in estimates) / max(1.0, total.prompt_tokens)
        yield (
            f"≈ is estimated from {sum(found.counted for found in estimates):,} of "
            f"{sum(found.instances for found in estimates):,} instances; the total of all runs' prompt tokens is "
            f"accurate to about {max(0.1, 100 * width):.1f} %."
        )
    plans = _plans_by_model(runs, planned)
    guessed = [name for name, found in plans.items() if not all(plan.tokens_known for plan in found)]
    if guessed:
        yield f"The tokenizer of {', '.join(guessed)} is not known, so four characters are counted as a token."
    names = {runs[index].model.name for index in planned}
    if any(settings.prices is None or settings.prices.price(name) is None for name in names):
        yield "To give the prices of other models: --prices FILE."
    if total.follow_ups:
        yield (
            f"{total.follow_ups:,} requests follow an answer and repeat it in their prompts, so their prompt tokens "
            "are not known yet and are not counted."
        )


def _table(*heads: str) -> Table:
    from rich.box import SIMPLE_HEAD

    from harness.output.console import plain_table

    layout = {"box": SIMPLE_HEAD, "show_edge": False, "pad_edge": False, "padding": (0, 1, 0, 0)}
    texts = sum(head in {"Run", "Model"} for head in heads)
    table = plain_table(*heads, *HEADS, numeric=slice(texts, None), **layout)
    for column in table.columns[:texts]:
        column.overflow = "fold"
    for column in table.columns[texts:]:
        column.no_wrap = True
    return table


def _numbers(size: Size, uncertain: Collection[str]) -> Iterator[str]:
    for name in ("examples", "requests", "prompt_tokens", "max_completion_tokens", "truncated"):
        number = getattr(size, name)
        yield f"≈{round(number, _digits(number)):,}" if name in uncertain else f"{round(number):,}"


def _uncertain(plans: Iterable[Plan]) -> frozenset[str]:
    return frozenset().union(*(found.uncertain for found in plans))


def _digits(number: float) -> int:
    """Return the place to which a number is rounded to have ``SIGNIFICANT`` digits, as ``round`` counts it."""
    return min(0, SIGNIFICANT - len(str(round(abs(number)))))


def _sum(plans: Iterable[Plan]) -> Size:
    from harness.runs.plan import Size

    return sum((found.size for found in plans), Size())
