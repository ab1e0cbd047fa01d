"""Files that ``harness export --to lm-eval`` wrote: one run, whose copies, trials and splits are tasks of their own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.contracts import Estimate, Example, Reference, Request, Scale, Split, Stat
from harness.contracts.plugins import Kind, PerturbationDetails
from harness.contracts.specs import Component, RunSpec
from harness.errors import DataError, did_you_mean, shown
from harness.imports.foreign_files import check_shape, identity, understood
from harness.imports.imported_run import OTHER, Imported, Scored, details_of, scale_among, stat_from, unit_interval
from harness.imports.lm_eval_checks import (
    SAMPLES_FILE,
    Reported,
    check_bounds,
    check_numbers,
    declared_means,
    read_lines,
    reported_numbers,
)
from harness.imports.lm_eval_samples import read_line
from harness.imports.lm_eval_schema import OwnDocument, OwnResultsFile
from harness.imports.mean_checks import check_mean, check_stderr, checked_number
from harness.imports.our_plugins import scenario_component
from harness.imports.own_answers import with_own_answer
from harness.installation import DISTRIBUTION
from harness.plugins.registry import Registry
from harness.statistics import clustered_mean, mean_estimate
from harness.storage.instance_scores import cluster_number

Json = Mapping[str, Any]


def is_own(written: Json) -> bool:
    """Return True if this harness wrote a results file."""
    by = written.get("written_by") or {}
    return by.get("program") == DISTRIBUTION and "main_metric" in by


def samples_file(file: Path, task: str) -> Path:
    """Return the samples file of a task, which need not exist."""
    return file.with_name(f"samples_{task.replace('/', '_')}_{file.stem.removeprefix('results_')}.jsonl")


def read_own(file: Path, written: Json, suite: str, registry: Registry, metric: str | None, what: str) -> Imported:
    """Return the exported run.

    Args:
        file: The results file.
        written: Its content.
        suite: The suite to write to.
        registry: Our plugins.
        metric: Another main metric; None for the exported one.
        what: What kind of file it is, for messages.

    Raises:
        DataError: Its numbers contradict each other, or it does not have the metric.
    """
    check_shape(OwnResultsFile, written, file, what)
    with understood(file, what):
        setup = _Setup.of(written, registry)
        groups: Mapping[str, list[str]] = written.get("group_subtasks") or {}
        tasks = {task: groups.get(task) or [task] for task in written["results"]}
        for member in {member for members in groups.values() for member in members}:
            tasks.pop(member, None)
    examples: list[Scored] = []
    stats: list[Stat] = []
    read: list[Path] = [file]
    for task, members in tasks.items():
        of_task: list[Scored] = []
        for member in members:
            samples = samples_file(file, member)
            if samples.is_file():
                read.append(samples)
                with understood(file, what):
                    of_task += _read_member(member, written, samples, file, setup)
        with understood(file, what):
            stats += _stats(task, members, written, of_task, file, setup)
        examples += of_task
    with understood(file, what):
        spec = _spec(written, suite, registry, metric)
    known = {stat.metric for stat in stats if stat.overall}
    if spec.main_metric not in known:
        hint = did_you_mean(metric, known) if metric else f"Metrics: {', '.join(sorted(known))}." if known else ""
        wanted = f"the metric {metric}" if metric else "the main metric that it names"
        raise DataError(f"no task has {wanted}. {hint}".strip(), file=file)
    return Imported(
        spec=spec,
        stats=stats,
        origin={
            "program": "lm-evaluation-harness",
            "version": written.get("lm_eval_version"),
            "task": written["written_by"]["task"],
            "files": [identity(path) for path in read],
        },
        examples=examples,
        efficiency={"examples": len(examples)} if examples else {},
        model=model_facts(written),
        finished=finished(written.get("date")),
    )


def model_facts(written: Json) -> dict[str, Any]:
    """Return what a results file says about the model."""
    config = written.get("config") or {}
    return {key: config.get(f"model_{their}") for key, their in
            (("parameters", "num_parameters"), ("dtype", "dtype"), ("revision", "revision"))}  # fmt: skip


def finished(date: Any) -> str:
    """Return a results file's date; empty if it has none."""
    return datetime.fromtimestamp(date, UTC).isoformat(timespec="seconds") if isinstance(date, int | float) else ""


