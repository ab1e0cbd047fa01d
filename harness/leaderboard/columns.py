"""The columns of a leaderboard: groups of runs that ask the same thing in the same way.

A column is a scenario under one adaptation method, main metric and split. Runs of disjoint parts of the scenario
(MMLU's subjects) are its sub-runs and are pooled; any other parameter may leave the instances the same, so each of its
values has a column of its own. Runs whose settings differ are never pooled silently: where the same
sub-run was made under two values of a setting, each value gets a column of its own that says so; a setting that only
follows from the scenario's parameters (each subject's instructions) separates nothing. Runs that differ in ``seed`` or
``sampling_seed`` alone are repeats, which a cell pools.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from harness.contracts.specs import Component, RunSpec
from harness.storage.results import RunRecord

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)

NEVER_BY_SCENARIO = frozenset({"instance_seed", "max_eval_instances"})
"""Settings that never follow from a scenario's parameters: they separate columns whenever they vary."""

VARIES = "varies by run"
_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, default=str)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnKey:
    """The properties that define a column."""

    scenario: str
    """The scenario's name."""
    method: str
    """The adaptation method."""
    metric: str
    """The main metric."""
    split: str
    """The split that was evaluated."""
    sample: bool
    """True if the data are sample data: a demonstration, not a measurement."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Values of the settings that distinguish the column from others of its scenario."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The scenario's parameters that all sub-runs share."""
    pooled: tuple[str, ...] = ()
    """The scenario's parameters in which the sub-runs differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group(ColumnKey):
    """The runs of one column."""

    varying: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Settings other than texts that differ between sub-runs of the column, with their values."""
    runs: Mapping[str, Sequence[RunRecord]] = field(default_factory=dict)
    """The runs of each sub-run, by the scenario's arguments as JSON."""

    @property
    def identity(self) -> str:
        """An identifier that is unique among the leaderboard's columns, one line of JSON."""
        parts = [self.scenario, self.method, self.metric, self.split, self.sample, self.settings, self.parameters]
        return canonical(parts)


def group_runs(runs: Iterable[RunRecord], *, pool: bool = True) -> list[Group]:
    """Return the columns of a leaderboard, by scenario, method, metric, split and settings.

    Args:
        runs: Runs of any suites and models, including failed ones.
        pool: True to pool sub-runs in one column; otherwise each gets its own.
    """
    runs = list(runs)
    sample = _sample_flags(runs)
    alike: dict[tuple[str, ...], list[RunRecord]] = {}
    for run, flag in zip(runs, sample, strict=True):
        spec = run.spec
        key = (spec.scenario.name, spec.adapter.name, spec.main_metric, spec.eval_split.value, "sample" * flag)
        alike.setdefault((*key, _not_pooled(spec) if pool else _arguments(spec.scenario)), []).append(run)
    return [
        _group(key, list(found), values)
        for key in sorted(alike)
        for values, found in sorted(_by_settings(alike[key]).items())
    ]


