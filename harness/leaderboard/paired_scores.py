"""Two models' scores of the same instances: which can be compared, how much they differ, and if that may be chance."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from harness.contracts import Scale
from harness.errors import DataError
from harness.statistics import (
    FEWEST_CONDITIONS,
    cluster_sums,
    clustered_difference,
    detectable_difference,
    mcnemar_test,
    paired_condition_effects,
    paired_difference,
    paired_variance,
    permutation_test,
)
from harness.statistics.power import LEVEL, POWER

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Trials = Mapping[int, tuple[float | None, int]]
"""By trial: the score, None if it is undefined, and a digest of what was asked."""

Answers = Mapping[str, Trials]
"""The trials of each instance."""

Clusters = Mapping[str, Hashable]
"""The cluster of each instance."""


@dataclass(slots=True)
class AnswersByTrial:
    """Collects answers: the scores of an instance's samples are averaged within their trial."""

    sums: dict[str, dict[int, tuple[float, int, int]]] = field(default_factory=dict)

    def add(self, instance: str, trial: int, score: float | None, digest: int) -> None:
        """Add the score of a sample, None if it is undefined, and a digest of what was asked."""
        trials = self.sums.setdefault(instance, {})
        total, count, _ = trials.get(trial, (0.0, 0, digest))
        trials[trial] = (total, count, digest) if score is None else (total + score, count + 1, digest)

    def answers(self) -> dict[str, dict[int, tuple[float | None, int]]]:
        """Return the mean of each trial."""
        return {
            instance: {
                trial: (total / count if count else None, digest) for trial, (total, count, digest) in trials.items()
            }
            for instance, trials in self.sums.items()
        }


def over_repeats(repeats: Sequence[Answers]) -> Answers:
    """Return the answers of several repeats, each instance with its mean over all their trials."""
    if len(repeats) == 1:
        return repeats[0]
    found: dict[str, dict[int, tuple[float | None, int]]] = {}
    for instance in dict.fromkeys(name for answers in repeats for name in answers):
        trials = [trial for answers in repeats for trial in answers.get(instance, {}).values()]
        scores = [score for score, _ in trials if score is not None]
        mean = math.fsum(scores) / len(scores) if scores else None
        # A trial for each text that was asked, so that a difference is noticed.
        found[instance] = dict(enumerate((mean, digest) for digest in dict.fromkeys(digest for _, digest in trials)))
    return found


