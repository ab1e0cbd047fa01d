"""Many runs: each model is loaded once, finished runs are skipped, and a failing run never takes the others down."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from harness.asked_models import Models, load_model
from harness.cache import FILE_NAME, ResponseCache
from harness.client import Client
from harness.costs import costs
from harness.energy import EnergyMeter
from harness.errors import HarnessError, StorageError, did_you_mean
from harness.judges import Judges
from harness.pipeline import (
    Outcome,
    Watcher,
    evaluate,
    open_scenario_data,
    prepare,
    rescore,
    run_judges,
    summarised_scores,
)
from harness.plugins import Kind
from harness.prices import PriceTable, load_prices
from harness.provenance import DISTRIBUTION, definitions, environment, now
from harness.registry import Registry
from harness.results import RunRecord, discard_examples, has_examples, read_run, run_directory, write_run
from harness.runtimes import RuntimeTable
from harness.specs import RunSpec


class SweepWatcher(Watcher, Protocol):
    """What wants to know how a sweep is getting on."""

    def started(self, spec: RunSpec) -> None:
        """Called when a run begins."""

    def skipped(self, record: RunRecord) -> None:
        """Called instead of started and finished for a run that was finished before."""

    def finished(self, record: RunRecord) -> None:
        """Called when a run has ended, well or badly."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Where things are, and what is done again.

    Attributes:
        results_dir: The folder of results; the response cache lies in it as well.
        data_dir: The local data folder; None without one.
        force: Run again what is finished. Answers still come from the response cache.
        prices: What tokens cost; None for the table that comes with the harness.
        runtimes: What answers take on a quiet or an ideal machine.
    """

    results_dir: Path
    data_dir: Path | None = None
    force: bool = False
    prices: PriceTable | None = None
    runtimes: RuntimeTable = field(default_factory=RuntimeTable)


def run_sweep(
    runs: Sequence[RunSpec], registry: Registry, settings: Settings, watcher: SweepWatcher
) -> Iterator[RunRecord]:
    """Run a sweep model by model, and yield each run's record as it is finished or found finished.

    Runs whose model, judge or data are not there come first, so that they are reported at once and not after hours.
    Judges, and the models that they ask, stay open until the end.

    Raises:
        StorageError: The response cache or the results cannot be written or read, which no further run would change.
            What else goes wrong in a run is in its record.
    """
    cache = ResponseCache(settings.results_dir / FILE_NAME)
    asked = Models(registry, cache)
    judges = Judges(registry, asked)
    try:
        for spec in runs:
            definitions(spec, registry, judges)  # as they are now: a file edited while the sweep runs is not what ran
        by_model: dict[str, list[RunSpec]] = {}
        for spec in _hopeless_first(runs, registry, settings, judges):
            by_model.setdefault(spec.model.model_dump_json(), []).append(spec)
        for specs in by_model.values():
            yield from _run_model(specs, registry, settings, cache, judges, watcher)
    finally:
        asked.close()
        cache.close()


def _hopeless_first(runs: Sequence[RunSpec], registry: Registry, settings: Settings, judges: Judges) -> list[RunSpec]:
    """Return the runs in their order, those before the others whose model, judge or data cannot be opened."""
    models: dict[str, bool] = {}

    def hopeful(spec: RunSpec) -> bool:
        key = spec.model.model_dump_json()
        try:
            if key not in models:
                models[key] = False
                load_model(spec.model, registry).close()
                models[key] = True
            open_scenario_data(spec, registry, settings.data_dir)
            for judge in run_judges(spec, registry, judges):
                judge.fingerprint()
        except HarnessError:
            return False
        return models[key]

    return sorted(runs, key=hopeful)


def _run_model(
    specs: Sequence[RunSpec],
    registry: Registry,
    settings: Settings,
    cache: ResponseCache,
    judges: Judges,
    watcher: SweepWatcher,
) -> Iterator[RunRecord]:
    component = specs[0].model
    client: Client | None = None
    failure: BaseException | None = None
    try:
        model = load_model(component, registry)
        client = Client(model, component.name, cache)
    except Exception as error:
        failure = error
    try:
        for spec in specs:
            known = None if settings.force else client
            done = None if known is None else finished_before(spec, registry, settings, known, judges)
            if done is not None:
                watcher.skipped(done)
                yield done
                continue
            watcher.started(spec)
            record = _run(spec, registry, settings, client, judges, failure, watcher)
            write_run(record)
            watcher.finished(record)
            yield record
    finally:
        if client is not None:
            client.model.close()


def finished_before(
    spec: RunSpec, registry: Registry, settings: Settings, client: Client, judges: Judges | None = None
) -> RunRecord | None:
    """Return the record of an equal run that ended well with the same model, data and plugins, if there is one."""
    try:
        record = read_run(run_directory(settings.results_dir, spec))
        if record.status != "ok" or record.spec != spec or not has_examples(record.directory):
            return None
        recorded = {key: _object(record.provenance.get(key)) for key in ("model", "data", "definitions", "versions")}
        data = open_scenario_data(spec, registry, settings.data_dir)
        same = (
            recorded["model"].get("fingerprint") == _as_json(client.fingerprint)
            and recorded["definitions"] == definitions(spec, registry, judges)
            and recorded["versions"].get(DISTRIBUTION) == environment()["versions"].get(DISTRIBUTION)
            and data.unchanged(recorded["data"])
        )
    except (HarnessError, OSError, LookupError, TypeError, AttributeError):
        # Whatever is wrong with the record or the data is said by the run that follows.
        return None
    return record if same else None


def rescored(record: RunRecord, registry: Registry) -> RunRecord:
    """Return a run's record with statistics, and hence status, computed again from its examples.

    Raises:
        HarnessError: The examples are missing or damaged, or a metric cannot score them.
    """
    models = Models(registry, record.directory.parent.parent / FILE_NAME)
    judges = Judges(registry, models)
    try:
        outcome = rescore(record, registry, judges)
        now_used = definitions(record.spec, registry, judges)
    finally:
        models.close()
    message = _shortfall(record.spec, outcome)
    known = _object(record.provenance.get("definitions"))
    metrics = {key: digest for key, digest in now_used.items() if key.startswith(f"{Kind.METRIC} ")}
    return replace(
        record,
        status="ok" if message is None else "failed",
        error=message,
        stats=outcome.stats,
        details=outcome.details,
        provenance={**record.provenance, "definitions": {**known, **metrics}},
    )


def scores_of_instances(record: RunRecord, name: str, registry: Registry) -> Mapping[str, float]:
    """Return the scores of a run's instances that no example carries, since a run metric gives them.

    Raises:
        HarnessError: The examples are missing or damaged, or a metric cannot score them.
    """
    models = Models(registry, record.directory.parent.parent / FILE_NAME)
    try:
        return summarised_scores(record, name, registry, Judges(registry, models))
    finally:
        models.close()


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _as_json(value: Mapping[str, Any]) -> Any:
    return json.loads(json.dumps(dict(value)))


def _run(
    spec: RunSpec,
    registry: Registry,
    settings: Settings,
    client: Client | None,
    judges: Judges,
    failure: BaseException | None,
    watcher: Watcher,
) -> RunRecord:
    """Run one spec and return its record, whatever happens short of an interrupt or of a disk that fails."""
    directory = run_directory(settings.results_dir, spec)
    started, clock = now(), time.perf_counter()
    outcome, data, error, trace = Outcome(), dict[str, Any](), failure, None
    meter = EnergyMeter()
    if client is not None:
        try:
            evaluation = prepare(spec, registry, settings.data_dir)
            try:
                with meter:
                    evaluate(evaluation, registry, client, judges, directory, watcher, outcome)
            finally:
                data = evaluation.data.provenance()
        except StorageError:
            raise
        except Exception as raised:
            error = raised
    if error is not None:
        discard_examples(directory)
    message = None if error is None else _message(error)
    if error is not None and not isinstance(error, HarnessError):
        trace = "".join(traceback.format_exception(error))
    elif error is None:
        message = _shortfall(spec, outcome)
    provenance = {
        "model": _model_provenance(spec, client),
        "data": data,
        "definitions": definitions(spec, registry, judges),
        "seed": spec.seed,
        **environment(),
        **({"traceback": trace} if trace else {}),
    }
    return RunRecord(
        directory=directory,
        name=spec.name,
        suite=spec.suite,
        status="ok" if message is None else "failed",
        error=message,
        spec=spec,
        stats=outcome.stats,
        details=outcome.details,
        efficiency={
            "examples": outcome.examples,
            **costs(
                outcome.usage,
                {} if client is None else client.model.description(),
                (settings.prices or load_prices()).price(spec.model.name),
                settings.runtimes.runtimes(spec.model.name),
                meter.joules,
            ),
            "wall_seconds": round(time.perf_counter() - clock, 3),
            "truncated_examples": outcome.truncated,
            "failed_examples": outcome.failed,
        },
        provenance=provenance,
        started=started,
        finished=now(),
    )


def _shortfall(spec: RunSpec, outcome: Outcome) -> str | None:
    """Return why a run that came to its end is no success; None where it is one."""
    if outcome.failed:
        return f"{outcome.failed} of {outcome.examples} examples have no answer; the first: {outcome.first_error}"
    if any(stat.metric == spec.main_metric and stat.overall for stat in outcome.stats):
        return None
    if any(spec.main_metric == metric.name for metric in spec.metrics):
        return f"the main metric {spec.main_metric!r} is undefined for all {outcome.examples} examples."
    message = f"no metric gave the main metric {spec.main_metric!r} for any of {outcome.examples} examples."
    return f"{message} {did_you_mean(spec.main_metric, {stat.metric for stat in outcome.stats})}".rstrip()


def _message(error: BaseException) -> str:
    if isinstance(error, HarnessError):
        return str(error)
    return f"{type(error).__name__}: {error} (a bug in the harness or in a plugin; the traceback is in run.json)"


def _model_provenance(spec: RunSpec, client: Client | None) -> Mapping[str, Any]:
    if client is None:
        return {"name": spec.model.name}
    description = dict(client.model.description())
    return {"name": spec.model.name, "fingerprint": dict(client.fingerprint), **description}
