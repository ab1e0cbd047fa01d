"""An imported result as a run: its stats, its examples if any, and its origin."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from harness.answers.declined import declined_in
from harness.answers.reasoning_count import ReasoningCount
from harness.contracts import BOUNDED, PROPORTION, Example, Judgement, Scale, Stat
from harness.contracts.plugins import Kind, MetricDetails
from harness.contracts.specs import RunSpec
from harness.errors import DataError, HarnessError
from harness.plugins.registry import Registry
from harness.statistics import clustered_mean, mean_estimate
from harness.storage.example_files import ExampleWriter, discard_examples
from harness.storage.instance_scores import InstanceScores, cluster_number, instance_key
from harness.storage.results import RunRecord, run_directory, write_run
from harness.storage.run_schema import check_range, check_stat

OTHER = "other"
"""The category of a metric that is not one of ours."""

_TOLERANCE = 1e-9

_UNIT = frozenset(
    {
        "acc", "acc_norm", "acc_bytes", "exact_match", "exact_match_indicator", "quasi_exact_match",
        "prefix_exact_match", "quasi_prefix_exact_match", "math_equiv", "math_equiv_chain_of_thought",
        "f1_score", "f1_set_match", "rouge_1", "rouge_2", "rouge_l", "bleu_1", "bleu_4",
        "multiple_choice_accuracy", "final_number_exact_match", "ece_10_bin", "ece_1_bin", "platt_ece_10_bin",
        "platt_ece_1_bin",
        "selective_acc@10", "prob_correct", "pass_at_1", "RR@10", "RR@20", "NDCG@10", "NDCG@20",
        "inst_level_strict_acc", "inst_level_loose_acc", "prompt_level_strict_acc", "prompt_level_loose_acc",
    }
)  # fmt: skip
"""Scores that HELM and lm-evaluation-harness report from 0 to 1; others, such as BLEU, they report in percent."""


@dataclass(frozen=True, slots=True)
class Scored:
    """An example with the other program's scores, by its own names."""

    example: Example
    scores: Mapping[str, float]
    error: str | None = None
    """Why the other program could not score it; None if it did."""
    judgements: Sequence[tuple[str, Judgement]] = ()
    """What judges said about it, each with the metric that asked."""


@dataclass(frozen=True, slots=True)
class Imported:
    """One result, before it is written."""

    spec: RunSpec
    """The run, in our terms."""
    stats: Sequence[Stat]
    """Every statistic."""
    origin: Mapping[str, Any]
    """``program``, its version if known, and the files that were read."""
    examples: Sequence[Scored] = ()
    """Examples, with scores by the stats' names; empty if the result has none."""
    efficiency: Mapping[str, Any] = field(default_factory=dict)
    """Known facts about efficiency."""
    model: Mapping[str, Any] = field(default_factory=dict)
    """Known facts about the model."""
    started: str = ""
    """UTC, ISO 8601; empty if unknown."""
    finished: str = ""
    """UTC, ISO 8601; empty if unknown."""


def write_imported(results_dir: Path, imported: Imported) -> RunRecord:
    """Write run.json, and the examples if there are any, into a folder of their own.

    Raises:
        DataError: A statistic or a score is outside its range; nothing is written.
        StorageError: They cannot be written.
    """
    _check(imported)
    directory = run_directory(results_dir, imported.spec)
    written = None
    if imported.examples:
        with ExampleWriter(directory) as writer:
            for scored in imported.examples:
                writer.write(scored.example, scored.scores, scored.error, scored.judgements)
        written = writer.written
    else:
        discard_examples(directory)
    record = RunRecord(
        directory=directory,
        name=imported.spec.name,
        suite=imported.spec.suite,
        status="ok",
        error=None,
        spec=imported.spec,
        stats=imported.stats,
        instance_scores=_instance_scores(imported),
        efficiency={**imported.efficiency, **_reasoning(imported)},
        declined=declined_in(scored.example for scored in imported.examples),
        provenance={"origin": dict(imported.origin), "model": {"name": imported.spec.model.name, **imported.model}},
        examples=written,
        started=imported.started,
        finished=imported.finished,
    )
    write_run(record)
    return record


def _reasoning(imported: Imported) -> dict[str, Any]:
    """Return how many answers are unfinished reasoning; what their scores are of is the other program's business."""
    count = ReasoningCount()
    for scored in imported.examples:
        count.add(scored.example)
    return count.total()


def _instance_scores(imported: Imported) -> InstanceScores | None:
    """Return the main metric's scores of the evaluated instances, each the mean over its trials."""
    found: dict[bytes, list[float]] = {}
    clusters: dict[bytes, int] = {}
    for one in imported.examples:
        instance = one.example.instance
        score = one.scores.get(imported.spec.main_metric)
        if score is not None and instance.perturbation is None and instance.split == imported.spec.eval_split:
            key = instance_key(instance)
            found.setdefault(key, []).append(score)
            clusters[key] = cluster_number(instance.id, instance.meta, imported.spec.cluster)
    if not found:
        return None
    means = [(key, math.fsum(scores) / len(scores)) for key, scores in found.items()]
    return InstanceScores.of(means, [clusters[key] for key, _ in means] if imported.spec.cluster else None)


def _check(imported: Imported) -> None:
    try:
        for stat in imported.stats:
            check_stat(stat)
            if unit_interval(stat.metric) and stat.computed_on != "drop":
                check_range(stat.metric, stat.mean, 0, 1)
        for scored in imported.examples:
            for name, score in scored.scores.items():
                if not math.isfinite(score):
                    instance = scored.example.instance.id
                    raise ValueError(f"{name}: the score of instance {instance!r} must be a finite number, not {score}")
                if unit_interval(name) and not -_TOLERANCE <= score <= 1 + _TOLERANCE:
                    instance = scored.example.instance.id
                    raise ValueError(f"{name}: the score of instance {instance!r} must be from 0 to 1, not {score:g}")
    except ValueError as error:
        what = imported.origin.get("task") or imported.origin.get("run") or imported.spec.name
        raise DataError(f"{what} is not imported: {error}.") from None


