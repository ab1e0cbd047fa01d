"""``harness score`` and ``harness leaderboard``: from what runs have left on disk."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli import options
from harness.errors import StorageError


@click.command("score")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, file_okay=False))
@options.plugins
def score_command(runs: tuple[Path, ...], plugins: tuple[Path, ...]) -> None:
    """Compute the statistics of RUNS again from their examples, without the model, and write them.

    Each of RUNS is a run's folder, results/<suite>/<run>.
    """
    from harness.registry import default_registry
    from harness.results import read_run, write_run
    from harness.runner import rescored

    registry = default_registry(plugins)
    for directory in runs:
        record = rescored(read_run(directory), registry)
        write_run(record)
        examples = record.efficiency.get("examples")
        click.echo(f"{directory}: {len(record.stats)} statistics computed from {examples} examples.")


@click.command("leaderboard")
@click.argument("suites", nargs=-1)
@options.results_dir
@click.option(
    "--format",
    "format_",
    type=click.Choice(["terminal", "csv", "json", "md", "html"]),
    default="terminal",
    show_default=True,
    help="How to show it.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
def leaderboard_command(suites: tuple[str, ...], results_dir: Path, format_: str, output: Path | None) -> None:
    """Compare the models of SUITES, all of them by default, over everything that has been run."""
    from rich.console import Console

    from harness.leaderboard.aggregate import build_board
    from harness.leaderboard.tables import render, show
    from harness.results import find_runs

    board = build_board(find_runs(results_dir, suites or None))
    if output is not None:
        try:
            with output.open("w", encoding="utf-8") as file:
                if format_ == "terminal":
                    show(board, Console(file=file, width=160))
                else:
                    file.write(render(board, format_))
        except OSError as error:
            raise StorageError(f"{output} cannot be written ({error.strerror or error}).") from error
        click.echo(f"Wrote {output}.", err=True)
    elif format_ == "terminal":
        show(board, Console())
    else:
        click.echo(render(board, format_), nl=False)
