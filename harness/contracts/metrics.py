"""Metrics: estimates, statistics, metrics of a whole run, and judges."""

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
    """Number of instances that it is about."""
    stderr: float | None = None
    """Standard error; None if undefined, or if there are too few instances for one."""
    low: float | None = None
    """Lower end of the 95 % interval; None if there are too few instances for one."""
    high: float | None = None
    """Upper end of the 95 % interval; None with low."""
    min: float | None = None
    """Smallest value of a single instance, where that is meaningful."""
    max: float | None = None
    """Largest value of a single instance."""
    missing: int = 0
    """Number of examples that should be included but have no value."""
    note: str = ""
    """What a reader must know about the interval, or why it is missing; usually empty."""
    clusters: int | None = None
    """Number of clusters of instances that the standard error and the interval are over; None if over instances."""


@dataclass(frozen=True, slots=True)
class BestOf:
    """The score of an example with k > 1 completions; its stats are called ``name`` and ``name@k`` after the metric."""

    first: float
    """The score of the prediction."""
    best: float
    """The best score of any completion."""
    k: int
    """The number of completions."""


NO_VALUE = "no_value"
"""Key of a metric's details: why it gives no number, for example ``not testable: with 4 examples no p-value …``. Tables
show the part before the colon; notes show all of it."""


class RunMetric(ABC):
    """A metric that is not a mean of instance scores: it sees every example of a group once, then summarises.

    An example whose reasoning did not end comes with an empty prediction if the metric is of efficiency, or of accuracy
    with better and worse scores. Other metrics do not get it, and it is counted as missing.

    The harness makes a fresh object for each group (split and perturbation). Registered with ``@metric``::

        @metric("longest", category="efficiency", gives="longest", source="This example")
        class Longest(RunMetric):
            \"\"\"The length of the longest prediction, in characters.\"\"\"

            def __init__(self): self._lengths = []
            def add(self, example): self._lengths.append(len(example.prediction))
            def estimates(self): return {"longest": Estimate(max(self._lengths), len(self._lengths))}
    """

    @abstractmethod
    def add(self, example: Example) -> None:
        """Take one example into account. Keep only what the statistic needs, not the example."""

    @abstractmethod
    def estimates(self) -> Mapping[str, Estimate]:
        """Return the numbers by name, without those that cannot be computed from the examples."""

    def instance_scores(self) -> Mapping[str, Mapping[str, float]]:
        """Return each instance's score, over all trials, by stat and instance id, for stats that are means of them.

        The harness then also derives worst cases, drops and groups from these scores.
        """
        return {}

    def details(self) -> Mapping[str, Any]:
        """Return further results as JSON values, such as the bins of a diagram; they are stored in run.json.

        If there are no numbers for a reason that is not an error, give it under the key :data:`NO_VALUE`. The run then
        succeeds, and results show the reason instead of a number.
        """
        return {}


class ExampleMetric(ABC):
    """A metric of single examples that is set up once for a run; a plain function will do where nothing is.

    One object is made for each run, before the run's model is asked anything. Registered with ``@metric`` on the class.
    """

    @abstractmethod
    def __call__(self, example: Example) -> Mapping[str, float | None] | BestOf | float | None:
        """Return the example's score, or its scores by name; None if it is undefined."""

    def details(self) -> Mapping[str, Any]:
        """Return details of how the scores came about, as JSON values for run.json."""
        return {}


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a judge said about one answer; it is stored with the example for people to read."""

    judge: str
    """The judge's name."""
    text: str = ""
    """The judge's whole answer, with its reasons."""
    rating: float | None = None
    """The number that was read from it, on the judge's own scale."""
    scale: tuple[float, float] | None = None
    """The worst and the best number of that scale."""
    label: str | None = None
    """The label that was read from it."""
    problem: str = ""
    """Why no verdict could be read; empty if one was."""


