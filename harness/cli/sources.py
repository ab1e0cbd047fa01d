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
        command(partial(_read_named, sweep, entries, given), **others)

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
        command([partial(_read_named, sweep, entries, given) for sweep in named], **others)

    function: Callable[..., None] = with_sources
    for option in (options.limit, options.suite, options.plugins, options.models, options.entries):
        function = option(function)
    return click.argument("sweeps", nargs=-1)(function)


_OVERRIDES = ("models", "plugins", "suite", "max_eval_instances")


def read_sweep(
    sweep: str | None, entries: Sequence[str], overrides: Overrides, *, warn: bool = True
) -> tuple[Sweep, Registry]:
    """Return the sweep of a command line, with warnings on standard error.

    Args:
        sweep: A file, or the name of a sweep that comes with the harness; None for entries.
        entries: Entries of runs.
        overrides: Values that replace parts of the sweep; with entries, they include the models.
        warn: False to show no warnings.

    Raises:
        SpecError: The sweep has errors.
    """
    from harness.sweeps.load import find_sweep, load_sweep, sweep_from_entries

    if sweep is None:
        found = sweep_from_entries(entries, overrides.get("models", ()), **overrides)
    else:
        found = load_sweep(find_sweep(sweep), **overrides)
    if warn:
        for warning in found[0].warnings:
            say(f"Warning: {warning}", err=True)
        for problem in found[1].problems:
            say(f"Not usable: {problem}", err=True)
    return found


def _read_named(
    sweep: str | None,
    entries: tuple[str, ...],
    given: Overrides,
    max_declined: float | None = None,
    allow: Sequence[str] | None = None,
    executor: str | None = None,
    listeners: Sequence[str] = (),
) -> tuple[Sweep, Registry]:
    check_source(sweep, entries, "name a sweep file, or runs with -r (and models with -m).", "-m MODEL")
    more: Overrides = {"max_declined": max_declined, "allow": allow, "executor": executor, "listeners": listeners}
    return read_sweep(sweep, entries, {**given, **more})


def check_source(sweep: str | None, entries: Sequence[str], advice: str, rest: str) -> None:
    """Refuse a command line with neither a sweep nor entries, with both, or with a scenario in place of a sweep.

    Args:
        sweep: The argument SWEEP.
        entries: Entries of runs.
        advice: What to name, for the message.
        rest: Further arguments that the command needs with ``-r SCENARIO``.

    Raises:
        click.UsageError: The command line is one of these.
    """
    if (sweep is None) == (not entries):
        raise click.UsageError(advice)
    if sweep is not None:
        _refuse_scenario(sweep, rest)


def _refuse_scenario(name: str, rest: str) -> None:
    """Say how a scenario is run, if one was named where a sweep is expected."""
    from harness.contracts.plugins import Kind
    from harness.plugins.registry import default_registry
    from harness.sweeps.load import shipped_sweeps
    from harness.sweeps.shorthand import parse_entry

    if Path(name).exists() or name in shipped_sweeps():
        return
    scenario = parse_entry(name).name
    if scenario in default_registry().names(Kind.SCENARIO):
        written = f"{click.get_current_context().command_path} -r {shlex.quote(name)} {rest}"
        raise click.UsageError(f"{scenario!r} is a scenario, not a sweep. To use it by itself: {written}")
