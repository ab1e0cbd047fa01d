"""The paired variances of earlier runs: how much two models' scores of the same instance differ.

The variance of a difference has two parts (Miller 2024, "Adding Error Bars to Evals", arXiv:2411.00640): between
instances, of the difference of the expected scores, and within them, of single answers around their expectation::

    v(K)  =  between  +  (within of the first model + within of the second) / K      with K answers to each instance

Runs with several samples, trials or repeats show both parts; of others only the sum for one answer is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from harness.contracts import Scale
from harness.errors import DataError
from harness.leaderboard.columns import canonical, grouped, run_settings
from harness.leaderboard.repeats import seeds
from harness.planning.questions import SIZES, Question, alike, answers_each, part
from harness.seeds import derive_rng
from harness.statistics import paired_variance
from harness.storage.example_files import read_examples
from harness.storage.instance_scores import KEY_BYTES, cluster_number, instance_key
from harness.storage.results import RunRecord

FEWEST_INSTANCES = 10
"""Instances in common below which a pair of models is left out."""

MOST_PAIRS = 200
"""Pairs of models that are looked at for a question; of more, as many are drawn at random."""


@dataclass(frozen=True, slots=True)
class PairVariance:
    """The variance of an instance's difference between two models."""

    between: float
    """Of the expected scores; of all if ``within`` is None."""
    within: float | None
    """Of single answers, of both models together; None if each instance has one answer."""
    instances: int
    """Instances that both models have."""

    def of(self, answers: int) -> float:
        """Return the variance with a number of answers to each instance."""
        return self.between + (self.within or 0.0) / answers


@dataclass(frozen=True, slots=True)
class Earlier:
    """What earlier runs say about a question."""

    pairs: tuple[PairVariance, ...] = ()
    """The pairs of models."""
    models: int = 0
    """Number of models in them."""
    unusable: tuple[str, ...] = ()
    """Runs of the question that say nothing, and why."""


@dataclass(slots=True)
class _Scores:
    """One model's scores: for each instance of each part its answers and its cluster."""

    answers: dict[tuple[str, bytes], list[float]] = field(default_factory=dict)
    clusters: dict[tuple[str, bytes], int] = field(default_factory=dict)

    def within(self) -> float | None:
        """Return the mean variance of an instance's answers; None if no instance has several."""
        several = [found for found in self.answers.values() if len(found) > 1]
        return math.fsum(map(_variance, several)) / len(several) if several else None


def earlier_variances(question: Question, runs: Iterable[RunRecord]) -> Earlier:
    """Return the paired variances of all pairs of models that were asked a question in the same way, by one prompt.

    Args:
        question: The question.
        runs: Earlier runs, of any scenarios.
    """
    known = [run for run in runs if run.status == "ok" and alike(run.spec, question.metric) == question.key]
    if not question.averaged:  # the most frequent of eight answers says nothing of that of four
        known = [run for run in known if run.spec.samples == question.spec.samples]
    unusable: list[str] = []
    pairs: list[tuple[tuple[str, _Scores], tuple[str, _Scores]]] = []
    for same in grouped(known, _settings).values():
        by_model = grouped(same, lambda run: run.model_key)
        scores = [(model, _scores(several, question, unusable)) for model, several in sorted(by_model.items())]
        pairs += combinations([(model, found) for model, found in scores if found.answers], 2)
    if len(pairs) > MOST_PAIRS:
        pairs = derive_rng(0, f"pairs/{question.key}").sample(pairs, MOST_PAIRS)
    found = [({model, another}, _pair(one, other, question.scale)) for (model, one), (another, other) in pairs]
    usable = [(models, pair) for models, pair in found if pair is not None]
    models = {model for both, _ in usable for model in both}
    return Earlier(tuple(pair for _, pair in usable), len(models), tuple(unusable))


def _settings(run: RunRecord) -> str:
    """Return how a question was asked, with the variant of its prompt; texts may follow from the part."""
    settings = run_settings(run.spec).items()
    told = {name: value for name, value in settings if not (run.spec.parts and isinstance(value, str))}
    asked = {name: value for name, value in told.items() if name not in SIZES}
    return canonical([asked, run.spec.cluster, run.spec.prompt_description])


def _scores(runs: Sequence[RunRecord], question: Question, unusable: list[str]) -> _Scores:
    """Return a model's scores over its parts and repeats; of several equal runs the newest that has them."""
    newest_first = sorted(runs, key=lambda run: run.finished, reverse=True)
    found = _Scores()
    for (name, *_), equal in grouped(newest_first, lambda run: (part(run.spec), seeds(run), run.spec.samples)).items():
        problems = []
        for run in equal:
            try:
                answers, clusters = _of_run(run, question)
            except DataError as error:
                problems.append(str(error))
                continue
            for key, given in answers.items():
                found.answers.setdefault((name, key), []).extend(given)
            found.clusters |= {(name, key): cluster for key, cluster in clusters.items()}
            break
        else:
            unusable += problems
    return found


def _of_run(run: RunRecord, question: Question) -> tuple[Mapping[bytes, list[float]], Mapping[bytes, int]]:
    """Return each instance's answers and its cluster.

    Raises:
        DataError: They are not known.
    """
    main = question.metric == run.spec.main_metric
    several = question.averaged and answers_each(run.spec) > 1
    recorded = run.instance_scores if main else None
    if recorded is not None and not (several and run.examples is not None):
        numbers = recorded.clusters()
        keys = [recorded.keys[at : at + KEY_BYTES] for at in range(0, len(recorded.keys), KEY_BYTES)]
        clusters = {} if numbers is None else dict(zip(keys, numbers.tolist(), strict=True))
        return {key: [score] for key, score in recorded.by_key().items()}, clusters
    if run.examples is None:
        raise DataError(f"{run.suite}/{run.name} has no examples, and no instance scores of {question.metric}.")
    answers: dict[bytes, list[float]] = {}
    found: dict[bytes, int] = {}
    for example, scores, _ in read_examples(run):
        instance, score = example.instance, scores.get(question.metric)
        if instance.perturbation is not None or instance.split != run.spec.eval_split or score is None:
            continue
        key = instance_key(instance)
        answers.setdefault(key, []).append(score)
        if run.spec.cluster:
            found[key] = cluster_number(instance.id, instance.meta, run.spec.cluster)
    if not answers:
        raise DataError(f"{run.suite}/{run.name} has no scores of single instances for {question.metric}.")
    return answers, found


def _pair(one: _Scores, other: _Scores, scale: Scale | None) -> PairVariance | None:
    """Return the paired variance of two models; None if they have too few instances in common."""
    common = sorted(one.answers.keys() & other.answers.keys())
    if len(common) < FEWEST_INSTANCES:
        return None
    first, second = ([_mean(scores.answers[key]) for key in common] for scores in (one, other))
    clusters = None
    if one.clusters and other.clusters:
        clusters = [one.clusters.get(key, -place) for place, key in enumerate(common, start=1)]
    total = paired_variance(first, second, scale, clusters, [name for name, _ in common])
    noises = one.within(), other.within()
    if noises[0] is None or noises[1] is None:
        return PairVariance(total, None, len(common))
    noise = _mean([noises[0] / len(one.answers[key]) + noises[1] / len(other.answers[key]) for key in common])
    return PairVariance(max(0.0, total - noise), noises[0] + noises[1], len(common))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _variance(values: Sequence[float]) -> float:
    mean = _mean(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
