"""Importing lighteval's results and details (huggingface/lighteval, 0.13), one run for each task.

A task gets a leaderboard column of its own, next to the scenario of the same name, with the method ``lighteval``.
Metrics are called ``lighteval.METRIC``. Means are computed again from the details, and a task whose means differ is
refused. A number that lighteval gives for a metric which the task neither declares nor scores is left out: averages
over tasks leave such zeros behind.

Files that this harness wrote keep the scenario, method and metrics of their run, and so share its column.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.contracts import PROPORTION, Scale, Split, Stat
from harness.contracts.specs import Component, RunSpec
from harness.errors import DataError, did_you_mean
from harness.imports.foreign_files import identity, read_json, understood
from harness.imports.imported_run import OTHER, Imported, Scored, described, scale_of, stat_from
from harness.imports.lighteval_details import MAIN, PREFIX, read_details
from harness.imports.lighteval_own import own_run
from harness.imports.our_plugins import chosen_parts, scenario_component
from harness.imports.reported_numbers import Keys, by_instance, clusters_of, contradicted, impossible
from harness.plugins.registry import Registry

RESULTS = "a results file of lighteval"
REPORTED = "as lighteval reported it: it cannot be computed from the scores of the details"

_SETTINGS = ("num_fewshots", "generation_size", "stop_sequence", "num_samples")


def lighteval_files(path: Path) -> list[Path]:
    """Return the results files in a folder, the newest first, or the file itself if it is one.

    Raises:
        DataError: There are none.
    """
    if path.is_file():
        return [path]
    found = sorted(path.rglob("results_*.json"), key=lambda file: (file.name, file), reverse=True)
    if not found:
        raise DataError(f"{path} has no results of lighteval: there is no results_*.json.")
    return found


def read_lighteval(file: Path, suite: str, registry: Registry, metric: str | None = None) -> Iterator[Imported]:
    """Yield a run for each task of a results file; the leaderboard computes averages over tasks.

    Raises:
        DataError: A file is not lighteval's, contradicts another, or no task has the metric.
    """
    written = read_json(file, RESULTS)
    with understood(file, RESULTS):
        general = written["config_general"]
        model = str(general["model_name"])
        tasks = {
            str(task): dict(values)
            for task, values in written["results"].items()
            if task != "all" and ":_average|" not in task
        }
    known: dict[str, None] = {}
    found = False
    for task, values in tasks.items():
        with understood(file, RESULTS):
            config = (written.get("config_tasks") or {}).get(task) or {}
            split = _split(config)
            details = _details(file, model, task)
            scored = read_details(details, task, split, _temperature(general)) if details is not None else []
            own = own_run(general, task, config, split, suite)
            if own is not None:
                scored = [_by_our_names(one) for one in scored]
            stats = list(_Numbers(task, config, split, scored, details, file, registry, own).stats(values))
            known.update(dict.fromkeys(stat.metric for stat in stats))
            main = _main(stats, metric or (own.main_metric if own is not None else None))
            main = main or (_main(stats, metric) if own is not None else None)
            if main is None:
                continue
            found = True
            yield Imported(
                spec=_spec(task, general, model, config, suite, registry, stats, main, scored)
                if own is None
                else own.model_copy(update={"model": _model(model), "main_metric": main.metric}),
                stats=stats,
                origin={
                    "program": "lighteval",
                    "version": None if general.get("lighteval_sha") in (None, "?") else general["lighteval_sha"],
                    "task": task,
                    "task_version": config.get("version"),
                    "files": [identity(one) for one in (file, details) if one is not None],
                },
                examples=scored,
                efficiency={"examples": len(scored)} if scored else {},
                model={
                    key: general["model_config"].get(key)
                    for key in ("dtype", "revision")
                    if isinstance(general.get("model_config"), Mapping)
                },
                finished=_time(file),
            )
    if not found:
        hint = did_you_mean(metric or "", known)
        raise DataError(f"no task has {'the metric ' + metric if metric else 'a metric'}. {hint}".strip(), file=file)


def _temperature(general: Mapping[str, Any]) -> float:
    parameters = (general.get("model_config") or {}).get("generation_parameters") or {}
    return float(parameters.get("temperature") or 0.0)


def _details(file: Path, model: str, task: str) -> Path | None:
    """Return a task's details file, in lighteval's layouts of a folder and of a repository; None if there is none."""
    date = file.stem.removeprefix("results_")
    name = f"details_{task}_{date}.parquet"
    if "/" in name or "\\" in name:
        return None
    parts = [part for part in model.split("/") if part not in ("", ".", "..")]
    for parent in list(file.parents)[: len(parts) + 3]:
        for folder in (parent.joinpath("details", *parts, date), parent / date):
            if (folder / name).is_file():
                return folder / name
    return None


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Reads a task's numbers, and checks them against its details."""

    task: str
    config: Mapping[str, Any]
    split: Split
    scored: Sequence[Scored]
    details: Path | None
    file: Path
    registry: Registry
    own: RunSpec | None
    """The run that this harness exported, whose metrics keep their names; None of others."""

    def stats(self, values: Mapping[str, Any]) -> Iterator[Stat]:
        """Yield a stat for each metric.

        Raises:
            DataError: A number is impossible, or contradicts the details.
        """
        declared = {name: one for one in self.config.get("metrics") or () for name in _names(one)}
        in_details = {name.removeprefix(PREFIX) for one in self.scored for name in one.scores}
        for name, value in values.items():
            if name.endswith("_stderr") and name.removesuffix("_stderr") in values:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise DataError(f"results.{self.task}.{name} must be a finite number, not {value!r}.", file=self.file)
            if (declared or self.scored) and name not in declared and name not in in_details:
                continue
            yield self._stat(name, float(value), values.get(f"{name}_stderr"), declared.get(name, {}))

    def _stat(self, name: str, value: float, error: Any, declared: Mapping[str, Any]) -> Stat:
        called = name if self.own is not None else f"{PREFIX}{name}"
        scores = by_instance(
            (one.example.instance.id, one.scores[called]) for one in self.scored if called in one.scores
        )
        means = [math.fsum(each) / len(each) for each in scores.values()]
        scale = scale_of(self.registry, name)
        self._check_scores(called, name, scale)
        stat = Stat(
            metric=called,
            category=OTHER if self.own is None else described(self.registry, name)[0],
            split=self.split.value,
            perturbation=None,
            count=len(means),
            mean=value,
            stderr=float(error) if isinstance(error, int | float) and math.isfinite(error) else None,
            ci95=None,
            min=None,
            max=None,
            higher_is_better=_better(declared, name),
        )
        keys = Keys(f"results.{self.task}.{name}", f"results.{self.task}.{name}_stderr")
        key = "" if self.own is None else self.own.cluster
        clusters = clusters_of((one.example for one in self.scored), key)
        problems: list[str] = []
        if self.details is not None:
            is_mean, rows = declared.get("corpus_level_fn") == "mean", f"rows in {self.details.name}"
            problems += contradicted(stat, keys, scores, rows, is_mean=is_mean, clusters=clusters)
        problems += impossible(stat, keys, scale)
        for problem in problems[:1]:
            raise DataError(f"{problem}.", file=self.file)
        if scale is None and all(score in (0.0, 1.0) for score in means):
            scale = PROPORTION
        by_score = None if clusters is None else [clusters[instance] for instance in scores]
        computed = stat_from(stat, means, scale, by_score)
        return computed if computed is not stat or self.own is not None else replace(stat, note=REPORTED)

    def _check_scores(self, called: str, name: str, scale: Scale | None) -> None:
        for row, one in enumerate(self.scored, 1):
            if scale is not None and called in one.scores and scale.clipped(one.scores[called]) is None:
                message = f"row {row}: metric.{name} must be {scale}, not {one.scores[called]:g}."
                raise DataError(message, file=self.details)


