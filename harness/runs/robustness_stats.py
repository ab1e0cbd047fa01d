"""Robustness and fairness: worst cases and drops over perturbed copies, and means and gaps of groups of instances.

Every function takes one score for each instance, already averaged over the instance's trials.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.contracts import Estimate, Scale
from harness.statistics import clustered_difference, clustered_mean, gap_estimate, mean_estimate, paired_difference

Scores = Mapping[str, float]
"""The scores by instance id."""

Copied = Collection[str]
"""The ids of the instances that have a copy, with or without a score."""

Clusters = Mapping[str, int]
"""The cluster of each instance; none if instances are independent."""

GAP_MINIMUM = 10
"""Smallest group that counts in a gap: among many tiny groups, the extreme ones are extreme by chance."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison of instances with their copies."""

    estimate: Estimate
    """The number."""
    missing: int
    """Number of instances that lack a score of their own or of a copy."""


def mean_of(scores: Scores, scale: Scale | None, clusters: Clusters | None = None) -> Estimate:
    """Return the mean of at least one score, with its uncertainty over instances or over clusters."""
    if not clusters:
        return mean_estimate(list(scores.values()), scale)
    return clustered_mean(list(scores.values()), [clusters[instance] for instance in scores], scale)


def worst(
    original: Scores,
    copies: Sequence[tuple[Scores, Copied]],
    *,
    higher_is_better: bool,
    scale: Scale | None,
    clusters: Clusters | None = None,
) -> Compared | None:
    """Return the mean over instances of the worst score of an instance and its copies; None if no instance has all.

    Instances without copies are ignored; an instance need not have every kind of copy. The worst score is the smallest
    if higher is better, else the largest. HELM always takes the smallest, and takes it in each trial, so that it also
    falls with the differences between trials. An instance that lacks one of the scores is left out and counted as
    missing, since the worst of fewer scores would look better than it is.
    """
    pick = min if higher_is_better else max
    values: dict[str, float] = {}
    missing = 0
    for instance in sorted(set().union(*(copied for _, copied in copies))):
        scores = [original, *(copy for copy, copied in copies if instance in copied)]
        if all(instance in each for each in scores):
            values[instance] = pick(each[instance] for each in scores)
        else:
            missing += 1
    return Compared(mean_of(values, scale, clusters), missing) if values else None


def drop(
    original: Scores,
    copy: Scores,
    copied: Copied,
    *,
    higher_is_better: bool,
    scale: Scale | None,
    clusters: Clusters | None = None,
) -> Compared | None:
    """Return how much worse the copies score than their originals on average; None without a pair.

    A positive drop means that the copies are worse, whether or not higher scores are better. Instances with a copy that
    lack the original's or the copy's score are left out and counted as missing.
    """
    both = sorted(original.keys() & copy.keys())
    if not both:
        return None
    before, after = [original[instance] for instance in both], [copy[instance] for instance in both]
    first, second = (before, after) if higher_is_better else (after, before)
    if clusters:
        estimate = clustered_difference(first, second, [clusters[instance] for instance in both], scale)
    else:
        estimate = paired_difference(first, second, scale)
    return Compared(estimate, len(copied) - len(both))


def group_means(
    scores: Scores, members: Mapping[str, Sequence[str]], scale: Scale | None, clusters: Clusters | None = None
) -> Iterator[tuple[str, Estimate]]:
    """Yield each group's name and mean, in alphabetical order; groups without a score are left out.

    Args:
        scores: The scores.
        members: The instance ids of each group.
        scale: The scale of the scores; None if unknown.
        clusters: The instances' clusters.
    """
    for name in sorted(members):
        values = {instance: scores[instance] for instance in members[name] if instance in scores}
        if values:
            yield name, mean_of(values, scale, clusters)


def group_gap(
    scores: Scores, members: Mapping[str, Sequence[str]], scale: Scale | None, clusters: Clusters | None = None
) -> Estimate | None:
    """Return the largest minus the smallest mean of groups of 10 or more instances; None for fewer than two groups."""
    index = {instance: number for number, instance in enumerate(scores)}
    groups = [[index[instance] for instance in members[name] if instance in index] for name in sorted(members)]
    large = [group for group in groups if len(group) >= GAP_MINIMUM]
    if len(large) < 2:
        return None
    units = [clusters[instance] for instance in scores] if clusters else None
    return gap_estimate(list(scores.values()), large, scale, units)
