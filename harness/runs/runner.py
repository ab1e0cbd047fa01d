"""Many runs: each model is loaded once, finished runs are skipped, and a failing run never takes the others down."""

from __future__ import annotations

import json
import logging
import math
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from harness.answers.declined import Declined
from harness.contracts.plugins import Kind
from harness.contracts.specs import RunSpec
from harness.costs.costs import costs
from harness.costs.prices import PriceTable, load_prices
from harness.costs.runtimes import RuntimeTable
from harness.errors import HarnessError, describe_failure, did_you_mean, reraise_interrupt
from harness.inference.cache import ResponseCache, cache_file
from harness.inference.caching_model import Client
from harness.inference.judge_pool import Judges
from harness.inference.model_pool import Models, load_model
from harness.installation import DISTRIBUTION
from harness.plugins.registry import Registry
from harness.runs.claims import Claims
from harness.runs.elsewhere import Elsewhere
from harness.runs.pipeline import (
    Outcome,
    open_scenario_data,
    prepare,
    ready_scorer,
    rescore,
    run_judges,
    summarised_scores,
)
from harness.runs.provenance import definitions, environment, now
from harness.runs.stream import Run, stream
from harness.runs.turns import SweepWatcher as SweepWatcher
from harness.runs.turns import Turns
from harness.storage.example_files import check_examples, discard_examples
from harness.storage.results import RunRecord, read_run, run_directory, write_run

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Settings:
    """Where things are, and what is done again."""

    results_dir: Path
    """The folder of results."""
    data_dir: Path | None = None
    """The local data folder; None without one."""
    force: bool = False
    """Run again what is finished. Answers still come from the response cache."""
    prices: PriceTable | None = None
    """What tokens cost; None for the table that comes with the harness."""
    runtimes: RuntimeTable = field(default_factory=RuntimeTable)
    """What answers take on a quiet or an ideal machine."""
    cache_dir: Path | None = None
    """The folder of the response cache; None for HARNESS_CACHE_DIR, or the folder of results."""


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
    cache = ResponseCache(cache_file(settings.results_dir, settings.cache_dir))
    asked = Models(registry, cache)
    judges = Judges(registry, asked)
    claims = Claims(settings.results_dir)
    elsewhere = Elsewhere(settings.results_dir, claims, watcher)
    try:
        for spec in runs:
            definitions(spec, registry, judges)  # as they are now: a file edited while the sweep runs is not what ran
        coming = _hopeless_first(runs, registry, settings, judges)
        while coming:
            for specs in _by_model(coming):
                yield from _run_model(specs, registry, settings, cache, judges, watcher, elsewhere)
            coming = elsewhere.wait()
    finally:
        asked.close()
        claims.close()
        cache.close()


def _hopeless_first(runs: Sequence[RunSpec], registry: Registry, settings: Settings, judges: Judges) -> list[RunSpec]:
    """Return the runs in their order, those before the others whose model, judge or data cannot be opened."""

    def judged(spec: RunSpec) -> bool:
        try:
            for judge in run_judges(spec, registry, judges):
                judge.fingerprint()
        except BaseException as error:
            reraise_interrupt(error)  # whatever else it is, the run says it
            return False
        return True

    lacking = obstacles(runs, registry, settings.data_dir)
    hopeful = [not found and judged(spec) for spec, found in zip(runs, lacking, strict=True)]
    return [runs[index] for index in sorted(range(len(runs)), key=hopeful.__getitem__)]


def obstacles(runs: Sequence[RunSpec], registry: Registry, data_dir: Path | None) -> list[Sequence[str]]:
    """Return for each run what would keep it from starting here: its model, a package, its data.

    No weights are loaded, no data read and no server asked; what would come from the Hub is taken to be there.
    """
    obstacles: list[Sequence[str]] = []
    models: dict[tuple[str, str], Sequence[str]] = {}
    for spec in runs:
        key = spec.model.model_dump_json(), spec.adapter.name
        found: list[str] = []
        if key not in models:
            try:
                model = load_model(spec.configured_model, registry)
                model.close()
                asks: frozenset[str] = getattr(
                    registry.get(Kind.ADAPTER, spec.adapter.name).target, "asks", frozenset()
                )
                obstacle = model.obstacle(asks)
                models[key] = () if obstacle is None else (obstacle,)
            except BaseException as error:
                reraise_interrupt(error)
                models[key] = (describe_failure(error),)
        try:
            open_scenario_data(spec, registry, data_dir)
        except HarnessError as error:
            found.append(str(error))
        obstacles.append([*models[key], *found])
    return obstacles


