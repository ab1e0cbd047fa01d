"""Runs of one model that ask the same with variants of a prompt, put together as one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from harness.contracts import Estimate, Scale, Stat
from harness.contracts.specs import UNCHANGED
from harness.leaderboard.cells import has_number, main_stat, newest
from harness.leaderboard.columns import agreed, grouped
from harness.leaderboard.prompt_spread import PromptSpread, VariedRun
from harness.leaderboard.repeats import by_seeds, pooled_repeats, same_stats
from harness.leaderboard.scales import common_scale, scale_note
from harness.statistics import ConditionEffects, combined, condition_effects
from harness.storage.instance_scores import InstanceScores
from harness.storage.results import RunRecord

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def counting_run(runs: Sequence[RunRecord]) -> RunRecord:
    """Return what counts of one model's runs of the same thing: its prompts and repeats as one run."""
    variants = [_repeated(same) for same in by_prompt(runs).values()]
    measured = [run for run in variants if has_number(run)]
    return pooled_variants(measured) if measured else newest(variants)


def by_prompt(runs: Sequence[RunRecord]) -> Mapping[str, list[RunRecord]]:
    """Return runs of the same thing by their prompts in words, the unchanged one first."""
    found = grouped(runs, lambda run: run.spec.prompt_description)
    return {key: found[key] for key in sorted(found, key=lambda key: (key != UNCHANGED, key))}


def same_runs(runs: Sequence[RunRecord]) -> list[list[RunRecord]]:
    """Return one model's runs of the same thing by prompt and seeds."""
    return [repeat for same in by_prompt(runs).values() for repeat in by_seeds(same)]


def pooled_variants(runs: Sequence[RunRecord]) -> RunRecord:
    """Return one run for several variants of a prompt, each with a value of its main metric; a single run as it is.

    The main metric is the mean over the instances that were scored with every prompt. Its interval allows for
    differences between prompts if there are at least three. Of other statistics, and where the instances' scores are
    unknown, the variance between prompts includes the noise of few instances.
    """
    if len(runs) == 1:
        return runs[0]
    first = runs[0]
    stats = [stat for run in runs if (stat := main_stat(run)) is not None]
    scores = _common_scores(runs)
    effects = _effects(stats, scores)
    descriptions = tuple(run.spec.prompt_description for run in runs)
    direction = agreed(stat.higher_is_better for stat in stats)
    spread = PromptSpread(effects, descriptions, direction, paired=scores is not None)
    known = {field.name: getattr(first, field.name) for field in fields(RunRecord)}
    known |= {
        "stats": [
            _over_prompts(effects.estimate, stats) if stat == stats[0] else _plainly(stat, runs) for stat in first.stats
        ],
        # Of pairs of models the prompts' part is not known: they are compared by their errors.
        "instance_scores": None,
        "declined": sum((run.declined for run in runs[1:]), first.declined),
        "finished": max(run.finished for run in runs),
    }
    return VariedRun(**known, variants=tuple(runs), prompts=spread)


def common_table(
    runs: Sequence[InstanceScores],
) -> tuple[NDArray[np.uint64], NDArray[np.float64], NDArray[np.uint32] | None]:
    """Return the instances that all runs scored, their scores, shape (instances, runs), and their clusters."""
    import numpy as np

    keys = [scores.numbered_keys() for scores in runs]
    common = keys[0]
    for each in keys[1:]:
        common = np.intersect1d(common, each, assume_unique=True)
    places = [np.searchsorted(each, common) for each in keys]
    table = np.stack([scores.scores()[place] for scores, place in zip(runs, places, strict=True)], axis=1)
    clusters = runs[0].clusters()
    return common, table, None if clusters is None else clusters[places[0]]


_Scores = tuple["NDArray[np.float64]", "NDArray[np.uint32] | None"]


def _common_scores(runs: Sequence[RunRecord]) -> _Scores | None:
    found = [run.instance_scores for run in runs]
    known = [scores for scores in found if scores is not None]
    if len(known) < len(found):
        return None
    _, table, clusters = common_table(known)
    return (table, clusters) if len(table) else None


def _effects(stats: Sequence[Stat], scores: _Scores | None) -> ConditionEffects:
    """Return the mean of a statistic over prompts: of instances' scores, if they are known."""
    if scores is None:
        return combined(_averaged(stats), [stat.mean for stat in stats], 0.0, _scale_of(stats))
    table, clusters = scores
    scale = common_scale((stat.scale for stat in stats), float(table.min()), float(table.max()))
    if scale is not None:
        table = table.clip(*scale.bounds)  # they are stored with 32 bits
    return condition_effects(table, scale, None if clusters is None else clusters.tolist())


def _scale_of(stats: Sequence[Stat]) -> Scale | None:
    """Return a scale that fits the means of some statistics."""
    means = [stat.mean for stat in stats]
    return common_scale((stat.scale for stat in stats), min(means), max(means))


def _repeated(runs: Sequence[RunRecord]) -> RunRecord:
    repeats = [newest(found) for found in by_seeds(runs)]
    measured = [run for run in repeats if has_number(run)]
    latest = newest(repeats)
    return pooled_repeats([*(run for run in measured if run is not latest), latest])


def _averaged(stats: Sequence[Stat]) -> Estimate:
    """Return the mean of the prompts' means, with the mean of their errors: as if prompts told nothing new."""
    count = len(stats)
    errors = [stat.stderr for stat in stats if stat.stderr is not None]
    intervals = [stat.ci95 for stat in stats if stat.ci95 is not None]
    whole = len(intervals) == count
    return Estimate(
        sum(stat.mean for stat in stats) / count,
        max(stat.count for stat in stats),
        sum(errors) / count if len(errors) == count else None,
        sum(low for low, _ in intervals) / count if whole else None,
        sum(high for _, high in intervals) / count if whole else None,
    )


def _plainly(stat: Stat, runs: Sequence[RunRecord]) -> Stat:
    """Return another statistic over prompts."""
    found = [stat, *same_stats(stat, runs[1:])]
    return _over_prompts(_effects(found, None).estimate, found)


def _over_prompts(found: Estimate, stats: Sequence[Stat]) -> Stat:
    scale = _scale_of(stats)
    return replace(
        stats[0],
        mean=found.value,
        stderr=found.stderr,
        ci95=None if found.low is None or found.high is None else (found.low, found.high),
        min=found.min,
        max=found.max,
        count=found.count,
        missing=max(0, max(one.count + one.missing for one in stats) - found.count),
        note=scale_note((stat.scale for stat in stats), scale, found.note),
        clusters=found.clusters,
        scale=scale,
    )
