"""The mean win rate: how often a model beats another one picked at random, averaged over columns, with an interval.

A leaderboard's columns have different metrics and scales, so their means cannot be averaged. Liang et al. (2022, §8.1,
"head-to-head win rate") average instead, over columns, the fraction of other models that a model beats there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.seeds import derive_seed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

DRAWS = 2000
# Means that agree to this many significant digits tie: sums in another order differ in the last bits only.
DIGITS = 12


@dataclass(frozen=True, slots=True)
class Entry:
    """One model's result in one column: its mean, and the standard error of it where that is known."""

    mean: float
    stderr: float | None = None


@dataclass(frozen=True, slots=True)
class Contest:
    """The results of one column that may be compared.

    Attributes:
        name: Identifies the column; the interval's random numbers derive from it.
        higher_is_better: Which way is better.
        entries: Results by model; a model without a result is left out.
    """

    name: str
    higher_is_better: bool
    entries: Mapping[str, Entry]


@dataclass(frozen=True, slots=True)
class WinRate:
    """A model's mean win rate.

    Attributes:
        value: Between 0 and 1.
        low: Lower end of the 95 % interval; None if a result that it rests on has no standard error.
        high: Upper end of the 95 % interval.
        columns: Over how many columns it is averaged.
        of: How many columns there are that anybody could win.
    """

    value: float
    low: float | None
    high: float | None
    columns: int
    of: int


def win_rates(contest: Contest) -> dict[str, float]:
    """Return each model's win rate in one column: (models beaten + ½ · models tied with) / (other models).

    Empty if fewer than two models have a result.
    """
    import numpy as np

    models = sorted(contest.entries)
    if len(models) < 2:
        return {}
    means = np.array([[_snapped(contest.entries[model].mean) for model in models]])
    return dict(zip(models, _wins(means, contest.higher_is_better)[0].tolist(), strict=True))


def mean_win_rates(contests: Sequence[Contest], *, draws: int = DRAWS, seed: int = 0) -> dict[str, WinRate]:
    """Return each model's win rate averaged over the columns with at least two results in which it has one.

    The 95 % interval is a parametric bootstrap: every mean is drawn anew, ``draws`` times, from a normal distribution
    with its standard error, and the mean win rates' 2.5 % and 97.5 % quantiles are taken. Means are drawn
    independently, though models usually answer the same instances and so err alike: the interval is rather too wide
    than too narrow. Near ties that all fall one way can put the point outside the quantiles; the interval then reaches
    to it. It speaks of instances, not of which scenarios were chosen.

    A model that has a result in no such column has no mean win rate and is left out. The result depends on neither
    the order of the columns nor of the models.
    """
    import numpy as np

    contests = sorted((contest for contest in contests if len(contest.entries) >= 2), key=lambda c: c.name)
    points: dict[str, list[float]] = {}
    totals: dict[str, npt.NDArray[np.float64]] = {}
    uncertain: set[str] = set()
    for contest in contests:
        for model, rate in win_rates(contest).items():
            points.setdefault(model, []).append(rate)
        if any(entry.stderr is None for entry in contest.entries.values()):
            uncertain.update(contest.entries)
            continue
        models = sorted(contest.entries)
        drawn = np.stack([_drawn(contest, model, draws, seed) for model in models], axis=1)
        for model, wins in zip(models, _wins(drawn, contest.higher_is_better).T, strict=True):
            totals[model] = totals.get(model, 0) + wins
    found = {}
    for model, rates in points.items():
        value = math.fsum(rates) / len(rates)
        low = high = None
        if model not in uncertain:
            quantiles = np.quantile(totals[model] / len(rates), [0.025, 0.975])
            low, high = min(float(quantiles[0]), value), max(float(quantiles[1]), value)
        found[model] = WinRate(value, low, high, columns=len(rates), of=len(contests))
    return found


def ranks(values: Mapping[str, float]) -> dict[str, int]:
    """Return each name's rank by value, from 1 for the highest; ties share a rank and the next one is skipped."""
    snapped = {name: _snapped(value) for name, value in values.items()}
    return {name: 1 + sum(other > value for other in snapped.values()) for name, value in snapped.items()}


def best(contest: Contest) -> frozenset[str]:
    """Return the models with the best result of a column, several if they tie; none unless a model is worse."""
    snapped = {model: _snapped(entry.mean) for model, entry in contest.entries.items()}
    if len(set(snapped.values())) < 2:
        return frozenset()
    top = max(snapped.values()) if contest.higher_is_better else min(snapped.values())
    return frozenset(model for model, mean in snapped.items() if mean == top)


def _snapped(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _drawn(contest: Contest, model: str, draws: int, seed: int) -> npt.NDArray[np.float64]:
    import numpy as np

    entry = contest.entries[model]
    # A generator for each cell: the draws of one do not depend on which others there are.
    generator = np.random.default_rng(derive_seed(seed, f"mean-win-rate/{contest.name}/{model}"))
    return _snapped(entry.mean) + (entry.stderr or 0.0) * generator.standard_normal(draws)


def _wins(means: npt.NDArray[np.float64], higher_is_better: bool) -> npt.NDArray[np.float64]:
    """Return, for each row of ``[draws, models]`` means, the fraction of the row's other entries that each beats.

    In a sorted row an entry's place counts those it beats, and those of its ties that come before it. Averaged over a
    sort that breaks ties by position and one that breaks them the other way round, each tie counts one half.
    """
    values = means if higher_is_better else -means
    forward = _places(values)
    backward = _places(values[:, ::-1])[:, ::-1]
    wins: npt.NDArray[np.float64] = (forward + backward) / (2 * (means.shape[1] - 1))
    return wins


def _places(values: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    import numpy as np

    places = np.empty(values.shape, dtype=np.int64)
    order = np.argsort(values, axis=1, kind="stable")
    np.put_along_axis(places, order, np.arange(values.shape[1])[np.newaxis, :], axis=1)
    return places