@dataclass(frozen=True, slots=True)
class _Setup:
    """The parts of the exported run's setup that numbers depend on."""

    registry: Registry
    metrics: tuple[str, ...]
    cluster: str

    @classmethod
    def of(cls, written: Json, registry: Registry) -> _Setup:
        by = written["written_by"]
        return cls(registry, tuple(str(one["name"]) for one in by["metrics"]), str(by.get("cluster") or ""))

    def scale(self, metric: str) -> Scale | None:
        return scale_among(self.registry, self.metrics, metric)

    def limits(self, theirs: str) -> tuple[float | None, float | None]:
        metric = _metric(theirs)
        scale = self.scale(metric)
        if scale is None:
            return (0.0, 1.0) if unit_interval(metric) else (None, None)
        return scale.low, scale.high


def _read_member(task: str, written: Json, samples: Path, file: Path, setup: _Setup) -> list[Scored]:
    """Return the examples of a task of one split, perturbation and train trial."""
    config = written["configs"].get(task)
    if config is None:
        raise DataError(f"has samples of the task {task}, but no configs.{task}.", file=file)
    rows = read_lines(task, written, samples)
    expected = ((written.get("n-samples") or {}).get(task) or {}).get("effective")
    if expected is not None and expected != len(rows):
        message = f"has {len(rows)} documents, but n-samples.{task}.effective in {file.name} is {expected}."
        raise DataError(message, file=samples)
    found: dict[str, Scored] = {}
    for number, row in enumerate(rows, 1):
        check_shape(OwnDocument, row.get("doc"), samples, SAMPLES_FILE, row=number, key="doc")
        with understood(samples, SAMPLES_FILE, number):
            one = read_line(task, row, config)
            example = _restored(one.example, row, config)
            with understood(samples, f"{SAMPLES_FILE}: doc.answer", number):
                example = with_own_answer(example, row["doc"]["answer"])
            scores = {_metric(name): _score(row, name, samples, number) for name in row["metrics"]}
        if example.instance.id in found:
            raise DataError(f"document {example.instance.id!r} is listed twice (doc.id).", file=samples, row=number)
        found[example.instance.id] = Scored(example, scores)
    numbers = reported_numbers(task, written, file, setup.limits)
    # The standard error of a single trial is over instances, even where the run's is over clusters.
    clustered = setup.cluster and not _is_trial(config)
    checked = [replace(one, stderr=None) for one in numbers] if clustered else numbers
    check_numbers(task, checked, rows, written, samples, file, setup.limits)
    return list(found.values())


def _score(row: Json, metric: str, samples: Path, number: int) -> float:
    return checked_number(row.get(metric), metric, samples, row=number)


def _is_trial(config: Json) -> bool:
    return "trial" in (config.get("metadata") or {})


def _restored(example: Example, row: Json, config: Json) -> Example:
    """Return an example with the exported instance."""
    doc, about = row["doc"], config.get("metadata") or {}
    perturbation, trial = about.get("perturbation"), int(about.get("trial") or 0)
    instance = example.instance.replace(
        id=str(doc["id"]),
        input=str(doc["input"]),
        references=tuple(Reference(str(text)) for text in doc["references"]),
        split=_split(config),
        perturbation=perturbation,
        meta=dict(doc.get("meta") or {}),
    )
    several = config.get("output_type") == "multiple_choice"
    requests = tuple(
        _with_origin(request, instance.id, perturbation, trial, place if several else None)
        for place, request in enumerate(example.requests)
    )
    return replace(example, instance=instance, requests=requests, trial=trial)


def _with_origin(request: Request, instance: str, perturbation: str | None, trial: int, place: int | None) -> Request:
    if request.origin is None:
        return request
    origin = replace(request.origin, instance=instance, perturbation=perturbation, trial=trial, reference=place)
    return replace(request, origin=origin)


def _split(config: Json) -> Split:
    """Return the split of a task, which has no other."""
    for key, split in (("test_split", Split.TEST), ("validation_split", Split.VALID)):
        if config.get(key):
            return split
    return Split.TRAIN


def _metric(theirs: str) -> str:
    """Return a metric's name, in which the export replaces commas."""
    return theirs.replace(";", ",")


