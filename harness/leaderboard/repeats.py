"""Repeats: runs of one model that differ in their seeds only, put together as one run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from harness.contracts import Estimate, Stat
from harness.leaderboard.columns import agreed, grouped
from harness.leaderboard.scales import common_scale, scale_note
from harness.statistics import clustered_mean, mean_estimate
from harness.storage.instance_scores import KEY_BYTES, InstanceScores
from harness.storage.results import RunRecord

Seeds = tuple[int, int]
"""The seeds of few-shot examples and of sampling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedRun(RunRecord):
    """Several repeats as one run, with the settings of the newest."""

    repeats: tuple[RunRecord, ...]
    """The runs, by seed."""


def seeds(run: RunRecord) -> Seeds:
    """Return the seeds in which repeats differ."""
    spec = run.spec
    return spec.seed, spec.seed if spec.sampling_seed is None else spec.sampling_seed


def pooled_repeats(runs: Sequence[RunRecord]) -> RunRecord:
    """Return one run for several repeats, newest last; a single run as it is.

    The main metric is the mean over instances of each instance's mean over the repeats that scored it, with the
    uncertainty over instances or clusters. Where the instances' scores are not known, and for other statistics, the
    ends of the repeats' intervals are averaged: the interval that repeats would have if they told nothing new.
    """
    if len(runs) == 1:
        return runs[0]
    newest = runs[-1]
    scores = _mean_scores(runs)
    main, split = newest.spec.main_metric, newest.spec.eval_split
    stats = []
    for stat in newest.stats:
        found = [stat, *same_stats(stat, runs[:-1])]
        if scores is not None and stat.metric == main and stat.split == split and stat.overall:
            stats.append(_over_instances(found, scores))
        else:
            stats.append(_averaged(found))
    known = {field.name: getattr(newest, field.name) for field in fields(RunRecord)}
    known |= {
        "stats": stats,
        "instance_scores": scores,
        "declined": sum((run.declined for run in runs[1:]), runs[0].declined),
    }
    return RepeatedRun(**known, repeats=tuple(sorted(runs, key=seeds)))


def by_seeds(runs: Sequence[RunRecord]) -> list[list[RunRecord]]:
    """Return runs of the same thing by their seeds."""
    return list(grouped(runs, seeds).values())


def same_stats(stat: Stat, runs: Sequence[RunRecord]) -> list[Stat]:
    """Return the same statistic of other runs, of those that have it."""
    what = (stat.metric, stat.split, stat.perturbation, stat.computed_on, stat.group)
    return [
        other
        for run in runs
        for other in run.stats
        if (other.metric, other.split, other.perturbation, other.computed_on, other.group) == what
    ]


def _averaged(stats: Sequence[Stat]) -> Stat:
    """Return the mean of a statistic over repeats, with the mean of its errors and of the ends of its intervals."""
    first = stats[0]
    errors = [stat.stderr for stat in stats if stat.stderr is not None]
    intervals = [stat.ci95 for stat in stats if stat.ci95 is not None]
    whole = len(intervals) == len(stats)
    return replace(
        first,
        mean=_mean([stat.mean for stat in stats]),
        stderr=_mean(errors) if len(errors) == len(stats) else None,
        ci95=(_mean([low for low, _ in intervals]), _mean([high for _, high in intervals])) if whole else None,
        min=None,
        max=None,
        count=max(stat.count for stat in stats),
        missing=sum(stat.missing for stat in stats),
        scale=agreed(stat.scale for stat in stats),
    )


def _mean_scores(runs: Sequence[RunRecord]) -> InstanceScores | None:
    """Return each instance's mean over the runs that have its score; None if any run's scores are unknown."""
    found = [run.instance_scores for run in runs]
    known = [scores for scores in found if scores is not None]
    if len(known) < len(found):
        return None
    values: dict[bytes, list[float]] = {}
    clusters: dict[bytes, int] = {}
    for scores in known:
        keys = [scores.keys[place : place + KEY_BYTES] for place in range(0, len(scores.keys), KEY_BYTES)]
        for key, score in zip(keys, scores.scores().tolist(), strict=True):
            values.setdefault(key, []).append(score)
        numbers = scores.clusters()
        clusters |= zip(keys, numbers.tolist(), strict=True) if numbers is not None else ()
    means = [(key, _mean(each)) for key, each in values.items()]
    return InstanceScores.of(means, [clusters[key] for key in values] if clusters.keys() == values.keys() else None)


def _over_instances(stats: Sequence[Stat], scores: InstanceScores) -> Stat:
    values, clusters = scores.scores().tolist(), scores.clusters()
    scale = common_scale((stat.scale for stat in stats), min(values), max(values))
    if scale is not None:  # they are kept with 32 bits
        values = [min(max(value, scale.bounds[0]), scale.bounds[1]) for value in values]
    found: Estimate = mean_estimate(values, scale) if clusters is None else clustered_mean(
        values, clusters.tolist(), scale
    )  # fmt: skip
    return replace(
        stats[0],
        mean=found.value,
        stderr=found.stderr,
        ci95=None if found.low is None or found.high is None else (found.low, found.high),
        min=found.min,
        max=found.max,
        count=found.count,
        missing=sum(stat.missing for stat in stats),
        note=scale_note((stat.scale for stat in stats), scale, found.note),
        clusters=found.clusters,
        scale=scale,
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
