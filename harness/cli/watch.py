"""``harness watch``: evaluate the checkpoints of a training as they appear."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli import options
from harness.output.terminal import say

if TYPE_CHECKING:
    from harness.plugins.registry import Registry
    from harness.storage.results import RunRecord
    from harness.sweeps.load import Sweep
    from harness.training.checkpoint_folder import SavedCheckpoint

_SECONDS = click.FloatRange(min=0, min_open=True)


@click.command("watch")
@click.argument("checkpoints", type=click.Path(path_type=Path))
@click.argument("sweep", required=False)
@options.entries
@click.option("--until", type=click.IntRange(min=0), metavar="STEP", help="Stop after the checkpoint of this step.")
@click.option(
    "--idle-timeout",
    type=_SECONDS,
    metavar="SECONDS",
    help="Stop when no checkpoint has appeared for this long (default: wait until Ctrl-C).",
)
@click.option("--poll", type=_SECONDS, default=10.0, metavar="SECONDS", help="How often to look for checkpoints.")
@click.option("--series", metavar="NAME", help="Name of the training in results (default: the folder's name).")
@options.plugins
@options.suite
@options.limit
@options.data_dir
@options.results_dir
@options.cache_dir
@options.executor
@options.allow
@options.table_format
def watch_command(
    checkpoints: Path,
    sweep: str | None,
    entries: tuple[str, ...],
    until: int | None,
    idle_timeout: float | None,
    poll: float,
    series: str | None,
    plugins: tuple[Path, ...],
    suite: str | None,
    max_eval_instances: int | None,
    data_dir: Path | None,
    results_dir: Path,
    cache_dir: Path | None,
    executor: str | None,
    allow: tuple[str, ...],
    format_: str,
) -> None:
    """Evaluate the checkpoints in the folder CHECKPOINTS with SWEEP, in the order of their steps, as they appear.

    A checkpoint is a folder such as checkpoint-500. It is evaluated once it is complete; its results record the step.
    The sweep may name one model; its settings then apply to each checkpoint. Run the same command again to continue.
    Exit codes: 1 if a run failed; 2 if nothing could be run because of an error.
    """
    from harness.cli.results import put_table
    from harness.cli.run import execute
    from harness.errors import HarnessError
    from harness.listeners.delivery import Deliveries
    from harness.models.transformers.warm import WarmModule
    from harness.runs.runner import Settings
    from harness.sweeps.executor_keys import LocalKeys
    from harness.training.checkpoint_folder import CheckpointFolder
    from harness.training.steps_table import steps_table
    from harness.training.warm_engine import warm_opener
    from harness.training.watched import model_entry, template_of, without_deleted
    from harness.training.watching import Watch, watch_checkpoints

    folder = CheckpointFolder(checkpoints)
    name = series or checkpoints.resolve().name
    template = template_of(sweep)
    given = {"plugins": plugins, "suite": suite, "max_eval_instances": max_eval_instances, "allow": allow}

    def read(models: Sequence[dict[str, Any]]) -> tuple[Sweep, Registry]:
        from harness.sweeps.load import find_sweep, load_sweep, sweep_from_entries

        if (sweep is None) == (not entries):
            raise click.UsageError("name a sweep, or runs with -r.")
        overrides: Any = {**given, "models": models, "executor": executor}
        if sweep is None:
            return sweep_from_entries(entries, models, **{**overrides, "models": models})
        return load_sweep(find_sweep(sweep), **overrides)

    first, registry = read([model_entry(template, checkpoints / "checkpoint-0", name, 0)])
    for warning in first.warnings:
        say(f"Warning: {warning}", err=True)
    for problem in registry.problems:
        say(f"Not usable: {problem}", err=True)
    settings = Settings(results_dir, data_dir, cache_dir=cache_dir, reuse_across_gpus=first.reuse_across_gpus)
    records: list[RunRecord] = []
    opens = warm_opener(WarmModule())

    def evaluate(batch: Sequence[SavedCheckpoint]) -> None:
        found, registry = read([model_entry(template, one.path, name, one.step) for one in batch])
        keys = found.executor or LocalKeys(heads=1)
        sending = Deliveries(found.listeners, registry, results_dir, found.runs)
        made = execute(found.runs, registry, settings, found.plugins, keys, deliveries=sending, open_model=opens)
        records.extend(without_deleted(made, batch))

    together = first.executor is not None and first.executor != LocalKeys(heads=1)
    ends = Watch(until=until, idle_seconds=idle_timeout, poll_seconds=poll, together=together)
    try:
        scan = watch_checkpoints(folder, evaluate, lambda text: say(text, err=True), ends)
        for left, why in scan.incomplete.items():
            say(f"{left} was not evaluated: {why}.", err=True)
    except HarnessError:
        if records:
            put_table(steps_table(records), format_)
        raise
    except KeyboardInterrupt:
        put_table(steps_table(records), format_)
        raise
    put_table(steps_table(records), format_)
    if any(record.status != "ok" for record in records):
        sys.exit(1)
