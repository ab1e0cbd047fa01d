"""How much scores change between neighbouring checkpoints of a training, and whether the instances can show it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from statistics import NormalDist, median

from harness.contracts import Estimate, Scale
from harness.errors import DataError
from harness.leaderboard.aggregate import Counting
from harness.leaderboard.cells import Cell, cell_of, has_number, main_stat
from harness.leaderboard.checkpoints import Series
from harness.leaderboard.columns import Group, agreed
from harness.leaderboard.comparison import matched_prompts
from harness.leaderboard.paired_scores import Answers, PairedScores, compare_answers
from harness.leaderboard.pairwise import ALPHA
from harness.leaderboard.prompt_variants import common_table
from harness.leaderboard.scales import common_scale
from harness.statistics import FEWEST_CONDITIONS, ConditionEffects, combined, holm, paired_condition_effects
from harness.statistics.power import LEVEL, POWER
from harness.statistics.quantiles import normal_quantile
from harness.statistics.signal_noise import SignalNoise, change_signal, training_signal
from harness.storage.instance_scores import InstanceScores
from harness.storage.results import RunRecord


@dataclass(frozen=True, slots=True)
class Change:
    """The change of a score between two checkpoints."""

    difference: float
    """The later score less the earlier one."""
    variance: float
    """The squared standard error of the difference."""
    p: float
    """The p-value of the hypothesis that nothing changed."""
    could_show: float | None
    """The smallest true change that is shown with a power of 0.8 after Holm's correction; None if there is none, or
    if the error is over prompts."""
    paired: bool
    """True if the same instances are compared under the same prompts; False if their scores are unknown."""
    over_prompts: bool = False
    """True if the error allows for differences between variants of a prompt. A few prompts are too few to say what a
    comparison could show."""


@dataclass(frozen=True, slots=True)
class SeriesChanges:
    """The changes of one score over a training."""

    series: Series
    """The training."""
    steps: tuple[int, ...]
    """The steps with a complete result."""
    scores: tuple[float, ...]
    """Their scores."""
    count: int
    """Number of instances of the last."""
    changes: tuple[Change, ...]
    """The changes between neighbours, by step."""

    @property
    def signal(self) -> SignalNoise | None:
        """The signal and noise of a change."""
        return change_signal(
            [change.difference for change in self.changes], [change.variance for change in self.changes]
        )

    @property
    def told_apart(self) -> int:
        """Number of neighbours that are shown to differ (5 %, Holm's correction)."""
        return sum(p < ALPHA for p in holm([change.p for change in self.changes]))

    @property
    def could_show(self) -> float | None:
        """The median of the smallest true changes that could be shown; None if most could show none."""
        found = median(math.inf if change.could_show is None else change.could_show for change in self.changes)
        return found if found < math.inf else None

    @property
    def over_prompts(self) -> bool:
        """True if errors allow for differences between variants of a prompt."""
        return any(change.over_prompts for change in self.changes)

    @property
    def needed(self) -> int | None:
        """Number of instances needed to show a typical true change with a power of 0.8.

        None without a signal, or if errors are over prompts, whose part does not depend on the number of instances.
        """
        signal = self.signal
        if self.over_prompts or signal is None or not signal.signal or not signal.noise or not self.count:
            return None
        return math.ceil(self.count * (_reach(LEVEL) * signal.noise / signal.signal) ** 2)


@dataclass(frozen=True, slots=True)
class ColumnChanges:
    """The changes of one column over all trainings."""

    column: int
    """The place of the column among the groups."""
    series: tuple[SeriesChanges, ...]
    """Those of each training with at least two complete results."""

    @property
    def between(self) -> SignalNoise | None:
        """The signal and noise between trainings."""
        return training_signal([one.scores for one in self.series])


def column_changes(
    groups: Sequence[Group], counting: Sequence[Counting], series: Sequence[Series]
) -> Iterator[ColumnChanges]:
    """Yield the changes of each column with a training of at least two complete results; tests have none.

    Args:
        groups: The columns.
        counting: For each the runs that count.
        series: The trainings.
    """
    for place, (group, runs) in enumerate(zip(groups, counting, strict=True)):
        cells = {model: cell_of(found, len(group.runs), check=lambda _: "") for model, found in runs.items()}
        found = [each for one in series if (each := _changes(one, runs, cells))]
        if found:
            yield ColumnChanges(place, tuple(found))


def _changes(series: Series, runs: Counting, cells: Mapping[str, Cell]) -> SeriesChanges | None:
    by_model = {
        found.spec.model.model_dump_json(): model for model, several in runs.items() for found in several.values()
    }
    points: dict[int, str] = {}
    for one in series.checkpoints:
        model = by_model.get(one.model.model_dump_json())
        cell = cells.get(model) if model is not None else None
        if model is not None and cell is not None and cell.complete and cell.mean is not None:
            points[one.step] = model
    if len(points) < 2:
        return None
    models = list(points.values())
    size = len(models) - 1
    changes = [_change(runs[one], runs[other], cells[one], cells[other], size) for one, other in pairwise(models)]
    known = [change for change in changes if change is not None]
    if len(known) < size:
        return None
    scores = tuple(float(cells[model].mean or 0.0) for model in models)
    return SeriesChanges(series, tuple(points), scores, cells[models[-1]].count, tuple(known))


def _change(
    earlier: Mapping[str, RunRecord], later: Mapping[str, RunRecord], first: Cell, second: Cell, comparisons: int
) -> Change | None:
    """Return the change of a column's score; None if its error is unknown."""
    parts = [_paired(earlier[key], later[key]) for key in sorted(earlier)] if earlier.keys() == later.keys() else []
    known = [part for part in parts if part is not None]
    if parts and len(known) == len(parts):
        return _pooled(known, comparisons)
    if first.mean is None or second.mean is None or first.stderr is None or second.stderr is None:
        return None
    return _normal(second.mean - first.mean, first.stderr**2 + second.stderr**2, comparisons, paired=False)


def _pooled(parts: Sequence[_Part], comparisons: int) -> Change:
    """Return the change of the mean over the parts of a scenario."""
    effects = [part.effects for part in parts if part.effects is not None]
    if len(effects) == len(parts) and agreed(part.prompts for part in parts) is not None:
        joined = _joined(effects)
        error = joined.estimate.stderr or 0.0
        p = joined.p() if error else 1.0
        return Change(joined.estimate.value, error * error, p, None, paired=True, over_prompts=True)
    if len(parts) == 1:
        (one,) = parts
        return Change(
            one.scores.difference, one.variance, one.scores.p, one.scores.detectable(comparisons), paired=True
        )
    difference = math.fsum(part.scores.difference for part in parts) / len(parts)
    variance = math.fsum(part.variance for part in parts) / len(parts) ** 2
    found = _normal(difference, variance, comparisons, paired=True)
    return replace(found, could_show=None, over_prompts=True) if effects else found


def _joined(effects: Sequence[ConditionEffects]) -> ConditionEffects:
    """Return the mean of several parts' differences: a prompt changes all parts at once."""
    count = len(effects)
    errors = [each.instances.stderr or 0.0 for each in effects]
    instances = Estimate(
        math.fsum(each.instances.value for each in effects) / count,
        sum(each.instances.clusters or each.instances.count for each in effects),
        math.sqrt(math.fsum(error * error for error in errors)) / count,
    )
    means = [math.fsum(each) / count for each in zip(*(each.means for each in effects), strict=True)]
    return combined(instances, means, math.fsum(each.noise for each in effects) / count**2, None)


def _normal(difference: float, variance: float, comparisons: int, *, paired: bool) -> Change:
    error = math.sqrt(variance)
    if not error:  # equal scores on a few instances do not show that the models are equal
        return Change(difference, variance, 1.0, None, paired)
    p = 2.0 * NormalDist().cdf(-abs(difference) / error)
    return Change(difference, variance, p, _reach(LEVEL / comparisons) * error, paired)


def _reach(level: float) -> float:
    """Return how many standard errors a difference is that is shown with a power of 0.8."""
    return normal_quantile(1.0 - level / 2.0) + normal_quantile(POWER)


@dataclass(frozen=True, slots=True)
class _Part:
    """The paired comparison of a part of a scenario."""

    scores: PairedScores
    """On the instances that both scored, each with its mean over the prompts that both have."""
    variance: float
    """The squared standard error of the difference."""
    effects: ConditionEffects | None
    """The difference over instances and prompts; None if there are too few prompts."""
    prompts: tuple[str, ...]
    """The prompts in words."""


def _paired(earlier: RunRecord, later: RunRecord) -> _Part | None:
    """Return the comparison of two runs on the instances that both scored; None if there are none.

    If there are variants of a prompt, those that both have are compared.
    """
    try:
        variants = matched_prompts(earlier, later)
    except DataError:  # they have none in common
        return None
    runs = [run for one_prompt in zip(*variants.values(), strict=True) for run in one_prompt]
    scores = [run.instance_scores for run in runs if run.instance_scores is not None and has_number(run)]
    if len(scores) < len(runs):
        return None
    scales = tuple(stat.scale for run in runs if (stat := main_stat(run)) is not None)
    return _compared(tuple(scores), scales, later.spec.main_metric, tuple(variants))


@lru_cache(maxsize=10_000)
def _compared(
    runs: tuple[InstanceScores, ...], scales: tuple[Scale | None, ...], metric: str, prompts: tuple[str, ...]
) -> _Part | None:
    """Return the comparison of two checkpoints' scores; cached, because a site that is rebuilt needs it every time.

    Args:
        runs: The scores of the earlier checkpoint under each prompt, then those of the later.
        scales: The scale that each run declares.
        metric: The metric's name.
        prompts: The prompts in words.
    """
    keys, table, clusters = common_table(runs)
    if len(keys) < 2:
        return None
    scale = common_scale(scales, float(table.min()), float(table.max()))
    if scale is not None:
        table = table.clip(*scale.bounds)  # they are stored with 32 bits
    before, after = table[:, : len(prompts)], table[:, len(prompts) :]
    names = list(map(str, keys.tolist()))
    members = None if clusters is None else clusters.tolist()
    answers = [_answers(names, side.mean(axis=1).tolist()) for side in (after, before)]
    by_name = None if members is None else dict(zip(names, members, strict=True))
    scores = compare_answers(answers[0], answers[1], scale, metric, by_name)
    if len(prompts) >= FEWEST_CONDITIONS:
        effects = paired_condition_effects(after, before, scale, members)
        error = effects.estimate.stderr
        return None if error is None else _Part(scores, error * error, effects, prompts)
    return None if scores.variance is None else _Part(scores, scores.variance / scores.count, None, prompts)


def _answers(names: Sequence[str], scores: Sequence[float]) -> Answers:
    return {name: {0: (score, 0)} for name, score in zip(names, scores, strict=True)}
