"""A sweep: each model is opened once, finished runs are skipped, and a failing run never takes the others down."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from harness.answers.reasoning_count import unannounced_note
from harness.contracts import Judge, Model
from harness.contracts.model_settings import OPERATIONAL, PRESENTATION
from harness.contracts.plugins import Kind
from harness.contracts.specs import RunSpec
from harness.errors import HarnessError, ModelError, describe_failure, reraise_interrupt
from harness.inference.cache import AnswerCache
from harness.inference.caching_model import CachingModel
from harness.inference.judge_pool import Judges
from harness.inference.model_pool import LoadedModels, Models, OpenModel, load_model
from harness.inference.model_settings import check_settings
from harness.inference.scheduler import Scheduler
from harness.installation import DISTRIBUTION
from harness.plugins.registry import Registry
from harness.runs.answers import open_answers
from harness.runs.claims import Claims, Holder
from harness.runs.cost_sharing import CostSharing
from harness.runs.elsewhere import Elsewhere, Joins, always
from harness.runs.evaluation import Evaluation, open_scenario_data, prepare
from harness.runs.lacking import lacking_data
from harness.runs.pipeline import build_scorer, ready_scorer, run_judges
from harness.runs.provenance import definitions, environment, scenario_title
from harness.runs.record import EndedRun, run_record
from harness.runs.run import Run, RunTools
from harness.runs.settings import Settings as Settings
from harness.runs.sweep_state import SweepState
from harness.storage.example_files import check_examples
from harness.storage.results import RunRecord, read_run, run_directory, write_run

_LOG = logging.getLogger(__name__)


def run_sweep(
    runs: Sequence[RunSpec],
    registry: Registry,
    settings: Settings,
    state: SweepState | None = None,
    ended: Callable[[RunSpec], bool] = lambda _: False,
    open_model: OpenModel = load_model,
    joins: Joins = always,
) -> Iterator[RunRecord]:
    """Run a sweep model by model, and yield each run's record as it is finished or found finished.

    Runs whose model, judge or data are not there come first, so that they are reported at once and not after hours.
    Judges, and the models that they ask, stay open until the end.

    Args:
        runs: What to run.
        registry: Knows the plugins.
        settings: Folders and limits.
        state: How far the sweep is, for its views.
        ended: Returns whether another process of the same job has ended a run; it is then left out.
        open_model: Opens the models of runs; those that judges ask are always opened in this process.
        joins: Returns whether to open a model that other processes have open, to share its runs.

    Raises:
        StorageError: The response cache or the results cannot be written or read, which no further run would change.
            What else goes wrong in a run is in its record.
    """
    with ExitStack() as opened:
        claims = opened.enter_context(Claims(settings.results_dir))
        cache = opened.enter_context(open_answers(settings, claims))
        asked = Models(registry, cache)
        opened.callback(asked.close)
        models = LoadedModels(registry, open_model)
        opened.callback(models.close)
        state = state or SweepState(len(runs))
        elsewhere = Elsewhere(settings.results_dir, claims, state, ended, joins=joins)
        yield from _Sweep(registry, settings, cache, Judges(registry, asked), models, elsewhere, state).run(runs)


class _Sweep:
    """What all runs of a sweep share."""

    def __init__(
        self,
        registry: Registry,
        settings: Settings,
        cache: AnswerCache,
        judges: Judges,
        models: LoadedModels,
        elsewhere: Elsewhere,
        state: SweepState,
    ) -> None:
        self._registry, self._settings, self._cache = registry, settings, cache
        self._judges, self._models, self._elsewhere, self._state = judges, models, elsewhere, state
        self._definitions: dict[tuple[str, ...], Mapping[str, str]] = {}

    def run(self, runs: Sequence[RunSpec]) -> Iterator[RunRecord]:
        for spec in runs:
            self._defined(spec)  # as they are now: a file edited while the sweep runs is not what ran
        coming = self._hopeless_first(runs)
        while coming:
            groups = _by_model(coming)
            while groups:
                taken = self._elsewhere.take_model(groups)
                if taken is None:
                    self._elsewhere.pass_over(spec for specs in groups for spec in specs)
                    break
                groups = [specs for specs in groups if specs is not taken]
                left = [spec for spec in taken if not self._elsewhere.ended(spec)]
                self._state.pass_over(len(taken) - len(left))
                if left:
                    yield from self._run_model(left)
                self._elsewhere.release_model()
            coming = self._elsewhere.wait()

    def _defined(self, spec: RunSpec) -> Mapping[str, str]:
        """Return what defines a run's plugins, computed once."""
        names = spec.scenario.name, spec.adapter.name, *(part.name for part in spec.perturbations)
        key = *names, *(part.model_dump_json() for part in spec.configured_metrics)
        if key not in self._definitions:
            self._definitions[key] = definitions(spec, self._registry, self._judges)
        return self._definitions[key]

    def _hopeless_first(self, runs: Sequence[RunSpec]) -> list[RunSpec]:
        """Return the runs in their order, but first those whose model, judge or data cannot be opened."""

        def judged(spec: RunSpec) -> bool:
            try:
                for judge in run_judges(spec, self._registry, self._judges):
                    judge.fingerprint()
            except BaseException as error:
                reraise_interrupt(error)  # whatever else it is, the run says it
                return False
            return True

        lacking = _obstacles(runs, self._registry, self._settings.data_dir, self._models)
        hopeful = [not found and judged(spec) for spec, found in zip(runs, lacking, strict=True)]
        return [runs[index] for index in sorted(range(len(runs)), key=hopeful.__getitem__)]

    def _run_model(self, specs: Sequence[RunSpec]) -> Iterator[RunRecord]:
        """Execute all runs of a model, then close it."""
        component = specs[0].configured_model
        try:
            model = CachingModel(self._models(component), component.name, self._cache)
        except BaseException as error:
            reraise_interrupt(error)
            for spec in specs:
                yield self._finish(EndedRun(spec, error), None)
            return
        model.model.keep_informed(self._state)
        costs = CostSharing[Run](model.model)
        tools = RunTools(
            prepare=partial(self._prepare, model=model),
            scorer=partial(ready_scorer, registry=self._registry, judges=self._judges),
            tokenization=model.model,
            results_dir=self._settings.results_dir,
            state=self._state,
            costs=costs,
        )
        try:
            for run in Scheduler(model, [Run(spec, tools) for spec in specs], costs).run():
                found = run.preparation
                if found.finished_before is not None:
                    if found.finished_before.status == "ok":
                        found.finished_before = _renamed(found.finished_before, run.spec)
                        self._state.skip(found.finished_before)
                    else:  # another process has just seen it fail
                        self._state.end(found.finished_before, run.progress)
                    yield found.finished_before
                elif found.elsewhere is not None:
                    self._elsewhere.postpone(run.spec)
                else:
                    yield self._finish(run, model)
        finally:
            self._models.release(component)

    def _prepare(self, spec: RunSpec, model: CachingModel) -> Evaluation | RunRecord | Holder:
        """Read a run's data, unless an equal run was finished before or another process is at it."""

        def finished() -> RunRecord | None:
            known = self._elsewhere.record(spec)
            if known is not None:
                return known
            if not self._settings.force or self._elsewhere.finished(spec):
                known = finished_before(spec, self._registry, self._settings, model, self._defined(spec))
            return known or self._elsewhere.failed(spec)

        known = finished()
        if known is not None:
            return known
        holder = self._elsewhere.claim(spec)
        if holder is not None:
            return holder
        known = finished()  # between the look and the claim
        if known is not None:
            self._elsewhere.release(spec)
            return known
        _check_asked(spec, self._registry, model.model)
        self._cache.catch_up()  # a head that was killed may have left answers to this run's requests
        evaluation = prepare(spec, self._registry, self._settings.data_dir)
        counts = evaluation.count, spec.eval_split, len(evaluation.train)
        _LOG.info("%s: %d instances of split %s, %d train instances", spec.scenario.label, *counts)
        return evaluation

    def _finish(self, run: Run | EndedRun, model: CachingModel | None) -> RunRecord:
        """Write the record of a run that has ended; a model that cannot be described fails it."""
        ended = run.ended() if isinstance(run, Run) else run
        title = scenario_title(run.spec, self._registry)
        try:
            record = run_record(ended, model, self._defined(run.spec), self._settings, title)
        except BaseException as error:
            reraise_interrupt(error)
            failed = replace(ended, error=ended.error or error)
            record = run_record(failed, None, self._defined(run.spec), self._settings, title)
        write_run(record)
        self._state.end(record, run.progress if isinstance(run, Run) else None)
        self._elsewhere.release(run.spec)  # after the end is reported: nobody else begins it
        _LOG.info("%s: %s", record.directory, record.status)
        if note := unannounced_note(record.efficiency):
            _LOG.warning("%s with %s: %s.", record.spec.scenario.label, record.spec.model.name, note)
        return record


