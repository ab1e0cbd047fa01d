"""The sweep that a command line names: a file, a shipped one, or run entries with models."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from harness.cli import options
from harness.output.terminal import say

if TYPE_CHECKING:
    from harness.plugins.registry import Registry
    from harness.sweeps.load import Overrides, Sweep


class ReadSweep(Protocol):
    """Reads the sweep of a command line, with warnings on standard error; arguments as in :class:`Overrides`.

    Raises:
        click.UsageError: Neither or both of a sweep and run entries were given, or a scenario instead of a sweep.
        SpecError: The sweep has errors.
    """

    def __call__(
        self,
        max_declined: float | None = None,
        allow: Sequence[str] | None = None,
        executor: str | None = None,
        listeners: Sequence[str] = (),
    ) -> tuple[Sweep, Registry]: ...


def sweep_source(command: Callable[..., None]) -> Callable[..., None]:
    """Add the argument and the options that say what to run; the command gets a :class:`ReadSweep` as ``read``."""

    @wraps(command)
    def with_source(
        sweep: str | None,
        entries: tuple[str, ...],
        models: tuple[str, ...],
        plugins: tuple[Path, ...],
        suite: str | None,
        max_eval_instances: int | None,
        **others: Any,
    ) -> None:
        given: Overrides = {
            "models": models,
            "plugins": plugins,
            "suite": suite,
            "max_eval_instances": max_eval_instances,
        }
        command(partial(_read_sweep, sweep, entries, given), **others)

    function: Callable[..., None] = with_source
    for option in (options.limit, options.suite, options.plugins, options.models, options.entries):
        function = option(function)
    return click.argument("sweep", required=False)(function)


def sweep_sources(command: Callable[..., None]) -> Callable[..., None]:
    """Like :func:`sweep_source` for several sweeps; the command gets a list of :class:`ReadSweep` as ``read``."""

    @wraps(command)
    def with_sources(sweeps: tuple[str, ...], **others: Any) -> None:
        given: Overrides = {key: others.pop(key) for key in _OVERRIDES}  # type: ignore[assignment]
        entries = others.pop("entries")
        named: tuple[str | None, ...] = sweeps or (None,)
        command([partial(_read_sweep, sweep, entries, given) for sweep in named], **others)

    function: Callable[..., None] = with_sources
    for option in (options.limit, options.suite, options.plugins, options.models, options.entries):
        function = option(function)
    return click.argument("sweeps", nargs=-1)(function)


_OVERRIDES = ("models", "plugins", "suite", "max_eval_instances")


def _read_sweep(
    sweep: str | None,
    entries: tuple[str, ...],
    given: Overrides,
    max_declined: float | None = None,
    allow: Sequence[str] | None = None,
    executor: str | None = None,
    listeners: Sequence[str] = (),
) -> tuple[Sweep, Registry]:
    from harness.sweeps.load import find_sweep, load_sweep, sweep_from_entries

    if (sweep is None) == (not entries):
        raise click.UsageError("name a sweep file, or runs with -r (and models with -m).")
    given["max_declined"], given["allow"], given["executor"] = max_declined, allow, executor
    given["listeners"] = listeners
    if sweep is None:
        found = sweep_from_entries(entries, given["models"], **given)
    else:
        _refuse_scenario(sweep)
        found = load_sweep(find_sweep(sweep), **given)
    for warning in found[0].warnings:
        say(f"Warning: {warning}", err=True)
    for problem in found[1].problems:
        say(f"Not usable: {problem}", err=True)
    return found


def _refuse_scenario(name: str) -> None:
    """Say how a scenario is run, if one was named where a sweep is expected."""
    from harness.contracts.plugins import Kind
    from harness.plugins.registry import default_registry
    from harness.sweeps.load import shipped_sweeps
    from harness.sweeps.shorthand import parse_entry

    if Path(name).exists() or name in shipped_sweeps():
        return
    scenario = parse_entry(name).name
    if scenario in default_registry().names(Kind.SCENARIO):
        written = f"{click.get_current_context().command_path} -r {shlex.quote(name)} -m MODEL"
        raise click.UsageError(f"{scenario!r} is a scenario, not a sweep. To use it by itself: {written}")
