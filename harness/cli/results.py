"""``harness score``, ``harness stats`` and ``harness leaderboard``: read the results of finished runs."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli import options
from harness.errors import DataError, HarnessError, StorageError
from harness.output.terminal import say

if TYPE_CHECKING:
    from harness.output.result_table import ResultTable
    from harness.storage.results import RunRecord

_FORMATS = {".csv": "csv", ".json": "json", ".md": "md", ".tex": "latex", ".txt": "terminal", "": "terminal"}


@click.command("score")
@options.run_folders
@options.plugins
@options.cache_dir
def score_command(runs: tuple[Path, ...], plugins: tuple[Path, ...], cache_dir: Path | None) -> None:
    """Recompute the statistics of RUNS from their examples, without the model, and save them.

    Each of RUNS is a run's folder, results/<suite>/<run>.
    """
    from harness.plugins.registry import default_registry
    from harness.runs.rescoring import rescored
    from harness.storage.results import read_run, write_run

    registry = default_registry(plugins)
    failures = 0
    for directory in runs:
        try:
            record = read_run(directory)
        except DataError as error:
            failures += 1
            say(str(error), err=True)
            continue
        try:
            record = rescored(record, registry, cache_dir)
        except StorageError:
            raise
        except HarnessError as error:
            failures += 1
            say(f"{directory}: not scored: {error}", err=True)
            continue
        write_run(record)
        examples = 0 if record.examples is None else record.examples.count
        say(f"{directory}: {len(record.stats)} statistics computed from {examples} examples.")
    if failures:
        say(f"{failures} of {len(runs)} runs were not scored. Load your own plugins with --plugin.", err=True)
        sys.exit(2)


@click.command("stats")
@options.run_folders
@options.plugins
@options.table_format
def stats_command(runs: tuple[Path, ...], plugins: tuple[Path, ...], format_: str) -> None:
    """Show every statistic of RUNS: all metrics, on originals, perturbed copies, worst cases and groups.

    Each of RUNS is a run's folder, results/<suite>/<run>.
    """
    from harness.leaderboard.stats_table import joined
    from harness.leaderboard.tables import stats_of
    from harness.plugins.registry import default_registry
    from harness.storage.results import read_run

    registry = default_registry(plugins)
    tables: list[ResultTable] = []
    for directory in runs:
        try:
            tables.append(stats_of(read_run(directory), registry))
        except DataError as error:
            say(str(error), err=True)
    if tables and format_ in ("csv", "json"):
        put_table(joined(tables), format_)
    else:
        for number, table in enumerate(tables):
            if number:
                say()
            put_table(table, format_)
    if len(tables) < len(runs):
        sys.exit(2)


@click.command("leaderboard")
@click.argument("suites", nargs=-1)
@click.option("--suite", "chosen", multiple=True, help="Compare models on this suite, like an argument. Repeatable.")
@click.option("--all-suites", is_flag=True, help="Compare the models over all suites together.")
@click.option("--all-columns", is_flag=True, help="Show every column, not only one for each scenario with parameters.")
@options.plugins
@options.results_dir
@options.table_format
@click.option("--diff", nargs=2, metavar="BEFORE AFTER", help="Show what changed between two suites instead.")
@options.ratings
@click.option("--site", is_flag=True, help="Build a static web site in RESULTS_DIR/site, or in the folder of --output.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Write to this file, in the format of its suffix unless --format is given (with --site, to this folder).",
)
def leaderboard_command(
    suites: tuple[str, ...],
    chosen: tuple[str, ...],
    all_suites: bool,
    all_columns: bool,
    plugins: tuple[Path, ...],
    results_dir: Path,
    format_: str,
    diff: tuple[str, str] | None,
    ratings: tuple[Path, ...],
    site: bool,
    output: Path | None,
) -> None:
    """Compare all models over the runs of SUITES (default: the suite with the newest run; for --site, all suites).

    With --diff, show how each model's main metric changed between two suites on each scenario, with 95 % intervals and
    p-values corrected for multiple comparisons. Instances are paired if both runs kept their examples.
    """
    suites = (*suites, *chosen)
    if all_suites and suites:
        raise click.UsageError("--all-suites cannot be combined with the name of a suite.")
    if diff and (site or suites or all_suites):
        raise click.UsageError("--diff names its two suites itself and cannot be combined with SUITES or --site.")
    if site:
        _build_site(suites, results_dir, format_, output, plugins, ratings)
        return
    if ratings:
        raise click.UsageError(
            "--ratings adds a page to a site; use it with --site. For a table, use `harness ratings`."
        )
    if diff:
        _show_diff(diff, results_dir, format_, output, plugins)
        return
    from harness.leaderboard.tables import leaderboard_of
    from harness.plugins.registry import default_registry

    runs, intro = _runs_of(suites, results_dir, all_suites=all_suites)
    table = leaderboard_of(runs, default_registry(plugins), all_columns=all_columns)
    put_table(replace(table, intro=intro) if intro else table, format_, output)


@click.command("prompts")
@click.argument("suites", nargs=-1)
@click.option("--all-suites", is_flag=True, help="Show the results of all suites together.")
@click.option("--each", is_flag=True, help="Also show the result of each prompt, best first.")
@options.plugins
@options.results_dir
@options.table_format
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Write to this file, in the format of its suffix."
)
def prompts_command(
    suites: tuple[str, ...],
    all_suites: bool,
    each: bool,
    plugins: tuple[Path, ...],
    results_dir: Path,
    format_: str,
    output: Path | None,
) -> None:
    """Show how much scores depend on the prompt, for runs with `prompt_variants` (default: the newest suite).

    Shown for each model and scenario are the mean over instances and prompts, the standard error from instances, the
    standard deviation between prompts, and the means of the unchanged, the worst and the best prompt. CSV and JSON have
    a row for each prompt.
    """
    from harness.leaderboard.tables import prompts_of
    from harness.plugins.registry import default_registry

    if all_suites and suites:
        raise click.UsageError("--all-suites cannot be combined with the name of a suite.")
    runs, intro = _runs_of(suites, results_dir, all_suites=all_suites)
    table = prompts_of(runs, default_registry(plugins), each=each)
    put_table(replace(table, intro=intro), format_, output)


@click.command("checkpoints")
@click.argument("suites", nargs=-1)
@click.option("--all-suites", is_flag=True, help="Show the results of all suites together.")
@options.plugins
@options.results_dir
@options.table_format
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Write to this file, in the format of its suffix."
)
def checkpoints_command(
    suites: tuple[str, ...],
    all_suites: bool,
    plugins: tuple[Path, ...],
    results_dir: Path,
    format_: str,
    output: Path | None,
) -> None:
    """Show which checkpoints of a training each scenario can tell apart (default: in the newest suite).

    Neighbouring checkpoints are paired by instance. Shown for each training and scenario are the signal-to-noise ratio
    of a change, how many neighbours differ significantly, the smallest change that could be shown, and how many
    instances a typical change needs. The curves are on the site and, in Python, in `Results.curves()`.
    """
    from harness.leaderboard.tables import signal_of
    from harness.plugins.registry import default_registry

    if all_suites and suites:
        raise click.UsageError("--all-suites cannot be combined with the name of a suite.")
    runs, intro = _runs_of(suites, results_dir, all_suites=all_suites)
    table = signal_of(runs, default_registry(plugins))
    put_table(replace(table, intro=intro), format_, output)


def _runs_of(
    suites: tuple[str, ...], results_dir: Path, *, all_suites: bool
) -> tuple[list[RunRecord], list[tuple[str, str]]]:
    """Return the runs of some suites (default: the newest), and what to say about the others."""
    from harness.leaderboard.aggregate import newest_suite
    from harness.leaderboard.board_text import other_suites
    from harness.storage.results import find_runs

    runs = find_runs(results_dir, suites or None)
    newest, others = newest_suite(runs) if not suites and not all_suites else ("", ())
    if not others:
        return runs, []
    return [run for run in runs if run.suite == newest], [("suite", other_suites(newest, others))]


def put_table(table: ResultTable, format_: str, output: Path | None = None) -> None:
    """Print a table in a format, or write it to a file if one is named, whose suffix can name the format.

    On a terminal a table is as wide as the terminal, or ``COLUMNS``; in a pipe or a file each row is one line.

    Raises:
        click.UsageError: No format has the file's suffix.
        StorageError: The file cannot be written.
    """
    from harness.output.console import is_flat, make_console
    from harness.output.result_table import render, show
    from harness.storage.durable import writing

    if output is not None:
        if format_ == "terminal":
            format_ = _format_of(output)
        with writing(output), output.open("w", encoding="utf-8") as file:
            if format_ == "terminal":
                console = make_console(file=file)
                show(table, console, flat=is_flat(console))
            else:
                file.write(render(table, format_))
        say(f"Wrote {output}.", err=True)
    elif format_ == "terminal":
        console = make_console()
        show(table, console, flat=is_flat(console))
    else:
        say(render(table, format_), newline=False)


def _format_of(file: Path) -> str:
    """Return the format that a file's suffix names; without a suffix, or for .txt, the terminal's table."""
    suffix = file.suffix.lower()
    if suffix not in _FORMATS:
        known = ", ".join(filter(None, _FORMATS))
        raise click.UsageError(
            f"{file}: no format has the suffix {suffix}. Use one of {known}, or set --format csv, json, md or latex."
        )
    return _FORMATS[suffix]


def _show_diff(
    suites: tuple[str, str], results_dir: Path, format_: str, output: Path | None, plugins: tuple[Path, ...]
) -> None:
    from harness.leaderboard.diff import diff_suites
    from harness.leaderboard.diff_table import diff_table
    from harness.leaderboard.run_titles import run_titles
    from harness.plugins.registry import default_registry
    from harness.storage.results import find_runs

    registry = default_registry(plugins)
    runs = find_runs(results_dir, suites)
    put_table(diff_table(diff_suites(runs, *suites, registry), run_titles(runs, registry)), format_, output)


def _build_site(
    suites: tuple[str, ...],
    results_dir: Path,
    format_: str,
    output: Path | None,
    plugins: tuple[Path, ...],
    ratings: tuple[Path, ...],
) -> None:
    from harness.python.results import Results

    if format_ != "terminal":
        raise click.UsageError(f"--site and --format {format_} cannot be combined.")
    page = Results(results_dir, suites or None, plugins=plugins).site(output, ratings=ratings)
    say(f"Wrote the site; open {page} in a browser.", err=True)
