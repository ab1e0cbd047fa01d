"""One run: scenario → instances → perturbed copies → requests → responses → examples → stats, as a stream."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from harness.answers.declined import DeclinedCount
from harness.answers.reasoning_count import ReasoningCount
from harness.answers.served_models import ServedCount
from harness.contracts import (
    Adapted,
    Adapter,
    BatchMetric,
    Example,
    Instance,
    Response,
    Split,
    Stat,
    Tokenization,
)
from harness.contracts.data import Data
from harness.contracts.plugins import Kind, MetricDetails, PerturbationDetails, ScenarioDetails
from harness.contracts.specs import RunSpec
from harness.costs.usage import Usage
from harness.data.source import open_data
from harness.errors import DataError, HarnessError, PluginError, describe_failure, did_you_mean, reraise_interrupt
from harness.inference.judge_pool import Judges
from harness.inference.model_pool import CountedModels
from harness.inference.model_settings import ConfiguredTokenization, check_settings, configured, with_settings
from harness.plugins.parameters import build
from harness.plugins.registry import Registry
from harness.runs.generation_settings import GenerationSettings
from harness.runs.sample_scores import sample_scores
from harness.runs.sampling import answers_by_sample, conversations, sampled, seeded
from harness.runs.scoring import Scorer
from harness.seeds import derive_rng, derive_seed
from harness.storage.example_files import ExampleWriter
from harness.storage.instance_counts import InstanceCount
from harness.storage.instance_scores import InstanceScores
from harness.storage.run_schema import ExamplesDigest

Perturb = Callable[..., Instance | None]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A run whose data are read and whose parts are built, before its first request."""

    spec: RunSpec
    """The run's spec."""
    adapter: Adapter
    """The adapter, built."""
    data: Data
    """The scenario's data, for their provenance."""
    train: Sequence[Instance]
    """All train instances; none if prompts show no examples."""
    _instances: Callable[[], Iterator[Instance]]
    _perturbations: Sequence[tuple[str, Perturb]] = ()
    _chosen: Sequence[Instance] | None = None
    count: int = 0

    @property
    def converses(self) -> bool:
        """True if the adapter follows up on answers; each sample is then asked for by itself."""
        return type(self.adapter).follow_up is not Adapter.follow_up

    @property
    def samples(self) -> int:
        """Number of samples that each request asks for."""
        return 1 if self.converses else self.spec.samples

    @property
    def examples(self) -> int:
        """Maximum number of examples: originals, perturbed copies, all trials, samples that are asked for apart."""
        apart = self.spec.samples if self.converses else 1
        return self.count * (1 + len(self._perturbations)) * self.adapter.train_trials * apart

    def instances(self) -> Iterator[Instance]:
        """Yield the evaluation instances, each followed by its perturbed copies.

        Raises:
            DataError: A perturbation changes none of them.
        """
        idle = {name for name, _ in self._perturbations}
        yield from self._with_copies(idle)
        if idle:
            raise DataError(
                f"perturbation {min(idle)!r} changes none of the {self.count} instances of "
                f"{self.spec.scenario.label!r}, so nothing would be measured. Leave it out, or see `harness show "
                f"perturbation {min(idle)}` for what it needs."
            )

    def originals(self) -> Iterator[Instance]:
        """Yield the evaluation instances without perturbed copies."""
        return self._evaluated() if self._chosen is None else iter(self._chosen)

    def only(self, instances: Sequence[Instance]) -> Evaluation:
        """Return the run with only these evaluation instances, whose perturbed copies are made once for all trials.

        Raises:
            DataError: These are all instances, and a perturbation changes none of them.
        """
        few = replace(self, _chosen=instances)
        copies = list(few.instances() if len(instances) == self.count else few._with_copies(set()))
        return replace(few, _chosen=copies, _perturbations=(), count=len(copies))

    def adapted(self, tokenization: Tokenization) -> Iterator[Adapted]:
        """Yield the requests of every instance and trial, with the model's own settings.

        Raises:
            HarnessError: The settings do not fit the data or the model.
            PluginError: The adapter shows an instance as an example in its own prompt.
        """
        in_train, settings = self.spec.eval_split == Split.TRAIN, self.spec.settings
        check_settings(settings, tokenization)
        known = ConfiguredTokenization(tokenization, settings)
        for trial in range(self.adapter.train_trials):
            asked = self.adapter.adapt(self.instances(), self.train, known, trial=trial, seed=self.spec.seed)
            for adapted in asked:
                if in_train and adapted.instance.id in adapted.train_instances:
                    raise PluginError(
                        f"adapter {self.spec.adapter.name!r} shows instance {adapted.instance.id!r} of the train split "
                        "with its answer as an example in its own prompt."
                    )
                adapted = with_settings(adapted, settings)
                if self.converses:
                    yield from conversations(adapted, self.spec)
                else:
                    yield sampled(adapted, self.spec)

    def _with_copies(self, idle: set[str]) -> Iterator[Instance]:
        """Yield the evaluation instances with their copies; remove the perturbations that change one from ``idle``."""
        for instance in self.originals():
            yield instance
            for name, perturb in self._perturbations:
                rng = derive_rng(self.spec.instance_seed, f"perturbation/{name}/{instance.id}")
                copy = perturb(instance, rng)
                if copy is not None:
                    idle.discard(name)
                    yield copy.replace(id=instance.id, perturbation=name)

    def _evaluated(self) -> Iterator[Instance]:
        return (instance for instance in self._instances() if instance.split == self.spec.eval_split)


