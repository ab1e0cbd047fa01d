"""``harness contamination options``: do models prefer multiple-choice options in their published order?"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli import options
from harness.output.display import json_text
from harness.output.terminal import say

if TYPE_CHECKING:
    from harness.contamination.option_tests import OptionTest


@click.command("options", short_help="Test whether MODELS depend on the published order of answer options.")
@click.argument("models", nargs=-1, required=True)
@click.option(
    "--data", multiple=True, required=True, help="A multiple-choice scenario, such as mmlu:subject=anatomy. Repeatable."
)
@click.option(
    "--orders",
    type=click.IntRange(min=2),
    default=24,
    help="Maximum number of orders of a question's options to compare.",
)
@options.limit
@click.option("--alpha", type=options.SHARE, default=0.01, help="Significance level, after Holm's correction.")
@options.seed
@click.option("--suite", default="contamination-options", help="Name of the suite.")
@options.data_dir
@options.results_dir
@options.cache_dir
@options.force
@options.as_json
def options_command(
    models: tuple[str, ...],
    data: tuple[str, ...],
    orders: int,
    max_eval_instances: int | None,
    alpha: float,
    seed: int,
    suite: str,
    data_dir: Path | None,
    results_dir: Path,
    cache_dir: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Test whether MODELS prefer the options of multiple-choice questions in their published order.

    The test still works if the rows were shuffled before training, where a test of the rows' order finds nothing. It
    needs options that the authors put in random order; the text is checked for that first. Exit codes: 1 if a test
    failed; 2 if nothing could be run because of an error.
    """
    from harness.cli.run import execute
    from harness.contamination.option_tests import option_sweep, option_tests
    from harness.runs.runner import Settings

    sweep, registry = option_sweep(models, data, orders=orders, suite=suite, seed=seed, instances=max_eval_instances)
    records = execute(sweep.runs, registry, Settings(results_dir, data_dir, force, cache_dir=cache_dir))
    failed = [record for record in records if record.status != "ok"]
    if len(failed) < len(records):
        found = option_tests(records)
        if as_json:
            say(json_text([test.as_json() for tests in found.values() for test in tests]))
        else:
            _show(found, alpha)
    if failed:
        sys.exit(1)


def _show(by_model: Mapping[str, Sequence[OptionTest]], alpha: float) -> None:
    from harness.contamination.p_values import shown_p
    from harness.output.console import make_console, plain_table

    console = make_console()
    for model, tests in by_model.items():
        console.print(model, style="bold", soft_wrap=True)
        table = plain_table("", "questions", "likeliest", "by chance", "p", "Holm", "", numeric=slice(1, 6))
        for test in tests:
            words = "depends on the published order" if test.depends(alpha) else "no dependence found"
            if test.faults:
                words = f"inconclusive: {', '.join(test.faults)}"
            shares = (f"{float(test.found[name]):.1%}" for name in ("first_rate", "first_rate_by_chance"))
            p_values = shown_p(test.log10_p), shown_p(test.log10_p_holm)
            table.add_row(test.scenario, f"{test.found['n_questions']:,}", *shares, *p_values, words)
        console.print(table)
        console.print()
    console.print(
        "likeliest: questions whose published order is the likeliest of all that were compared. p: exact, if the "
        "authors drew each question's order of options at random; corrected over the model's data sets by Holm, level "
        f"{alpha:g}. inconclusive: the text alone shows that options have an order of their own. If no dependence is "
        "found, that shows nothing.",
        style="dim",
    )
