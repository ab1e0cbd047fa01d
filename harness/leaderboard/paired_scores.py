"""Two models' scores of the same instances: which can be compared, how much they differ, and if that may be chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.contracts import Scale
from harness.errors import DataError
from harness.statistics import mcnemar_test, paired_difference, permutation_test

Trials = Mapping[int, tuple[float | None, int]]
"""By trial: the score, None if it is undefined, and a digest of what was asked."""

Answers = Mapping[str, Trials]
"""The trials of each instance."""


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
    """``mcnemar``, exact, where every score is 0 or 1; else ``permutation``."""
    p: float
    """The test's p-value."""
    differing: int
    """Number of instances whose scores differ."""
    only_first: int
    """Instances that the second run does not have."""
    only_second: int
    """Instances that the first run does not have."""
    undefined: int
    """Instances of both without the score in one of them."""
    changed: int
    """Instances of both whose text or references differ; they are not compared."""

    def left_out(self, first: str, second: str) -> Iterator[str]:
        """Yield how many instances are not compared, and why; ``first`` and ``second`` name the two sides."""
        counts = (
            (self.only_first, f"only {first}"),
            (self.only_second, f"only {second}"),
            (self.undefined, "undefined"),
            (self.changed, "not the same question"),
        )
        return (f"{count} {reason}" for count, reason in counts if count)


def compare_answers(first: Answers, second: Answers, scale: Scale | None, metric: str) -> PairedScores:
    """Compare two models' scores instance by instance.

    An instance's score is the mean over the trials that both models have. The interval of the difference is that of
    :func:`harness.statistics.paired_difference`.

    Args:
        first: The first model's scores.
        second: The second's.
        scale: The scores' scale; None if it is unknown.
        metric: The metric's name, for the error.

    Raises:
        DataError: No instance can be compared.
    """
    common = first.keys() & second.keys()
    if not common:
        raise DataError("the runs have no instance in common.")
    changed = {name for name in common if _digests(first[name]) != _digests(second[name])}
    pairs = [pair for name in sorted(common - changed) if (pair := _mean_scores(first[name], second[name])) is not None]
    if not pairs:
        raise DataError(
            f"none of the {len(common)} instances in common has a {metric} in both runs; {len(changed)} of them differ "
            "in what was asked."
        )
    left, right = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    estimate = paired_difference(left, right, scale)
    test, p = _test(left, right)
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
        only_first=len(first.keys() - common),
        only_second=len(second.keys() - common),
        undefined=len(common) - len(changed) - len(pairs),
        changed=len(changed),
    )


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


def _test(left: Sequence[float], right: Sequence[float]) -> tuple[str, float]:
    if all(score in (0.0, 1.0) for score in (*left, *right)):
        gains = sum(one > other for one, other in zip(left, right, strict=True))
        losses = sum(one < other for one, other in zip(left, right, strict=True))
        return "mcnemar", mcnemar_test(gains, losses)
    return "permutation", permutation_test([one - other for one, other in zip(left, right, strict=True)])
