"""The mean win rate: how often a model beats a randomly picked one, averaged over columns, with an interval.

A leaderboard's columns have different metrics and scales, so their means cannot be averaged. Liang et al. (2022, §8.1,
"head-to-head win rate") average instead, over columns, the fraction of other models that a model beats there.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from harness.leaderboard.pairwise import ALPHA, Contest, snapped, z_scores
from harness.statistics import certain_count

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class WinRate:
    """A model's mean win rate."""

    value: float
    """Between 0 and 1."""
    low: float | None
    """Lower end of the 95 % interval; None if none of the pairs of results can be tested."""
    high: float | None
    """Upper end of the 95 % interval."""
    columns: int
    """Number of columns that it is averaged over."""
    of: int
    """Number of columns that count in anybody's win rate."""
    first: int = 1
    """The best rank that the model may have; the ranks of all models are correct at once with 95 % probability."""
    last: int = 1
    """The worst rank that it may have."""

    @property
    def undecided(self) -> bool:
        """True if n is too small to say which is better for any pair of results."""
        return self.low == 0.0 and self.high == 1.0


def win_rates(contest: Contest) -> dict[str, float]:
    """Return each model's win rate in one column: (models beaten + ½ · models tied with) / (other models).

    Empty if fewer than two models have a result.
    """
    import numpy as np

    models = sorted(contest.results)
    if len(models) < 2:
        return {}
    means = np.array([[snapped(contest.results[model].mean) for model in models]])
    return dict(zip(models, _wins(means, contest.higher_is_better)[0].tolist(), strict=True))


def mean_win_rates(contests: Sequence[Contest]) -> dict[str, WinRate]:
    """Return each model's win rate averaged over the columns with at least two results in which it has one.

    The 95 % interval counts what is certain. For a model, every column and every other model, one-sided paired p-values
    (:func:`harness.leaderboard.pairwise.z_scores`) say how certain the win or the loss is; closed testing
    (:func:`harness.statistics.certain_count`) bounds from below how many of the wins are true, and how many of the
    losses, each with an error of 2.5 %. The interval goes from the share of certain wins to 1 − the share of certain
    losses; a tie is neither. It is about new instances of the same columns. Resampling the means does not work here:
    the win rate is a step function, and a draw has the noise twice.

    A model's ranks go from 1 + the models whose interval lies above its own to M − those whose interval lies below,
    with intervals at the level 1 − 0.05/M for all M models (Klein, Wright and Wieczorek 2020). The intervals of two
    models mirror each other, so theirs are right or wrong together and have the level 0.95.

    Models without a result in any such column are left out. The result does not depend on the order of the columns
    or of the models.
    """
    import numpy as np

    contests = sorted((contest for contest in contests if len(contest.results) >= 2), key=lambda c: c.name)
    points: dict[str, list[float]] = {}
    pairs: dict[str, list[tuple[str, Floats]]] = {}
    for contest in contests:
        models, z = sorted(contest.results), z_scores(contest)
        rates = win_rates(contest)
        for place, model in enumerate(models):
            points.setdefault(model, []).append(rates[model])
            pairs.setdefault(model, []).append((contest.instances or contest.name, np.delete(z[place], place)))
    found = {}
    joint: dict[str, tuple[float, float]] = {}
    alphas = ALPHA, ALPHA / len(points) if len(points) > 2 else ALPHA
    for model, values in points.items():
        value = math.fsum(values) / len(values)
        # Near ties that all fall on one side must not push an end of the interval past the point.
        (low, high), joint[model] = (
            (min(below, value), max(above, value)) for below, above in _intervals(pairs[model], alphas)
        )
        known = any(not bool(np.isnan(each).all()) for _, each in pairs[model])
        found[model] = WinRate(
            value,
            low if known else None,
            high if known else None,
            columns=len(values),
            of=len(contests),
        )
    return {
        model: replace(
            rate,
            first=1 + sum(low > joint[model][1] for low, _ in joint.values()),
            last=len(joint) - sum(high < joint[model][0] for _, high in joint.values()),
        )
        for model, rate in found.items()
    }


def ranks(values: Mapping[str, float]) -> dict[str, int]:
    """Return each name's rank by value, from 1 for the highest; ties share a rank and the next one is skipped."""
    rounded = {name: snapped(value) for name, value in values.items()}
    return {name: 1 + sum(other > value for other in rounded.values()) for name, value in rounded.items()}


def _intervals(pairs: Sequence[tuple[str, Floats]], alphas: Sequence[float]) -> list[tuple[float, float]]:
    """Return a model's interval at each error probability.

    Args:
        pairs: For each column what names its instances, and the model's z-scores against the others.
        alphas: The error probabilities.
    """
    import numpy as np
    from scipy.special import log_ndtr

    z = np.concatenate([each for _, each in pairs])
    # Pairs that cannot be tested count with p = 1 on either side.
    wins, losses = (np.nan_to_num(log_ndtr(sign * z), nan=0.0) for sign in (-1.0, 1.0))
    others = [len(each) for _, each in pairs]
    dependent: Counter[str] = Counter()
    for (instances, _), size in zip(pairs, others, strict=True):
        dependent[instances] += size
    # A win counts less in a column with more models. It is not known which wins are certain, so the least are counted.
    weights = np.sort(np.concatenate([np.full(size, 1.0 / (size * len(pairs))) for size in others]))
    total = np.concatenate([[0.0], np.cumsum(weights)])
    total[-1] = 1.0

    def share(log_p: Floats, alpha: float) -> float:
        return float(total[certain_count(log_p, max(dependent.values()), alpha / 2.0)])

    return [(share(wins, alpha), 1.0 - share(losses, alpha)) for alpha in alphas]


def _wins(means: Floats, higher_is_better: bool) -> Floats:
    """Return, for each row of ``[rows, models]`` means, the fraction of the row's other entries that each beats.

    In a sorted row a result's place counts those it beats, and those of its ties that come before it. Averaged over a
    sort that breaks ties by position and one that breaks them the other way round, each tie counts one half.
    """
    values = means if higher_is_better else -means
    forward = _places(values)
    backward = _places(values[:, ::-1])[:, ::-1]
    wins: Floats = (forward + backward) / (2 * (means.shape[1] - 1))
    return wins


def _places(values: Floats) -> npt.NDArray[Any]:
    import numpy as np

    places = np.empty(values.shape, dtype=np.int64)
    order = np.argsort(values, axis=1, kind="stable")
    np.put_along_axis(places, order, np.arange(values.shape[1])[np.newaxis, :], axis=1)
    return places
