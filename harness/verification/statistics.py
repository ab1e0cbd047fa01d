"""Checks a run's statistics against its answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from harness.contracts import Stat
from harness.plugins.registry import Registry
from harness.runs.rescoring import recomputed_stats
from harness.storage.results import RunRecord

SAME = 1e-9
"""Relative difference, or absolute below 1, up to which numbers count as equal: the order of sums may differ."""


@dataclass(frozen=True, slots=True)
class ChangedStatistic:
    """A statistic of run.json that the run's answers do not give."""

    name: str
    """The metric, with perturbation, kind of comparison and group where there are any."""
    recorded: float | None
    """The mean in run.json; None if run.json lacks the statistic."""
    computed: float | None
    """The mean of the answers; None if they do not give the statistic."""


def changed_statistics(record: RunRecord, registry: Registry) -> list[ChangedStatistic]:
    """Return the statistics in run.json that differ from those computed again from the run's examples.

    Statistics of metrics that ask judges or other models are not compared.

    Raises:
        HarnessError: The examples are missing or damaged, or a metric cannot score them.
    """
    computed = {_key(stat): stat for stat in recomputed_stats(record, registry)}
    names = {stat.metric for stat in computed.values()}
    recorded = {_key(stat): stat for stat in record.stats if stat.metric in names}
    found = []
    for key in (*recorded, *(key for key in computed if key not in recorded)):
        then, now = recorded.get(key), computed.get(key)
        if then is None or now is None or not _same(_numbers(then), _numbers(now)):
            found.append(ChangedStatistic(_name(key), then.mean if then else None, now.mean if now else None))
    return found


def _key(stat: Stat) -> tuple[str | None, ...]:
    compared = None if stat.computed_on == "original" else stat.computed_on
    return stat.metric, stat.perturbation, compared, stat.group, stat.split


def _name(key: Sequence[str | None]) -> str:
    return "/".join(filter(None, key[:-1]))


def _numbers(stat: Stat) -> list[float | None]:
    return [stat.count, stat.mean, stat.stderr, *(stat.ci95 or (None, None)), stat.min, stat.max]


def _same(then: Sequence[float | None], now: Sequence[float | None]) -> bool:
    def equal(one: float | None, other: float | None) -> bool:
        if one is None or other is None:
            return one is other
        return math.isclose(one, other, rel_tol=SAME, abs_tol=SAME) or (math.isnan(one) and math.isnan(other))

    return all(equal(*pair) for pair in zip(then, now, strict=True))
