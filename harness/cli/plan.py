"""``harness plan``: how many instances a sweep needs to detect a difference between two models."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli import options
from harness.cli.results import put_table
from harness.cli.sources import ReadSweep, sweep_source
from harness.output.terminal import say

if TYPE_CHECKING:
    from harness.storage.results import RunRecord


@click.command("plan")
@sweep_source
@click.option(
    "--detect",
    type=float,
    default=0.02,
    help="Difference between two models to be shown, in the metric's unit.",
)
@click.option("--power", type=float, default=0.8, help="Probability of showing it (power of the test).")
@click.option("--level", type=float, default=0.05, help="Two-sided level of the test.")
@click.option(
    "--agreement",
    type=float,
    help="For scenarios without earlier runs: share of instances on which two models get the same score (default: 0.5, "
    "as for two models that are each right on half of the instances, independently).",
)
@click.option("--metric", help="Score to compare (default: each run's main metric).")
@options.data_dir
@options.results_dir
@options.prices
@click.option("--gpus", type=options.POSITIVE, help="Also show the maximum GPU hours, and the time on this many GPUs.")
@click.option(
    "--gpu",
    metavar="KIND|FILE",
    help="Kind of GPU for --gpus: a100, h100, h200 or l40s, or a YAML file with your own figures (default: h100).",
)
@options.table_format
def plan_command(
    read: ReadSweep,
    detect: float,
    power: float,
    level: float,
    agreement: float | None,
    metric: str | None,
    data_dir: Path | None,
    results_dir: Path,
    prices: Path | None,
    gpus: int | None,
    gpu: str | None,
    format_: str,
) -> None:
    """Show how many instances SWEEP needs so that a comparison of two models detects a difference.

    SWEEP is a YAML file or the name of a sweep that comes with the harness. No model is asked. The variance between
    models is taken from earlier runs of the same scenarios in the results folder, or else from an upper bound. The
    tables also give the smallest difference that the sweep can show as it is written, and requests, tokens and price
    by model. Exits with 2 if a run would fail here.
    """
    from harness.cli.dry_run import counted_runs
    from harness.costs.gpu_speed import DEFAULT, load_gpu
    from harness.costs.prices import load_prices
    from harness.planning.needs import Target
    from harness.planning.needs_tables import costs_table, needs_table
    from harness.planning.sweep_needs import Gpus, plan_sweep
    from harness.plugins.titles import Titles
    from harness.runs.backend_prices import with_backend_prices
    from harness.runs.runner import Settings

    target = Target(detect, power, level, agreement)
    if gpu and not gpus:
        raise click.UsageError("--gpu needs the number of GPUs: --gpus N.")
    kind = Gpus(load_gpu(gpu or DEFAULT), gpus, results_dir) if gpus else None
    sweep, registry = read()
    table_of_prices = with_backend_prices(load_prices(prices), (spec.model.name for spec in sweep.runs), registry)
    earlier = _earlier(results_dir)
    settings = Settings(results_dir, data_dir, force=True, prices=table_of_prices)
    whole = [spec.model_copy(update={"max_eval_instances": None}) for spec in sweep.runs]
    plans = {place: found for place, found in counted_runs(whole, registry, settings) if found is not None}
    found = plan_sweep(sweep.runs, plans, earlier, target, registry, metric=metric, prices=table_of_prices, gpus=kind)
    put_table(needs_table(found, Titles(registry)), format_)
    if format_ not in ("csv", "json"):
        say()
        put_table(costs_table(found), format_)
    if found.problems:
        sys.exit(2)


def _earlier(results_dir: Path) -> list[RunRecord]:
    """Return the runs of the results folder; none if there is no folder, since a plan comes before the first run."""
    from harness.storage.results import find_runs

    if results_dir.exists():
        return find_runs(results_dir)
    say(f"There are no earlier runs, because {results_dir} does not exist.", err=True)
    return []
