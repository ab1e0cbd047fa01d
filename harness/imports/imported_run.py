"""One result of another program as a run of ours: its stats, its examples where there are any, and its origin."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.answers.declined import declined_in
from harness.contracts import BOUNDED, PROPORTION, Example, Scale, Stat
from harness.contracts.plugins import Kind, MetricDetails
from harness.contracts.specs import RunSpec
from harness.errors import DataError, HarnessError
from harness.plugins.registry import Registry
from harness.statistics import mean_estimate
from harness.storage.example_files import ExampleWriter, discard_examples
from harness.storage.instance_scores import InstanceScores, instance_key
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
        "multiple_choice_accuracy", "ece_10_bin", "ece_1_bin", "platt_ece_10_bin", "platt_ece_1_bin",
        "selective_acc@10", "prob_correct", "pass_at_1", "RR@10", "RR@20", "NDCG@10", "NDCG@20",
        "inst_level_strict_acc", "inst_level_loose_acc", "prompt_level_strict_acc", "prompt_level_loose_acc",
    }
)  # fmt: skip
"""Names of scores that HELM and lm-evaluation-harness give from 0 to 1; others, such as BLEU, they give in percent."""


@dataclass(frozen=True, slots=True)
class Scored:
    """An example with what the other program scored it by its own names."""

    example: Example
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Imported:
    """What was read of one result, before it is written."""

    spec: RunSpec
    """What was run, in our words."""
    stats: Sequence[Stat]
    """Every statistic."""
    origin: Mapping[str, Any]
    """``program``, its version where it is known, and the files that were read."""
    examples: Sequence[Scored] = ()
    """With scores by the names that the stats have; empty where the result has none."""
    efficiency: Mapping[str, Any] = field(default_factory=dict)
    """What is known of it."""
    model: Mapping[str, Any] = field(default_factory=dict)
    """What is known of the model."""
    started: str = ""
    """UTC, ISO 8601; empty if unknown."""
    finished: str = ""
    """UTC, ISO 8601; empty if unknown."""


def write_imported(results_dir: Path, imported: Imported) -> RunRecord:
    """Write run.json, and the examples where there are any, into a folder of their own.

    Raises:
        DataError: A statistic or a score cannot be what it says it is; nothing is written.
        StorageError: They cannot be written.
    """
    _check(imported)
    directory = run_directory(results_dir, imported.spec)
    written = None
    if imported.examples:
        with ExampleWriter(directory) as writer:
            for scored in imported.examples:
                writer.write(scored.example, scored.scores)
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
        efficiency=imported.efficiency,
        declined=declined_in(scored.example for scored in imported.examples),
        provenance={"origin": dict(imported.origin), "model": {"name": imported.spec.model.name, **imported.model}},
        examples=written,
        started=imported.started,
        finished=imported.finished,
    )
    write_run(record)
    return record


def _instance_scores(imported: Imported) -> InstanceScores | None:
    """Return the main metric's scores of the evaluated instances, each the mean over its trials."""
    found: dict[bytes, list[float]] = {}
    for one in imported.examples:
        instance = one.example.instance
        score = one.scores.get(imported.spec.main_metric)
        if score is not None and instance.perturbation is None and instance.split == imported.spec.eval_split:
            found.setdefault(instance_key(instance), []).append(score)
    if not found:
        return None
    return InstanceScores.of((key, math.fsum(scores) / len(scores)) for key, scores in found.items())


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
    except ValueError as error:
        what = imported.origin.get("task") or imported.origin.get("run") or imported.spec.name
        raise DataError(f"{what} is not imported: {error}.") from None


def unit_interval(metric: str) -> bool:
    """Return whether a metric, by the other program's name or ours, is known to be from 0 to 1."""
    name = metric.removeprefix("helm.").removeprefix("lm-eval.").partition(",")[0]
    return name in _UNIT


def stat_from(stat: Stat, scores: Sequence[float] | None, scale: Scale | None) -> Stat:
    """Return a stat with the standard error and interval of its instances' scores, where these are what it is over.

    That is so if their mean is the stat's. Otherwise the stat stays as it is: what is missing stays missing.

    Args:
        stat: As the other program gave it.
        scores: One for each instance, its trials averaged; None if they are unknown.
        scale: The scores' scale; None if it is unknown, which gives no interval.
    """
    if not scores or not math.isclose(math.fsum(scores) / len(scores), stat.mean, rel_tol=1e-6, abs_tol=_TOLERANCE):
        return stat
    fitting = scale if scale is not None and all(scale.clipped(score) is not None for score in scores) else None
    found = mean_estimate(scores, fitting)
    interval = None if found.low is None or found.high is None else (found.low, found.high)
    stderr = found.stderr if stat.stderr is None else stat.stderr
    return replace(
        stat,
        count=len(scores),
        stderr=stderr,
        ci95=interval,
        min=found.min,
        max=found.max,
        note=found.note,
        scale=fitting,
    )


def agrees(registry: Registry, metric: str, scored: Sequence[Scored], theirs: str) -> bool:
    """Return whether our metric gives every example the score that the other program gave it under a name of its own.

    False as well where no example has the score, or the metric is none of single examples without parameters.
    """
    try:
        function = registry.get(Kind.METRIC, metric).target
    except HarnessError:
        return False
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
    """Our metrics by the names that another program gives the same thing."""

    same: dict[str, tuple[str, ...]]
    """Ours that are defined alike, by the other program's name."""
    agreeing: dict[str, tuple[str, ...]]
    """Ours that are defined alike only where each answer option is scored by itself."""


def counterparts(registry: Registry, program: str) -> Counterparts:
    """Return what our metrics declare of another program's, ``helm`` or ``lm-eval``."""
    found = Counterparts({}, {})
    for metric in registry.all(Kind.METRIC):
        if isinstance(details := metric.details, MetricDetails):
            for declared, known in ((details.same_as, found.same), (details.agrees_with, found.agreeing)):
                for theirs in (one.removeprefix(f"{program}:") for one in declared if one.startswith(f"{program}:")):
                    known[theirs] = (*known.get(theirs, ()), metric.name)
    return found


_ELSEWHERE = {"acc": PROPORTION, "acc_norm": PROPORTION, "em": PROPORTION, "f1": BOUNDED}
"""Scales of other programs' metrics that have no namesake here."""


def scale_of(registry: Registry, metric: str) -> Scale | None:
    """Return the scale of a metric, or of our metric with the name that another program's has; None if unknown.

    Args:
        registry: Knows our metrics.
        metric: ``name`` of ours, or ``program.name`` or ``program.name,filter`` of another program's.
    """
    name = metric.rpartition(".")[2].partition(",")[0]
    try:
        details = registry.get(Kind.METRIC, name).details
    except HarnessError:
        return _ELSEWHERE.get(name)
    return details.scale_of(name) if isinstance(details, MetricDetails) else None


def described(registry: Registry, metric: str) -> tuple[str, bool | None]:
    """Return the category of a metric and which way is better; of one that is not ours, ``other`` and None."""
    try:
        details = registry.get(Kind.METRIC, metric).details
    except HarnessError:
        return OTHER, None
    return (details.category, details.higher_is_better) if isinstance(details, MetricDetails) else (OTHER, None)