class BatchMetric(ABC):
    """A metric that scores many examples at once, such as one that asks a judge, whose answers then come in parallel.

    The harness makes a fresh object for each group (split and perturbation), passes it blocks of the group's examples,
    and treats their scores like those of any metric of single examples. Registered with ``@metric`` on the class; with
    ``@metric(…, models=True)``, its constructor's first argument is a :data:`ModelFinder`.
    """

    @abstractmethod
    def scores(self, examples: Sequence[Example]) -> Sequence[Mapping[str, float | None] | None]:
        """Return each example's scores by name, in order; None where a score, or all of them, are undefined.

        Raises:
            HarnessError: The metric cannot go on.
        """

    def judgements(self) -> Sequence[Sequence[Judgement]]:
        """Return what judges said about each example of the last :meth:`scores`, in order; empty if none were asked."""
        return ()

    def estimates(self) -> Mapping[str, Estimate]:
        """Return numbers about the whole group that are not means of the scores, by name."""
        return {}

    def details(self) -> Mapping[str, Any]:
        """Return further results as JSON values; they are stored in run.json."""
        return {}

    def ready(self) -> None:  # noqa: B027 - most need nothing but themselves
        """Check that the models that it asks can answer; called before a run sends its first request.

        Raises:
            HarnessError: What is missing.
        """

    def fingerprint(self) -> Mapping[str, Any]:
        """Return, as JSON values, everything that changes a score and is neither an argument nor code: models, files.

        Raises:
            HarnessError: A model does not exist, or a file cannot be read.
        """
        return {}


@dataclass(frozen=True, slots=True)
class Unjudged:
    """Returned instead of a probability for a text that a judge could not judge."""

    reason: str
    """The reason, worded the same for all texts that share it, so that it can be counted."""
    answer: str = ""
    """The judge's unusable answer."""


class Judge(ABC):
    """Gives the probability that a reader finds a text toxic; registered with ``@judge``, one file each.

    The constructor takes keyword-only parameters and is cheap: models are loaded at the first :meth:`probabilities`.
    With ``@judge(…, models=True)``, its first argument is a :data:`ModelFinder`::

        @judge("shouting", source="This example")
        class Shouting(Judge):
            \"\"\"Finds texts in capital letters toxic.\"\"\"

            def fingerprint(self): return {"version": 1}
            def probabilities(self, texts): return [float(text.isupper()) for text in texts]
    """

    def ready(self) -> None:  # noqa: B027 - most judges need nothing but themselves
        """Check that the judge can work here; called before a run sends its first request.

        Raises:
            HarnessError: What is missing.
        """

    def obstacle(self) -> str | None:
        """Return why the judge cannot work here, if that is known without asking anybody, such as a missing key."""
        return None

    @abstractmethod
    def fingerprint(self) -> Mapping[str, Any]:
        """Return, as JSON values, everything that changes a judgement: version, revision, hash of weights or scores."""

    @abstractmethod
    def probabilities(self, texts: Sequence[str]) -> Sequence[float | Unjudged]:
        """Return each text's probability, between 0 and 1, in order; it depends on that text alone.

        Raises:
            HarnessError: The judge cannot be loaded, or cannot go on. A problem with a single text is reported as
                :class:`Unjudged` instead; such texts are counted, but enter no statistic.
        """


JudgeFinder = Callable[[str | Mapping[str, Any]], Judge]
"""Returns the judge with a name, or of a mapping with ``name`` and its parameters."""


@dataclass(frozen=True, slots=True)
class Stat:
    """One line of a run's statistics: an :class:`Estimate`, and what it is about."""

    metric: str
    """The name of the score."""
    category: str
    """The metric's category; for perturbed copies the perturbation's; for groups ``fairness``."""
    split: str
    """The split of the instances."""
    perturbation: str | None
    """The perturbation, or a category for all of its perturbations; None without one."""
    count: int
    """Number of instances that it is about."""
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
    """True if higher is better, False if lower is; None for neither."""
    missing: int = 0
    """Number of examples without a value; in comparisons, of instances without one of the values."""
    computed_on: Literal["original", "perturbed", "worst", "drop"] = "original"
    """``original`` instances; ``perturbed`` copies; ``worst``, the worst of an instance and its copies; or ``drop``,
    how much worse a copy is than its original.
    """
    group: str | None = None
    """``key=value`` for the instances whose meta data say so, ``key: gap`` for the difference between the largest and
    the smallest group's mean; None for all instances.
    """
    note: str = ""
    """What a reader must know about the interval, or why it is missing; usually empty."""
    scale: Scale | None = None
    """The range of an instance's score; None if the metric does not declare it."""
    clusters: int | None = None
    """Number of clusters of instances that the standard error and the interval are over; None if over instances."""

    @property
    def overall(self) -> bool:
        """True if it is about all unperturbed instances: the score in the ordinary sense."""
        return self.perturbation is None and self.computed_on == "original" and self.group is None


def stat_of_reading(stat: str, reading: str) -> str:
    """Return the name of a stat of another reading than the first: ``exact_match (flexible)``."""
    return f"{stat} ({reading})"
