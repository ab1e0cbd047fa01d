"""``harness.run``: a sweep from Python."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from typing import Any, Unpack

from harness.costs.prices import load_prices
from harness.executors.execution import execute_job
from harness.executors.job import Job
from harness.leaderboard.sweep_notes import abridged, sweep_notes
from harness.listeners.delivery import Deliveries
from harness.output.display import counted
from harness.plugins.registry import Registry
from harness.python.notebook import progress_view
from harness.python.options import AnyPath, Entry, Options, check_options, read_settings, read_sweep
from harness.python.plugins import objects_of, registry_with
from harness.python.results import Results
from harness.python.time_budget import Deadline, TimeUp
from harness.runs.backend_prices import with_backend_prices
from harness.runs.runner import Settings
from harness.runs.sweep_state import SweepState
from harness.storage.durable import make_folder
from harness.storage.results import RunRecord
from harness.sweeps.executor_keys import ExecutorKeys, LocalKeys
from harness.sweeps.load import Sweep

_NUMBER = re.compile(r"\d[\d,.]*")


def run(
    sweep: AnyPath | Mapping[str, Any] | None = None,
    *,
    runs: Sequence[Entry] | None = None,
    models: Sequence[Entry] | None = None,
    executor: str | None = None,
    reuse_across_gpus: bool = False,
    **options: Unpack[Options],
) -> Results:
    """Run a sweep and return the results of its runs, as ``harness run`` does.

    Finished runs are skipped. After an interruption, also by Ctrl-C, the same call continues; all answers so far are
    kept. Runs that fail, and what is to be known of the answers, are warnings; ``Results.runs()`` has each error. It
    works where an event loop is running, and blocks until the sweep has ended::

        results = harness.run(runs=["boolq", "mmlu:subject=anatomy"], models=["hf:openai-community/gpt2"])
        results.leaderboard()

    Args:
        sweep: A YAML file, the name of a sweep that comes with the harness, or a mapping with the keys of a sweep.
        runs: Runs instead of a sweep, as its ``runs`` would have them.
        models: The models; they replace those of the sweep.
        executor: Where to run: ``local``, ``ray`` or ``slurm``, with settings such as ``local:heads=4``.
        reuse_across_gpus: True to take answers from the cache that another kind of GPU gave.
        **options: ``suite``, ``max_eval_instances``, ``max_declined``, ``plugins``, ``allow``, ``listeners``,
            ``results_dir``, ``data_dir``, ``cache_dir``, ``prices``, ``runtimes``, ``force`` and ``progress``, as on
            the command line.

    Raises:
        SpecError: The sweep has errors; all of them are reported at once, before a model is loaded.
        HarnessError: It cannot run here, or the disk failed.
        TypeError: There is no such argument.
    """
    check_options(options, "run", ("sweep", "runs", "models", "executor", "reuse_across_gpus"))
    registry = registry_with(objects_of(options.get("plugins", ())))
    found = read_sweep(sweep, runs, models, registry, options, executor)
    settings = read_settings(options, reuse_across_gpus=reuse_across_gpus or found.reuse_across_gpus)
    names = (spec.model.name for spec in found.runs)
    settings = replace(settings, prices=with_backend_prices(settings.prices or load_prices(), names, registry))
    return execute(found, registry, settings, found.executor or LocalKeys(), options)


def execute(
    sweep: Sweep,
    registry: Registry,
    settings: Settings,
    executor: ExecutorKeys,
    options: Options,
    deadline: Deadline | None = None,
) -> Results:
    """Run a sweep with progress, warn of what went wrong, and return its results.

    When a deadline is over, the results are those of the runs that have ended.

    Raises:
        HarnessError: It cannot run here, or the disk failed.
    """
    specs = {spec.name: spec for spec in sweep.runs}
    state = SweepState(len(sweep.runs))
    records: list[RunRecord] = []
    view = progress_view(state, sweep.runs, settings.results_dir) if options.get("progress", True) else nullcontext()
    deliveries = Deliveries(
        sweep.listeners,
        registry,
        settings.results_dir,
        sweep.runs,
        suites=[sweep.suite],
        plugins=sweep.plugins,
        seconds_left=(deadline or Deadline()).left,
    )
    executing = execute_job(Job(sweep.runs, settings, sweep.plugins), executor, registry, state)
    try:
        with deliveries.watch(state), view, closing(executing):
            for record in executing:
                records.append(abridged(record, specs))
    except TimeUp:
        make_folder(settings.results_dir)  # which may not exist before the first run has ended
    _warn(records, registry)
    for note in deliveries.notes():
        warnings.warn(note, stacklevel=3)
    ended = {(record.suite, record.name) for record in records}
    runs = [(spec.suite, spec.name) for spec in sweep.runs]
    unfinished = [name for suite, name in runs if (suite, name) not in ended]
    if unfinished and deadline is not None:
        text = f"the time budget of {deadline.seconds:g} s is used up: {len(unfinished)} of {len(runs)} runs are "
        warnings.warn(f"{text}unfinished and have no results. The same call continues them.", stacklevel=3)
    only = [run for run in runs if run in ended]
    suites = sweep.suite if only else ()  # whose folder may not exist
    return Results(settings.results_dir, suites, plugins=options.get("plugins", ()), only=only, unfinished=unfinished)


def _warn(records: Sequence[RunRecord], registry: Registry) -> None:
    """Warn of failed runs, and of what is to be known of the answers."""
    failed = [record for record in records if record.status != "ok"]
    if failed:
        first = f"{failed[0].name}: {failed[0].error}"
        text = f"{len(failed)} of {len(records)} runs failed; runs() of the results has each error. The first: {first}"
        warnings.warn(text, stacklevel=4)
    for note in _merged(sweep_notes(records, registry), records):
        warnings.warn(note, stacklevel=4)


def _merged(notes: Iterable[str], records: Sequence[RunRecord]) -> Iterator[str]:
    """Yield notes; of a model's notes that differ only in their run and in numbers, the first, with their number."""
    models = {record.name: record.spec.model_label for record in records}
    alike: dict[tuple[str, str], list[str]] = {}
    for note in notes:
        run = max((name for name in models if name in note), key=len, default="")
        kind = note.replace(run, "") if run else note
        alike.setdefault((models.get(run, ""), _NUMBER.sub("", kind) if run else kind), []).append(note)
    for first, *others in alike.values():
        yield f"{first} Likewise in {counted(len(others), 'other run')}." if others else first
