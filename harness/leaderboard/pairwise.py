"""How certain it is, within one column, that one model is better than another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
class ContestResult:
    """One model's result in one column."""

    mean: float
    """The result."""
    stderr: float | None = None
    """Its standard error, where known."""
    count: float = 0.0
    """Number of instances or clusters; of the mean of several runs, see
    :attr:`harness.leaderboard.cells.Cell.effective`."""
    scores: tuple[InstanceScores, ...] = ()
    """The instance scores of each run that it is the mean of; empty if any are unknown."""
    weights: tuple[float, ...] = ()
    """The factor of each of these runs' means; empty if all runs count the same."""
    families: tuple[str, ...] = ()
    """The scenario of each of these runs; empty if all are of the same."""


@dataclass(frozen=True, slots=True)
class Contest:
    """The results of one column that may be compared."""

    name: str
    """Identifies the column."""
    higher_is_better: bool
    """True if higher is better, False if lower is."""
    results: Mapping[str, ContestResult]
    """Results by model; models without a result are left out."""
    bounds: tuple[float, float] | None = (0.0, 1.0)
    """The metric's smallest and largest value; None if it is unbounded."""
    instances: str = ""
    """Equal for contests over the same instances, such as two metrics of one column; empty if there are no others."""


def snapped(value: float) -> float:
    """Return a mean rounded so that means which differ by rounding errors only tie."""
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

    results = [contest.results[model] for model in sorted(contest.results)]
    low, high = contest.bounds or (0.0, 1.0)
    unit = (high - low) * (1.0 if contest.higher_is_better else -1.0)
    means = np.array([snapped(result.mean) for result in results])
    difference = (means[:, None] - means[None, :]) / unit
    between = covariances(results) / unit**2
    own = np.diag(between)
    variance = np.maximum(own[:, None] + own[None, :] - 2.0 * between, 0.0)
    sizes = np.array([result.count for result in results])
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

    models = sorted(contest.results)
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


def covariances(results: Sequence[ContestResult]) -> Floats:
    """Return the covariances of the results' means; NaN in the row and column of one without a standard error."""
    import numpy as np

    found = np.diag([math.nan if result.stderr is None else result.stderr**2 for result in results])
    paired = [place for place, result in enumerate(results) if _paired(result)]
    parts = [len(results[place].scores) for place in paired]
    if len(paired) < 2 or len(set(parts)) > 1:
        return found
    runs = [results[place].scores for place in paired]
    weights = np.array([results[place].weights or (1.0 / parts[0],) * parts[0] for place in paired])
    total = np.zeros((len(paired), len(paired)))
    for dependent in dependent_runs(runs[0], results[paired[0]].families):
        joint = covariances_of_means([scores[part] for part in dependent for scores in runs])
        factors = weights[:, dependent].T.ravel()
        blocks = (joint * np.outer(factors, factors)).reshape(len(dependent), len(runs), len(dependent), -1)
        total += blocks.sum(axis=(0, 2))
    found[np.ix_(paired, paired)] = total
    return found


def dependent_runs(runs: Sequence[InstanceScores], families: Sequence[str] = ()) -> list[list[int]]:
    """Return the positions of a model's runs, those together that share instances, or clusters within a scenario.

    Args:
        runs: The scores of each run.
        families: The scenario of each; empty if all are of the same.
    """
    import numpy as np

    of = list(range(len(runs)))

    def join(units: Sequence[NDArray[Any]], places: Sequence[int]) -> None:
        distinct = [np.unique(each) for each in units]
        numbers = np.concatenate(distinct)
        order = np.argsort(numbers, kind="stable")
        owners = np.repeat(np.array(places), [len(each) for each in distinct])[order]
        shared = numbers[order][1:] == numbers[order][:-1]
        for pair in np.unique(np.stack([owners[:-1][shared], owners[1:][shared]]), axis=1).T.tolist():
            one, other = (of[place] for place in pair)
            of[:] = [one if each == other else each for each in of]

    if len(runs) > 1:
        join([run.numbered_keys() for run in runs], range(len(runs)))
        for family in sorted(set(families)) or [""]:
            places = [place for place in range(len(runs)) if not families or families[place] == family]
            clustered = [(place, units) for place in places if (units := runs[place].clusters()) is not None]
            if len(clustered) > 1:
                join([units for _, units in clustered], [place for place, _ in clustered])
    found: dict[int, list[int]] = {}
    for place, name in enumerate(of):
        found.setdefault(name, []).append(place)
    return list(found.values())


def _paired(result: ContestResult) -> bool:
    """Return whether the instances' scores are known and their mean is the result."""
    if not result.scores or min(map(len, result.scores)) < 2:
        return False
    clusters = [scores.clusters() for scores in result.scores]
    if any(numbers is not None and len(set(numbers.tolist())) < 2 for numbers in clusters):
        return False
    if result.weights:
        return True  # checked for each run, since what they are rescaled by is not known here
    mean = math.fsum(float(scores.scores().mean()) for scores in result.scores) / len(result.scores)
    return math.isclose(mean, result.mean, rel_tol=_SAME_MEAN, abs_tol=_SAME_MEAN)


def covariances_of_means(runs: Sequence[InstanceScores]) -> Floats:
    """Return the covariances of the means of several runs, which may share all, some or none of their instances.

    The deviations of a cluster's instances are summed before they are multiplied. Where only some runs have clusters,
    the others' instances are in the clusters that these have for the same instances.
    """
    import numpy as np

    if all(run.keys == runs[0].keys and not run.packed_clusters for run in runs):
        scores = [run.scores() for run in runs]
        centred = np.stack([each - each.mean() for each in scores])
        size = len(runs[0])
        same: Floats = centred @ centred.T / (size * (size - 1.0))
        return same
    units = _units(runs)
    union, places = np.unique(np.concatenate(units), return_inverse=True)
    ends = np.cumsum([len(unit) for unit in units])[:-1]
    centred = np.zeros((len(runs), len(union)))
    counts = np.zeros(len(runs))
    for row, (run, rows) in enumerate(zip(runs, np.split(places, ends), strict=True)):
        values = run.scores()
        centred[row] = np.bincount(rows, values - values.mean(), minlength=len(union))
        counts[row] = len(np.unique(rows))
    scale = np.array([len(run) for run in runs]) * np.sqrt((counts - 1.0) / counts)
    covariances: Floats = centred @ centred.T / np.outer(scale, scale)
    return covariances


def _units(runs: Sequence[InstanceScores]) -> list[NDArray[Any]]:
    """Return for each run numbers of the independent units of its instances: of clusters where any run knows them."""
    import numpy as np

    groups = [run.clusters() for run in runs]
    if all(group is None for group in groups):
        return [run.numbered_keys() for run in runs]
    known = [(run.numbered_keys(), group) for run, group in zip(runs, groups, strict=True) if group is not None]
    if len(known) == len(runs):
        return [group for _, group in known]
    keys, first = np.unique(np.concatenate([key for key, _ in known]), return_index=True)
    clusters = np.concatenate([group for _, group in known])[first]
    found: list[NDArray[Any]] = []
    for run, group in zip(runs, groups, strict=True):
        own = run.numbered_keys()
        at = np.searchsorted(keys, own).clip(0, len(keys) - 1)
        alone = own + np.uint64(1 << 48)  # other numbers than those of clusters, which have 32 bits
        shared = np.where(keys[at] == own, clusters[at].astype(np.uint64), alone)
        found.append(shared if group is None else group.astype(np.uint64))
    return found