@dataclass(slots=True)
class Outcome:
    """The outcome of a run: statistics, cost, served models, and declined and failed examples."""

    stats: Sequence[Stat] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    instance_scores: InstanceScores | None = None
    usage: Usage = field(default_factory=Usage)
    judges: Mapping[str, Usage] = field(default_factory=dict)
    examples: int = 0
    truncated: int = 0
    declined: DeclinedCount = field(default_factory=DeclinedCount)
    served: ServedCount = field(default_factory=ServedCount)
    generation: GenerationSettings = field(default_factory=GenerationSettings)
    unread: int = 0
    without_probability: int = 0
    reasoning: ReasoningCount = field(default_factory=ReasoningCount)
    instances: InstanceCount = field(default_factory=InstanceCount)
    failed: int = 0
    first_error: str = ""
    written: ExamplesDigest | None = None


def prepare(spec: RunSpec, registry: Registry, data_dir: Path | None) -> Evaluation:
    """Read a run's data and build its parts.

    Raises:
        HarnessError: A plugin or its parameters, or the data, are not as they should be.
    """
    scenario = registry.get(Kind.SCENARIO, spec.scenario.name)
    adapter: Adapter = build(registry.get(Kind.ADAPTER, spec.adapter.name), arguments=spec.adapter.arguments)
    perturbations = [
        (part.name, build(registry.get(Kind.PERTURBATION, part.name), arguments=part.arguments))
        for part in spec.perturbations
    ]
    data = open_scenario_data(spec, registry, data_dir)
    instances = build(scenario, data, arguments=spec.scenario.arguments)
    labels: set[str] = set()
    examples = spec.adapter.arguments.get("max_train_instances")
    in_order = adapter.keeps_order or adapter.takes_first
    train, chosen, count = _survey(instances(), spec, labels, in_order=in_order, keeps_train=examples != 0)
    if count == 0:
        message = f"scenario {spec.scenario.label!r} has no instances in split {spec.eval_split}."
        raise DataError(data.lacking(spec.eval_split) or message)
    if examples and not train and (lacking := data.lacking(Split.TRAIN)):
        raise DataError(_without_examples(lacking))
    own = scenario.details.groups if isinstance(scenario.details, ScenarioDetails) else ()
    unknown = [group for group in spec.groups if group not in labels and group not in own]
    if unknown:
        hint = did_you_mean(unknown[0], labels) or "It has none at all."
        raise DataError(
            f"no instance of {spec.scenario.label!r} has the key {unknown[0]!r} in its meta to group by. {hint}"
        )
    if spec.cluster and spec.cluster not in labels:
        hint = did_you_mean(spec.cluster, labels) or "It has none at all."
        raise DataError(
            f"no instance of {spec.scenario.label!r} has the key {spec.cluster!r} in its meta, so there are no "
            f"clusters. {hint}"
        )
    return Evaluation(spec, adapter, data, train, instances, perturbations, chosen, count)


def lacking_data(spec: RunSpec, registry: Registry, data_dir: Path | None) -> str:
    """Return which local data that a run needs are not there; '' if all are, or if they come from the Hub."""
    try:
        lacking = open_scenario_data(spec, registry, data_dir).lacking(spec.eval_split)
        return lacking or lacking_examples(spec, registry, data_dir)
    except HarnessError as error:
        return str(error)


