"""From examples to numbers: estimates, statistics, metrics of a whole run, and judges."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from harness.contracts.adapters import Example
from harness.contracts.scales import Scale


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number about many examples, with its uncertainty."""

    value: float
    """The number."""
    count: int
    """How many instances it is about."""
    stderr: float | None = None
    """Standard error; None when it has none, or one cannot be known from so few."""
    low: float | None = None
    """Lower end of the 95 % interval; None where there are too few instances for one."""
    high: float | None = None
    """Upper end of the 95 % interval; None with low."""
    min: float | None = None
    """Smallest value of a single instance, where that means something."""
    max: float | None = None
    """Largest value of a single instance."""
    missing: int = 0
    """Examples that should be in it and have no value."""
    note: str = ""
    """What a reader must know of the interval, or why there is none; empty for nothing."""


@dataclass(frozen=True, slots=True)
class BestOf:
    """The score of an example with k > 1 completions; its stats are called ``name`` and ``name@k`` after the metric."""

    first: float
    """The score of the prediction."""
    best: float
    """The best score of any completion."""
    k: int
    """The number of completions."""


class RunMetric(ABC):
    """A metric that is not a mean of instance scores: it sees every example of a group once, then summarises.

    A fresh object is made for each group (split and perturbation). Registered with ``@metric`` on the class.
    """

    @abstractmethod
    def add(self, example: Example) -> None:
        """Take one example into account; keep what the statistic needs, not the example."""

    @abstractmethod
    def estimates(self) -> Mapping[str, Estimate]:
        """Return the numbers by name. A name that cannot be computed from what was seen is left out."""

    def instance_scores(self) -> Mapping[str, Mapping[str, float]]:
        """Return, for names whose number is the mean of instance scores, each instance's by its id, over all trials.

        What follows from scores of single instances (worst cases, drops, groups) then comes of these names, too.
        """
        return {}

    def details(self) -> Mapping[str, Any]:
        """Return, as JSON values, what a diagram needs beside the numbers; it goes into run.json."""
        return {}


class ExampleMetric(ABC):
    """A metric of single examples that is set up once for a run; a plain function will do where nothing is.

    One object is made for each run, before the run's model is asked anything. Registered with ``@metric`` on the class.
    """

    @abstractmethod
    def __call__(self, example: Example) -> Mapping[str, float | None] | BestOf | float | None:
        """Return the example's score, or its scores by name; None where it is undefined."""

    def details(self) -> Mapping[str, Any]:
        """Return, as JSON values, what is worth recording about how the scores came about; it goes into run.json."""
        return {}


@dataclass(frozen=True, slots=True)
class Unjudged:
    """Stands for the probability of a text that a judge could not judge."""

    reason: str
    """Why, in words that are the same for all texts of which it is true; they are counted."""
    answer: str = ""
    """What the judge got instead of a judgement."""


class Judge(ABC):
    """Says of texts how probable it is that a reader finds them toxic; registered with ``@judge``, one file each.

    The constructor takes keyword-only parameters and is cheap: models are loaded at the first :meth:`probabilities`.
    With ``@judge(…, models=True)`` it is given a :data:`ModelFinder` first.
    """

    def ready(self) -> None:  # noqa: B027 - most judges need nothing but themselves
        """Refuse where the judge could not judge here; it is called before a run asks its model anything.

        Raises:
            HarnessError: What is missing.
        """

    @abstractmethod
    def fingerprint(self) -> Mapping[str, Any]:
        """Return, as JSON values, all that changes a judgement: version, revision, the hash of weights or scores."""

    @abstractmethod
    def probabilities(self, texts: Sequence[str]) -> Sequence[float | Unjudged]:
        """Return each text's probability, between 0 and 1, in order; it depends on that text alone.

        Raises:
            HarnessError: The judge cannot be loaded, or cannot go on. What concerns one text only may be
                :class:`Unjudged`: it enters no number, and is counted.
        """


JudgeFinder = Callable[[str | Mapping[str, Any]], Judge]
"""Gives the judge that is written as its name, or as a mapping with ``name`` and its parameters."""


@dataclass(frozen=True, slots=True)
class Stat:
    """One line of a run's statistics; the fields are those of :class:`Estimate`, and what it is about."""

    metric: str
    """The name of the score."""
    category: str
    """The metric's; of perturbed copies the perturbation's; of groups ``fairness``."""
    split: str
    """The split of the instances."""
    perturbation: str | None
    """The perturbation, or the category that stands for all of its perturbations; None without one."""
    count: int
    """How many instances it is about."""
    mean: float
    """The number."""
    stderr: float | None
    """Standard error."""
    ci95: tuple[float, float] | None
    """The 95 % interval."""
    min: float | None
    """Smallest value of a single instance; for a gap between groups the smallest group's mean."""
    max: float | None
    """Largest value of a single instance; for a gap the largest group's mean."""
    higher_is_better: bool | None = None
    """Which way is better; None for neither."""
    missing: int = 0
    """Examples without a value; where instances are compared, instances without one of the values."""
    computed_on: Literal["original", "perturbed", "worst", "drop"] = "original"
    """``original`` instances; ``perturbed`` copies; ``worst``, the worst of an instance and its copies; or ``drop``,
    how much worse a copy is than its original.
    """
    group: str | None = None
    """``key=value`` for the instances whose meta data say so, ``key: gap`` for the difference between the largest and
    the smallest group's mean; None for all instances.
    """
    note: str = ""
    """What a reader must know of the interval, or why there is none; empty for nothing."""
    scale: Scale | None = None
    """What values the score of an instance can have; None if the metric does not declare it."""

    @property
    def overall(self) -> bool:
        """Whether it is about all unperturbed instances: what a score is when nothing more is said."""
        return self.perturbation is None and self.computed_on == "original" and self.group is None