def _by_model(runs: Sequence[RunSpec]) -> list[list[RunSpec]]:
    """Return the runs of each model, in their order; of equal runs all but the first come by themselves, later."""
    groups: dict[tuple[str, int], list[RunSpec]] = {}
    equal = Counter[tuple[str, str]]()
    for spec in runs:
        folder = (spec.suite, spec.name)
        groups.setdefault((spec.model.model_dump_json(), equal[folder]), []).append(spec)
        equal[folder] += 1
    return list(groups.values())


def _run_model(
    specs: Sequence[RunSpec],
    registry: Registry,
    settings: Settings,
    cache: ResponseCache,
    judges: Judges,
    watcher: SweepWatcher,
    elsewhere: Elsewhere,
) -> Iterator[RunRecord]:
    client: Client | None = None
    runs: Iterable[Run] = [Run(spec) for spec in specs]
    turns = Turns(watcher)
    try:
        client = Client(load_model(specs[0].configured_model, registry), specs[0].model.name, cache)
    except BaseException as error:
        reraise_interrupt(error)
        for run in runs:
            run.error = error
    else:
        prepare = partial(
            _prepare, registry=registry, settings=settings, client=client, judges=judges, elsewhere=elsewhere
        )
        scorer = partial(ready_scorer, registry=registry, judges=judges)
        runs = stream(list(runs), prepare, scorer, client, settings.results_dir, turns)
    try:
        for run in runs:
            if run.finished_before is not None:
                if run.finished_before.status == "ok":
                    watcher.skipped(run.finished_before)
                else:  # another process has just seen it fail
                    turns.finished(run, run.finished_before)
                yield run.finished_before
                continue
            if run.elsewhere is not None:
                elsewhere.postpone(run.spec)
                continue
            record = _safe_record(run, registry, settings, client, judges)
            write_run(record)
            elsewhere.release(run.spec)
            turns.finished(run, record)
            yield record
    finally:
        if client is not None:
            _close(client)


def _prepare(
    run: Run, registry: Registry, settings: Settings, client: Client, judges: Judges, elsewhere: Elsewhere
) -> None:
    """Read a run's data, unless an equal run was finished before or another process is at it."""

    def finished() -> bool:
        if not settings.force or elsewhere.finished(run.spec):
            run.finished_before = finished_before(run.spec, registry, settings, client, judges)
        run.finished_before = run.finished_before or elsewhere.failed(run.spec)
        return run.finished_before is not None

    if finished():
        return
    run.elsewhere = elsewhere.claim(run.spec)
    if run.elsewhere is None:
        if finished():  # between the look and the claim
            elsewhere.release(run.spec)
        else:
            run.evaluation = prepare(run.spec, registry, settings.data_dir)


def finished_before(
    spec: RunSpec, registry: Registry, settings: Settings, client: Client, judges: Judges | None = None
) -> RunRecord | None:
    """Return the record of an equal run that ended well with the same model, data and plugins, if there is one."""
    try:
        record = read_run(run_directory(settings.results_dir, spec))
        if record.status != "ok" or record.spec.model_copy(update={"operational": spec.operational}) != spec:
            return None
        recorded = {key: _object(record.provenance.get(key)) for key in ("model", "data", "definitions", "versions")}
        data = open_scenario_data(spec, registry, settings.data_dir)
        same = (
            recorded["model"].get("fingerprint") == _as_json(client.fingerprint)
            and recorded["definitions"] == definitions(spec, registry, judges)
            and recorded["versions"].get(DISTRIBUTION) == environment()["versions"].get(DISTRIBUTION)
            and data.unchanged(recorded["data"])
        )
        if same:
            check_examples(record)
    except (HarnessError, OSError, LookupError, TypeError, AttributeError):
        # Whatever is wrong with the record or the data is said by the run that follows.
        return None
    return record if same else None


def rescored(record: RunRecord, registry: Registry, cache_dir: Path | None = None) -> RunRecord:
    """Return a run's record with statistics, and hence status, computed again from its examples.

    Args:
        record: The run's record.
        registry: Knows the plugins.
        cache_dir: The folder of the response cache, which has the judges' answers; None for HARNESS_CACHE_DIR, or the
            folder of results.

    Raises:
        HarnessError: The examples are missing or damaged, or a metric cannot score them; or the run was imported.
    """
    if origin := _object(record.provenance.get("origin")):
        raise HarnessError(f"its statistics are those of {origin.get('program', 'another program')}, not ours.")
    models = Models(registry, cache_file(record.directory.parent.parent, cache_dir))
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
        declined=outcome.declined.total(),
        instances=outcome.instances.total(),
        examples=outcome.written,
        instance_scores=outcome.instance_scores,
        provenance={**record.provenance, "definitions": {**known, **metrics}},
    )