def obstacles(runs: Sequence[RunSpec], registry: Registry, data_dir: Path | None) -> list[Sequence[str]]:
    """Return for each run what would keep it from starting here: its model, a package, its data, a metric, a judge.

    No weights are loaded and no server asked; what would come from the Hub is taken to be there. Data are read only
    of a scenario whose train files are missing, to see if it has examples of its own.
    """
    with LoadedModels(registry) as models:
        found = _obstacles(runs, registry, data_dir, models)
        scoring = list(_scoring_obstacles(runs, registry, models))
    return [[*one, *other] for one, other in zip(found, scoring, strict=True)]


def _scoring_obstacles(runs: Sequence[RunSpec], registry: Registry, models: LoadedModels) -> Iterator[Sequence[str]]:
    """Yield for each run why its metrics, their judges or the models of these cannot be used here."""
    known: dict[str, Sequence[str]] = {}
    for spec in runs:
        key = json.dumps([part.model_dump(mode="json") for part in spec.configured_metrics], sort_keys=True)
        if key not in known:
            known[key] = ()
            asked = Models(registry)
            judges = Judges(registry, asked)
            try:
                build_scorer(spec, registry, judges)
                found = [judge.obstacle() for judge in run_judges(spec, registry, judges) if isinstance(judge, Judge)]
                found += [models(component).obstacle(frozenset({"generate"})) for component in asked.named()]
                known[key] = [obstacle for obstacle in found if obstacle is not None]
            except BaseException as error:
                reraise_interrupt(error)
                known[key] = (describe_failure(error),)
        yield known[key]


