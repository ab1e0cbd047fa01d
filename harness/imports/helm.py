"""Importing HELM's run folders (stanford-crfm/helm).

A run folder holds ``run_spec.json`` and ``stats.json``, and may hold ``per_instance_stats.json`` and
``scenario_state.json``. HELM's stats have no standard errors over instances; they are computed from the per-instance
stats if these have the same mean, and are missing otherwise. A metric gets our name if it is defined alike, or if ours
gives every example of the run the same score; else HELM's name after ``helm.``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from harness.contracts import Split, Stat
from harness.contracts.plugins import Kind
from harness.contracts.specs import Component, RunSpec
from harness.errors import DataError, did_you_mean
from harness.imports.foreign_files import identity, read_json, understood
from harness.imports.helm_examples import Key, perturbation_name, read_examples
from harness.imports.imported_run import OTHER, Imported, Scored, agrees, counterparts, described, scale_of, stat_from
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

# HELM's worst over all perturbations of a kind; without any, HELM repeats the original's value.
_KINDS = frozenset({"robustness", "fairness"})

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
        DataError: A file is missing or not HELM's, or the run does not have the metric.
    """
    if (folder / SPEC).is_file() and not (folder / STATS).is_file():
        raise DataError(f"{folder} has {SPEC} but no {STATS}; a run folder of HELM has both.")
    written = read_json(folder / SPEC, RUN_FOLDER)
    raw = read_json(folder / STATS, RUN_FOLDER)
    files = [name for name in (SPEC, STATS, INSTANCES, STATE) if (folder / name).is_file()]
    with understood(folder / INSTANCES, RUN_FOLDER):
        by_split = _instance_scores(read_json(folder / INSTANCES, RUN_FOLDER)) if INSTANCES in files else {}
        scores = {key: found for table in by_split.values() for key, found in table.items()}
    with understood(folder / STATE, RUN_FOLDER):
        examples = read_examples(read_json(folder / STATE, RUN_FOLDER), scores) if STATE in files else []
    with understood(folder / SPEC, RUN_FOLDER):
        adapter = dict(written["adapter_spec"])
        scenario = _scenario(registry, str(written["name"]), written["scenario_spec"].get("args") or {})
        model = adapter.get("model") or adapter["model_deployment"]
    with understood(folder / STATS, RUN_FOLDER):
        separate = str(adapter["method"]).startswith("multiple_choice_separate")
        names = _names(raw, examples, registry, separate)
        kinds = _perturbed_kinds(raw)
        stats = [stat for item in raw for stat in _stats(item, names, by_split, kinds, registry)]
    with understood(folder / SPEC, RUN_FOLDER):
        own = str(written["scenario_spec"].get("class_name")).startswith(f"{DISTRIBUTION}.")
    first = [stat.metric for stat in stats[:1]] if own else []  # as our export orders them
    main = _main_stat(stats, scenario, registry, metric, folder, first)
    with understood(folder / SPEC, RUN_FOLDER):
        spec = RunSpec(
            suite=suite,
            scenario=scenario,
            parts=chosen_parts(registry, scenario),
            adapter=_adapter(registry, adapter),
            perturbations=tuple(Component(name=name) for name in _perturbations(stats)),
            metrics=tuple(Component(name=name) for name in dict.fromkeys(stat.metric for stat in stats)),
            main_metric=main.metric,
            model=Component(name=f"helm:{model}"),
            eval_split=Split(main.split),
            max_eval_instances=adapter.get("max_eval_instances"),
        )
    renamed = [Scored(one.example, _renamed(one.scores, names)) for one in examples]
    origin = {"program": "HELM", "run": written["name"], "files": [identity(folder / name) for name in files]}
    return Imported(spec, stats, origin, renamed, {"examples": len(examples)} if examples else {})


def _scenario(registry: Registry, run: str, arguments: Mapping[str, Any]) -> Component:
    """Return the scenario by the name of the run, which begins with its run spec's: ``name:key=value,key=value``."""
    name, _, written = run.partition(":")
    if name == "commonsense":  # several data sets; only older versions tell the scenario which by an argument
        asked = dict(part.partition("=")[::2] for part in written.split(","))
        name = str(arguments.get("dataset") or asked.get("dataset") or name)
        arguments = {key: value for key, value in arguments.items() if key not in {"dataset", "method"}}
    return scenario_component(registry, _OURS.get(name, name), arguments)


