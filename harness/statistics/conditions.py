"""Means over instances and over conditions, such as variants of a prompt, where both are samples.

Every instance is scored under every condition. A score is y = μ + instance + condition + interaction, all three random:

              condition 1   2   3 │ mean           The mean of all has the variance
    instance 1          1   0   1 │ 0.67             σ²(instance)/n + σ²(condition)/k + σ²(interaction)/(n·k).
    instance 2          1   1   1 │ 1.00           The instances' means give the first and the last part.
    instance 3          0   0   1 │ 0.33           The conditions' means spread by σ²(condition) and, because there are
    ───────────────────────────────┤              few instances, by σ²(interaction)/n, which is subtracted.
    mean             0.67 .33   1 │ 0.67

In simulations the interval covers .945 to .98 with 3, 5 and 10 conditions (tests/benchmarks/conditions.py); over
instances alone it covers as little as .54.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from statistics import variance
from typing import TYPE_CHECKING

from harness.contracts import Estimate, Scale
from harness.statistics.clustered_estimates import clustered_difference, clustered_mean
from harness.statistics.estimates import mean_estimate
from harness.statistics.paired import paired_difference
from harness.statistics.quantiles import UPPER_TAIL, normal_quantile, t_quantile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FEWEST_CONDITIONS = 3
"""Minimum number of conditions for an interval that allows for differences between conditions."""

_ROUNDING = 1e-9
"""Share of a variance that may be due to rounding."""

_LEAST_P = math.log(1e-15)
"""Logarithm of the p-value below which it is 0."""


@dataclass(frozen=True, slots=True)
class ConditionEffects:
    """A mean over instances and conditions, and how much of its error is due to either."""

    estimate: Estimate
    """The mean; its standard error and 95 % interval are over both, or with fewer than three conditions over instances.
    """
    instances: Estimate
    """The same mean with the error and interval over instances alone, for these conditions."""
    means: tuple[float, ...]
    """The mean of each condition."""
    noise: float
    """Variance of a condition's mean around the conditions' common one that is due to the number of instances."""

    @property
    def deviation(self) -> float | None:
        """Standard deviation of the conditions' true means, without noise; truncated at 0. None for one condition."""
        return math.sqrt(_component(self.means, self.noise)) if len(self.means) > 1 else None

    @property
    def complete(self) -> bool:
        """True if the interval allows for differences between conditions."""
        return len(self.means) >= FEWEST_CONDITIONS

    def p(self) -> float:
        """Return the two-sided p-value of the hypothesis that the true mean is 0.

        It is the level at which the interval, taken as symmetric, would end at 0.
        """
        error, freedom = self.instances.stderr or 0.0, (self.instances.clusters or self.instances.count) - 1.0
        distance = abs(self.estimate.value)
        if distance == 0.0 or freedom < 1.0:
            return 1.0
        smallest, largest = _LEAST_P, 0.0  # of the level's logarithm
        while largest - smallest > 1e-9:
            middle = (smallest + largest) / 2.0
            tail = 1.0 - math.exp(middle) / 2.0
            if math.hypot(t_quantile(tail, freedom) * error, _reach(self.means, self.noise, tail)) > distance:
                smallest = middle
            else:
                largest = middle
        return math.exp(largest) if smallest > _LEAST_P else 0.0


def condition_effects(
    table: NDArray[np.float64], scale: Scale | None, clusters: Sequence[Hashable] | None = None
) -> ConditionEffects:
    """Return the mean of a table of scores over instances and conditions.

    Args:
        table: Scores, shape (instances, conditions).
        scale: The scale of a score; None if unknown, which gives no interval.
        clusters: The cluster of each instance; None if instances are independent.

    Raises:
        ValueError: The table is empty, or a score is outside of the scale.
    """
    values = [math.fsum(row) / len(row) for row in table.tolist()]
    over = mean_estimate(values, scale) if clusters is None else clustered_mean(values, clusters, scale)
    return combined(over, table.mean(axis=0).tolist(), _noise(table, clusters), scale)