def lacking_examples(spec: RunSpec, registry: Registry, data_dir: Path | None) -> str:
    """Return why the examples that a run shows are not there; '' if they are, or if it shows none.

    The data are read only if the train files are missing: a scenario may have examples of its own.
    """
    if not spec.adapter.arguments.get("max_train_instances"):
        return ""
    try:
        data = open_scenario_data(spec, registry, data_dir)
        lacking = data.lacking(Split.TRAIN)
        if not lacking:
            return ""
        instances = build(registry.get(Kind.SCENARIO, spec.scenario.name), data, arguments=spec.scenario.arguments)
        return "" if any(instance.split == Split.TRAIN for instance in instances()) else _without_examples(lacking)
    except BaseException as error:  # whatever the scenario raises
        reraise_interrupt(error)
        return describe_failure(error)


def _without_examples(lacking: str) -> str:
    return f"{lacking} Or show no examples: max_train_instances: 0."


def open_scenario_data(spec: RunSpec, registry: Registry, data_dir: Path | None) -> Data:
    """Return the data of a run's scenario, before anything is read.

    Raises:
        DataError: There are none.
    """
    scenario = registry.get(Kind.SCENARIO, spec.scenario.name)
    if not isinstance(scenario.details, ScenarioDetails):
        raise PluginError(f"scenario {scenario.name!r} has no details ({scenario.origin}).")
    return open_data(scenario.details, spec.scenario.arguments, name=scenario.name, data_dir=data_dir)


def _survey(
    instances: Iterable[Instance], spec: RunSpec, labels: set[str], *, in_order: bool, keeps_train: bool
) -> tuple[list[Instance], list[Instance] | None, int]:
    """Return the train instances, the chosen evaluation instances (None: all of them), and how many are evaluated.

    The keys of the evaluation instances' meta are added to ``labels``. Without ``keeps_train`` there are no train
    instances.

    Of more than ``max_eval_instances`` those with the smallest hash of instance seed and id are chosen: the same ones
    whatever the order of the file, and mostly the same ones when the data grow; with ``in_order``, the first are.

    Raises:
        DataError: Two evaluation instances have the same id.
    """
    train: list[Instance] = []
    limit, count = spec.max_eval_instances, 0
    heap: list[tuple[int, int, Instance]] = []
    ids: set[str] = set()
    for instance in instances:
        if instance.split == Split.TRAIN and keeps_train:
            # All of these are kept, and nobody asks how an example of a prompt was published.
            train.append(instance.replace(published="") if instance.published else instance)
        if instance.split != spec.eval_split:
            continue
        count += 1
        labels.update(instance.meta)
        ids.add(instance.id)
        if len(ids) < count:
            raise DataError(
                f"scenario {spec.scenario.label!r} gives two instances of split {spec.eval_split} the id "
                f"{instance.id!r}; ids must be unique."
            )
        if limit is not None:
            rank = count if in_order else derive_seed(spec.instance_seed, f"eval-instances/{instance.id}")
            entry = (-rank, -count, instance)
            if len(heap) < limit:
                heapq.heappush(heap, entry)
            else:
                heapq.heappushpop(heap, entry)
    if limit is None:
        return train, None, count
    chosen = [instance for _, _, instance in sorted(heap, key=lambda entry: -entry[1])]
    return train, chosen, len(chosen)


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
        scores = iter(self.scorer.add_all([example for example, error in waiting if error is None]))
        for example, error in waiting:
            self._writer.write(example, {} if error is not None else next(scores), error)


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
        scoring.add(_counted(_example(adapted, tuple(responses), adapted.sample), scoring, outcome), error)
        return
    parts = answers_by_sample(adapted.requests, responses, evaluation.samples)
    for sample, answers in enumerate(parts, start=adapted.sample):
        example = _counted(_example(adapted, answers, sample), scoring, outcome)
        example = example.predicted(evaluation.adapter.predict(adapted, answers))
        outcome.unread += example.unread_for(evaluation.spec.main_metric)
        outcome.without_probability += example.probability is None and example.prediction != ""
        scoring.add(example)


def _example(adapted: Adapted, responses: tuple[Response, ...], sample: int) -> Example:
    """Return an example without its prediction."""
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
    outcome.judges = scorer.models.usage if isinstance(scorer.models, CountedModels) else {}
    outcome.instance_scores = scorer.keyed_scores(spec.main_metric, spec.eval_split)
