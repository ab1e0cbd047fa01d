"""One run from its responses on: responses → examples → scores → stats, as a stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from harness.answers.declined import DeclinedCount
from harness.answers.reasoning_count import ReasoningCount
from harness.answers.served_models import ServedCount
from harness.contracts import (
    Adapted,
    BatchMetric,
    Determinism,
    Example,
    Response,
    Stat,
)
from harness.contracts.plugins import Kind, MetricDetails, PerturbationDetails
from harness.contracts.specs import RunSpec
from harness.costs.usage import Usage
from harness.errors import PluginError
from harness.inference.judge_pool import Judges
from harness.inference.model_pool import CountedModels
from harness.inference.model_settings import configured
from harness.plugins.parameters import build
from harness.plugins.registry import Registry
from harness.runs.evaluation import Evaluation
from harness.runs.generation_settings import GenerationSettings
from harness.runs.sample_scores import sample_scores
from harness.runs.sampling import answers_by_sample, seeded
from harness.runs.scoring import Scorer
from harness.storage.example_files import ExampleWriter
from harness.storage.instance_counts import InstanceCount
from harness.storage.instance_scores import InstanceScores
from harness.storage.run_schema import ExamplesDigest


@dataclass(slots=True)
class Outcome:
    """The outcome of a run: statistics, cost, served models, and declined and failed examples."""

    stats: Sequence[Stat] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    instance_scores: InstanceScores | None = None
    usage: Usage = field(default_factory=Usage)
    judges: Mapping[str, Usage] = field(default_factory=dict)
    judges_determinism: Mapping[str, Determinism] = field(default_factory=dict)
    examples: int = 0
    truncated: int = 0
    declined: DeclinedCount = field(default_factory=DeclinedCount)
    served: ServedCount = field(default_factory=ServedCount)
    generation: GenerationSettings = field(default_factory=GenerationSettings)
    unread: int = 0
    unjudged: int = 0
    without_probability: int = 0
    reasoning: ReasoningCount = field(default_factory=ReasoningCount)
    instances: InstanceCount = field(default_factory=InstanceCount)
    failed: int = 0
    first_error: str = ""
    written: ExamplesDigest | None = None


class Asking(Protocol):
    """A judge, or a metric that asks models itself."""

    def ready(self) -> None:
        """Check that it can work here.

        Raises:
            HarnessError: What is missing.
        """

    def fingerprint(self) -> Mapping[str, Any]:
        """Return everything that changes what it says."""


def run_judges(spec: RunSpec, registry: Registry, judges: Judges) -> list[Asking]:
    """Return the judges that a run's metrics name, and the metrics that ask models themselves.

    Raises:
        HarnessError: There is no such judge or model, or parameters are wrong.
    """
    found: list[Asking] = []
    for part in spec.configured_metrics:
        plugin = registry.get(Kind.METRIC, part.name)
        details = plugin.details
        if isinstance(details, MetricDetails) and details.judges:
            found.append(judges(part.arguments.get("judge", "")))
        elif isinstance(details, MetricDetails) and details.models:
            metric = build(plugin, judges.models, arguments=part.arguments)
            found += [metric] if isinstance(metric, BatchMetric) else []
    return found


def ready_scorer(spec: RunSpec, registry: Registry, judges: Judges) -> Scorer:
    """Return the scorer of a run's metrics, once it is sure that the judges that they ask can answer.

    Raises:
        HarnessError: A metric's parameters are wrong, or a judge cannot answer.
    """
    scorer = build_scorer(spec, registry, judges)
    for judge in run_judges(spec, registry, judges):
        judge.ready()
    return scorer


def build_scorer(spec: RunSpec, registry: Registry, judges: Judges) -> Scorer:
    """Return the scorer of a run's metrics."""
    metrics = [(part, registry.get(Kind.METRIC, part.name)) for part in spec.configured_metrics]
    categories = {
        part.name: details.category
        for part in spec.perturbations
        if isinstance(details := registry.get(Kind.PERTURBATION, part.name).details, PerturbationDetails)
    }
    models = CountedModels(judges.models)
    samples = sample_scores(spec)
    return Scorer(
        metrics,
        judges,
        models,
        perturbations=categories,
        labels=spec.groups,
        samples=samples,
        cluster=spec.cluster,
    )


