"""``harness track``: send finished runs to listeners, such as an experiment tracker."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from harness.cli import options
from harness.output.terminal import say


@click.command("track")
@click.argument("suites", nargs=-1)
@options.listeners
@click.option("--again", is_flag=True, help="Also send runs that were sent before.")
@options.results_dir
@options.plugins
def track_command(
    suites: tuple[str, ...], listeners: tuple[str, ...], again: bool, results_dir: Path, plugins: tuple[Path, ...]
) -> None:
    """Send the finished runs of SUITES (default: all) to experiment trackers.

    Runs that `harness run --listener …` or this command has sent with the same settings are skipped. Exit code 1 if
    a tracker did not get all runs.

      harness track my-suite --listener wandb:project=evals
    """
    from harness.listeners.delivery import Deliveries
    from harness.plugins.registry import default_registry
    from harness.storage.results import find_runs
    from harness.sweeps.listeners import named_listeners

    if not listeners:
        raise click.UsageError("name a tracker: --listener wandb, mlflow or tensorboard.")
    registry = default_registry(plugins)
    named = named_listeners(listeners, registry)
    runs = find_runs(results_dir, suites or None)
    deliveries = Deliveries(
        named, registry, results_dir, (run.spec for run in runs), again=again, suites=suites, plugins=plugins
    )
    with deliveries:
        for run in runs:
            deliveries.put(run.directory)
    for name, count in deliveries.sent.items():
        say(f"{name}: {count} of {len(runs)} runs sent.")
    for note in deliveries.notes():
        say(f"Warning: {note}", err=True)
    if deliveries.notes():
        sys.exit(1)