def _adapter(registry: Registry, written: Mapping[str, Any]) -> Component:
    """Return the adapter with HELM's settings by our names; settings that HELM lacks get our defaults."""
    method = str(written["method"])
    given = {_RENAMED.get(key, key): value for key, value in written.items() if key not in _NOT_SETTINGS}
    given["substitutions"] = [[item["source"], item["target"]] for item in given.get("substitutions") or []]
    if method not in registry.names(Kind.ADAPTER):
        return Component(name=method, arguments=given)
    model = parameters_of(registry.get(Kind.ADAPTER, method))
    known = {key: value for key, value in given.items() if key in model.model_fields}
    return Component(name=method, arguments=model.model_validate(known).model_dump(mode="json"))


def _instance_scores(rows: Sequence[Mapping[str, Any]]) -> dict[str | None, dict[Key, dict[str, float]]]:
    """Return the scores of single instances by split: a run has instances of several, and a stat is over one's."""
    found: dict[str | None, dict[Key, dict[str, float]]] = {}
    for row in rows:
        key = (str(row["instance_id"]), perturbation_name(row.get("perturbation")), int(row["train_trial_index"]))
        for stat in row["stats"]:
            if "mean" in stat:
                table = found.setdefault(stat["name"].get("split"), {})
                table.setdefault(key, {})[stat["name"]["name"]] = float(stat["mean"])
    return found


def _perturbed_kinds(raw: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """Return the kinds of perturbations in the run."""
    described = [item["name"].get("perturbation") or {} for item in raw]
    return frozenset(
        kind for one in described if one.get("name") not in _KINDS for kind in _KINDS if one.get(kind) is True
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


def _stats(
    item: Mapping[str, Any], names: Mapping[str, Sequence[str]],
    scores: Mapping[str | None, Mapping[Key, Mapping[str, float]]], kinds: frozenset[str], registry: Registry,
) -> Iterator[Stat]:  # fmt: skip
    """Yield a stat under each of our names, unless it lacks a split, a value or a perturbation of its kind."""
    about = item["name"]
    if "split" not in about or item.get("mean") is None:
        return
    changed = about.get("perturbation") or {}
    if changed and changed.get("name") in _KINDS - kinds:
        return
    computed_on = _COMPUTED_ON[changed.get("computed_on", "perturbed")] if changed else "original"
    perturbation = perturbation_name(changed)
    part = about.get("sub_split")
    plain = part is None and computed_on == ("perturbed" if changed else "original")
    values = _by_instance(scores.get(about["split"], {}), about["name"], perturbation) if plain else None
    for name in names[about["name"]]:
        category, higher = described(registry, name)
        if changed:
            category = "fairness" if changed.get("fairness") and not changed.get("robustness") else "robustness"
        yield stat_from(
            Stat(
                metric=name,
                category=OTHER if name.startswith(PREFIX) else category,
                split=Split(about["split"]).value,
                perturbation=perturbation,
                count=len(values or ()),
                mean=float(item["mean"]),
                stderr=None,
                ci95=None,
                min=None,
                max=None,
                higher_is_better=higher,
                computed_on=computed_on,
                group=None if part is None else f"sub_split={part}",
            ),
            values,
            scale_of(registry, name),
        )


def _by_instance(scores: Mapping[Key, Mapping[str, float]], name: str, perturbation: str | None) -> list[float]:
    trials: dict[str, list[float]] = {}
    for (instance, changed, _), values in scores.items():
        if changed == perturbation and name in values:
            trials.setdefault(instance, []).append(values[name])
    return [fmean(values) for values in trials.values()]


def _renamed(scores: Mapping[str, float], names: Mapping[str, Sequence[str]]) -> dict[str, float]:
    return {ours: value for theirs, value in scores.items() for ours in names.get(theirs, [f"{PREFIX}{theirs}"])}


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
