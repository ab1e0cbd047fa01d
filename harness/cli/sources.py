"""The sweep that a command line names: a file, a shipped one, or run entries with models."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from harness.contracts.plugins import Kind
from harness.output.terminal import say
from harness.plugins.registry import Registry, default_registry
from harness.sweeps.load import Sweep, find_sweep, load_sweep, shipped_sweeps, sweep_from_entries
from harness.sweeps.shorthand import parse_entry


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
        click.UsageError: Neither or both were given, or a scenario where a sweep is expected.
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
        _refuse_scenario(sweep)
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


def _refuse_scenario(name: str) -> None:
    """Say how a scenario is run, if one was named where a sweep is expected."""
    if Path(name).exists() or name in shipped_sweeps():
        return
    scenario = parse_entry(name).name
    if scenario in default_registry().names(Kind.SCENARIO):
        written = f"{click.get_current_context().command_path} -r {shlex.quote(name)} -m MODEL"
        raise click.UsageError(f"{scenario!r} is a scenario, not a sweep. To use it by itself: {written}")
