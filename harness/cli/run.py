"""``harness run``: launch a sweep."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli import options
from harness.cli.sources import ReadSweep, sweep_source

if TYPE_CHECKING:
    from harness.contracts.specs import RunSpec
    from harness.plugins.registry import Registry
    from harness.runs.runner import Settings
    from harness.storage.results import RunRecord
    from harness.sweeps.executor_keys import ExecutorKeys

MOST_UNREAD = 0.1
"""Share of unread answers above which a run's end mentions them."""

FEW_TOKENS = 16
"""Most tokens that are too few for an answer in a sentence."""

_MOST_NAMED = 3
"""Runs that are named in one note."""


@click.command("run")
@sweep_source
@options.data_dir
@options.results_dir
@options.cache_dir
@options.prices
@options.runtimes
@options.max_declined
@options.executor
@options.reuse_across_gpus
@options.address
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
@options.allow
@options.force
def run_command(
    read: ReadSweep,
    data_dir: Path | None,
    results_dir: Path,
    cache_dir: Path | None,
    prices: Path | None,
    runtimes: Path | None,
    max_declined: float | None,
    executor: str | None,
    reuse_across_gpus: bool,
    address: str | None,
    dry_run: bool,
    gpus: int | None,
    gpu: str | None,
    allow: tuple[str, ...],
    force: bool,
) -> None:
    """Run SWEEP, a YAML file or the name of a sweep that comes with the harness.

    Run the same command again to continue after an interruption; finished runs are skipped. Exit codes: 1 if a run
    failed; 2 if nothing could be run because of an error, or if the disk failed.
    """
    from harness.costs.gpu_speed import DEFAULT, load_gpu
    from harness.costs.prices import load_prices
    from harness.costs.runtimes import load_runtimes
    from harness.runs.runner import Settings
    from harness.sweeps.executor_keys import LocalKeys

    if address is not None:
        if executor not in (None, "ray"):
            raise click.UsageError(f"--address is for the executor ray, not for {executor}.")
        executor = f"ray:address={address}"
    if (gpus or gpu) and not dry_run:
        raise click.UsageError("--gpus and --gpu only describe what a sweep would take; add --dry-run.")
    if gpu and not gpus:
        raise click.UsageError("--gpu needs the number of GPUs: --gpus N.")
    kind = load_gpu(gpu or DEFAULT) if gpus else None
    found, registry = read(max_declined, None if dry_run and not allow else allow, executor)
    tables = load_prices(prices), load_runtimes(runtimes)
    reuse = reuse_across_gpus or found.reuse_across_gpus
    settings = Settings(results_dir, data_dir, force, *tables, cache_dir, reuse)
    if dry_run:
        from harness.cli.dry_run import show_plans
        from harness.executors.layout import check_cards

        here = "" if kind is not None else check_cards(found.runs, registry, found.executor)
        show_plans(found.runs, registry, settings, kind, gpus or 0, obstacle=here)
        return
    specs = {spec.name: spec for spec in found.runs}
    keep = partial(_abridged, specs=specs)
    records = execute(found.runs, registry, settings, found.plugins, found.executor or LocalKeys(), keep)
    if any(record.status != "ok" for record in records):
        sys.exit(1)


def execute(
    runs: Sequence[RunSpec],
    registry: Registry,
    settings: Settings,
    plugins: Sequence[Path] = (),
    executor: ExecutorKeys | None = None,
    keep: Callable[[RunRecord], RunRecord] = lambda record: record,
) -> list[RunRecord]:
    """Run specs with progress on the terminal, and end by saying what to do next.

    Args:
        runs: What to run.
        registry: Knows the plugins.
        settings: Folders and limits.
        plugins: The plugins that the runs need besides the installed ones, as files.
        executor: Where to run them; None for this process.
        keep: Returns what is returned of a record (default: all of it).

    Raises:
        KeyboardInterrupt: The user stopped it, or the system (``Terminated``); how to continue has been printed.
        StorageError: The response cache or the results cannot be written or read; how to continue has been printed.
    """
    from harness.errors import StorageError
    from harness.executors.executor import join, make_executor
    from harness.executors.interrupts import terminable
    from harness.executors.job import Job
    from harness.output.console import make_console
    from harness.progress.file import ProgressFile
    from harness.progress.terminal import watch
    from harness.runs.sweep_state import SweepState
    from harness.sweeps.executor_keys import LocalKeys

    console = make_console(err=True)
    records: list[RunRecord] = []
    state = SweepState(len(runs))
    job = Job(runs, settings, plugins)
    executor = executor or LocalKeys(heads=1)
    join(executor, job)
    try:
        suite = runs[0].suite if runs else ""
        with (
            terminable(),
            watch(state, console, runs),
            ProgressFile(state, settings.results_dir, suite),
        ):
            for record in make_executor(executor, registry).run(job, state):
                records.append(keep(record))
    except (KeyboardInterrupt, StorageError) as error:
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
    for note in [*_answer_notes(records, registry), *_metric_notes(records, registry)]:
        console.print(f"Note: {note}", soft_wrap=True)
    if ok:
        suites = " ".join(dict.fromkeys(record.suite for record in ok))
        reports = {_report_of(registry, record.spec.adapter.name) for record in ok}
        report = reports.pop() if len(reports) == 1 else ""
        what = f"Report: harness {report}" if report else "Compare: harness leaderboard"
        console.print(f"{what} {suites}{_where(settings)}", soft_wrap=True)
    return records


