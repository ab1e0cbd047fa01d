"""How sure it is, within one column, that one model is better than another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.storage.instance_scores import InstanceScores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

ALPHA = 0.05

# Means that agree to this many significant digits tie: sums in another order differ in the last bits only.
DIGITS = 12

_LARGEST = 37.0
"""Largest z; beyond it the normal distribution's tail is below double precision."""

_SAME_MEAN = 1e-5
"""Relative difference up to which a cell's mean and that of its instances' scores, of 32 bits, are the same."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One model's result in one column."""

    mean: float
    """The result."""
    stderr: float | None = None
    """Its standard error, where known."""
    count: float = 0.0
    """Number of instances; of the mean of several runs, see :attr:`harness.leaderboard.cells.Cell.effective`."""
    scores: tuple[InstanceScores, ...] = ()
    """For each run that it is the mean of, the scores of its instances; empty where any is unknown."""


@dataclass(frozen=True, slots=True)
class Contest:
    """The results of one column that may be compared."""

    name: str
    """Identifies the column."""
    higher_is_better: bool
    """Which way is better."""
    entries: Mapping[str, Entry]
    """Results by model; a model without a result is left out."""
    bounds: tuple[float, float] | None = (0.0, 1.0)
    """The metric's smallest and largest value; None without such bounds."""


def snapped(value: float) -> float:
    """Return a mean rounded so that equal means tie."""
    return float(f"{value:.{DIGITS}g}")


def z_scores(contest: Contest) -> Floats:
    """Return how far each model is better than each other one, in standard errors, shape (models, models), by name.

    The models are in alphabetical order. Φ(−z) is the one-sided p-value that the first is not better. Scores of the
    same instances are paired; where they are unknown the variances are added, which is wider where models find the same
    instances hard. Of a bounded metric, one instance of the largest disagreement is added for each side, so that a
    few disagreements by chance never seem certain: with n instances, d the mean difference and v its variance,

        s = n(n − 1)·v + n·d² + 2,  m = n·d/(n + 2),  z = m / √((s − (n + 2)·m²) / (n + 2)²)

    (the interval is Bonett and Price's, 2012, for scores of 0 and 1). Of others it is Student's t with n − 1 degrees of
    freedom, as the normal quantile with the same tail. NaN where a standard error is unknown.
    """
    import numpy as np

    entries = [contest.entries[model] for model in sorted(contest.entries)]
    low, high = contest.bounds or (0.0, 1.0)
    unit = (high - low) * (1.0 if contest.higher_is_better else -1.0)
    means = np.array([snapped(entry.mean) for entry in entries])
    difference = (means[:, None] - means[None, :]) / unit
    covariances = _covariances(entries) / unit**2
    own = np.diag(covariances)
    variance = np.maximum(own[:, None] + own[None, :] - 2.0 * covariances, 0.0)
    sizes = np.array([entry.count for entry in entries])
    count = np.minimum(sizes[:, None], sizes[None, :])
    with np.errstate(invalid="ignore", divide="ignore"):
        if contest.bounds is None:
            z = _as_normal(difference / np.sqrt(np.where(variance > 0.0, variance, np.nan)), count)
        else:
            square = count * (count - 1.0) * variance + count * difference**2 + 2.0
            shrunk = count * difference / (count + 2.0)
            z = shrunk * (count + 2.0) / np.sqrt(square - (count + 2.0) * shrunk**2)
    np.fill_diagonal(z, 0.0)
    clipped: Floats = z.clip(-_LARGEST, _LARGEST)
    return clipped


def column_ranks(contest: Contest) -> dict[str, tuple[int, int]]:
    """Return the ranks that each model of a column may have, all of them right at once with 95 % probability.

    All pairs are tested two-sided by Holm's method; a rank lies between 1 + the models that are surely better and M −
    those that are surely worse (Mogstad, Romano, Shaikh and Wilhelm 2024). Empty for fewer than two models.
    """
    import numpy as np
    from scipy.special import ndtr

    models = sorted(contest.entries)
    if len(models) < 2:
        return {}
    z = z_scores(contest)
    rows, columns = np.triu_indices(len(models), 1)
    p_values = np.nan_to_num(2.0 * ndtr(-np.abs(z[rows, columns])), nan=1.0)
    order = np.argsort(p_values)
    kept = np.flatnonzero(p_values[order] * np.arange(len(order), 0, -1) > ALPHA)
    rejected = order[: kept[0]] if len(kept) else order
    sure = np.zeros_like(z, dtype=bool)
    sure[rows[rejected], columns[rejected]] = True
    sure |= sure.T
    better, worse = (sure & (z < 0.0)).sum(axis=1), (sure & (z > 0.0)).sum(axis=1)
    return {
        model: (1 + int(above), len(models) - int(below))
        for model, above, below in zip(models, better, worse, strict=True)
    }


def _as_normal(t: Floats, count: Floats) -> Floats:
    """Return normal quantiles with the tails of Student's t of ``count`` − 1 degrees of freedom."""
    import numpy as np
    from scipy.special import ndtri, stdtr

    tail = stdtr(np.where(count >= 2.0, count - 1.0, np.nan), -np.abs(t))
    z: Floats = -np.sign(t) * ndtri(tail)
    return z


def _covariances(entries: Sequence[Entry]) -> Floats:
    """Return the covariances of the entries' means; NaN in the row and column of one without a standard error."""
    import numpy as np

    found = np.diag([math.nan if entry.stderr is None else entry.stderr**2 for entry in entries])
    paired = [place for place, entry in enumerate(entries) if _paired(entry)]
    parts = [len(entries[place].scores) for place in paired]
    if len(paired) < 2 or len(set(parts)) > 1:
        return found
    total = np.zeros((len(paired), len(paired)))
    for part in range(parts[0]):
        total += _covariances_of_means([entries[place].scores[part] for place in paired])
    found[np.ix_(paired, paired)] = total / parts[0] ** 2
    return found


def _paired(entry: Entry) -> bool:
    """Return whether the instances' scores are known and are what the result is the mean of."""
    if not entry.scores or min(map(len, entry.scores)) < 2:
        return False
    mean = math.fsum(float(scores.scores().mean()) for scores in entry.scores) / len(entry.scores)
    return math.isclose(mean, entry.mean, rel_tol=_SAME_MEAN, abs_tol=_SAME_MEAN)


def _covariances_of_means(runs: Sequence[InstanceScores]) -> Floats:
    """Return the covariances of the means of several runs over instances that they share, all, some or none of them."""
    import numpy as np

    if all(run.keys == runs[0].keys for run in runs):
        scores = np.stack([run.scores() for run in runs])
        centred = scores - scores.mean(axis=1, keepdims=True)
    else:
        keys = [run.numbered_keys() for run in runs]
        union = np.unique(np.concatenate(keys))
        centred = np.zeros((len(runs), len(union)))
        for row, (run, places) in enumerate(zip(runs, keys, strict=True)):
            values = run.scores()
            centred[row, np.searchsorted(union, places)] = values - values.mean()
    sizes = np.array([len(run) for run in runs], dtype=np.float64)
    scale = np.sqrt(sizes * (sizes - 1.0))
    covariances: Floats = centred @ centred.T / np.outer(scale, scale)
    return covariances
