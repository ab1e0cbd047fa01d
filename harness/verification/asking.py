"""Asks a model the questions of a sample again, without the response cache, and scores the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.contracts import Adapted, Example, Request, Response
from harness.contracts.plugins import Kind, MetricDetails
from harness.contracts.specs import RunSpec
from harness.inference.caching_model import CachingModel
from harness.inference.judge_pool import Judges
from harness.inference.model_pool import Models
from harness.plugins.registry import Registry
from harness.runs.evaluation import Evaluation
from harness.runs.pipeline import answered_example, build_scorer, followed_up
from harness.runs.sampling import answers_by_sample
from harness.verification.recorded import Key

UNSCORED = frozenset({"efficiency"})
"""Categories of metrics that measure how an answer was given, which is never the same twice."""

Answered = Mapping[Key, Sequence[tuple[Example, Mapping[str, float]]]]
"""The examples of each question, one for each sample, with their scores."""


def ask_again(
    evaluation: Evaluation, model: CachingModel, questions: Mapping[Key, Adapted]
) -> tuple[dict[Key, tuple[Adapted, list[Response]]], dict[Key, str]]:
    """Ask questions, and what adapters ask next about the answers.

    Args:
        evaluation: The run with its data.
        model: The run's model, without a cache.
        questions: What to ask.

    Returns:
        What was asked with its answers, and the errors of questions without an answer, by question.

    Raises:
        ModelError: The model cannot be loaded, or cannot answer at all.
    """
    answered: dict[Key, tuple[Adapted, list[Response]]] = {}
    errors: dict[Key, str] = {}
    waiting: dict[Key, Adapted] = dict(questions)
    while waiting:
        known = {key: answered[key][1] if key in answered else [] for key in waiting}
        new: list[Request] = [
            request for key, adapted in waiting.items() for request in adapted.requests[len(known[key]) :]
        ]
        responses = iter(model.ask(new))
        for key, adapted in waiting.items():
            answers = [*known[key], *(next(responses) for _ in adapted.requests[len(known[key]) :])]
            answered[key] = adapted, answers
        further: dict[Key, Adapted] = {}
        for key, adapted in waiting.items():
            error = next((one.error for one in answered[key][1] if one.error is not None), None)
            if error is not None:
                errors[key] = error
            elif evaluation.converses and (more := followed_up(evaluation, adapted, answered[key][1])) is not None:
                further[key] = more
        waiting = further
    return answered, errors


def score_again(
    evaluation: Evaluation, registry: Registry, answered: Mapping[Key, tuple[Adapted, Sequence[Response]]]
) -> Answered:
    """Predict and score answers; judges are asked again, too.

    Methods about the order of a data set predict nothing about a part of it, and are not scored.

    Raises:
        HarnessError: The adapter or a metric lacks what it needs.
    """
    found: dict[Key, list[tuple[Example, Mapping[str, float]]]] = {}
    whole = evaluation.adapter.keeps_order
    models = Models(registry)
    try:
        spec = _scored(evaluation.spec, registry, whole)
        if evaluation.converses:  # the other samples of an instance may not be in the sample, so none are reduced
            spec = spec.model_copy(update={"samples": 1, "reductions": None})
        scorer = build_scorer(spec, registry, Judges(registry, models))
        for key, (adapted, responses) in answered.items():
            examples = []
            parts = answers_by_sample(adapted.requests, responses, evaluation.samples)
            for sample, answers in enumerate(parts, start=adapted.sample):
                example = answered_example(adapted, answers, sample)
                example = example if whole else example.predicted(evaluation.adapter.predict(adapted, answers))
                examples.append(example)
            found[key] = list(zip(examples, [{}] * len(examples) if whole else scorer.add_all(examples), strict=True))
    finally:
        models.close()
    return found


def _scored(spec: RunSpec, registry: Registry, whole: bool) -> RunSpec:
    """Return the spec with the metrics that can be compared."""

    def compared(name: str) -> bool:
        details = registry.get(Kind.METRIC, name).details
        return isinstance(details, MetricDetails) and details.category not in UNSCORED

    return spec.model_copy(
        update={"metrics": tuple(part for part in spec.metrics if not whole and compared(part.name))}
    )
