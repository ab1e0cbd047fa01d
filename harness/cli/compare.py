"""``harness compare``: compare two runs, or two models over a suite, instance by instance."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli import options
from harness.cli.results import put_table


@click.command("compare")
@click.argument("first")
@click.argument("second")
@click.option("--suite", "suites", multiple=True, help="Compare two models over this suite. Repeatable.")
@click.option("--metric", help="Score to compare (default: the main metric).")
@options.plugins
@options.results_dir
@options.table_format
def compare_command(
    first: str,
    second: str,
    suites: tuple[str, ...],
    metric: str | None,
    plugins: tuple[Path, ...],
    results_dir: Path,
    format_: str,
) -> None:
    """Compare FIRST and SECOND on the instances that both answered.

    FIRST and SECOND are run folders, results/<suite>/<run>, or, with --suite, models as in `harness run -m`.
    Shows the paired difference with its 95 % interval, the p-value of an exact test, p-values corrected for the number
    of scenarios, and how many instances could not be compared.
    """
    from harness.errors import DataError
    from harness.leaderboard.comparison import ComparisonFamily, adjusted, compare_models, compare_runs
    from harness.leaderboard.comparison_table import comparison_table
    from harness.leaderboard.model_names import model_names, model_of
    from harness.leaderboard.run_titles import run_titles
    from harness.plugins.registry import default_registry
    from harness.storage.results import RUN_FILE, find_runs, read_run

    registry = default_registry(plugins)
    if suites:
        runs = find_runs(results_dir, suites)
        family = compare_models(runs, first, second, metric, registry)
    else:
        for name in (first, second):
            if not (Path(name) / RUN_FILE).is_file():
                raise DataError(f"{name} is not the folder of a run; to compare two models, name a suite with --suite.")
        runs = one, other = [read_run(Path(first)), read_run(Path(second))]
        called = model_names([one, other])
        names = [f"{model_of(run, called)} ({run.suite}/{run.name})" for run in (one, other)]
        family = ComparisonFamily(names[0], names[1], adjusted([compare_runs(one, other, metric, registry)]))
    put_table(comparison_table(family, run_titles(runs, registry)), format_)
