"""Options that say where and how runs are executed, shared by the commands that launch sweeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli import options

if TYPE_CHECKING:
    from harness.plugins.registry import Registry
    from harness.runs.settings import Settings
    from harness.sweeps.load import Sweep


@dataclass(frozen=True, slots=True)
class Execution:
    """Command-line options about the execution of runs."""

    data_dir: Path | None
    """The data folder."""
    results_dir: Path
    """The results folder."""
    cache_dir: Path | None
    """The folder of the response cache."""
    prices: Path | None
    """A table of prices."""
    runtimes: Path | None
    """A table of latencies."""
    max_declined: float | None
    """Largest share of examples that may be declined."""
    executor: str | None
    """Where to run, with the address of a Ray cluster if one was given."""
    listeners: tuple[str, ...]
    """Listeners, which get each run when it ends."""
    reuse_across_gpus: bool
    """True to use cached answers from another kind of GPU."""
    allow: tuple[str, ...]
    """Permissions given to metrics."""

    def settings(self, sweep: Sweep, registry: Registry, *, force: bool = False) -> Settings:
        """Return the folders, tables and limits for executing a sweep.

        Raises:
            HarnessError: A table has errors.
        """
        from harness.costs.prices import load_prices
        from harness.costs.runtimes import load_runtimes
        from harness.runs.backend_prices import with_backend_prices
        from harness.runs.settings import Settings

        models = (spec.model.name for spec in sweep.runs)
        prices = with_backend_prices(load_prices(self.prices), models, registry)
        runtimes = load_runtimes(self.runtimes)
        reuse = self.reuse_across_gpus or sweep.reuse_across_gpus
        return Settings(self.results_dir, self.data_dir, force, prices, runtimes, self.cache_dir, reuse)


def execution_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of :class:`Execution`, which the command gets as ``execution``.

    Raises:
        click.UsageError: ``--address`` is given with an executor that is not Ray.
    """

    @wraps(command)
    def with_execution(*first: Any, address: str | None, executor: str | None, **others: Any) -> None:
        if address is not None:
            if executor not in (None, "ray"):
                raise click.UsageError(f"--address is for the executor ray, not for {executor}.")
            executor = f"ray:address={address}"
        names = [field.name for field in fields(Execution) if field.name != "executor"]
        given = {name: others.pop(name) for name in names}
        command(*first, execution=Execution(executor=executor, **given), **others)

    function: Callable[..., None] = with_execution
    for option in (
        options.allow,
        options.address,
        options.reuse_across_gpus,
        options.listeners,
        options.executor,
        options.max_declined,
        options.runtimes,
        options.prices,
        options.cache_dir,
        options.results_dir,
        options.data_dir,
    ):
        function = option(function)
    return function
