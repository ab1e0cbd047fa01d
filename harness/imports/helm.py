"""Importing HELM's run folders (stanford-crfm/helm).

A run folder holds ``run_spec.json`` and ``stats.json``, and may hold ``per_instance_stats.json`` and
``scenario_state.json``. HELM's stats have no standard errors over instances; they are computed from the per-instance
stats if these have the same mean, and are missing otherwise. A metric gets our name if it is defined alike, or if ours
gives every example of the run the same score; else HELM's name after ``helm.``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from harness.contracts import RunMetric, Split, Stat
from harness.contracts.plugins import Kind
from harness.contracts.specs import Component, RunSpec
from harness.errors import DataError, did_you_mean
from harness.imports.foreign_files import check_shape, identity, read_json, understood
from harness.imports.helm_checks import (
    MEANS,
    check_same_instances,
    check_stat_mean,
    check_state,
    stat_mean,
)
from harness.imports.helm_examples import perturbation_name, read_examples
from harness.imports.helm_schema import InstancesFile, RunSpecFile, StateFile, StatsFile
from harness.imports.helm_scores import KINDS, HelmScores, instance_scores, kinds_of, row_key
from harness.imports.imported_run import (
    OTHER,
    Imported,
    Scored,
    agrees,
    counterparts,
    described,
    details_of,
    scale_among,
    scale_of,
    stat_from,
    unit_interval,
)
from harness.imports.mean_checks import Limits
from harness.imports.our_plugins import chosen_parts, scenario_component, scenario_details
from harness.installation import DISTRIBUTION
from harness.plugins.parameters import parameters_of
from harness.plugins.registry import Registry

SPEC, STATS, INSTANCES, STATE = "run_spec.json", "stats.json", "per_instance_stats.json", "scenario_state.json"
RUN_FOLDER = "a run folder of HELM"
PREFIX = "helm."

# The main metric of a scenario that is not one of ours: the first that the run has, after those that score options.
MAIN = (
    *("math_equiv_chain_of_thought", "math_equiv", "final_number_exact_match", "exact_match_indicator"),
    *("quasi_exact_match", "exact_match", "f1_score", "rouge_2", "RR@10", "bits_per_byte"),
)

# Our scenarios by the names of HELM's run specs, where these differ.
_OURS = {"gsm": "gsm8k"}

_COMPUTED_ON: Mapping[str, Literal["original", "perturbed", "worst"]] = {
    "original": "original",
    "perturbed": "perturbed",
    "worst": "worst",
}
_RENAMED = {"num_train_trials": "train_trials"}
_NOT_SETTINGS = {
    *("method", "model", "model_deployment", "max_eval_instances", "eval_splits", "random", "num_trials"),
    "image_generation_parameters",
}


def helm_runs(folder: Path) -> list[Path]:
    """Return the run folders in a folder, or the folder itself if it is one, including those without stats.

    Raises:
        DataError: The folder contains no runs.
    """
    found = sorted(file.parent for file in folder.rglob(SPEC))
    if not found:
        raise DataError(f"{folder} is not a run folder of HELM and contains none: there is no {SPEC}.")
    return found


def read_helm(folder: Path, suite: str, registry: Registry, metric: str | None = None) -> Imported:
    """Read a run folder.

    Raises:
        DataError: A file is missing or not HELM's, its numbers contradict each other, or the run does not have the
            metric.
    """
    if (folder / SPEC).is_file() and not (folder / STATS).is_file():
        raise DataError(f"{folder} has {SPEC} but no {STATS}; a run folder of HELM has both.")
    read = _Folder.read(folder)
    written, raw = read.spec, read.stats
    adapter = dict(written["adapter_spec"])
    with understood(folder / SPEC, RUN_FOLDER):
        own = str(written["scenario_spec"].get("class_name")).startswith(f"{DISTRIBUTION}.")
        measured = tuple(one.name for one in _own_components(written.get("metric_specs"))) if own else ()
        scenario = _scenario(registry, str(written["name"]), written["scenario_spec"].get("args") or {})
        model = adapter.get("model") or adapter["model_deployment"]
        method = _adapter(registry, adapter, folder / SPEC)
    limits = _limits(registry, measured)
    with understood(folder / INSTANCES, RUN_FOLDER):
        by_split = instance_scores(read.instances or (), folder / INSTANCES, limits)
        scores = {key: found for table in by_split.values() for key, found in table.items()}
    with understood(folder / STATE, RUN_FOLDER):
        examples = []
        if read.state is not None:
            check_state(read.state, adapter, folder / STATE, own=own)
            if read.instances is not None:
                keys = {row_key(row) for row in read.instances}
                check_same_instances(read.state, keys, folder / STATE, INSTANCES)
            examples = read_examples(read.state, scores)
    with understood(folder / STATS, RUN_FOLDER):
        separate = str(adapter["method"]).startswith("multiple_choice_separate")
        names = _own_names(raw, measured) if own else _names(raw, examples, registry, separate)
        table = HelmScores(by_split if read.instances is not None else None, kinds_of(read.instances or ()), own)
        kinds = _perturbed_kinds(raw)
        found = [stat for place, item in enumerate(raw)
                 for stat in _stats(item, place, folder, names, table, kinds, registry, measured, limits)]  # fmt: skip
        stats = list({(s.metric, s.split, s.perturbation, s.computed_on, s.group): s for s in reversed(found)}.values())
        stats.reverse()
    first = [stat.metric for stat in stats[:1]] if own else []  # as our export orders them
    main = _main_stat(stats, scenario, registry, metric, folder, first)
    with understood(folder / SPEC, RUN_FOLDER):
        spec = RunSpec(
            suite=suite,
            scenario=scenario,
            parts=chosen_parts(registry, scenario),
            adapter=method,
            perturbations=_own_components((written.get("data_augmenter_spec") or {}).get("perturbation_specs"))
            if own
            else tuple(Component(name=name) for name in _perturbations(stats)),
            metrics=_own_components(written.get("metric_specs"))
            if own
            else tuple(Component(name=name) for name in dict.fromkeys(stat.metric for stat in stats)),
            main_metric=main.metric,
            model=Component(name=f"helm:{model}"),
            eval_split=Split(main.split),
            max_eval_instances=adapter.get("max_eval_instances"),
        )
    renamed = [Scored(one.example, _renamed(one.scores, names, own=own)) for one in examples]
    origin = {"program": "HELM", "run": written["name"], "files": [identity(folder / name) for name in read.files]}
    return Imported(spec, stats, origin, renamed, {"examples": len(examples)} if examples else {})


@dataclass(frozen=True, slots=True)
class _Folder:
    """The content of a run folder."""

    spec: Mapping[str, Any]
    stats: Sequence[Mapping[str, Any]]
    instances: Sequence[Mapping[str, Any]] | None
    state: Mapping[str, Any] | None
    files: Sequence[str]

    @classmethod
    def read(cls, folder: Path) -> _Folder:
        """Return the content, whose shape is checked.

        Raises:
            DataError: A file is missing or not HELM's.
        """
        models: dict[str, type[BaseModel]] = {
            SPEC: RunSpecFile,
            STATS: StatsFile,
            INSTANCES: InstancesFile,
            STATE: StateFile,
        }
        content: dict[str, Any] = dict.fromkeys(models)
        for name, model in models.items():
            if name in (SPEC, STATS) or (folder / name).is_file():
                content[name] = read_json(folder / name, RUN_FOLDER)
                check_shape(model, content[name], folder / name, RUN_FOLDER)
        files = [name for name, value in content.items() if value is not None]
        return cls(content[SPEC], content[STATS], content[INSTANCES], content[STATE], files)


def _own_components(specs: Sequence[Mapping[str, Any]] | None) -> tuple[Component, ...]:
    """Return the metrics or perturbations of a run of ours."""
    prefix = f"{DISTRIBUTION}."
    return tuple(Component(name=one["class_name"].removeprefix(prefix), arguments=one["args"]) for one in specs or ())


def _limits(registry: Registry, measured: Sequence[str]) -> Limits:
    def limits(name: str) -> tuple[float | None, float | None]:
        scale = scale_among(registry, measured, name) if measured else None
        if scale is not None:
            return scale.low, scale.high
        return (0.0, 1.0) if unit_interval(name) else (None, None)

    return limits


def _scenario(registry: Registry, run: str, arguments: Mapping[str, Any]) -> Component:
    """Return the scenario by the name of the run, which begins with its run spec's: ``name:key=value,key=value``."""
    name, _, written = run.partition(":")
    if name == "commonsense":  # several data sets; only older versions tell the scenario which by an argument
        asked = dict(part.partition("=")[::2] for part in written.split(","))
        name = str(arguments.get("dataset") or asked.get("dataset") or name)
        arguments = {key: value for key, value in arguments.items() if key not in {"dataset", "method"}}
    return scenario_component(registry, _OURS.get(name, name), arguments)


