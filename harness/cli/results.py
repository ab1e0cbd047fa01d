"""``harness score`` and ``harness leaderboard``: from what runs have left on disk."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from harness.cli import options


@click.command("score")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, file_okay=False))
@options.plugins
def score_command(runs: tuple[Path, ...], plugins: tuple[Path, ...]) -> None:
    """Compute the statistics of RUNS again from their examples, without the model, and write them.

    Each of RUNS is a run's folder, results/<suite>/<run>.
    """
    from harness.pipeline import rescore
    from harness.registry import default_registry
    from harness.results import read_run, write_run

    registry = default_registry(plugins)
    for directory in runs:
        record = read_run(directory)
        stats = rescore(record, registry)
        write_run(dataclasses.replace(record, stats=stats))
        click.echo(f"{directory}: {len(stats)} statistics computed from {record.efficiency.get('examples')} examples.")


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
    if format_ == "terminal":
        if output is None:
            show(board, Console())
        else:
            with output.open("w", encoding="utf-8") as file:
                show(board, Console(file=file, width=160))
    elif output is None:
        click.echo(render(board, format_), nl=False)
    else:
        output.write_text(render(board, format_), encoding="utf-8")
    if output is not None:
        click.echo(f"Wrote {output}.", err=True)
