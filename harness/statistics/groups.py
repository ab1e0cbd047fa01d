"""How far apart the means of groups of instances are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.contracts import Estimate
from harness.statistics.estimates import wilson_interval
from harness.statistics.quantiles import UPPER_TAIL, t_quantile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def gap_estimate(values: Sequence[float], groups: Sequence[Sequence[int]]) -> Estimate:
    """Return the largest minus the smallest mean of several groups of instances.

    Which groups are the extreme ones is seen in the data, so that the interval has to hold for all pairs at once. Each
    mean has its interval, Wilson's where every value is 0 or 1 and else Student's t, at level 1 − 0.05/pairs
    (Bonferroni); the interval of a difference follows from the two by MOVER (Newcombe 1998, method 10; Zou and Donner
    2008, eq. 8), with the correlation of the means where groups share instances. The gap's interval goes from the
    largest lower end of any pair, at least 0, to the largest upper end. With two groups that differ it has
    95 % coverage; with more groups, or equal ones, it has more.

    Simulated coverage for two groups of two fifths and three fifths at n = 20, 100 and 1000: 98, 95 and 96 %.

    Args:
        values: One for each instance.
        groups: The indices of each group's instances, without repetition; an instance may be in several groups.

    Returns:
        ``count`` is the number of instances in any group, ``stderr`` that of the difference between the two extreme
        groups, ``min`` and ``max`` their means.

    Raises:
        ValueError: There are fewer than two groups, or one of fewer than two instances.
    """
    import numpy as np

    if len(groups) < 2 or min(map(len, groups)) < 2:
        raise ValueError("a gap needs two groups of two instances each")
    scores = np.asarray(values, dtype=np.float64)
    sizes = np.array([len(group) for group in groups], dtype=np.float64)
    means = np.array([math.fsum(scores[list(group)]) / len(group) for group in groups])
    shares = np.zeros((len(groups), len(scores)))
    for row, (group, mean) in enumerate(zip(groups, means, strict=True)):
        shares[row, list(group)] = scores[list(group)] - mean
    covariances = (shares @ shares.T) / np.outer(sizes, sizes)
    errors = np.sqrt(np.diag(covariances))
    scale = np.outer(errors, errors)
    correlations = np.divide(covariances, scale, out=np.zeros_like(scale), where=scale > 0.0)
    tail = (1.0 - UPPER_TAIL) / (len(groups) * (len(groups) - 1) / 2)
    reaches = [_reaches(scores[list(group)], mean, 1.0 - tail) for group, mean in zip(groups, means, strict=True)]
    down, up = np.array(reaches).T
    differences = means[:, None] - means[None, :]
    low = (differences - _joined(down[:, None], up[None, :], correlations)).max()
    high = (differences + _joined(up[:, None], down[None, :], correlations)).max()
    best, worst = int(means.argmax()), int(means.argmin())
    adjusted = covariances * np.sqrt(np.outer(sizes / (sizes - 1.0), sizes / (sizes - 1.0)))
    variance = adjusted[best, best] + adjusted[worst, worst] - 2.0 * adjusted[best, worst] if best != worst else 0.0
    gap = float(means[best] - means[worst])
    members = len({index for group in groups for index in group})
    return Estimate(
        gap,
        members,
        math.sqrt(max(0.0, float(variance))),
        min(max(0.0, float(low)), gap),
        max(float(high), gap),
        float(means[worst]),
        float(means[best]),
    )


def _reaches(scores: Floats, mean: float, upper_tail: float) -> tuple[float, float]:
    """Return how far a mean's interval goes down and up."""
    count = len(scores)
    if bool(((scores == 0.0) | (scores == 1.0)).all()):
        low, high = wilson_interval(mean, count, upper_tail)
        return mean - low, high - mean
    reach = t_quantile(upper_tail, count - 1) * float(scores.std(ddof=1)) / math.sqrt(count)
    return reach, reach


def _joined(first: Floats, second: Floats, correlations: Floats) -> Floats:
    import numpy as np

    squares: Floats = np.sqrt(np.maximum(first**2 + second**2 - 2.0 * correlations * first * second, 0.0))
    np.fill_diagonal(squares, 0.0)
    return squares
