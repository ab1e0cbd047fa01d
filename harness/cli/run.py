"""``harness run``: launch a sweep."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli import options
from harness.cli.execution import Execution, execution_options
from harness.cli.sources import ReadSweep, sweep_source

if TYPE_CHECKING:
    from rich.console import Console

    from harness.contracts.specs import RunSpec
    from harness.inference.model_pool import OpenModel
    from harness.listeners.delivery import Deliveries
    from harness.plugins.registry import Registry
    from harness.runs.runner import Settings
    from harness.storage.results import RunRecord
    from harness.sweeps.executor_keys import ExecutorKeys


@click.command("run")
@sweep_source
@execution_options
@click.option(
    "--dry-run",
    is_flag=True,
    help="Show what would run, with its requests and tokens and their price, without asking a model; exit 2 if a run"
    " would fail here.",
)
@click.option(
    "--gpus",
    type=options.POSITIVE,
    help="With --dry-run, also show how long the sweep would take on this many GPUs, with GPU hours and cost.",
)
@click.option(
    "--gpu",
    metavar="KIND|FILE",
    help="Kind of GPU for --gpus: a100, h100, h200 or l40s, or a YAML file with your own figures (default: h100).",
)
@options.force
def run_command(
    read: ReadSweep, execution: Execution, dry_run: bool, gpus: int | None, gpu: str | None, force: bool
) -> None:
    """Run SWEEP, a YAML file or the name of a sweep that comes with the harness.

    Run the same command again to continue after an interruption; finished runs are skipped. Exit codes: 1 if a run
    failed; 2 if nothing could be run because of an error, or if the disk failed.
    """
    from harness.costs.gpu_speed import DEFAULT, load_gpu
    from harness.leaderboard.sweep_notes import abridged
    from harness.listeners.delivery import Deliveries
    from harness.sweeps.executor_keys import LocalKeys

    if (gpus or gpu) and not dry_run:
        raise click.UsageError("--gpus and --gpu only describe what a sweep would take; add --dry-run.")
    if gpu and not gpus:
        raise click.UsageError("--gpu needs the number of GPUs: --gpus N.")
    kind = load_gpu(gpu or DEFAULT) if gpus else None
    allow = None if dry_run and not execution.allow else execution.allow
    found, registry = read(execution.max_declined, allow, execution.executor, execution.listeners)
    settings = execution.settings(found, registry, force=force)
    if dry_run:
        from harness.cli.dry_run import show_plans
        from harness.executors.layout import check_cards

        here = "" if kind is not None else check_cards(found.runs, registry, found.executor)
        show_plans(found.runs, registry, settings, kind, gpus or 0, obstacle=here)
        return
    specs = {spec.name: spec for spec in found.runs}
    keep = partial(abridged, specs=specs)
    deliveries = Deliveries(
        found.listeners, registry, execution.results_dir, found.runs, suites=[found.suite], plugins=found.plugins
    )
    records = execute(found.runs, registry, settings, found.plugins, found.executor or LocalKeys(), keep, deliveries)
    name_report(records, registry, settings)
    if any(record.status != "ok" for record in records):
        sys.exit(1)


def execute(
    runs: Sequence[RunSpec],
    registry: Registry,
    settings: Settings,
    plugins: Sequence[Path] = (),
    executor: ExecutorKeys | None = None,
    keep: Callable[[RunRecord], RunRecord] = lambda record: record,
    deliveries: Deliveries | None = None,
    open_model: OpenModel | None = None,
) -> list[RunRecord]:
    """Run specs with progress on the terminal, and end by saying what to do next.

    Args:
        runs: What to run.
        registry: Knows the plugins.
        settings: Folders and limits.
        plugins: The plugins that the runs need besides the installed ones, as files.
        executor: Where to run them; None for this process.
        keep: Returns what is returned of a record (default: all of it).
        deliveries: What gives the runs to listeners; None without any.
        open_model: Opens models where the runs are executed in this process; None for the usual way.

    Raises:
        KeyboardInterrupt: The user stopped it, or the system (``Terminated``); how to continue has been printed.
        StorageError: The response cache or the results cannot be written or read; how to continue has been printed.
    """
    from harness.errors import StorageError
    from harness.executors.execution import execute_job
    from harness.executors.interrupts import terminable
    from harness.executors.job import Job
    from harness.leaderboard.sweep_notes import sweep_notes
    from harness.output.console import make_console
    from harness.progress.terminal import watch
    from harness.runs.sweep_state import SweepState
    from harness.sweeps.executor_keys import LocalKeys

    console = make_console(err=True)
    records: list[RunRecord] = []
    state = SweepState(len(runs))
    job = Job(runs, settings, plugins)
    sending = deliveries.watch(state) if deliveries is not None else nullcontext()
    executing = execute_job(job, executor or LocalKeys(heads=1), registry, state, open_model)
    try:
        with terminable(), sending, watch(state, console, runs), closing(executing):
            records += map(keep, executing)
    except (KeyboardInterrupt, StorageError) as error:
        _say_unsent(deliveries, console)
        again = shlex.join(["harness", *(argument for argument in sys.argv[1:] if argument != "--force")])
        when = "All answers so far are kept. To continue"
        if isinstance(error, StorageError):
            when = "Once the error below is fixed"
        how = "Stopped. "
        if state.detached:
            how, when = f"{state.detached}\n", "To follow them again"
        console.print(
            f"\n{how}{state.done} of {len(runs)} runs are finished, {len(runs) - state.done} left. {when}, run:\n"
            f"  {again}",
            soft_wrap=True,
        )
        raise
    ok = [record for record in records if record.status == "ok"]
    failed = [record for record in records if record.status != "ok"]
    console.print(f"{len(ok)} of {len(records)} runs ok, in {settings.results_dir}.", soft_wrap=True)
    if failed:
        where = "\n  ".join(str(record.directory) for record in failed)
        console.print(f"Failed, with the reason in run.json:\n  {where}", soft_wrap=True)
    for note in sweep_notes(records, registry):
        console.print(f"Note: {note}", soft_wrap=True)
    _say_unsent(deliveries, console)
    return records


def _say_unsent(deliveries: Deliveries | None, console: Console) -> None:
    for note in deliveries.notes() if deliveries is not None else ():
        console.print(f"Warning: {note}", soft_wrap=True, markup=False)


def name_report(records: Sequence[RunRecord], registry: Registry, settings: Settings) -> None:
    """Print the command that shows the results of some runs."""
    from harness.leaderboard.sweep_notes import report_of
    from harness.output.console import make_console

    if ok := [record for record in records if record.status == "ok"]:
        suites = " ".join(dict.fromkeys(record.suite for record in ok))
        reports = {report_of(registry, record.spec.adapter.name) for record in ok}
        report = reports.pop() if len(reports) == 1 else ""
        what = f"Report: harness {report}" if report else "Compare: harness leaderboard"
        make_console(err=True).print(f"{what} {suites}{_where(settings)}", soft_wrap=True)


def _where(settings: Settings) -> str:
    """Return the option that makes another command find the results that these settings write."""
    from harness.runs.settings import results_folder

    folder = settings.results_dir
    return "" if folder == results_folder() else f" --results-dir {shlex.quote(str(folder))}"