def _stats(
    task: str, members: Sequence[str], written: Json, examples: Sequence[Scored], file: Path, setup: _Setup
) -> Iterator[Stat]:
    """Yield the statistics over all train trials of a task.

    Raises:
        DataError: One contradicts the examples.
    """
    config = written["configs"][members[0]]
    perturbation = (config.get("metadata") or {}).get("perturbation")
    split = _split(config).value
    means = set(declared_means(members[0], written))
    count = _count(task, members, written, examples, file)
    numbers = reported_numbers(task, written, file, setup.limits)
    for one in numbers:
        metric = _metric(one.name)
        details, scale = details_of(setup.registry, setup.metrics, metric), setup.scale(metric)
        scores, clusters = _by_instance(examples, metric, setup.cluster)
        if scores and one.name in means:
            _check(one, scores, clusters, file)
        elif not setup.cluster:
            check_bounds([one], count, file, setup.limits)
        stat = Stat(
            metric=metric,
            category=_category(setup.registry, perturbation, OTHER if details is None else details.category),
            split=split,
            perturbation=perturbation,
            count=count,
            mean=one.mean,
            stderr=one.stderr,
            ci95=None,
            min=None,
            max=None,
            higher_is_better=(written.get("higher_is_better") or {}).get(task, {}).get(one.name),
            computed_on="perturbed" if perturbation else "original",
        )
        yield stat_from(stat, scores, scale, clusters)


def _count(task: str, members: Sequence[str], written: Json, examples: Sequence[Scored], file: Path) -> int:
    """Return the number of documents of a task."""
    count = written["results"][task].get("sample_len", 0)
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= 2**53:
        raise DataError(f"results.{task}.sample_len must be a whole number, not {shown(count)}.", file=file)
    stated = ((written.get("n-samples") or {}).get(members[0]) or {}).get("effective")
    if not examples and stated is not None and stated != count:
        key = f"n-samples.{members[0]}.effective"
        raise DataError(f"{key} is {stated}, but results.{task}.sample_len is {count}.", file=file)
    return count


def _by_instance(examples: Sequence[Scored], metric: str, cluster: str) -> tuple[list[float], list[int] | None]:
    """Return the mean score of each instance over its train trials, and the instances' clusters if they have any."""
    found: dict[str, list[float]] = {}
    clusters: dict[str, int] = {}
    for one in examples:
        if metric in one.scores:
            instance = one.example.instance
            found.setdefault(instance.id, []).append(one.scores[metric])
            clusters[instance.id] = cluster_number(instance.id, instance.meta, cluster)
    scores = [math.fsum(each) / len(each) for each in found.values()]
    return scores, [clusters[instance] for instance in found] if cluster else None


def _check(one: Reported, scores: Sequence[float], clusters: Sequence[int] | None, file: Path) -> None:
    check_mean(one.mean, one.key, file, scores, "documents in the samples")
    if one.stderr is not None:
        found: Estimate = mean_estimate(scores, None) if clusters is None else clustered_mean(scores, clusters, None)
        check_stderr(one.stderr, one.stderr_key, file, found.stderr, f"{len(scores)} documents in the samples")


def _category(registry: Registry, perturbation: str | None, category: str) -> str:
    """Return the category of a statistic: for perturbed copies the perturbation's."""
    if perturbation is None or category == "efficiency":
        return category
    plugin = registry.find(Kind.PERTURBATION, perturbation)
    details = None if plugin is None else plugin.details
    return details.category if isinstance(details, PerturbationDetails) else "robustness"


def _spec(written: Json, suite: str, registry: Registry, metric: str | None) -> RunSpec:
    """Return the spec of the exported run."""
    by = written["written_by"]
    groups = written.get("group_subtasks") or {}
    config = written["configs"][(groups.get(by["task"]) or [by["task"]])[0]]
    limit = (written.get("config") or {}).get("limit")
    return RunSpec.model_validate(
        {
            "suite": suite,
            "scenario": scenario_component(registry, config["dataset_path"], config["dataset_kwargs"]),
            "parts": tuple(by["parts"]),
            "adapter": Component(name=config["metadata"]["method"], arguments=config["metadata"]["adapter"]),
            "metrics": by["metrics"],
            "main_metric": metric or by["main_metric"],
            "model": Component(name=f"lm-eval:{written['model_name']}"),
            "eval_split": _split(config),
            "max_eval_instances": limit,
            "perturbations": by["perturbations"],
            **{key: by[key] for key in ("instance_seed", "seed", "samples")},
            **{key: by[key] for key in ("sampling_seed", "cluster", "prompt_variant") if by.get(key) is not None},
        }
    )