def _obstacles(
    runs: Sequence[RunSpec], registry: Registry, data_dir: Path | None, models: LoadedModels
) -> list[Sequence[str]]:
    obstacles: list[Sequence[str]] = []
    known: dict[tuple[str, str], Sequence[str]] = {}
    data: dict[tuple[str, str, bool], str] = {}
    for spec in runs:
        key = spec.model.model_dump_json(), spec.adapter.name
        if key not in known:
            try:
                model = models(spec.configured_model)
                ways = model.obstacle(_asked(spec, registry)), _unhonoured(spec, model), _unseen(spec, model)
                known[key] = [obstacle for obstacle in ways if obstacle is not None]
            except BaseException as error:
                reraise_interrupt(error)
                known[key] = (describe_failure(error),)
        shown = spec.adapter.arguments.get("max_train_instances")
        scenario = spec.scenario.model_dump_json(), str(spec.eval_split), bool(shown)
        if scenario not in data:
            data[scenario] = lacking_data(spec, registry, data_dir)
        obstacles.append([*known[key], *([data[scenario]] if data[scenario] else [])])
    return obstacles


def _asked(spec: RunSpec, registry: Registry) -> frozenset[str]:
    """Return what a run's method needs from its model, as for :meth:`Model.obstacle`."""
    method = registry.get(Kind.ADAPTER, spec.adapter.name).target
    asks = frozenset(getattr(method, "asks", ()))
    return asks | {"chat"} if getattr(method, "needs_chat", False) else asks


