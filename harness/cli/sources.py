"""From what was said on the command line to run specs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from harness.output.terminal import say
from harness.plugins.registry import Registry
from harness.sweeps.load import Sweep, find_sweep, load_sweep, sweep_from_entries


def read_sweep(
    sweep: str | None,
    entries: Sequence[str],
    models: Sequence[str],
    plugins: Sequence[Path],
    suite: str | None,
    max_eval_instances: int | None,
    max_declined: float | None = None,
) -> tuple[Sweep, Registry]:
    """Return the sweep that a command names: a file, a shipped one by name, or run entries with models.

    Raises:
        click.UsageError: Neither or both were given.
        SpecError: The sweep has errors.
    """
    if (sweep is None) == (not entries):
        raise click.UsageError("name a sweep file, or runs with -r (and models with -m).")
    if sweep is None:
        found = sweep_from_entries(
            entries,
            models,
            plugins=plugins,
            suite=suite or "command-line",
            max_eval_instances=max_eval_instances,
            max_declined=max_declined,
        )
    else:
        found = load_sweep(
            find_sweep(sweep),
            plugins=plugins,
            models=models,
            suite=suite,
            max_eval_instances=max_eval_instances,
            max_declined=max_declined,
        )
    for warning in found[0].warnings:
        say(f"Warning: {warning}", err=True)
    for problem in found[1].problems:
        say(f"Not usable: {problem}", err=True)
    return found
