"""How many instances a paired comparison needs, and the smallest difference that it can show.

Both follow from the variance of an instance's difference between two models, never from the difference that was found.
With variance v, true difference δ, and the normal quantiles a = z(1 − level/2) and b = z(power), the tests of
:mod:`harness.statistics.paired` over n instances reject with the power asked for if

    n·δ  ≥  step  +  a·√(n·(v + δ²))  +  b·√(n·v)

The test compares the sum of the differences with its spread if their signs are random, √(n·(v + δ²)): Connor's sample
size for McNemar's test (1987, Biometrics 43:207), which holds for any scores. ``step`` is 1 for scores of 0 or 1: an
exact test of whole numbers rejects later than its normal approximation (continuity correction).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from harness.contracts import Scale
from harness.statistics.quantiles import normal_quantile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

POWER = 0.8
"""Probability of showing a difference that is there, by convention (Cohen 1988)."""

LEVEL = 0.05
"""Probability of showing a difference where there is none, two-sided."""

INDEPENDENT = 0.5
"""Share of instances with equal scores of two models that are each right on half of them, independently."""

_BINARY_GUARD, _BOUNDED_GUARD = 1.0, 0.25
"""Instances that are added at the largest difference in either direction, as for the intervals of differences."""


def instances_needed(
    variance: float, detect: float, *, step: float = 0.0, power: float = POWER, level: float = LEVEL
) -> int:
    """Return the smallest number of instances on which a paired comparison shows a difference.

    Args:
        variance: The variance of an instance's difference; with clusters, n times the mean's squared standard error.
        detect: The true difference of the means, positive.
        step: 1 for scores of 0 or 1, 1/k for means of k of them, else 0.
        power: The probability that it is shown.
        level: The two-sided level of the test.

    Raises:
        ValueError: An argument is out of range.
    """
    a, b = _quantiles(variance, power, level)
    if not 0.0 < detect < math.inf:
        raise ValueError(f"a difference to detect must be positive, not {detect}")
    spread = a * math.sqrt(variance + detect * detect) + b * math.sqrt(variance)
    root = (spread + math.sqrt(spread * spread + 4.0 * detect * step)) / (2.0 * detect)
    return max(fewest_units(level), math.ceil(root * root - 1e-9))


def detectable_difference(
    variance: float,
    count: float,
    *,
    units: int | None = None,
    widest: float = math.inf,
    step: float = 0.0,
    power: float = POWER,
    level: float = LEVEL,
) -> float | None:
    """Return the smallest true difference that a paired comparison shows; None if it can show none.

    The other direction of :func:`instances_needed`.

    Args:
        variance: As there.
        count: Number of instances; of the mean of several parts' means, the number of equally weighted ones that would
            make it as precise.
        units: Number of clusters; None if instances are independent.
        widest: The largest possible difference.
        step: As there.
        power: As there.
        level: As there.

    Raises:
        ValueError: An argument is out of range.
    """
    a, b = _quantiles(variance, power, level)
    if min(count, count if units is None else units) < fewest_units(level):
        return None
    fixed = step + b * math.sqrt(count * variance)
    # (n·δ − fixed)² = a²·n·(v + δ²), of which the larger root fits n·δ ≥ fixed.
    square, product = count * (count - a * a), count * fixed
    rest = fixed * fixed - a * a * count * variance
    found = (product + math.sqrt(max(0.0, product * product - square * rest))) / square
    return found if found <= widest else None


def fewest_units(level: float) -> int:
    """Return the fewest independent instances or clusters with which a test by signs can reach a level: 2·½ⁿ ≤ level.

    Never so few that the normal approximation has no solution.
    """
    return max(math.ceil(1.0 - math.log2(level)), math.floor(normal_quantile(1.0 - level / 2.0) ** 2) + 1)


def paired_variance(
    first: Sequence[float],
    second: Sequence[float],
    scale: Scale | None,
    clusters: Sequence[Hashable] | None = None,
    parts: Sequence[Hashable] | None = None,
) -> float:
    """Return the variance of an instance's difference, so that variance / n is that of the mean of n differences.

    Of scores of 0 or 1, one instance is added at the largest difference in either direction (Bonett and Price 2012), of
    other bounded scores a quarter, so that a few instances without a disagreement do not promise that there is none. Of
    instances in clusters, the deviations of a cluster are summed before they are squared, so that the variance
    includes what they have in common.

    Args:
        first: The first score of each instance.
        second: The second, in the same order.
        scale: The scale of the scores; None if unknown, which adds nothing.
        clusters: The cluster of each instance; None if they are independent.
        parts: The part of the data that each is from; deviations are from the mean of its part. None for one part.

    Raises:
        ValueError: There are fewer than two instances, or the lengths differ.
    """
    import numpy as np

    if len(first) != len(second) or len(first) < 2:
        raise ValueError(f"a variance needs two or more pairs, not {len(first)} and {len(second)} scores")
    differences = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    places = _numbers(parts) if parts is not None else np.zeros(len(differences), dtype=np.int64)
    sizes = np.bincount(places)
    deviations = differences - (np.bincount(places, differences) / sizes)[places]
    size = len(differences)
    if clusters is not None:
        deviations = np.bincount(_numbers(clusters), deviations)
    units, lost = len(deviations), int((sizes > 0).sum())
    squares = float(deviations @ deviations) * (units / (units - lost) if units > lost else 1.0)
    if scale is None or scale.kind not in ("proportion", "bounded"):
        return squares / size
    low, high = scale.bounds
    binary = bool(np.isin(np.concatenate([first, second]), (low, high)).all())
    added, each = 2.0 * (_BINARY_GUARD if binary else _BOUNDED_GUARD), size / units
    return (squares + added * (each * (high - low)) ** 2) / (size + added * each)


def bounded_variance(scale: Scale, agreement: float = INDEPENDENT) -> float | None:
    """Return the largest variance of an instance's difference if the two scores are equal on a share of instances.

    It is (1 − agreement)·(high − low)². The default also bounds the variance of any two models whose scores are not
    negatively correlated: neither varies by more than (high − low)²/4 (Popoviciu 1935). None for an unbounded scale.

    Raises:
        ValueError: The agreement is not from 0 to 1.
    """
    if not 0.0 <= agreement <= 1.0:
        raise ValueError(f"an agreement must be from 0 to 1, not {agreement}")
    low, high = scale.bounds
    return (1.0 - agreement) * (high - low) ** 2 if math.isfinite(high - low) else None


def _quantiles(variance: float, power: float, level: float) -> tuple[float, float]:
    if not 0.0 <= variance < math.inf:
        raise ValueError(f"a variance must be 0 or more, not {variance}")
    if not 0.0 < level < 1.0 or not level < power < 1.0:
        raise ValueError(f"need 0 < level < power < 1, not level {level} and power {power}")
    return normal_quantile(1.0 - level / 2.0), normal_quantile(power)


def _numbers(names: Sequence[Hashable]) -> NDArray[np.int64]:
    """Return a number from 0 for each name, equal for equal names."""
    import numpy as np

    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)