def in_one_trial(answers: Answers) -> Answers:
    """Return each instance with its mean over all trials, to be compared with a mean over repeats."""
    return {instance: over_repeats([{instance: trials}, {}])[instance] for instance, trials in answers.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedScores:
    """The difference of two models over the instances that both have."""

    count: int
    """Number of instances that have the score in both runs."""
    first: float
    """The first model's mean over them."""
    second: float
    """The second model's."""
    difference: float
    """First − second."""
    stderr: float | None
    """Standard error of the difference; None for one instance."""
    low: float | None
    """Lower end of its 95 % interval."""
    high: float | None
    """Upper end."""
    note: str
    """Why there is no interval, or what else is to be known of it."""
    test: str
    """``mcnemar``, exact, where every score is 0 or 1; else ``permutation``, with clusters of their sums. ``crossed``
    over instances and variants of a prompt.
    """
    p: float
    """The test's p-value."""
    differing: int
    """Number of instances whose scores differ."""
    first_higher: int
    """Number of these in which the first model's score is the higher one."""
    binary: bool
    """True if every score is 0 or 1."""
    variance: float | None
    """Variance of an instance's difference (:func:`harness.statistics.paired_variance`); None for one instance, or if
    no scores differ on a scale without bounds.
    """
    units: int
    """Number of independent units: clusters, or instances."""
    widest: float | None
    """The largest possible difference; None if there is none."""
    only_first: int
    """Instances that the second run does not have."""
    only_second: int
    """Instances that the first run does not have."""
    undefined: int
    """Instances of both without the score in one of them."""
    changed: int
    """Instances of both whose text or references differ; they are not compared."""

    def detectable(self, comparisons: int = 1) -> float | None:
        """Return the smallest true difference that the comparison shows with a power of 0.8; None if it can show none.

        It follows from the variance and the number of instances, not from the difference that was found.

        Args:
            comparisons: Number of comparisons in the family: the level is that of Holm's strictest test, 0.05 over it.
        """
        return detectable(self.variance, self.count, self.units, self.widest, self.binary, comparisons)

    def left_out(self, first: str, second: str) -> Iterator[str]:
        """Yield how many instances are not compared, and why; ``first`` and ``second`` name the two sides."""
        counts = (
            (self.only_first, f"only {first}"),
            (self.only_second, f"only {second}"),
            (self.undefined, "undefined"),
            (self.changed, "not the same question"),
        )
        return (f"{count} {reason}" for count, reason in counts if count)


def compare_answers(
    first: Answers, second: Answers, scale: Scale | None, metric: str, clusters: Clusters | None = None
) -> PairedScores:
    """Compare two models' scores instance by instance.

    An instance's score is the mean over the trials that both models have. The interval of the difference is that of
    :func:`harness.statistics.paired_difference`.

    Args:
        first: The first model's scores.
        second: The second's.
        scale: The scores' scale; None if it is unknown.
        metric: The metric's name, for the error.
        clusters: The instances' clusters, over which the interval and the test are; None if they are independent.

    Raises:
        DataError: No instance can be compared.
    """
    common = first.keys() & second.keys()
    if not common:
        raise DataError("the runs have no instance in common.")
    changed = {name for name in common if _digests(first[name]) != _digests(second[name])}
    by_name = {name: _mean_scores(first[name], second[name]) for name in sorted(common - changed)}
    paired = {name: pair for name, pair in by_name.items() if pair is not None}
    pairs = list(paired.values())
    if not pairs:
        because = f"; {len(changed)} of them differ in what was asked" if changed else ""
        raise DataError(f"none of the {len(common)} instances in common has a {metric} in both runs{because}.")
    left, right = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    members = None if clusters is None else [clusters.get(name, name) for name in paired]
    if members is None:
        estimate, (test, p) = paired_difference(left, right, scale), _test(left, right)
    else:
        estimate = clustered_difference(left, right, members, scale)
        test, p = _test_over(left, right, members)
    return PairedScores(
        count=len(pairs),
        first=sum(left) / len(left),
        second=sum(right) / len(right),
        difference=estimate.value,
        stderr=estimate.stderr,
        low=estimate.low,
        high=estimate.high,
        note=estimate.note,
        test=test,
        p=p,
        differing=sum(one != other for one, other in pairs),
        first_higher=sum(one > other for one, other in pairs),
        binary=_binary(left, right),
        variance=(paired_variance(left, right, scale, members) or None) if len(pairs) > 1 else None,
        units=len(pairs) if members is None else len(set(members)),
        widest=None if scale is None or scale.low is None or scale.high is None else scale.high - scale.low,
        only_first=len(first.keys() - common),
        only_second=len(second.keys() - common),
        undefined=len(common) - len(changed) - len(pairs),
        changed=len(changed),
    )


def compare_prompts(
    first: Sequence[Answers],
    second: Sequence[Answers],
    scale: Scale | None,
    metric: str,
    clusters: Clusters | None = None,
) -> PairedScores:
    """Compare two models' scores instance by instance under the same variants of a prompt, at least one.

    An instance is compared if both models have its score under every variant. With at least three variants, interval
    and test are over instances and prompts (:func:`harness.statistics.paired_condition_effects`).

    Args:
        first: The first model's scores under each variant.
        second: The second's, in the same order.
        scale: As in :func:`compare_answers`, like the rest and its errors.
        metric: The metric's name.
        clusters: The instances' clusters.
    """
    if len(first) == 1:
        return compare_answers(first[0], second[0], scale, metric, clusters)
    complete = [_scored_by_all(answers) for answers in (first, second)]
    means = [_over_prompts(answers, kept) for answers, kept in zip((first, second), complete, strict=True)]
    scores = compare_answers(means[0], means[1], scale, metric, clusters)
    names = [name for name in sorted(complete[0] & complete[1]) if _digests(means[0][name]) == _digests(means[1][name])]
    if len(first) < FEWEST_CONDITIONS:
        return replace(scores, note="; ".join(filter(None, [scores.note, "the interval is for these prompts"])))
    tables = [_table(answers, names) for answers in (first, second)]
    members = None if clusters is None else [clusters.get(name, name) for name in names]
    effects = paired_condition_effects(tables[0], tables[1], scale, members)
    found = effects.estimate
    return replace(
        scores,
        stderr=found.stderr,
        low=found.low,
        high=found.high,
        test="crossed",
        p=effects.p(),
        binary=False,
        variance=None,  # a few prompts do not tell what a comparison could show
    )


def _over_prompts(answers: Sequence[Answers], complete: Set[str]) -> Answers:
    """Return each instance's mean over all answers; no score for one that some of them lack."""
    return {
        name: trials if name in complete else {trial: (None, digest) for trial, (_, digest) in trials.items()}
        for name, trials in over_repeats(answers).items()
    }


def _scored_by_all(answers: Sequence[Answers]) -> set[str]:
    """Return the instances with a score in all answers."""
    scored = [
        {name for name, trials in each.items() if any(score is not None for score, _ in trials.values())}
        for each in answers
    ]
    return set.intersection(*scored)


def _table(answers: Sequence[Answers], names: Sequence[str]) -> NDArray[np.float64]:
    """Return the scores of instances, shape (instances, variants); each is the mean over its trials."""
    import numpy as np

    rows = [
        [
            math.fsum(scores) / len(scores)
            for each in answers
            if (scores := [score for score, _ in each[name].values() if score is not None])
        ]
        for name in names
    ]
    return np.array(rows, dtype=np.float64)


def detectable(
    variance: float | None, count: int, units: int, widest: float | None, binary: bool, comparisons: int
) -> float | None:
    """Return :meth:`PairedScores.detectable` from the numbers that it depends on."""
    if variance is None:
        return None
    most = math.inf if widest is None else widest
    level, step = LEVEL / comparisons, float(binary)
    return detectable_difference(variance, count, units=units, widest=most, step=step, power=POWER, level=level)


def _digests(trials: Trials) -> set[int]:
    return {digest for _, digest in trials.values()}


def _mean_scores(first: Trials, second: Trials) -> tuple[float, float] | None:
    """Return an instance's mean scores over the trials in which both have one; None if there are none."""
    found = [
        (score, against)
        for trial in sorted(first.keys() & second.keys())
        if (score := first[trial][0]) is not None and (against := second[trial][0]) is not None
    ]
    if not found:
        return None
    return sum(score for score, _ in found) / len(found), sum(against for _, against in found) / len(found)


def _test_over(left: Sequence[float], right: Sequence[float], clusters: Sequence[Hashable]) -> tuple[str, float]:
    """Return the test over clusters: the signs of whole clusters are flipped."""
    if len(set(clusters)) == len(clusters):
        return _test(left, right)
    return "permutation", permutation_test(
        cluster_sums([one - other for one, other in zip(left, right, strict=True)], clusters)
    )


def _test(left: Sequence[float], right: Sequence[float]) -> tuple[str, float]:
    if _binary(left, right):
        gains = sum(one > other for one, other in zip(left, right, strict=True))
        losses = sum(one < other for one, other in zip(left, right, strict=True))
        return "mcnemar", mcnemar_test(gains, losses)
    return "permutation", permutation_test([one - other for one, other in zip(left, right, strict=True)])


def _binary(left: Sequence[float], right: Sequence[float]) -> bool:
    return all(score in (0.0, 1.0) for score in (*left, *right))
