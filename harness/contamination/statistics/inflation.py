"""How much higher is a model's score on a benchmark than its score on a reference set leads one to expect?

The curve through other models, which are assumed to be clean, translates a score on the reference set into one on the
benchmark, however much harder one of the two is::

    benchmark |          x  <- the model: its score
              |          |
              |          | inflation
              |        . v
              |     .        . are the other models
              | .
              +------------------- reference set
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FEWEST_MODELS = 5
"""Fewest other models for a curve (ConStat's minimum, too)."""

_ATTEMPTS = 50
"""Draws of models to try before a resample is given up, where too few of them differ."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores on a benchmark and on a reference set, which have different instances."""

    benchmark: Floats
    """Shape (models, instances), between 0 and 1."""
    reference: Floats
    """Shape (models, instances), the same models."""
    benchmark_clusters: NDArray[np.int64]
    """The cluster of each instance of the benchmark; clusters are resampled whole."""
    reference_clusters: NDArray[np.int64]
    """The cluster of each instance of the reference set."""


@dataclass(frozen=True, slots=True)
class Inflation:
    """An estimate, with its bootstrap interval."""

    score: float
    """The model's mean score on the benchmark."""
    reference: float
    """Its mean score on the reference set."""
    expected: float
    """The score on the benchmark that the curve gives for it."""
    estimate: float
    """The score less what was expected."""
    low: float
    """The lower end of the interval."""
    high: float
    """Its upper end."""
    extrapolated: bool
    """True if the model's score on the reference set is outside the other models' scores."""


def inflation(
    scores: Scores, chance: tuple[float, float] = (0.0, 0.0), resamples: int = 1000, level: float = 0.95, seed: int = 0
) -> Inflation:
    """Estimate the inflation of the first model's score.

    The other models' mean scores on the two sets are sorted, each set by itself, and joined by a smoothing spline whose
    smoothness generalized cross-validation chooses, with one more point where a model would score that guesses. Beyond
    the last point, the curve is a straight line to a score of 1 on both sets. The interval is the basic bootstrap's,
    over the instances of both sets and, with more than five other models, over these. The estimate is ConStat's
    (Dekoninck et al. 2024, arXiv:2405.16281), whose p-value is left out: it needs a random sample of clean models.

    Args:
        scores: Scores of the model, and of at least five others that are assumed to be clean.
        chance: The score that a guessing model would have on the benchmark and on the reference set.
        resamples: Number of bootstrap resamples.
        level: Probability of the interval.
        seed: Seeds the resampling.

    Raises:
        DataError: There are too few other models, or too few different ones.
    """
    import numpy as np

    models = len(scores.benchmark)
    if models - 1 < FEWEST_MODELS:
        raise DataError(f"an estimate needs {FEWEST_MODELS} other models; there are {models - 1}.")
    benchmark, reference = scores.benchmark.mean(axis=1), scores.reference.mean(axis=1)
    curve = _curve(reference[1:], benchmark[1:], chance)
    if curve is None:
        raise DataError("an estimate needs five different scores on the reference set; the other models have fewer.")
    expected = curve(reference[0])
    estimate = float(benchmark[0] - expected)
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(resamples):
        ours = scores.benchmark @ _weights(scores.benchmark_clusters, rng)
        theirs = scores.reference @ _weights(scores.reference_clusters, rng)
        for _ in range(_ATTEMPTS):
            others = np.arange(1, models)
            if models - 1 > FEWEST_MODELS:
                others = rng.integers(1, models, models - 1)
            if (again := _curve(theirs[others], ours[others], chance)) is not None:
                drawn.append(float(ours[0] - again(theirs[0])))
                break
    if len(drawn) < resamples / 2:
        raise DataError("the other models' scores on the reference set differ too little for an interval.")
    margin = (1 - level) / 2
    below, above = np.quantile(drawn, [margin, 1 - margin])
    outside = not reference[1:].min() <= reference[0] <= reference[1:].max()
    return Inflation(
        float(benchmark[0]),
        float(reference[0]),
        expected,
        estimate,
        float(2 * estimate - above),
        float(2 * estimate - below),
        bool(outside),
    )


def _weights(clusters: NDArray[np.int64], rng: np.random.Generator) -> Floats:
    """Return each instance's weight in a resample of whole clusters, which add up to 1."""
    import numpy as np

    count = int(clusters.max()) + 1
    times = np.bincount(rng.integers(0, count, count), minlength=count)[clusters]
    weights: Floats = times / times.sum()
    return weights


def _curve(reference: Floats, benchmark: Floats, chance: tuple[float, float]) -> Callable[[float], float] | None:
    """Return what a score on the reference set lets one expect on the benchmark; None for fewer than five points."""
    import numpy as np
    from scipy.interpolate import make_smoothing_spline

    known, place = np.unique(np.round(np.sort(np.append(reference, chance[1])), 9), return_inverse=True)
    if len(known) < FEWEST_MODELS:
        return None
    expected = np.bincount(place, np.sort(np.append(benchmark, chance[0]))) / np.bincount(place)
    spline = make_smoothing_spline(known, expected)
    low, high = float(known[0]), float(known[-1])
    ends = float(spline(low)), float(spline(high))

    def at(score: float) -> float:
        if score <= low:
            return float(np.clip(ends[0] * score / low if low > 0 else ends[0], 0, 1))
        if score >= high:
            return float(np.clip(ends[1] + (1 - ends[1]) * (score - high) / (1 - high) if high < 1 else ends[1], 0, 1))
        return float(np.clip(spline(score), 0, 1))

    return at
