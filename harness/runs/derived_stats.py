"""What follows from the scores of a run's instances: worst cases, drops from the original, differences between groups.

Every function takes the scores of a name by instance, each already a mean over the instance's trials.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.contracts import Estimate, Scale
from harness.statistics import gap_estimate, mean_estimate, paired_difference

Scores = Mapping[str, float]
"""One score for each instance, by its id."""

Asked = Collection[str]
"""The ids of the instances that have a copy, whether or not it has a score."""

GAP_MINIMUM = 10
"""Fewest instances of a group that enters a gap: of many tiny groups, the extreme ones are extreme by chance."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A number about instances and their copies, and how many instances lack the score of one of them."""

    estimate: Estimate
    missing: int


def worst(
    original: Scores, copies: Sequence[tuple[Scores, Asked]], *, higher_is_better: bool, scale: Scale | None
) -> Compared | None:
    """Return the mean over instances of the worst score of an instance and its copies; None if no instance has all.

    Instances without any copy are ignored; an instance may have some of the copies only.

    The worst is the smallest where higher is better, else the largest; HELM takes the smallest always, and takes it in
    each trial, which makes it smaller by what trials differ in. An instance that lacks one of the scores is left out
    and counted: a worst of fewer would look better than it is.
    """
    pick = min if higher_is_better else max
    values, missing = [], 0
    for instance in sorted(set().union(*(asked for _, asked in copies))):
        scores = [original, *(copy for copy, asked in copies if instance in asked)]
        if all(instance in each for each in scores):
            values.append(pick(each[instance] for each in scores))
        else:
            missing += 1
    return Compared(mean_estimate(values, scale), missing) if values else None


def drop(
    original: Scores, copy: Scores, asked: Asked, *, higher_is_better: bool, scale: Scale | None
) -> Compared | None:
    """Return how much worse the copies are than their originals on average; None without a pair.

    It is positive where they are worse, whichever way the metric goes. Of the instances with a copy, those that lack
    the original's or the copy's score are left out and counted.
    """
    both = sorted(original.keys() & copy.keys())
    if not both:
        return None
    before, after = [original[instance] for instance in both], [copy[instance] for instance in both]
    first, second = (before, after) if higher_is_better else (after, before)
    return Compared(paired_difference(first, second, scale), len(asked) - len(both))


def group_means(
    scores: Scores, members: Mapping[str, Sequence[str]], scale: Scale | None
) -> Iterator[tuple[str, Estimate]]:
    """Yield each group's mean, by the group's name in alphabetical order; groups without a score are left out.

    Args:
        scores: The scores.
        members: The ids of each group's instances.
        scale: The scores' scale; None if it is not known.
    """
    for name in sorted(members):
        values = [scores[instance] for instance in members[name] if instance in scores]
        if values:
            yield name, mean_estimate(values, scale)


def group_gap(scores: Scores, members: Mapping[str, Sequence[str]], scale: Scale | None) -> Estimate | None:
    """Return the largest minus the smallest mean of the groups with at least 10 instances; None without two of them."""
    index = {instance: number for number, instance in enumerate(scores)}
    groups = [[index[instance] for instance in members[name] if instance in index] for name in sorted(members)]
    large = [group for group in groups if len(group) >= GAP_MINIMUM]
    return gap_estimate(list(scores.values()), large, scale) if len(large) > 1 else None
