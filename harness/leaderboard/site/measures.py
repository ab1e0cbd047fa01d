"""What each category of metrics measures on a leaderboard's columns, and the mean win rates over it.

The accuracy of a scenario is its main metric. Robustness and fairness are the same metric on the worst of each
instance and its perturbed copies (Liang et al. 2022, section 4.4 and 4.5). A category in which
several metrics measure the same, such as calibration, is the one that a plugin declares as representing it; of any
other category, bias among them, every metric with a direction counts, each as a column of its own.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.answers.declined import Declined
from harness.contracts import Stat
from harness.contracts.plugins import CATEGORIES, CONTAMINATION, Kind, MetricDetails
from harness.leaderboard.aggregate import Column, Counting, contest_of, counted_in_win_rate, with_ranks
from harness.leaderboard.cells import Cell, counts_of, declined_by, pooled
from harness.leaderboard.columns import Group, agreed, grouped
from harness.leaderboard.pairwise import Contest
from harness.leaderboard.win_rate import WinRate, mean_win_rates
from harness.plugins.registry import Registry
from harness.storage.results import RunRecord

WORST = ("robustness", "fairness")
"""Categories that take the main metric on the worst of an instance and its perturbed copies."""

Key = tuple[str, str | None]
"""A metric, and the category of perturbations over which the worst is taken; None for unperturbed instances."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One metric on one column."""

    category: str
    """The category that it counts for."""
    column: int
    """The column's position on the board."""
    metric: str
    """The metric's name."""
    worst: str | None
    """The category of perturbations over which the worst is taken; None on unperturbed instances."""
    higher_is_better: bool | None
    """True if higher is better, False if lower is; None if the runs disagree."""
    cells: Mapping[str, Cell]
    """Results by model."""
    contest: Contest
    """The results that are compared: those of the complete cells."""
    represents: bool = False
    """True if it represents its category, in which several metrics measure the same."""
    contested: bool = False
    """True if it counts in the category's mean win rate."""


def representatives(registry: Registry) -> frozenset[str]:
    """Return the stats that metrics declare as representing their categories."""
    details = (metric.details for metric in registry.all(Kind.METRIC))
    return frozenset(each.represents for each in details if isinstance(each, MetricDetails) and each.represents)


def relevant(stat: Stat) -> bool:
    """Return whether the site compares a statistic: unperturbed ones, and the worst over a category."""
    return stat.group is None and (stat.overall or (stat.computed_on == "worst" and stat.perturbation in WORST))


def stats_of(run: RunRecord) -> Iterator[tuple[Key, Stat]]:
    """Yield the finite statistics that the site compares, of the split that was evaluated."""
    if run.status == "ok":
        for stat in run.stats:
            if stat.split == run.spec.eval_split and relevant(stat) and math.isfinite(stat.mean):
                yield (stat.metric, stat.perturbation), stat


def all_measures(column: int, group: Group, counting: Counting, representing: Collection[str] = ()) -> list[Measure]:
    """Return every metric of a column, the main one first, then by category and name."""
    found: dict[Key, dict[str, dict[str, Stat]]] = {}
    for model, subruns in counting.items():
        for subrun, run in subruns.items():
            for key, stat in stats_of(run):
                found.setdefault(key, {}).setdefault(model, {})[subrun] = stat
    remarks = _Remarks(counting)
    measures = [
        replace(_measure(group, column, key, by_model, counting, remarks), represents=key[0] in representing)
        for key, by_model in found.items()
    ]
    order = {name: position for position, name in enumerate(CATEGORIES)}
    main = (group.metric, None)
    return sorted(
        measures,
        key=lambda m: ((m.metric, m.worst) != main, order.get(m.category, 99), m.category, m.metric, m.worst or ""),
    )


