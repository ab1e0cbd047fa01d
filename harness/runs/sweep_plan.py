"""Plans all runs of a sweep: what each would ask, which would fail, which are finished.

Runs of a scenario read each file together; its instances are read once more where they are all evaluated, since they
are not kept. Of a large sweep, the runs of several scenarios are planned at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from harness.contracts.plugins import Kind, ScenarioDetails
from harness.contracts.specs import RunSpec
from harness.data.source import local_files
from harness.errors import HarnessError
from harness.inference.caching_model import CachingModel
from harness.inference.judge_pool import Judges
from harness.inference.model_pool import load_model
from harness.plugins.registry import Registry
from harness.runs.evaluation import Evaluation
from harness.runs.parallel_planning import in_processes, processes_for
from harness.runs.pipeline import run_judges
from harness.runs.plan import Plan, draw, plan
from harness.runs.provenance import definitions
from harness.runs.runner import finished_before
from harness.runs.settings import Settings
from harness.runs.shared_reading import prepare_together, read_alike

PARALLEL_FROM = 200_000_000
"""Work from which several processes are faster than one: about five seconds. Each takes up to two to start."""
A_RUN = 2_000_000
"""The work of a run besides reading its files, in bytes that could be read instead."""

Outcome = Plan | str | None
"""A run's plan, why it would fail, or None for a finished run."""


def plan_runs(
    runs: Sequence[RunSpec], registry: Registry, settings: Settings
) -> Iterator[tuple[int, RunSpec, Outcome]]:
    """Return an iterator of the outcome of each run with its index; runs that read the same files come together.

    Runs that differ in their model alone share what is read, and the instances that are counted. A large sweep is
    planned by several processes, which are started before this returns, so while there are no threads yet.
    """
    equal: dict[str, list[int]] = {}
    for index, spec in enumerate(runs):
        equal.setdefault(spec.model_dump_json(exclude={"model", "operational"}), []).append(index)
    groups = list(equal.values())
    alike = read_alike([runs[group[0]] for group in groups], registry, settings.data_dir)
    parts = [[groups[place] for place in places] for places in alike]
    planner = _Planner(runs, registry, settings)
    works = [_work([runs[group[0]] for group in part], registry, settings) for part in parts]
    processes = processes_for(len(parts)) if sum(works) >= PARALLEL_FROM else 1
    found: Iterator[tuple[int, Outcome]]
    if processes > 1:
        largest_first = sorted(range(len(parts)), key=lambda place: -works[place])
        found = in_processes([parts[place] for place in largest_first], planner.planned, processes, planner.described)
    else:
        found = (outcome for part in parts for outcome in planner.planned(part))
    return ((index, runs[index], outcome) for index, outcome in found)


def _work(specs: Sequence[RunSpec], registry: Registry, settings: Settings) -> int:
    """Return roughly how much there is to do for runs that read the same files: the files' bytes, more for each run."""
    spec, size = specs[0], 0
    with suppress(HarnessError, OSError):
        details = registry.get(Kind.SCENARIO, spec.scenario.name).details
        if isinstance(details, ScenarioDetails):
            arguments, split = spec.scenario.arguments, spec.eval_split
            local = local_files(details, arguments, name=spec.scenario.name, data_dir=settings.data_dir, split=split)
            size = sum(path.stat().st_size for path in {path for paths in local.files.values() for path in paths})
    return size + A_RUN * len(specs)


class _Planner:
    """Plans groups of runs."""

    def __init__(self, runs: Sequence[RunSpec], registry: Registry, settings: Settings) -> None:
        self._runs, self._registry, self._settings = runs, registry, settings
        self._models = _Models(registry, settings)

    def described(self, part: Sequence[Sequence[int]]) -> str:
        """Return what the runs of a part are called in messages."""
        label, more = self._runs[part[0][0]].scenario.label, sum(map(len, part)) - 1
        return f"{label} and {more} more" if more else label

    def planned(self, part: Sequence[Sequence[int]]) -> Iterator[tuple[int, Outcome]]:
        """Yield the outcomes of runs that read the same files; those of a group differ in their model alone."""
        runs, models, left = self._runs, self._models, list[list[int]]()
        for group in part:
            known = {index: models.known(runs[index]) for index in group}
            yield from ((index, found) for index, found in known.items() if not isinstance(found, _Needed))
            if waiting := [index for index, found in known.items() if isinstance(found, _Needed)]:
                left.append(waiting)
        prepared = prepare_together([runs[group[0]] for group in left], self._registry, self._settings.data_dir)
        for group, evaluation in zip(left, prepared, strict=True):
            yield from zip(group, _planned(evaluation, [runs[index] for index in group], models), strict=True)


class _Needed:
    """Says that a run's data are needed to plan it."""


class _Models:
    """The models and judges of a sweep, each opened once."""

    def __init__(self, registry: Registry, settings: Settings) -> None:
        self._registry, self._settings = registry, settings
        self._judges = Judges(registry)
        self._models: dict[str, CachingModel | HarnessError] = {}

    def opened(self, spec: RunSpec) -> CachingModel:
        """Return a run's model.

        Raises:
            HarnessError: It cannot be used.
        """
        key = spec.configured_model.model_dump_json()
        if key not in self._models:
            try:
                loaded = load_model(spec.configured_model, self._registry)
                self._models[key] = CachingModel(loaded, spec.model.name, None)
            except HarnessError as error:
                self._models[key] = error
        found = self._models[key]
        if isinstance(found, HarnessError):
            raise found
        return found

    def known(self, spec: RunSpec) -> str | _Needed | None:
        """Return what is known of a run before its data are read."""
        try:
            model = self.opened(spec)
            defined = definitions(spec, self._registry, self._judges)
            settings = self._settings
            if not settings.force and finished_before(spec, self._registry, settings, model, defined) is not None:
                return None
            for judge in run_judges(spec, self._registry, self._judges):
                judge.fingerprint()
        except HarnessError as error:
            return str(error)
        return _Needed()


def _planned(evaluation: Evaluation | HarnessError, specs: Sequence[RunSpec], models: _Models) -> Iterator[Outcome]:
    """Yield the outcomes of runs that differ in their model alone."""
    try:
        if isinstance(evaluation, HarnessError):
            raise evaluation
        sample = draw(evaluation)
    except HarnessError as error:
        yield from [str(error)] * len(specs)
        return
    for spec in specs:
        try:
            yield plan(sample, models.opened(spec).model, spec)
        except HarnessError as error:
            yield str(error)