def paired_condition_effects(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    scale: Scale | None,
    clusters: Sequence[Hashable] | None = None,
) -> ConditionEffects:
    """Return the mean difference of two tables of scores of the same instances under the same conditions.

    Arguments and errors are those of :func:`condition_effects`; the shapes are equal.
    """
    left, right = (table.mean(axis=1).tolist() for table in (first, second))
    if clusters is None:
        over = paired_difference(left, right, scale)
    else:
        over = clustered_difference(left, right, clusters, scale)
    differences = first - second
    known = scale is not None and scale.low is not None and scale.high is not None
    widest = scale.bounds[1] - scale.bounds[0] if scale is not None and known else math.inf
    bounds = Scale("bounded", -widest, widest) if known else None
    return combined(over, differences.mean(axis=0).tolist(), _noise(differences, clusters), bounds)


def combined(instances: Estimate, means: Sequence[float], noise: float, scale: Scale | None) -> ConditionEffects:
    """Return the estimate over instances and conditions from its parts.

    The variance between conditions is that of their means less the noise, at least 0 (Searle, Casella and McCulloch
    1992, section 4.3). Each end of the interval lies √(d² + t²·s²/k − z²·noise/k) from the mean, and at least d. Here d
    is the distance over instances alone, s² the variance of the k conditions' means, and t and z are quantiles of
    Student's t with k − 1 degrees of freedom and of the normal distribution: the conditions' means have the error
    t·s/√k, and instances add what the noise, which both count, leaves of d (MOVER, Zou and Donner 2008, Stat. Med.
    27:1693).

    Args:
        instances: The mean, with error and interval over instances.
        means: The conditions' means.
        noise: See :attr:`ConditionEffects.noise`.
        scale: The scale of a score, which the interval does not leave.
    """
    count = len(means)
    if count < FEWEST_CONDITIONS:
        return ConditionEffects(instances, instances, tuple(means), noise)
    reach = _reach(means, noise, UPPER_TAIL)
    lowest, highest = (-math.inf, math.inf) if scale is None else scale.bounds
    value, stderr = instances.value, instances.stderr
    low, high = instances.low, instances.high
    if low is not None and high is not None:
        low = max(min(low, value - math.hypot(value - low, reach)), lowest)
        high = min(max(high, value + math.hypot(high - value, reach)), highest)
    error = None if stderr is None else math.sqrt(stderr * stderr + _component(means, noise) / count)
    return ConditionEffects(replace(instances, stderr=error, low=low, high=high), instances, tuple(means), noise)


def _component(means: Sequence[float], noise: float) -> float:
    """Return the variance between conditions."""
    if len(means) < 2:
        return 0.0
    spread = float(variance(means))
    return spread - noise if spread - noise > _ROUNDING * spread else 0.0


def _reach(means: Sequence[float], noise: float, tail: float) -> float:
    """Return by how much conditions widen one half of an interval, to be added in squares."""
    count = len(means)
    if count < FEWEST_CONDITIONS:
        return 0.0
    over_means = t_quantile(tail, count - 1.0) ** 2 * variance(means)
    return math.sqrt(max(0.0, over_means - normal_quantile(tail) ** 2 * noise) / count)


def _noise(table: NDArray[np.float64], clusters: Sequence[Hashable] | None) -> float:
    """Return the mean square of the interaction over the number of instances; over clusters if there are any."""
    count, conditions = map(int, table.shape)
    if conditions < 2 or count < 2:
        return 0.0
    deviations = table - table.mean(axis=1, keepdims=True)
    if clusters is None:
        squares = float(((deviations - deviations.mean(axis=0)) ** 2).sum())
        return squares / ((count - 1) * (conditions - 1) * count)
    errors = (clustered_mean(column.tolist(), clusters, None).stderr or 0.0 for column in deviations.T)
    return math.fsum(error * error for error in errors) / (conditions - 1)