def unit_interval(metric: str) -> bool:
    """Return True if a metric, by the other program's name or ours, is known to lie between 0 and 1."""
    name = metric.removeprefix("helm.").removeprefix("lm-eval.").partition(",")[0]
    return name in _UNIT


def stat_from(
    stat: Stat, scores: Sequence[float] | None, scale: Scale | None, clusters: Sequence[int] | None = None
) -> Stat:
    """Return a stat with the standard error and interval of its instances' scores, if their mean is the stat's.

    Otherwise the stat is returned unchanged: what is missing stays missing.

    Args:
        stat: As the other program gave it.
        scores: One for each instance, averaged over trials; None if unknown.
        scale: The scores' scale; None if unknown, which gives no interval.
        clusters: The cluster of each score; None if instances are independent.
    """
    if not scores or not math.isclose(math.fsum(scores) / len(scores), stat.mean, rel_tol=1e-6, abs_tol=_TOLERANCE):
        return stat
    fitting = scale if scale is not None and all(scale.clipped(score) is not None for score in scores) else None
    found = mean_estimate(scores, fitting) if clusters is None else clustered_mean(scores, clusters, fitting)
    return replace(
        stat,
        count=len(scores),
        stderr=found.stderr if stat.stderr is None else stat.stderr,
        ci95=None if found.low is None or found.high is None else (found.low, found.high),
        min=found.min,
        max=found.max,
        note=found.note,
        scale=fitting,
        clusters=found.clusters,
    )


def agrees(registry: Registry, metric: str, scored: Sequence[Scored], theirs: str) -> bool:
    """Return True if our metric gives every example the score that the other program gave it under its own name.

    False if no example has that score, or if the metric does not score single examples without parameters.
    """
    plugin = registry.find(Kind.METRIC, metric)
    function = None if plugin is None else plugin.target
    if function is None or isinstance(function, type):
        return False
    seen = False
    for one in scored:
        if theirs not in one.scores:
            continue
        try:
            ours = function(one.example)
        except HarnessError:
            return False
        if not isinstance(ours, int | float) or not math.isclose(ours, one.scores[theirs], abs_tol=_TOLERANCE):
            return False
        seen = True
    return seen


@dataclass(frozen=True, slots=True)
class Counterparts:
    """Our metrics, by the names of another program's metrics with the same definition."""

    same: dict[str, tuple[str, ...]]
    """Metrics that are always defined alike."""
    agreeing: dict[str, tuple[str, ...]]
    """Metrics that are defined alike only where each answer option is scored by itself."""


def counterparts(registry: Registry, program: str) -> Counterparts:
    """Return the counterparts that our metrics declare for a program, ``helm`` or ``lm-eval``."""
    found = Counterparts({}, {})
    for metric in registry.all(Kind.METRIC):
        if isinstance(details := metric.details, MetricDetails):
            for declared, known in ((details.same_as, found.same), (details.agrees_with, found.agreeing)):
                for theirs in (one.removeprefix(f"{program}:") for one in declared if one.startswith(f"{program}:")):
                    known[theirs] = (*known.get(theirs, ()), metric.name)
    return found


_ELSEWHERE = {"acc": PROPORTION, "acc_norm": PROPORTION, "em": PROPORTION, "f1": BOUNDED}
"""Scales of other programs' metrics without a namesake here."""


def scale_of(registry: Registry, metric: str) -> Scale | None:
    """Return the scale of a metric, or of our namesake of another program's metric; None if unknown.

    Args:
        registry: Our metrics.
        metric: Our ``name``, or another program's ``program.name`` or ``program.name,filter``.
    """
    name = metric.rpartition(".")[2].partition(",")[0]
    plugin = registry.find(Kind.METRIC, name)
    if plugin is None:
        return _ELSEWHERE.get(name)
    return plugin.details.scale_of(name) if isinstance(plugin.details, MetricDetails) else None


def details_of(registry: Registry, metrics: Iterable[str], stat: str) -> MetricDetails | None:
    """Return the details of the metric, among a run's, that gives a stat; None if it is not one of ours.

    It has the stat's name, or that of the score of one answer (``exact_match`` of ``exact_match@4``), or declares it.
    """
    for name in (stat, stat.rpartition("@")[0]):
        plugin = registry.find(Kind.METRIC, name) if name else None
        if plugin is not None and isinstance(plugin.details, MetricDetails):
            return plugin.details
    for name in metrics:
        plugin = registry.find(Kind.METRIC, name)
        details = None if plugin is None else plugin.details
        if isinstance(details, MetricDetails) and any(fnmatchcase(stat, pattern) for pattern in details.gives):
            return details
    return None


def scale_among(registry: Registry, metrics: Iterable[str], stat: str) -> Scale | None:
    """Return the scale of a stat of one of a run's metrics; None if unknown."""
    details = details_of(registry, metrics, stat)
    return None if details is None else details.scale_of(stat) or details.scale_of(stat.rpartition("@")[0])


def described(registry: Registry, metric: str) -> tuple[str, bool | None]:
    """Return a metric's category and whether higher is better; ``other`` and None for one that is not ours."""
    plugin = registry.find(Kind.METRIC, metric)
    details = None if plugin is None else plugin.details
    return (details.category, details.higher_is_better) if isinstance(details, MetricDetails) else (OTHER, None)