def category_measures(
    groups: Sequence[Group], measures: Sequence[Sequence[Measure]], columns: Sequence[Column]
) -> dict[str, list[Measure]]:
    """Return, by category in the paper's order, the measures that its columns of the leaderboard show.

    Args:
        groups: The columns.
        measures: All metrics of each column.
        columns: The columns as they are on the leaderboard.
    """
    chosen: dict[str, list[Measure]] = {}
    counted = rated_columns(columns)
    for group, several, column in zip(groups, measures, columns, strict=True):
        for measure in representing(several, group.metric):
            if column.test and measure.category != CONTAMINATION:
                continue  # the time that a test of the data took, say, is not a result of the model on them
            chosen.setdefault(measure.category, []).append(measure)
    ordered = [*(name for name in CATEGORIES if name in chosen), *sorted(chosen.keys() - set(CATEGORIES))]
    return {name: _with_counted(groups, _alike(groups, chosen[name]), counted) for name in ordered}


def rated_columns(columns: Sequence[Column]) -> list[bool]:
    """Return which columns may count in win rates: of each scenario with its parameters the primary one.

    Tests of data sets and composite scores do not count.
    """
    return [column.primary and not column.test and column.score is None for column in columns]


def representing(measures: Sequence[Measure], main: str) -> list[Measure]:
    """Return the measures of one column that represent their categories."""
    found = []
    for category, several in grouped(measures, lambda measure: measure.category).items():
        if category in WORST:
            found += [m for m in several if m.metric == main and m.worst == category]
            continue
        plain = [m for m in several if m.worst is None]
        own = [m for m in plain if m.metric == main]
        known = [m for m in plain if m.represents]
        found += (
            own or known or ([] if category == "accuracy" else [m for m in plain if m.higher_is_better is not None])
        )
    return found


def win_rates(measures: Sequence[Measure]) -> dict[str, WinRate]:
    """Return the models' mean win rates over a category's measures."""
    return mean_win_rates([m.contest for m in measures if m.contested])


class _Remarks:
    """What is declined and counted in some runs of a model, which is the same for all metrics that these have."""

    def __init__(self, counting: Counting) -> None:
        self._counting = counting
        self._known: dict[tuple[str, ...], tuple[Declined, Mapping[str, tuple[int, int]]]] = {}

    def of(self, model: str, subruns: Iterable[str]) -> tuple[Declined, Mapping[str, tuple[int, int]]]:
        names = tuple(subruns)
        if (model, *names) not in self._known:
            runs = [self._counting[model][name] for name in names]
            self._known[model, *names] = declined_by(runs), counts_of(runs)
        return self._known[model, *names]


def _measure(
    group: Group,
    column: int,
    key: Key,
    by_model: Mapping[str, Mapping[str, Stat]],
    counting: Counting,
    remarks: _Remarks,
) -> Measure:
    metric, worst = key
    stats = [stat for subruns in by_model.values() for stat in subruns.values()]
    direction = agreed(stat.higher_is_better for stat in stats)
    cells = {
        model: pooled([subruns[name] for name in sorted(subruns)], len(group.runs), *remarks.of(model, subruns))
        for model, subruns in by_model.items()
    }
    name = "" if (metric, worst) == (group.metric, None) else f"{metric}/{worst}"
    contest = contest_of(group, cells, direction, counting, name)
    return Measure(stats[0].category, column, metric, worst, direction, with_ranks(cells, contest), contest)


def _alike(groups: Sequence[Group], measures: Sequence[Measure]) -> list[Measure]:
    """Return measures of the same kind: where a column has what represents the category, others need it too.

    Otherwise a column without times, say, would count with its numbers of tokens.
    """
    if not any(measure.represents for measure in measures):
        return list(measures)
    return [m for m in measures if m.represents or m.metric == groups[m.column].metric]


def _with_counted(groups: Sequence[Group], measures: Sequence[Measure], counted: Sequence[bool]) -> list[Measure]:
    possible = counted_in_win_rate([m.contest for m in measures], [groups[m.column].sample for m in measures])
    return [replace(m, contested=able and counted[m.column]) for m, able in zip(measures, possible, strict=True)]
