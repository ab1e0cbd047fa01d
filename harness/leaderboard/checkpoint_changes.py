"""How much scores change between neighbouring checkpoints of a training, and whether the instances can show it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from statistics import NormalDist, median

from harness.contracts import Scale
from harness.leaderboard.aggregate import Counting
from harness.leaderboard.cells import Cell, cell_of, has_number, main_stat
from harness.leaderboard.checkpoints import Series
from harness.leaderboard.columns import Group
from harness.leaderboard.paired_scores import Answers, PairedScores, compare_answers
from harness.leaderboard.pairwise import ALPHA
from harness.leaderboard.prompt_variants import common_table
from harness.statistics import holm
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
    """The smallest true change that is shown with a power of 0.8 after Holm's correction; None if none is."""
    paired: bool
    """True if the same instances are compared; False if their scores are unknown."""


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
    def needed(self) -> int | None:
        """Number of instances with which a typical true change is shown with a power of 0.8; None without a signal."""
        signal = self.signal
        if signal is None or not signal.signal or not signal.noise or not self.count:
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
    known = [part for part in parts if part is not None and part.variance is not None]
    if parts and len(known) == len(parts):
        if len(known) == 1:
            (one,) = known
            variance = (one.variance or 0.0) / one.count
            return Change(one.difference, variance, one.p, one.detectable(comparisons), paired=True)
        difference = math.fsum(part.difference for part in known) / len(known)
        return _normal(
            difference,
            math.fsum((part.variance or 0.0) / part.count for part in known) / len(known) ** 2,
            comparisons,
            paired=True,
        )
    if first.mean is None or second.mean is None or first.stderr is None or second.stderr is None:
        return None
    return _normal(second.mean - first.mean, first.stderr**2 + second.stderr**2, comparisons, paired=False)


def _normal(difference: float, variance: float, comparisons: int, *, paired: bool) -> Change:
    error = math.sqrt(variance)
    if not error:  # a few equal scores are no evidence that all others are equal
        return Change(difference, variance, 1.0, None, paired)
    p = 2.0 * NormalDist().cdf(-abs(difference) / error)
    return Change(difference, variance, p, _reach(LEVEL / comparisons) * error, paired)


def _reach(level: float) -> float:
    """Return how many standard errors a difference is that is shown with a power of 0.8."""
    return normal_quantile(1.0 - level / 2.0) + normal_quantile(POWER)


def _paired(earlier: RunRecord, later: RunRecord) -> PairedScores | None:
    """Return the comparison of two runs on the instances that both scored; None if there are none."""
    one, other, stat = earlier.instance_scores, later.instance_scores, main_stat(later)
    if one is None or other is None or stat is None or not has_number(earlier):
        return None
    return _compared(one, other, stat.scale, later.spec.main_metric)


@lru_cache(maxsize=10_000)
def _compared(one: InstanceScores, other: InstanceScores, scale: Scale | None, metric: str) -> PairedScores | None:
    """Return the comparison of two runs' scores, which a site that is built again and again asks for each time."""
    keys, table, clusters = common_table([one, other])
    if len(keys) < 2:
        return None
    before, after = (_answers(keys.tolist(), column) for column in table.T.tolist())
    members = None if clusters is None else dict(zip(map(str, keys.tolist()), clusters.tolist(), strict=True))
    return compare_answers(after, before, scale, metric, members)


def _answers(keys: Sequence[int], scores: Sequence[float]) -> Answers:
    return {str(key): {0: (score, 0)} for key, score in zip(keys, scores, strict=True)}