def _by_our_names(one: Scored) -> Scored:
    return replace(one, scores={name.removeprefix(PREFIX): score for name, score in one.scores.items()})


def _names(metric: Mapping[str, Any]) -> list[str]:
    """Return a metric's names; one that gives several has a list of them."""
    name = metric.get("metric_name")
    return [str(one) for one in name] if isinstance(name, list) else [str(name)]


def _better(metric: Mapping[str, Any] | None, name: str) -> bool | None:
    value = (metric or {}).get("higher_is_better")
    value = value.get(name) if isinstance(value, Mapping) else value
    return value if isinstance(value, bool) else None


def _main(stats: Sequence[Stat], metric: str | None) -> Stat | None:
    for name in [metric] if metric else MAIN:
        for stat in stats:
            if stat.metric in (name, f"{PREFIX}{name}"):
                return stat
    return stats[0] if stats and metric is None else None


def _split(config: Mapping[str, Any]) -> Split:
    split = str((config.get("evaluation_splits") or ["test"])[0])
    return Split.TEST if "test" in split else Split.TRAIN if "train" in split else Split.VALID


def _spec(
    task: str, general: Mapping[str, Any], model: str, config: Mapping[str, Any], suite: str, registry: Registry,
    stats: Sequence[Stat], main: Stat, scored: Sequence[Scored],
) -> RunSpec:  # fmt: skip
    parts = task.split("|")
    # ``task|shots``, in older versions ``suite|task|shots``.
    name = parts[1] if len(parts) > 2 else parts[0]
    base, _, subset = name.partition(":")
    scenario = (
        scenario_component(registry, "mmlu", {"subject": subset})
        if base == "mmlu" and subset
        else scenario_component(registry, name, {})
    )
    arguments = {key: config[key] for key in _SETTINGS if config.get(key) not in (None, [])}
    settings = general.get("model_config") or {}
    generation = settings.get("generation_parameters") or {}
    arguments |= {key: value for key, value in generation.items() if value is not None}
    if settings.get("system_prompt"):
        arguments["system_prompt"] = settings["system_prompt"]
    limit = general.get("max_samples")
    kind = "logprobs" if any(one.example.choice_scores is not None for one in scored) else "generative"
    trials = 1 + max((one.example.trial for one in scored), default=0)
    if trials > 1:
        arguments["train_trials"] = trials
    return RunSpec(
        suite=suite,
        scenario=scenario,
        parts=chosen_parts(registry, scenario),
        adapter=Component(name=f"lighteval {kind if scored else ''}".strip(), arguments=arguments),
        metrics=tuple(Component(name=name) for name in dict.fromkeys(stat.metric for stat in stats)),
        main_metric=main.metric,
        model=_model(model),
        eval_split=Split(main.split),
        max_eval_instances=int(limit) if isinstance(limit, int) and limit >= 1 else None,
    )


def _model(name: str) -> Component:
    return Component(name=f"lighteval:{name}")


def _time(file: Path) -> str:
    """Return the time in a file's name, ``results_2026-11-23T11-19-32.056151.json``; empty if there is none."""
    day, _, time = file.stem.removeprefix("results_").partition("T")
    return f"{day}T{time.partition('.')[0].replace('-', ':')}+00:00" if time else ""
