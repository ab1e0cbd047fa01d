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
    from harness.leaderboard.tables import comparison_of_models, comparison_of_runs
    from harness.plugins.registry import default_registry
    from harness.storage.results import find_runs, read_run

    registry = default_registry(plugins)
    if suites:
        table = comparison_of_models(find_runs(results_dir, suites), first, second, metric, registry)
    else:
        for name in (first, second):
            if not Path(name).is_dir():
                raise DataError(f"{name} is not the folder of a run; to compare two models, name a suite with --suite.")
        table = comparison_of_runs(read_run(Path(first)), read_run(Path(second)), metric, registry)
    put_table(table, format_)
