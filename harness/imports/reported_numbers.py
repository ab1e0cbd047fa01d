"""Finds reported numbers that no scores could give, and numbers that the scores of the samples contradict."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.contracts import PROPORTION, Example, Instance, Scale, Stat
from harness.statistics import clustered_mean, mean_estimate
from harness.storage.instance_scores import cluster_number

_ROUNDING = 1e-6

_ERRORS_FACTOR = 1.5
"""How much larger or smaller others' standard errors may be: bootstraps vary, and some divide by n, not by n − 1."""

_WIDTHS_FACTOR = 2.0
"""The same for the width of their intervals, which have many definitions."""

_NORMAL_WIDTH = 2 * 1.96
"""Width of a 95 % interval in standard errors."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The names of a statistic's numbers in a file, for messages."""

    mean: str
    stderr: str
    ci95: str = "ci95"
    count: str = "count"


def by_instance(scores: Iterable[tuple[object, float]]) -> Mapping[object, list[float]]:
    """Return the scores of each instance, such as those of its train trials."""
    found: dict[object, list[float]] = {}
    for instance, score in scores:
        found.setdefault(instance, []).append(score)
    return found


def clusters_of(
    examples: Iterable[Example], key: str, name: Callable[[Instance], object] = lambda instance: instance.id
) -> dict[object, int] | None:
    """Return the cluster of each instance.

    Args:
        examples: The examples.
        key: The key of the instances' meta data by which they form clusters; empty if they are independent.
        name: Returns what identifies an instance.

    Returns:
        None if instances are independent.
    """
    if not key:
        return None
    instances = (example.instance for example in examples)
    return {name(one): cluster_number(one.id, one.meta, key) for one in instances}


def impossible(stat: Stat, keys: Keys, scale: Scale | None = None, rounding: float = _ROUNDING) -> Iterator[str]:
    """Yield what is impossible about a mean and its uncertainty, whatever the scores are, without a full stop.

    Args:
        stat: The statistic, of a mean or something else that lies on the scale.
        keys: The names of its numbers.
        scale: The range of a score, if the statistic does not have it.
        rounding: How far the ends of the interval are rounded, relative to them.
    """
    scale = scale or stat.scale
    low, high = (-math.inf, math.inf) if scale is None else scale.bounds
    if scale is not None and scale.clipped(stat.mean) is None:
        limits = f"from {low:g} to {high:g}" if math.isfinite(high - low) else str(scale)
        percent = (low, high) == (0, 1) and 1 < stat.mean <= 100
        hint = "; it looks like a percentage: divide it by 100" if percent else ""
        yield f"{keys.mean} must be {limits}, not {stat.mean:g}{hint}"
    if stat.stderr is not None and stat.stderr > high - low:
        yield f"{keys.stderr} is {stat.stderr:g}, larger than the range of the scores ({low:g} to {high:g})"
    if stat.ci95 is not None:
        first, last = stat.ci95
        margin = rounding * max(abs(first), abs(last), abs(stat.mean))
        if not first - margin <= stat.mean <= last + margin:
            yield f"{keys.ci95} is {first:g} to {last:g}, which excludes {keys.mean} ({stat.mean:g})"


def contradicted(
    stat: Stat,
    keys: Keys,
    scores: Mapping[Any, Sequence[float]],
    samples: str,
    *,
    is_mean: bool,
    exact: bool = False,
    clusters: Mapping[object, int] | None = None,
) -> Iterator[str]:
    """Yield what the samples contradict about a statistic, without a full stop.

    Args:
        stat: The statistic; its range is used for intervals if it is known.
        keys: The names of its numbers.
        scores: The scores of each instance.
        samples: What the samples are called: ``rows in details.parquet``.
        is_mean: True if the statistic is the mean of the scores; its standard error is of this mean.
        exact: True if the standard error is this harness's own.
        clusters: The cluster of each instance; None if instances are independent.
    """
    if not scores or not is_mean:
        return
    means = [math.fsum(each) / len(each) for each in scores.values()]
    every = [score for each in scores.values() for score in each]
    found = [math.fsum(several) / len(several) for several in (means, every)]
    if not any(math.isclose(mean, stat.mean, rel_tol=_ROUNDING, abs_tol=_ROUNDING) for mean in found):
        yield f"{keys.mean} is {stat.mean:g}, but the mean of the {len(every)} {samples} is {found[0]:g}"
    if len(means) < 2:
        return
    scale = stat.scale or (PROPORTION if all(score in (0.0, 1.0) for score in every) else None)
    fitting = scale is not None and all(scale.clipped(one) is not None for one in means)
    if clusters is None:
        ours = mean_estimate(means, scale if fitting else None)
    else:
        ours = clustered_mean(means, [clusters[instance] for instance in scores], scale if fitting else None)
    error = ours.stderr or 0.0
    errors = [error] if exact or clusters is not None else [error, mean_estimate(every, None).stderr or 0.0]
    if stat.stderr is not None and not _near(stat.stderr, errors, 1 + _ROUNDING if exact else _ERRORS_FACTOR):
        yield f"{keys.stderr} is {stat.stderr:g}, but the {len(every)} {samples} give {error:g}"
    if stat.ci95 is not None:
        widths = [_NORMAL_WIDTH * one for one in errors]
        ends = (stat.mean - widths[0] / 2, stat.mean + widths[0] / 2)
        if ours.low is not None and ours.high is not None:
            widths.append(ours.high - ours.low)
            ends = (ours.low, ours.high)
        if not _near(stat.ci95[1] - stat.ci95[0], widths, _WIDTHS_FACTOR):
            said, given = (f"{low:.4g} to {high:.4g}" for low, high in (stat.ci95, ends))
            yield f"{keys.ci95} is {said}, but the {len(every)} {samples} give {given}"


def _near(value: float, expected: Sequence[float], factor: float) -> bool:
    return min(expected) / factor - _ROUNDING <= value <= max(expected) * factor + _ROUNDING