def _abridged(record: RunRecord, specs: Mapping[str, RunSpec]) -> RunRecord:
    """Return a record with what the end of a sweep mentions: whole records of the largest sweeps are gigabytes.

    Its spec is the sweep's own, by its name, of which there is one in memory anyway.
    """
    from harness.answers.served_models import served_models
    from harness.leaderboard.cells import main_stat

    stats = [stat for stat in (main_stat(record),) if stat is not None]
    if record.efficiency.get("without_probability"):
        stats += {stat.metric: stat for stat in record.stats}.values()
    provenance, spec = {"served": served_models(record.provenance)}, specs.get(record.name, record.spec)
    return replace(record, spec=spec, stats=stats, details={}, provenance=provenance, instance_scores=None)


def _report_of(registry: Registry, method: str) -> str:
    """Return the command that reports on runs of a method; '' if it declares none."""
    from harness.contracts.plugins import AdapterDetails, Kind

    details = registry.get(Kind.ADAPTER, method).details
    return details.report if isinstance(details, AdapterDetails) else ""


def _answer_notes(records: Sequence[RunRecord], registry: Registry) -> Iterator[str]:
    """Yield what a reader must know of each model's answers: declined and unfinished ones, and who gave them."""
    from harness.answers.declined import Declined
    from harness.answers.reasoning_count import unfinished_note
    from harness.answers.served_models import served_models, served_notes

    by_model: dict[str, list[RunRecord]] = {}
    for record in records:
        by_model.setdefault(record.spec.model_label, []).append(record)
    for model, runs in by_model.items():
        declining = [run for run in runs if run.declined.examples]
        if declining:
            runs_told = f"in {len(declining)} runs" if len(declining) > 1 else f"in {declining[0].name}"
            yield f"{model}: {sum((run.declined for run in declining), Declined())}, {runs_told}."
        for run in runs:
            if note := unfinished_note(run.efficiency):
                yield f"{model}: {note}, in {run.name}."
        # Methods with a report of their own, such as the tests of an order, say there what did not fit.
        prompted = [run for run in runs if not _report_of(registry, run.spec.adapter.name)]
        if shortened := [run for run in prompted if run.efficiency.get("truncated_examples", 0)]:
            yield _shortened_note(model, shortened)
        name = runs[0].spec.model.name
        for note in served_notes(name, [one for run in runs for one in served_models(run.provenance)]):
            yield f"{model}: {note}."


def _shortened_note(model: str, runs: Sequence[RunRecord]) -> str:
    """Return how many prompts of a model's runs were too long for it, and in which runs."""
    counts = [(run.efficiency["truncated_examples"], run.efficiency.get("examples", 0), run.name) for run in runs]
    if len(runs) == 1:
        count, of, name = counts[0]
        where = f"{count:,} of {of:,} prompts were too long in {name}"
    else:
        named = [f"{count:,} in {name}" for count, _, name in counts[:_MOST_NAMED]]
        more = f", and others in {len(runs) - _MOST_NAMED} more runs" if len(runs) > _MOST_NAMED else ""
        total, of = sum(count for count, _, _ in counts), sum(of for _, of, _ in counts)
        where = f"{total:,} of {of:,} prompts were too long in {len(runs)} runs ({', '.join(named)}{more})"
    return f"{model}: {where}; few-shot examples were dropped, or the input was cut."


def _metric_notes(records: Sequence[RunRecord], registry: Registry) -> Iterator[str]:
    """Yield the runs with many unread answers, and metrics without a value since a model gave no log-probabilities."""
    from harness.contracts.plugins import Kind
    from harness.leaderboard.cells import main_stat
    from harness.plugins.parameters import given_names
    from harness.sweeps.adapter_settings import needs_probabilities

    lacking: dict[str, dict[str, None]] = {}
    for record in records:
        if record.status != "ok":
            continue
        given = {stat.metric for stat in record.stats}
        for metric in record.spec.metrics:
            plugin = registry.get(Kind.METRIC, metric.name)
            silent = record.efficiency.get("without_probability", 0) > 0
            if silent and needs_probabilities(plugin) and given.isdisjoint(given_names(plugin)):
                lacking.setdefault(record.spec.model_label, {})[metric.name] = None
        unread, of = record.efficiency.get("unread_examples", 0), record.efficiency.get("examples", 0)
        if unread > MOST_UNREAD * of:
            limit = record.spec.adapter.arguments.get("max_tokens", 0)
            room = (
                f" Its max_tokens is {limit}; a model that answers in sentences needs more."
                if 0 < limit <= FEW_TOKENS
                else ""
            )
            yield (
                f"{record.spec.model_label}: nothing could be read from {unread:,} of {of:,} answers in {record.name}."
                f"{room}"
            )
        stat = main_stat(record)
        if stat is not None and stat.missing > MOST_UNREAD * (stat.count + stat.missing):
            yield (
                f"{record.spec.model_label}: {stat.metric} has no value for {stat.missing:,} of "
                f"{stat.count + stat.missing:,} examples in {record.name}; `details` in run.json may say why."
            )
        elif (unjudged := record.efficiency.get("unjudged_examples", 0)) > MOST_UNREAD * of:
            yield (
                f"{record.spec.model_label}: a judgement could not be read for {unjudged:,} of {of:,} answers in "
                f"{record.name}, so judges' metrics leave these out; `details` in run.json says why."
            )
    for model, metrics in lacking.items():
        has = "has" if len(metrics) == 1 else "have"
        yield f"{model}: {', '.join(metrics)} {has} no value, since the model gave no log-probabilities."


def _where(settings: Settings) -> str:
    """Return the option that makes another command find the results that these settings write."""
    from harness.runs.settings import results_folder

    folder = settings.results_dir
    return "" if folder == results_folder() else f" --results-dir {shlex.quote(str(folder))}"
