"""How many instances each question of a sweep needs to show a difference between two models, and what it can show."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.contracts.specs import RunSpec
from harness.errors import HarnessError
from harness.planning.earlier import Earlier, earlier_variances
from harness.planning.questions import Question, part, questions
from harness.plugins.registry import Registry
from harness.runs.plan import Plan
from harness.statistics import bounded_variance, detectable_difference, instances_needed
from harness.statistics.power import INDEPENDENT, LEVEL, POWER
from harness.storage.results import RunRecord

MOST_SAMPLES = 64
"""Most samples of an instance that are proposed."""

SAMPLES = (1, 2, 4, 8, 16)
"""Numbers of samples for which the number of instances is given, where their effect is known."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a comparison should show.

    Raises:
        HarnessError: A number is out of range.
    """

    detect: float
    """The difference between two models' scores."""
    power: float = POWER
    """The probability that it is shown."""
    level: float = LEVEL
    """The two-sided level of the test."""
    agreement: float | None = None
    """Share of instances on which two models have equal scores, for bounds; None for that of independent models."""

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not 0.0 < self.detect < math.inf:
            raise HarnessError(f"the difference to detect must be more than 0, not {self.detect:g}.")
        if not 0.0 < self.level < self.power < 1.0:
            raise HarnessError(f"the power must be between the level {self.level:g} and 1, not {self.power:g}.")
        if self.agreement is not None and not 0.0 <= self.agreement < 1.0:
            raise HarnessError(f"an agreement must be at least 0 and less than 1, not {self.agreement:g}.")


@dataclass(frozen=True, slots=True)
class Needed:
    """The instances that show the difference."""

    instances: int
    """Their number, over all parts of the scenario; of too few, as many times those that it has as are needed."""
    limit: int | None
    """``max_eval_instances`` of each run that gives as many; None if the scenario has too few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What one question of a sweep needs."""

    question: Question
    """The question."""
    available: int = 0
    """Instances that the scenario has."""
    planned: int = 0
    """Instances that the sweep asks as it is written."""
    sizes: Mapping[str, int]
    """Instances that each part has."""
    source: str = ""
    """``earlier runs``, or ``bound``; '' if nothing is known."""
    pairs: int = 0
    """Pairs of models in earlier runs."""
    models: int = 0
    """Number of these models."""
    variance: float | None = None
    """Variance of an instance's difference: the median over pairs, or the bound."""
    needed: Needed | None = None
    """At the level asked for."""
    least: int | None = None
    """Instances that the pair with the smallest variance needs; None without earlier runs."""
    most: int | None = None
    """Instances that the pair with the largest variance needs."""
    holm: Needed | None = None
    """After Holm's correction for all questions of the sweep."""
    shows: float | None = None
    """The smallest difference that the sweep shows as it is written; None if none."""
    shows_at_most: float | None = None
    """The smallest difference that all instances of the scenario show."""
    samples: int | None = None
    """Samples of each instance with which all instances are enough; None if they are anyway, or never."""
    by_samples: Mapping[int, int] | None = None
    """Instances needed by the number of samples; None if the variance of single answers is not known."""
    unusable: tuple[str, ...] = ()
    """Earlier runs that say nothing, and why."""
    problem: str = ""
    """Why nothing is known; '' if something is."""

    @property
    def enough(self) -> bool:
        """True if the sweep shows the difference as it is written."""
        return self.needed is not None and self.needed.limit is not None and self.planned >= self.needed.instances


def needs(
    runs: Sequence[RunSpec],
    plans: Mapping[int, Plan | str],
    earlier: Sequence[RunRecord],
    target: Target,
    registry: Registry,
    metric: str | None = None,
) -> list[Need]:
    """Return what each question of a sweep needs.

    Args:
        runs: The sweep's runs.
        plans: For the position of each run its plan without ``max_eval_instances``, or why it would fail.
        earlier: Runs from which variances are taken.
        target: What should be shown.
        registry: Knows the plugins.
        metric: The score to compare; the runs' main metrics by default.

    Raises:
        PluginError: No metric gives such a score.
    """
    asked = questions(runs, registry, metric)
    family = sum(not question.problem for question in asked)
    return [_need(question, runs, plans, earlier, target, max(1, family)) for question in asked]


def effective(sizes: Mapping[str, int], limit: int | None = None) -> float:
    """Return as how many equally weighted instances the mean of the parts' means counts, at most ``limit`` of each."""
    taken = [size if limit is None else min(size, limit) for size in sizes.values()]
    return len(taken) ** 2 / sum(1.0 / size for size in taken) if taken and all(taken) else 0.0


