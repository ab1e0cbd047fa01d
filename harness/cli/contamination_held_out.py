"""``harness contamination held-out``: are published rows likelier than rows that were held back at random?"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli import options
from harness.output.display import json_text, visible
from harness.output.terminal import say

if TYPE_CHECKING:
    from harness.contamination.held_out import HeldOutData, HeldOutTest


@click.command("held-out", short_help="Compare published rows with rows that were held back at random.")
@click.argument("models", nargs=-1, required=True)
@click.option("--published", type=options.EXISTING_FILE, required=True, help="The file that was published.")
@click.option("--held-out", type=options.EXISTING_FILE, required=True, help="The private file of rows held back.")
@click.option("--column", help="Compare only this column of the records (default: the whole record).")
@click.option(
    "--score",
    type=click.Choice(["logprob", "min_k"]),
    default="logprob",
    help="Score of a row: mean log-probability per token, or Min-20% Prob. Choose it before you see any result.",
)
@click.option(
    "--draws",
    type=options.POSITIVE,
    default=9999,
    help="Random splits to compare with, if there are too many to try all.",
)
@click.option("--alpha", type=options.SHARE, default=0.01, help="Significance level.")
@options.seed
@click.option("--suite", default="contamination-held-out", help="Name of the suite.")
@options.results_dir
@options.cache_dir
@options.force
@options.as_json
def held_out_command(
    models: tuple[str, ...],
    published: Path,
    held_out: Path,
    column: str | None,
    score: str,
    draws: int,
    alpha: float,
    seed: int,
    suite: str,
    results_dir: Path,
    cache_dir: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Test whether MODELS find published rows likelier than rows of the same data set that were held back at random.

    The test is exact, whatever the order of the rows, if chance alone decided which rows were published. Keep the
    results folder private, since it then holds the private rows; a hosted model shows them to its provider. Exit
    codes: 1 if a test failed or is not testable; 2 if nothing could be run because of an error.
    """
    from harness.cli.contamination_failures import exit_with_failures, refuse_if_no_model_opens
    from harness.cli.run import execute
    from harness.contamination.held_out import held_out_sweep, held_out_tests, read_held_out
    from harness.contamination.statistics.verdict import Verdict
    from harness.runs.runner import Settings

    sweep, registry = held_out_sweep(models, published, held_out, column=column, suite=suite, seed=seed)
    data = read_held_out(sweep, registry, seed)
    if reason := data.untestable(alpha, draws):
        say(
            json_text([{"verdict": str(Verdict.NOT_TESTABLE), "reason": reason}])
            if as_json
            else f"{Verdict.NOT_TESTABLE}: {reason}."
        )
        sys.exit(1)
    refuse_if_no_model_opens(sweep.runs, registry)
    records = execute(sweep.runs, registry, Settings(results_dir, None, force, cache_dir=cache_dir))
    tests = held_out_tests(records, data, score=score, draws=draws, alpha=alpha, seed=seed)
    if as_json:
        say(json_text([test.as_json() for test in tests]))
    elif tests:
        _show(tests, data)
    failed = {record.spec.model.label for record in records if record.status != "ok"}
    untested = {record.spec.model.label for record in records} - failed - {test.model for test in tests}
    for model in sorted(untested):
        say(f"{visible(model)} is not tested: it did not score every row, as the test needs.", err=True)
    exit_with_failures(records)
    if untested:
        sys.exit(1)


def _show(tests: Sequence[HeldOutTest], data: HeldOutData) -> None:
    from harness.cli.contamination_names import short_model
    from harness.output.console import make_console, plain_table

    console = make_console()
    left_out = f", {data.split.left_out} rows with near duplicates on both sides left out" * bool(data.split.left_out)
    console.print(
        f"{len(data.published):,} published rows, {len(data.held_out):,} held-out rows{left_out}", style="bold"
    )
    table = plain_table("", "difference", "p", "splits", "", numeric=slice(1, 4), pad_edge=False, padding=(0, 1, 0, 0))
    table.columns[0].overflow = "fold"
    for column in table.columns[1:4]:
        column.no_wrap = True
    for test in tests:
        ways = f"{'all' if test.result.exact else 'drawn'} {test.result.ways:,}"
        table.add_row(
            visible(short_model(test.model)),
            f"{test.result.difference:+.4f}",
            f"{test.result.p:.4g}",
            ways,
            test.verdict,
        )
    console.print(table)
    telling = ", ".join(f"{name} p = {p:.3g}" for name, p in data.telling.items())
    console.print(f"The texts alone: {telling} (after Holm; a small value means that the split was not random).")
    console.print(
        "\ndifference: mean score of the published rows minus that of the held-out rows, in nats per token. p: share "
        f"of the splits with a difference at least as large; level {tests[0].alpha:g}. p is exact if chance alone "
        "decided which rows were published; near duplicates stay together. depends on publication: the model finds the "
        "published rows likelier, by more than chance explains. If no dependence is found, that shows nothing.",
        style="dim",
    )
