"""``harness watch``: evaluate the checkpoints of a training as they appear."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli import options
from harness.cli.execution import Execution, execution_options
from harness.cli.sources import check_source, read_sweep
from harness.output.terminal import say

if TYPE_CHECKING:
    from harness.storage.results import RunRecord
    from harness.sweeps.load import Overrides
    from harness.training.checkpoint_folder import SavedCheckpoint

_SECONDS = click.FloatRange(min=0, min_open=True)


def _refuse_model(context: click.Context, option: click.Parameter, given: Sequence[str]) -> None:
    if given:
        raise click.UsageError(
            "watch does not take -m, because its models are the checkpoints. To set their backend or settings, name "
            'one model in the sweep, for example models: [{name: "vllm:any", dtype: bfloat16}].'
        )


@click.command("watch")
@click.argument("checkpoints", type=click.Path(path_type=Path))
@click.argument("sweep", required=False)
@options.entries
@click.option(
    "-m",
    "--model",
    multiple=True,
    hidden=True,
    expose_value=False,
    callback=_refuse_model,
    help="Not accepted, because the models are the checkpoints.",
)
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
@execution_options
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
    execution: Execution,
    format_: str,
) -> None:
    """Evaluate the checkpoints in the folder CHECKPOINTS with SWEEP, in the order of their steps, as they appear.

    A checkpoint is a folder such as checkpoint-500. It is evaluated once it is complete; its results record the step.
    The sweep may name one model; its settings then apply to each checkpoint. Run the same command again to continue.
    Exit codes: 1 if a run failed, or if no checkpoint was evaluated before the command ended; 2 if nothing could be run
    because of an error.
    """
    from harness.cli.results import put_table
    from harness.cli.run import execute
    from harness.errors import HarnessError
    from harness.listeners.delivery import Deliveries
    from harness.models.transformers.warm import WarmModule
    from harness.sweeps.executor_keys import LocalKeys
    from harness.training.checkpoint_folder import CheckpointFolder
    from harness.training.series_names import check_name, check_renamed, claim_name
    from harness.training.steps_table import newest_by_step, steps_table
    from harness.training.warm_engine import warm_opener
    from harness.training.watched import check_backend, model_entry, template_of, without_deleted
    from harness.training.watching import Watch, watch_checkpoints

    folder = CheckpointFolder(checkpoints)
    check_source(sweep, entries, "name a sweep, or runs with -r.", str(checkpoints))
    name = series or checkpoints.resolve().name
    template = template_of(sweep)
    overrides: Overrides = {
        "plugins": plugins,
        "suite": suite,
        "max_eval_instances": max_eval_instances,
        "max_declined": execution.max_declined,
        "allow": execution.allow,
        "executor": execution.executor,
        "listeners": execution.listeners,
    }
    some = [model_entry(template, checkpoints / "checkpoint-0", name, 0)]
    first, registry = read_sweep(sweep, entries, {**overrides, "models": some})
    settings = execution.settings(first, registry)
    results_dir = execution.results_dir
    check_backend(template, registry)
    if series is not None:
        check_renamed(results_dir, name, checkpoints, "--series")
    else:
        check_name(results_dir, name, checkpoints, "--series")
    records: list[RunRecord] = []
    opens = warm_opener(WarmModule())

    def evaluate(batch: Sequence[SavedCheckpoint]) -> None:
        models = [model_entry(template, one.path, name, one.step) for one in batch]
        found, registry = read_sweep(sweep, entries, {**overrides, "models": models}, warn=False)
        if not records:
            claim_name(results_dir, name, checkpoints, "--series", given=series is not None)
        keys = found.executor or LocalKeys(heads=1)
        sending = Deliveries(
            found.listeners, registry, results_dir, found.runs, suites=[found.suite], plugins=found.plugins
        )
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
    if not records or any(record.status != "ok" for record in newest_by_step(records).values()):
        sys.exit(1)