def _check_asked(spec: RunSpec, registry: Registry, model: Model) -> None:
    """Check that the model can answer the method's requests, as far as that is known without sending any.

    A model that cannot be asked at all, such as one without a key, passes: the response cache may have all answers.

    Raises:
        ModelError: It cannot.
    """
    if model.obstacle(frozenset()) is None and (lacking := model.obstacle(_asked(spec, registry))) is not None:
        raise ModelError(lacking)


def _renamed(record: RunRecord, spec: RunSpec) -> RunRecord:
    """Return the record of a finished run, rewritten if the model's display name or the sweep's scores have changed."""
    shown = {key: value for key, value in spec.operational.items() if key in PRESENTATION}
    if shown == {key: value for key, value in record.spec.operational.items() if key in PRESENTATION} and (
        record.spec.scores == spec.scores
    ):
        return record
    others = {key: value for key, value in record.spec.operational.items() if key not in PRESENTATION}
    operational = {**others, **shown}
    renamed = replace(record, spec=record.spec.model_copy(update={"operational": operational, "scores": spec.scores}))
    write_run(renamed)
    return renamed


def _unhonoured(spec: RunSpec, model: Model) -> str | None:
    """Return which of its own settings a model cannot apply; None if it can apply all."""
    unable = sorted(spec.settings.given() - model.honours - OPERATIONAL)
    them = "it" if len(unable) == 1 else "them"
    return f"{spec.model.name} cannot apply {' and '.join(unable)}; remove {them} from its entry." if unable else None


def _unseen(spec: RunSpec, model: Model) -> str | None:
    """Return why a model would never see a setting of its entry; None if it sees all."""
    try:
        check_settings(spec.settings, model)
    except HarnessError as error:
        return f"{spec.model.name}: {error}"
    return None


def _by_model(runs: Sequence[RunSpec]) -> list[list[RunSpec]]:
    """Return the runs of each model, in their order; of equal runs all but the first come by themselves, later."""
    groups: dict[tuple[str, int], list[RunSpec]] = {}
    equal = Counter[tuple[str, str]]()
    for spec in runs:
        folder = (spec.suite, spec.name)
        groups.setdefault((spec.configured_model.model_dump_json(), equal[folder]), []).append(spec)
        equal[folder] += 1
    return list(groups.values())


def finished_before(
    spec: RunSpec, registry: Registry, settings: Settings, model: CachingModel, defined: Mapping[str, str]
) -> RunRecord | None:
    """Return the record of an equal run that ended well with the same model, data and plugins, if there is one.

    Args:
        spec: The run.
        registry: Knows the plugins.
        settings: Where results and data are.
        model: The run's model.
        defined: What :func:`harness.runs.provenance.definitions` returns for the run.
    """
    try:
        record = read_run(run_directory(settings.results_dir, spec))
        kept = ("operational", "judges_operational", "scores")  # what the sweep may change without another answer
        apart = {key: getattr(spec, key) for key in kept}
        mixed = bool(record.provenance.get("answers_of_other_gpus")) and not settings.reuse_across_gpus
        if mixed or record.status != "ok" or record.spec.model_copy(update=apart) != spec:
            return None
        recorded = {key: _object(record.provenance.get(key)) for key in ("model", "data", "definitions", "versions")}
        data = open_scenario_data(spec, registry, settings.data_dir)
        same = (
            _apart_from_card(recorded["model"].get("fingerprint")) == _apart_from_card(_as_json(model.fingerprint))
            and recorded["definitions"] == defined
            and recorded["versions"].get(DISTRIBUTION) == environment()["versions"].get(DISTRIBUTION)
            and data.unchanged(recorded["data"])
        )
        if same:
            check_examples(record)
    except (HarnessError, OSError, LookupError, TypeError, AttributeError):
        # If the record or the data are damaged, the run that follows reports it.
        return None
    return record if same else None


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _apart_from_card(fingerprint: Any) -> Any:
    """Return a fingerprint without the kind of graphics card: a finished run is kept where another card is, or none."""
    return {key: value for key, value in _object(fingerprint).items() if key != "gpu"}


def _as_json(value: Mapping[str, Any]) -> Any:
    return json.loads(json.dumps(dict(value)))