def _need(
    question: Question,
    runs: Sequence[RunSpec],
    plans: Mapping[int, Plan | str],
    earlier: Sequence[RunRecord],
    target: Target,
    family: int,
) -> Need:
    planned = {place: found for place in question.runs if isinstance(found := plans.get(place), Plan)}
    sizes = {part(runs[place]): found.instances for place, found in planned.items()}
    if not sizes:
        failed = next((found for place in question.runs if isinstance(found := plans.get(place), str)), "")
        return Need(question=question, sizes={}, problem=question.problem or failed)
    limits = {part(runs[place]): runs[place].max_eval_instances for place in planned}
    written = {name: min(size, limits[name] or size) for name, size in sizes.items()}
    need = Need(question=question, available=sum(sizes.values()), planned=sum(written.values()), sizes=sizes)
    if question.problem:
        return replace(need, problem=question.problem)
    widest = math.inf if question.scale is None else question.scale.bounds[1] - question.scale.bounds[0]
    if target.detect >= widest:
        return replace(need, problem=_too_much(target.detect, widest))
    test = _Test(question, target)
    known = earlier_variances(question, earlier)
    if known.pairs:
        variances = sorted(pair.of(question.answers) for pair in known.pairs)
        ends = [_sized(test.needed(variance, question.answers), sizes) for variance in (variances[0], variances[-1])]
        variance = statistics.median(variances)
        need = replace(need, least=ends[0].instances, most=ends[1].instances, **_samples(test, known, sizes))
    else:
        bound, why = _bound(question, target, max(found.cluster_size for found in planned.values()))
        if bound is None:
            return replace(need, problem=why, unusable=known.unusable)
        variance = bound
    return replace(
        need,
        source="earlier runs" if known.pairs else "bound",
        pairs=len(known.pairs),
        models=known.models,
        unusable=known.unusable,
        variance=variance,
        needed=_sized(test.needed(variance, question.answers), sizes),
        holm=_sized(test.needed(variance, question.answers, target.level / family), sizes),
        shows=test.shown(variance, effective(written)),
        shows_at_most=test.shown(variance, effective(sizes)),
    )


def _bound(question: Question, target: Target, cluster_size: float) -> tuple[float | None, str]:
    """Return the largest possible variance, or why there is none."""
    scale = question.scale
    agreement = INDEPENDENT if target.agreement is None else target.agreement
    bound = None if scale is None else bounded_variance(scale, agreement)
    if scale is None or bound is None:
        return None, "its scores have no bounds: run two models on some instances first."
    most = (1.0 - agreement) * (scale.bounds[1] - scale.bounds[0])
    if target.agreement is not None and target.detect >= most:
        return None, _too_much(target.detect, most)
    return bound * cluster_size, ""


def _too_much(detect: float, most: float) -> str:
    return f"two models cannot differ by {detect:g} in its scores, only by less than {most:g}."


@dataclass(frozen=True, slots=True)
class _Test:
    """The test of a question's difference."""

    question: Question
    target: Target

    def step(self, answers: int) -> float:
        """Return the step of the test's statistic, see :mod:`harness.statistics.power`."""
        scale = self.question.scale
        if scale is None or scale.kind != "proportion":
            return 0.0
        return 1.0 / answers if self.question.averaged else 1.0

    def needed(self, variance: float, answers: int, level: float | None = None) -> int:
        step, target = self.step(answers), self.target
        return instances_needed(variance, target.detect, step=step, power=target.power, level=level or target.level)

    def shown(self, variance: float, instances: float) -> float | None:
        scale, target = self.question.scale, self.target
        widest = math.inf if scale is None else scale.bounds[1] - scale.bounds[0]
        step = self.step(self.question.answers)
        return detectable_difference(
            variance, instances, widest=widest, step=step, power=target.power, level=target.level
        )


def _samples(test: _Test, known: Earlier, sizes: Mapping[str, int]) -> dict[str, Any]:
    """Return :attr:`Need.samples` and :attr:`Need.by_samples`; nothing if the variance of single answers is unknown."""
    question = test.question
    if not question.averaged or any(pair.within is None for pair in known.pairs):
        return {}
    trials = question.answers // question.spec.samples

    def needed(samples: int) -> int:
        answers = samples * trials
        return test.needed(statistics.median(pair.of(answers) for pair in known.pairs), answers)

    most = effective(sizes)
    enough = None
    if needed(question.spec.samples) > most:
        enough = next((samples for samples in range(1, MOST_SAMPLES + 1) if needed(samples) <= most), None)
    by_samples = {samples: needed(samples) for samples in sorted({*SAMPLES, question.spec.samples})}
    return {"samples": enough, "by_samples": by_samples}


def _sized(count: int, sizes: Mapping[str, int]) -> Needed:
    """Return the smallest limit of each part that is as precise as ``count`` instances of one part."""
    most = effective(sizes)
    if most < count:
        return Needed(math.ceil(count * sum(sizes.values()) / most), None)
    low, high = 1, max(sizes.values())
    while low < high:
        middle = (low + high) // 2
        if effective(sizes, middle) >= count:
            high = middle
        else:
            low = middle + 1
    return Needed(sum(min(size, low) for size in sizes.values()), low)