def scores_of_instances(record: RunRecord, name: str, registry: Registry) -> Mapping[str, float]:
    """Return the scores of a run's instances that no example carries, since a run metric gives them.

    Raises:
        HarnessError: The examples are missing or damaged, or a metric cannot score them.
    """
    models = Models(registry, cache_file(record.directory.parent.parent))
    try:
        return summarised_scores(record, name, registry, Judges(registry, models))
    finally:
        models.close()


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _as_json(value: Mapping[str, Any]) -> Any:
    return json.loads(json.dumps(dict(value)))


def _close(client: Client) -> None:
    """Close a model; a failure is logged, since all that was asked of the model is known."""
    try:
        client.model.close()
    except BaseException as error:
        reraise_interrupt(error)
        _log.warning("%s could not be closed: %s: %s", client.name, type(error).__name__, error)


def _safe_record(run: Run, registry: Registry, settings: Settings, client: Client | None, judges: Judges) -> RunRecord:
    """Return the record of a run that has ended; a model that cannot be described fails it."""
    try:
        return _record(run, registry, settings, client, judges)
    except BaseException as error:
        reraise_interrupt(error)
        run.error = run.error or error
        return _record(run, registry, settings, None, judges)


def _record(run: Run, registry: Registry, settings: Settings, client: Client | None, judges: Judges) -> RunRecord:
    """Return the record of a run that has ended, well or badly."""
    spec, outcome, error = run.spec, run.outcome, run.error
    directory = run_directory(settings.results_dir, spec)
    trace = None
    if error is not None:
        discard_examples(directory)
    message = _shortfall(spec, outcome) if error is None else _message(error)
    if error is not None and not isinstance(error, HarnessError):
        trace = "".join(traceback.format_exception(error))
    provenance = {
        "model": _model_provenance(spec, client),
        "served": outcome.served.total(),
        "imported_answers": dict(outcome.usage.imported),
        "data": {} if run.evaluation is None else run.evaluation.data.provenance(),
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
        declined=outcome.declined.total(),
        instances=outcome.instances.total(),
        instance_scores=outcome.instance_scores,
        efficiency={
            "examples": outcome.examples,
            **costs(
                outcome.usage,
                {} if client is None else client.model.description(),
                (settings.prices or load_prices()).price(spec.model.name),
                settings.runtimes.runtimes(spec.model.name),
                {kind: round(joules, 3) for kind, joules in (run.joules or {}).items()},
            ),
            "wall_seconds": round(run.preparing + run.answering, 3),
            "truncated_examples": outcome.truncated,
            "unread_examples": outcome.unread,
            "failed_examples": outcome.failed,
        },
        provenance=provenance,
        examples=outcome.written if error is None else None,
        started=run.started,
        finished=now(),
    )


def _shortfall(spec: RunSpec, outcome: Outcome) -> str | None:
    """Return why a run that came to its end is no success; None where it is one."""
    if outcome.failed:
        return f"{outcome.failed} of {outcome.examples} examples have no answer; the first: {outcome.first_error}"
    declined = outcome.declined.total()
    if declined.share > spec.max_declined:
        return _too_many_declined(declined, spec.max_declined)
    if any(stat.metric == spec.main_metric and stat.overall for stat in outcome.stats):
        return None
    if any(spec.main_metric == metric.name for metric in spec.metrics):
        return f"the main metric {spec.main_metric!r} is undefined for all {outcome.examples} examples."
    message = f"no metric gave the main metric {spec.main_metric!r} for any of {outcome.examples} examples."
    return f"{message} {did_you_mean(spec.main_metric, {stat.metric for stat in outcome.stats})}".rstrip()


def _too_many_declined(declined: Declined, limit: float) -> str:
    enough = math.ceil(declined.share * 100) / 100
    return (
        f"{declined}, which is more than the {limit:.0%} that max_declined allows. To accept it, set `max_declined: "
        f"{enough:g}` in the sweep (in `defaults` or in the run), or add --max-declined {enough:g}, and run the same "
        "command again; questions that were answered or declined are not asked again."
    )


def _message(error: BaseException) -> str:
    known = isinstance(error, HarnessError)
    return describe_failure(error) + ("" if known else "; the traceback is in run.json")


def _model_provenance(spec: RunSpec, client: Client | None) -> Mapping[str, Any]:
    if client is None:
        return {"name": spec.model.name}
    description = dict(client.model.description())
    return {"name": spec.model.name, "fingerprint": dict(client.fingerprint), **description}