def _adapter(registry: Registry, written: Mapping[str, Any], file: Path) -> Component:
    """Return the adapter with HELM's settings by our names; settings that HELM lacks get our defaults.

    Raises:
        DataError: A setting has a wrong value.
    """
    method = str(written["method"])
    given = {_RENAMED.get(key, key): value for key, value in written.items() if key not in _NOT_SETTINGS}
    given["substitutions"] = [[item["source"], item["target"]] for item in given.get("substitutions") or []]
    if method not in registry.names(Kind.ADAPTER):
        return Component(name=method, arguments=given)
    model = parameters_of(registry.get(Kind.ADAPTER, method))
    known = {key: value for key, value in given.items() if key in model.model_fields}
    check_shape(model, known, file, RUN_FOLDER, key="adapter_spec")
    return Component(name=method, arguments=model.model_validate(known).model_dump(mode="json"))


def _perturbed_kinds(raw: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """Return the kinds of perturbations in the run."""
    described = [item["name"].get("perturbation") or {} for item in raw]
    return frozenset(
        kind for one in described if one.get("name") not in KINDS for kind in KINDS if one.get(kind) is True
    )


def _names(
    raw: Sequence[Mapping[str, Any]], examples: Sequence[Scored], registry: Registry, separate: bool
) -> dict[str, list[str]]:
    """Return our names for each of HELM's names."""
    known = counterparts(registry, "helm")
    by_definition, by_scores = (known.agreeing, known.same) if separate else (known.same, known.agreeing)
    namesakes = registry.names(Kind.METRIC)
    names: dict[str, list[str]] = {}
    for theirs in dict.fromkeys(str(item["name"]["name"]) for item in raw):
        candidates = (*by_scores.get(theirs, ()), *([theirs] if theirs in namesakes else ()))
        ours = [*by_definition.get(theirs, ()), *(one for one in candidates if agrees(registry, one, examples, theirs))]
        names[theirs] = sorted(set(ours)) or [f"{PREFIX}{theirs}"]
    return names


def _own_names(raw: Sequence[Mapping[str, Any]], measured: Sequence[str]) -> dict[str, list[str]]:
    """Return the names of the exported run's metrics, in which those of HELM have a prefix that the export removes."""
    theirs = {str(item["name"]["name"]) for item in raw}
    return {name: [f"{PREFIX}{name}" if f"{PREFIX}{name}" in measured else name] for name in theirs}


def _is_mean(name: str, registry: Registry, *, own: bool) -> bool:
    """Return True if a metric is known to be the mean of its instances' scores."""
    if not own:
        return name in MEANS
    plugin = registry.find(Kind.METRIC, name)
    return plugin is not None and not (isinstance(plugin.target, type) and issubclass(plugin.target, RunMetric))


def _stats(
    item: Mapping[str, Any], place: int, folder: Path, names: Mapping[str, Sequence[str]], scores: HelmScores,
    kinds: frozenset[str], registry: Registry, measured: Sequence[str], limits: Limits,
) -> Iterator[Stat]:  # fmt: skip
    """Yield a stat under each of our names, unless it lacks a split, a value or a perturbation of its kind."""
    about = item["name"]
    mean = stat_mean(item, place, folder / STATS, limits)
    if "split" not in about or mean is None:
        return
    changed = about.get("perturbation") or {}
    if changed and changed.get("name") in KINDS - kinds:
        return
    computed_on = _COMPUTED_ON[changed.get("computed_on", "perturbed")] if changed else "original"
    part = about.get("sub_split")
    for name in names[about["name"]]:
        category, higher = described(registry, name)
        if measured and (details := details_of(registry, measured, name)) is not None:
            category, higher = details.category, details.higher_is_better
        values = scores.of(about, computed_on, higher=higher)
        plain = computed_on == ("perturbed" if changed else "original")
        if values is not None and plain and _is_mean(about["name"], registry, own=scores.own):
            check_stat_mean(mean, place, about["name"], values, folder / STATS, folder / INSTANCES)
        if changed and category != "efficiency":
            category = "fairness" if changed.get("fairness") and not changed.get("robustness") else "robustness"
        yield stat_from(
            Stat(
                metric=name,
                category=OTHER if name.startswith(PREFIX) else category,
                split=Split(about["split"]).value,
                perturbation=perturbation_name(changed),
                count=len(values or ()) if plain else 0,
                mean=mean,
                stderr=None,
                ci95=None,
                min=None,
                max=None,
                higher_is_better=higher,
                computed_on=computed_on,
                group=None if part is None else f"sub_split={part}",
            ),
            values,
            scale_among(registry, measured, name) if measured else scale_of(registry, name),
        )


def _renamed(scores: Mapping[str, float], names: Mapping[str, Sequence[str]], *, own: bool) -> dict[str, float]:
    """Return the scores by our names; of our own runs without those that the export adds for HELM."""
    known = {name: value for name, value in scores.items() if name in names or not own}
    return {ours: value for theirs, value in known.items() for ours in names.get(theirs, [f"{PREFIX}{theirs}"])}


def _perturbations(stats: Sequence[Stat]) -> list[str]:
    found = dict.fromkeys(s.perturbation for s in stats if s.perturbation and s.computed_on == "perturbed")
    return [name for name in found if name]


def _main_stat(
    stats: Sequence[Stat], scenario: Component, registry: Registry, metric: str | None, folder: Path,
    first: Sequence[str],
) -> Stat:  # fmt: skip
    """Return the run's main stat, on the scenario's split if possible, else on test or valid."""
    overall = [stat for stat in stats if stat.overall]
    details = scenario_details(registry, scenario.name)
    options = [name for names in counterparts(registry, "helm").agreeing.values() for name in names]
    wanted = [metric] if metric else [*first, *([details.main_metric] if details else []), *options, *MAIN]
    splits = [*([details.eval_split.value] if details else []), "test", "valid", "train"]
    for name in wanted:
        for shown in (name, f"{PREFIX}{name}"):
            here = {stat.split: stat for stat in overall if stat.metric == shown}
            for split in splits:
                if split in here:
                    return here[split]
    known = sorted({stat.metric for stat in overall})
    what = f"no {metric}" if metric else "no metric that could be its main one"
    hint = did_you_mean(metric or "", known)
    raise DataError(f"the run has {what}; choose one with --metric. {hint}".strip(), file=folder / STATS)
