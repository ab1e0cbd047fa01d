"""``harness contamination inflation``: an estimate of how much a benchmark's scores are inflated."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli import options
from harness.output.display import json_text, visible
from harness.output.terminal import say

if TYPE_CHECKING:
    from harness.contamination.score_inflation import InflatedScore


@click.command("inflation", short_help="Estimate how much a benchmark's scores are inflated.")
@click.argument("suites", nargs=-1)
@click.option("--benchmark", required=True, help="The benchmark, a scenario of finished runs.")
@click.option(
    "--reference", required=True, help="A scenario with its paraphrases, or with new questions of the same kind."
)
@click.option("--model", "models", multiple=True, help="Estimate for this model only. Repeatable (default: all).")
@click.option(
    "--clean", multiple=True, help="A model to compare with, assumed not to be contaminated (default: all others)."
)
@click.option(
    "--chance",
    type=click.FloatRange(0, 1, max_open=True),
    nargs=2,
    default=(0.0, 0.0),
    help="Score of a model that guesses, on the benchmark and on the reference set.",
)
@click.option("--resamples", type=click.IntRange(min=100), default=500, help="Bootstrap resamples.")
@options.seed
@options.results_dir
@options.as_json
def inflation_command(
    suites: tuple[str, ...],
    benchmark: str,
    reference: str,
    models: tuple[str, ...],
    clean: tuple[str, ...],
    chance: tuple[float, float],
    resamples: int,
    seed: int,
    results_dir: Path,
    as_json: bool,
) -> None:
    """Estimate, from the finished runs of SUITES, how much models' scores on a benchmark are inflated.

    A model's score on the benchmark is compared with a prediction from its score on the reference set, by a curve
    fitted to at least five other models. This is an estimate, not a test: it has no error rate, and a difference can
    have causes other than contamination.
    """
    from harness.contamination.score_inflation import inflated_scores
    from harness.storage.results import find_runs

    found = inflated_scores(
        find_runs(results_dir, suites or None), benchmark, reference,
        models=models, clean=clean, chance=chance, resamples=resamples, seed=seed,
    )  # fmt: skip
    if as_json:
        say(json_text([one.as_json() for one in found]))
    else:
        _show(found, benchmark, reference)


def _show(found: Sequence[InflatedScore], benchmark: str, reference: str) -> None:
    from harness.cli.contamination_names import short_model
    from harness.output.console import make_console, plain_table

    console = make_console()
    first = found[0]
    console.print(
        f"{visible(benchmark)} ({first.instances:,} instances) against {visible(reference)} "
        f"({first.reference_instances:,} instances)",
        style="bold",
        soft_wrap=True,
    )
    headings = ("", "score", "reference", "expected", "inflation", "95 % interval")
    table = plain_table(*headings, pad_edge=False, padding=(0, 1, 0, 0))
    table.columns[0].overflow = "fold"
    for column in table.columns[1:]:
        column.no_wrap = True
    for one in found:
        means = (f"{value:.3f}" for value in (one.found.score, one.found.reference, one.found.expected))
        mark = " *" * one.found.extrapolated
        interval = f"{one.found.low:+.3f} to {one.found.high:+.3f}"
        table.add_row(f"{visible(short_model(one.model))}{mark}", *means, f"{one.found.estimate:+.3f}", interval)
    console.print(table)
    if any(one.found.extrapolated for one in found):
        console.print("* No other model scores as low, or as high, on the reference set: the curve is a guess there.")
    others = min(len(one.others) for one in found)
    console.print(
        f"\nexpected: the score on {visible(benchmark)} of other models ({others} for each) with the same score on "
        f"{visible(reference)}. inflation: the score minus the expected score. These are estimates, not tests. They "
        "assume that no other model was trained on the benchmark, and no model at all on the reference set; and that "
        "both sets measure the same thing, so that without contamination a model is as good on one as on the other, "
        "relative to the others. A model that was tuned to the benchmark's format or topics is inflated too. The "
        "interval covers the random choice of instances and, with more than five other models, of models.",
        style="dim",
    )