class Scoring:
    """Scores a run's examples and writes them in their order, in blocks where a metric scores many at once.

    Args:
        scorer: The run's scorer.
        writer: Where examples go.
        model: The model that answered.
    """

    def __init__(self, scorer: Scorer, writer: ExampleWriter, model: str) -> None:
        self.scorer = scorer
        self._writer, self._model = writer, model
        self._waiting: list[tuple[Example, str | None]] = []

    def add(self, example: Example, error: str | None = None) -> None:
        """Take an example, or one that has no answer because of an error.

        Raises:
            HarnessError: A metric lacks what it needs.
        """
        self._waiting.append((replace(example, model=self._model), error))
        if len(self._waiting) >= self.scorer.block:
            self.flush()

    def flush(self) -> None:
        """Score and write the examples that wait.

        Raises:
            HarnessError: A metric lacks what it needs.
        """
        waiting, self._waiting = self._waiting, []
        scores = self.scorer.add_all([example for example, error in waiting if error is None])
        scored = zip(scores, self.scorer.judgements, strict=True)
        for example, error in waiting:
            found, judgements = ({}, []) if error is not None else next(scored)
            self._writer.write(example, found, error, judgements)


def followed_up(evaluation: Evaluation, adapted: Adapted, responses: Sequence[Response]) -> Adapted | None:
    """Return an example with what the adapter asks next about it; None if it asks nothing, or an answer is missing.

    The model's own settings are in the new requests too.

    Raises:
        PluginError: The adapter does not keep what was asked, or asks nothing more.
    """
    if any(response.error is not None or response.declined for response in responses):
        return None
    further = evaluation.adapter.follow_up(adapted, responses)
    if further is None:
        return None
    asked = len(adapted.requests)
    if len(further.requests) <= asked or further.requests[:asked] != adapted.requests:
        raise PluginError(
            f"adapter {evaluation.spec.adapter.name!r} follows up on instance {adapted.instance.id!r} without adding "
            "requests to those that were answered. Its follow_up must return all of these and at least one more, or "
            "None."
        )
    spec, requests = evaluation.spec, list(adapted.requests)
    for place, request in enumerate(further.requests[asked:], start=asked):
        requests.append(seeded(configured(request, spec.settings), place, adapted, spec))
    return replace(further, requests=tuple(requests), sample=adapted.sample)


def conclude(
    evaluation: Evaluation, adapted: Adapted, responses: Sequence[Response], scoring: Scoring, outcome: Outcome
) -> None:
    """Predict the examples of one instance, one for each sample, count them, and have them scored and written.

    Args:
        evaluation: The run.
        adapted: What was asked.
        responses: The answers, in the order of the requests.
        scoring: Scores and writes the run's examples.
        outcome: What came of the run so far.

    Raises:
        HarnessError: The adapter or a metric lacks what it needs.
    """
    for request, response in zip(adapted.requests, responses, strict=True):
        outcome.usage.add(request, response)
        outcome.served.add(response)
        outcome.generation.add(request)
    error = next((response.error for response in responses if response.error is not None), None)
    if error is not None:
        outcome.failed += 1
        outcome.first_error = outcome.first_error or error
        scoring.add(_counted(answered_example(adapted, tuple(responses), adapted.sample), scoring, outcome), error)
        return
    parts = answers_by_sample(adapted.requests, responses, evaluation.samples)
    for sample, answers in enumerate(parts, start=adapted.sample):
        example = _counted(answered_example(adapted, answers, sample), scoring, outcome)
        example = example.predicted(evaluation.adapter.predict(adapted, answers))
        outcome.unread += example.unread_for(evaluation.spec.main_metric)
        outcome.without_probability += example.probability is None and example.prediction != ""
        scoring.add(example)


def answered_example(adapted: Adapted, responses: tuple[Response, ...], sample: int) -> Example:
    """Return an instance's example with the responses of one sample, without its prediction."""
    return Example(
        instance=adapted.instance,
        requests=adapted.requests,
        responses=responses,
        labels=adapted.labels,
        trial=adapted.trial,
        sample=sample,
        train_instances=adapted.train_instances,
        dropped_examples=adapted.dropped_examples,
        truncated=adapted.truncated or any(response.truncated for response in responses),
    )


def _counted(example: Example, scoring: Scoring, outcome: Outcome) -> Example:
    outcome.examples += 1
    outcome.truncated += example.truncated or bool(example.dropped_examples)
    outcome.declined.add(example)
    outcome.reasoning.add(example)
    outcome.instances.add(example, scoring.scorer.labels)
    return example


def summarise(spec: RunSpec, scoring: Scoring, outcome: Outcome) -> None:
    """Score the examples that wait, and add the results of a run's scorer to its outcome.

    Raises:
        HarnessError: A metric failed, or returned an invalid value.
    """
    scoring.flush()
    scorer = scoring.scorer
    outcome.stats, outcome.details = scorer.stats(), scorer.details()
    outcome.unjudged = scorer.unjudged
    if isinstance(scorer.models, CountedModels):
        outcome.judges, outcome.judges_determinism = scorer.models.usage, scorer.models.determinism
    outcome.instance_scores = scorer.keyed_scores(spec.main_metric, spec.eval_split)