def canonical(value: Any) -> str:
    """Return a value as JSON, equal for equal values."""
    return _ENCODER.encode(value)


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Return items by key, in the order in which each key is first seen."""
    found: dict[Key, list[Item]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def agreed(values: Iterable[Key]) -> Key | None:
    """Return the value that all items have; None if they differ, or there are none."""
    different = set(values)
    return different.pop() if len(different) == 1 else None


def run_settings(spec: RunSpec) -> dict[str, Any]:
    """Return the settings of a spec that change what a number means: how the model was asked and what was counted.

    Perturbations and other metrics are left out, since they do not change the unperturbed main metric, and so are the
    seeds of few-shot examples and of sampling, by which runs are repeats of each other, and changes of the prompt, by
    which they are variants of each other.
    """
    main = re.split(r"[:@(]", spec.main_metric, maxsplit=1)[0].strip()  # of exact_match:maj@8 (flexible) exact_match
    measured = next((metric for metric in spec.metrics if metric.name in (spec.main_metric, main)), None)
    return {
        **spec.unchanged_adapter.arguments,
        **({f"{measured.name}.{key}": value for key, value in measured.arguments.items()} if measured else {}),
        **({"samples": spec.samples} if spec.samples > 1 else {}),
        "max_eval_instances": spec.max_eval_instances,
        "instance_seed": spec.instance_seed,
    }


def _sample_flags(runs: Sequence[RunRecord]) -> list[bool]:
    """Return for each run whether its data are sample data; if a run failed too early to tell, other runs decide."""
    known = [run.provenance.get("data", {}).get("sample") for run in runs]
    peers: dict[str, set[bool]] = {}
    for run, flag in zip(runs, known, strict=True):
        if flag is not None:
            peers.setdefault(run.spec.scenario.name, set()).add(bool(flag))
    return [
        bool(flag) if flag is not None else peers.get(run.spec.scenario.name) == {True}
        for run, flag in zip(runs, known, strict=True)
    ]


def _arguments(component: Component) -> str:
    return canonical(component.arguments)


def _not_pooled(spec: RunSpec) -> str:
    """Return the scenario's arguments except those that choose a part, of which only the names count."""
    return canonical([{key: "" if key in spec.parts else [value] for key, value in spec.scenario.arguments.items()}])


def _by_settings(runs: Sequence[RunRecord]) -> dict[str, list[RunRecord]]:
    """Return the runs by the values, as JSON, of the settings that separate them."""
    values = [{key: canonical(value) for key, value in run_settings(run.spec).items()} for run in runs]
    places = [_arguments(run.spec.scenario) for run in runs]
    names = sorted({name for settings in values for name in settings})
    separating: dict[str, Mapping[tuple[str, str], str]] = {}
    for name in names:
        seen = {(place, settings.get(name, "null")) for place, settings in zip(places, values, strict=True)}
        by_place = Counter(place for place, _ in seen)
        different = len({value for _, value in seen}) > 1
        if max(by_place.values()) > 1 or (different and name in NEVER_BY_SCENARIO):
            separating[name] = _folded(seen)
    found: dict[str, list[RunRecord]] = {}
    for run, place, settings in zip(runs, places, values, strict=True):
        shown = {
            name: json.loads(fold.get((place, settings.get(name, "null")), settings.get(name, "null")))
            for name, fold in separating.items()
        }
        found.setdefault(canonical(shown), []).append(run)
    return found


def _folded(seen: set[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return one common value for texts that differ by sub-run, so that each subject's own prompt is one setting.

    Only if no sub-run has two such texts: then there is one text for each sub-run.
    """
    sharing = Counter(value for _, value in seen)
    own = [(place, value) for place, value in seen if sharing[value] == 1 and value.startswith('"')]
    if len(own) < 2 or len({place for place, _ in own}) < len(own):
        return {}
    return dict.fromkeys(own, canonical(VARIES))


def _group(key: Sequence[str], runs: Sequence[RunRecord], settings: str) -> Group:
    parameters = _values_by_name(run.spec.scenario.arguments for run in runs)
    chosen: dict[str, Any] = json.loads(settings)
    varying = _values_by_name(run_settings(run.spec) for run in runs)
    return Group(
        scenario=key[0],
        method=key[1],
        metric=key[2],
        split=key[3],
        sample=bool(key[4]),
        settings=chosen,
        varying={
            name: values
            for name, values in varying.items()
            if len(values) > 1 and name not in chosen and not all(isinstance(value, str) for value in values)
        },
        parameters={name: values[0] for name, values in parameters.items() if len(values) == 1},
        pooled=tuple(name for name, values in parameters.items() if len(values) > 1),
        runs=dict(sorted(grouped(runs, lambda run: _arguments(run.spec.scenario)).items())),
    )


def _values_by_name(mappings: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the different values that mappings have for each name; None for a mapping without it."""
    rows = list(mappings)
    names = sorted({name for row in rows for name in row})
    by_json = {name: {canonical(value): value for value in (row.get(name) for row in rows)} for name in names}
    return {name: [values[key] for key in sorted(values)] for name, values in by_json.items()}
