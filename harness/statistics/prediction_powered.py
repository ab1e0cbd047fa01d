"""A mean of human labels, improved by a judge's ratings of more items than people have labelled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from harness.contracts import Estimate
from harness.statistics.bounded_mean import bounded_mean_interval
from harness.statistics.quantiles import UPPER_TAIL, Z, t_quantile

FEWEST_LABELS = 20
"""Fewest labels for an interval with the promised coverage."""

WEAK_WEIGHT = 0.1
"""Weight of a judge below which its ratings tell next to nothing about the labels."""


@dataclass(frozen=True, slots=True)
class CorrectedMean:
    """The mean label of all items, from few labels and many ratings."""

    estimate: Estimate
    """The mean with its 95 % interval; ``count`` is the number of labels."""
    weight: float
    """λ, how much the judge is trusted: 0 ignores it, 1 takes its ratings at face value."""

    @property
    def helps(self) -> bool:
        """True if the judge's ratings tell enough about the labels to be useful."""
        return self.weight >= WEAK_WEIGHT


def corrected_mean(labels: Sequence[float], rated: Sequence[float], others: Sequence[float]) -> CorrectedMean | None:
    """Return the mean label of all items by prediction-powered inference (PPI++).

    With y the labels, f the judge's ratings of the same items and F its ratings of N others, the estimate is the mean
    of d = y − λ(f − mean F). λ = cov(y, f) / var F / (1 + n/N), between 0 and 1 (Angelopoulos, Duchi and Zrnic 2023,
    arXiv:2311.01453); its covariance includes two disagreements of weight ½, a label of 1 rated 0 and one of 0 rated 1,
    without which a few labels that agree with the judge would make it seem perfect. The interval of d is
    Jeffreys and Dirichlet's on the range that d may have, [−λ(1 − mean F), 1 + λ·mean F], with Student's t of n − 1
    degrees of freedom in place of z; the error of mean F, z·λ·sd F/√N, is added to its reaches in quadrature. Coverage
    by simulation: docs/coverage_comparisons.md.

    The labelled items must be a random sample of all items. A judge helps only where its ratings' correlation with the
    labels is above about 1/√(n − 2) (Mani et al. 2025, arXiv:2505.20178).

    Args:
        labels: The labels, each between 0 and 1.
        rated: The judge's ratings of the same items in the same order, each between 0 and 1.
        others: The judge's ratings of all items without a label.

    Returns:
        None for fewer than 20 labels.

    Raises:
        ValueError: There are no other items, the lengths differ, or a number is outside of [0, 1].
    """
    import numpy as np

    y, f, many = (np.asarray(each, dtype=np.float64) for each in (labels, rated, others))
    if len(y) != len(f) or len(many) == 0:
        raise ValueError(f"{len(y)} labels need as many ratings, not {len(f)}, and ratings of other items")
    for each in (y, f, many):
        if not bool(((each >= 0.0) & (each <= 1.0)).all()):
            raise ValueError("labels and ratings must lie between 0 and 1")
    count = len(y)
    if count < FEWEST_LABELS:
        return None
    center = math.fsum(many.tolist()) / len(many)
    variance = float(np.mean((many - center) ** 2))
    total = math.fsum((y * f).tolist())
    sums = math.fsum(y.tolist()) + 0.5, math.fsum(f.tolist()) + 0.5
    covariance = (total - sums[0] * sums[1] / (count + 1)) / count
    weight = min(max(covariance / variance / (1.0 + count / len(many)), 0.0), 1.0) if variance > 0.0 else 0.0
    corrected = y - weight * (f - center)
    mean = math.fsum(corrected.tolist()) / count
    bounds = -weight * (1.0 - center), 1.0 + weight * center
    low, high = bounded_mean_interval(corrected.clip(*bounds), bounds, z=t_quantile(UPPER_TAIL, count - 1))
    large = Z * weight * math.sqrt(variance / len(many))
    stderr = math.hypot(float(corrected.std(ddof=1)) / math.sqrt(count), large / Z)
    low, high = mean - math.hypot(mean - low, large), mean + math.hypot(high - mean, large)
    # The corrected mean can leave [0, 1]; the true one cannot.
    value = min(max(mean, 0.0), 1.0)
    interval = min(max(low, 0.0), value), max(min(high, 1.0), value)
    return CorrectedMean(Estimate(value, count, stderr, *interval), weight)
