"""Two models on the same instances: by how much they differ, and whether that could be chance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.answers.served_models import served_models, served_notes
from harness.contracts import Scale
from harness.contracts.specs import Component, RunSpec
from harness.errors import DataError, HarnessError, MetricError, did_you_mean
from harness.plugins.registry import Registry
from harness.runs.runner import scores_of_instances
from harness.seeds import derive_seed
from harness.statistics import benjamini_hochberg, holm, mcnemar_test, paired_difference, permutation_test
from harness.storage.example_files import read_examples
from harness.storage.results import RunRecord
from harness.storage.run_labels import distinctions

Asked = dict[str, dict[int, tuple[float | None, int]]]
"""By instance and trial: the score, None where it has none, and a number that stands for what was asked."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One scenario, asked of two models."""

    scenario: str
    """The scenario's label."""
    adapter: str
    """The adaptation method."""
    metric: str
    """The score that is compared."""
    higher_is_better: bool | None
    """Which way is better, where the runs say."""
    count: int
    """How many instances have the score in both runs."""
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
    test: str
    """``mcnemar``, exact, where every score is 0 or 1; else ``permutation``."""
    p: float
    """The test's p-value."""
    p_holm: float
    """Adjusted over the family by Holm's method."""
    p_bh: float
    """Adjusted over the family by Benjamini and Hochberg's."""
    only_first: int
    """Instances that the second run does not have."""
    only_second: int
    """Instances that the first run does not have."""
    undefined: int
    """Instances of both without the score in one of them."""
    changed: int
    """Instances of both whose text or references differ; they are not compared."""
    settings: str = ""
    """The settings that tell it from other comparisons of the scenario and method, in brackets; else ''."""
    notes: tuple[str, ...] = ()
    """What else is to be known."""


@dataclass(frozen=True, slots=True)
class Family:
    """Comparisons that are judged together."""

    first: str
    """The first model's or run's name."""
    second: str
    """The second's."""
    comparisons: tuple[Comparison, ...]
    """One for each scenario."""
    problems: tuple[str, ...] = ()
    """What could not be compared, and why."""


def compare_runs(
    first: RunRecord, second: RunRecord, metric: str | None = None, registry: Registry | None = None
) -> Comparison:
    """Compare two runs of a scenario on the instances and trials that both have, on unperturbed instances.

    An instance's score is the mean over the trials that both runs have. The interval of the difference is that of
    :func:`harness.statistics.paired_difference`.

    Args:
        first: A run.
        second: Another of the same scenario.
        metric: The score; the runs' main metric by default.
        registry: Knows the metrics; needed where the score is one of those that are not written beside the examples.
            Such a score is the mean over an instance's trials, whichever they are.

    Raises:
        DataError: The runs are of different scenarios, have not ended well, or have no instance in common.
        MetricError: The metric has no score of single instances.
    """
    for run in (first, second):
        if run.status != "ok":
            raise DataError(f"run {run.suite}/{run.name} failed: {run.error}")
    if first.spec.scenario != second.spec.scenario:
        labels = f"{first.spec.scenario.label} and {second.spec.scenario.label}"
        raise DataError(f"the runs are of different scenarios, {labels}; only runs of the same one can be compared.")
    if metric is None and first.spec.main_metric != second.spec.main_metric:
        names = f"{first.spec.main_metric} and {second.spec.main_metric}"
        raise MetricError(f"the runs have different main metrics, {names}; choose one with --metric.")
    metric = metric or first.spec.main_metric
    one, other = _asked(first, metric, registry), _asked(second, metric, registry)
    common = one.keys() & other.keys()
    if not common:
        raise DataError(f"{first.suite}/{first.name} and {second.suite}/{second.name} have no instance in common.")
    changed = sum(1 for name in common if _differ(one[name], other[name]))
    pairs = [pair for name in sorted(common) if (pair := _pair(one[name], other[name])) is not None]
    if not pairs:
        raise DataError(
            f"none of the {len(common)} instances in common has a {metric} in both runs; {changed} of them differ in "
            "what was asked."
        )
    left, right = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    estimate = paired_difference(left, right, scale_of(first, second, metric))
    test, p = _tested(left, right)
    return Comparison(
        scenario=first.spec.scenario.label,
        adapter=first.spec.adapter.name,
        metric=metric,
        higher_is_better=_direction(first, metric),
        count=len(pairs),
        first=sum(left) / len(left),
        second=sum(right) / len(right),
        difference=estimate.value,
        stderr=estimate.stderr,
        low=estimate.low,
        high=estimate.high,
        test=test,
        p=p,
        p_holm=p,
        p_bh=p,
        only_first=len(one.keys() - common),
        only_second=len(other.keys() - common),
        undefined=len(common) - changed - len(pairs),
        changed=changed,
        notes=(*_notes(first.spec, second.spec), *_answers(first), *_answers(second), *filter(None, [estimate.note])),
    )


def compare_models(
    runs: Iterable[RunRecord], first: str, second: str, metric: str | None = None, registry: Registry | None = None
) -> Family:
    """Compare two models on every scenario that both were asked in the same way, as one family.

    Args:
        runs: The runs to look through.
        first: A model's name, with its arguments where the name alone is that of several.
        second: Another's.
        metric: The score; each scenario's main metric by default.
        registry: As in :func:`compare_runs`.

    Raises:
        DataError: There is no such model, or nothing can be compared.
    """
    known = list(runs)
    left, right = (_by_question(known, name) for name in (first, second))
    comparisons, problems = [], []
    asked = {question: run.spec for question, run in {**right, **left}.items()}
    questions = sorted(asked, key=lambda question: (_label(asked[question]), question))
    alone = [asked[question].model_copy(update={"model": Component(name=first)}) for question in questions]
    for question, distinction in zip(questions, distinctions(alone, _label), strict=True):
        if question not in left or question not in right:
            run, absent = (left[question], second) if question in left else (right[question], first)
            problems.append(f"{_label(run.spec)}{distinction}: there is no equal run of {absent}.")
            continue
        try:
            found = compare_runs(left[question], right[question], metric, registry)
            comparisons.append(replace(found, settings=distinction.strip()))
        except HarnessError as error:
            problems.append(f"{_label(left[question].spec)}{distinction}: {error}")
    if not comparisons:
        raise DataError("\n".join([f"{first} and {second} have nothing in common to compare.", *problems]))
    return Family(first, second, adjusted(comparisons), tuple(problems))


def adjusted(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Return comparisons with their p-values adjusted for how many they are."""
    values = [comparison.p for comparison in comparisons]
    return tuple(
        replace(comparison, p_holm=strict, p_bh=loose)
        for comparison, strict, loose in zip(comparisons, holm(values), benjamini_hochberg(values), strict=True)
    )


def _tested(left: Sequence[float], right: Sequence[float]) -> tuple[str, float]:
    if all(score in (0.0, 1.0) for score in (*left, *right)):
        gains = sum(one > other for one, other in zip(left, right, strict=True))
        losses = sum(one < other for one, other in zip(left, right, strict=True))
        return "mcnemar", mcnemar_test(gains, losses)
    return "permutation", permutation_test([one - other for one, other in zip(left, right, strict=True)])


def _asked(run: RunRecord, metric: str, registry: Registry | None) -> Asked:
    asked: Asked = {}
    known: set[str] = set()
    for example, scores, _ in read_examples(run):
        instance = example.instance
        if instance.perturbation is not None or instance.split != run.spec.eval_split:
            continue
        known.update(scores)
        texts = (instance.input, *((reference.text, reference.correct) for reference in instance.references))
        asked.setdefault(instance.id, {})[example.trial] = (scores.get(metric), derive_seed(0, repr(texts)))
    if metric not in known and registry is not None:
        given = scores_of_instances(run, metric, registry)
        if given:
            return {
                name: {trial: (given.get(name), text) for trial, (_, text) in trials.items()}
                for name, trials in asked.items()
            }
    if metric not in known:
        hint = did_you_mean(metric, known)
        raise MetricError(f"{run.suite}/{run.name} has no {metric} of single instances. {hint}".rstrip())
    return asked


def _differ(one: dict[int, tuple[float | None, int]], other: dict[int, tuple[float | None, int]]) -> bool:
    return {text for _, text in one.values()} != {text for _, text in other.values()}


def _pair(
    one: dict[int, tuple[float | None, int]], other: dict[int, tuple[float | None, int]]
) -> tuple[float, float] | None:
    """Return an instance's mean scores over the trials in which both have one."""
    if _differ(one, other):
        return None
    found = [
        (score, against)
        for trial in sorted(one.keys() & other.keys())
        if (score := one[trial][0]) is not None and (against := other[trial][0]) is not None
    ]
    if not found:
        return None
    return sum(score for score, _ in found) / len(found), sum(against for _, against in found) / len(found)


def scale_of(first: RunRecord, second: RunRecord, metric: str) -> Scale | None:
    """Return the scale of a score that two runs have; None if it is unknown, or they disagree."""
    scales = {stat.scale for run in (first, second) for stat in run.stats if stat.metric == metric}
    return scales.pop() if len(scales) == 1 else None


def _direction(run: RunRecord, metric: str) -> bool | None:
    return next((stat.higher_is_better for stat in run.stats if stat.metric == metric and stat.overall), None)


def _notes(first: RunSpec, second: RunSpec) -> Iterable[str]:
    for name in ("adapter", "seed", "instance_seed", "max_eval_instances"):
        one, other = (_shown(getattr(spec, name)) for spec in (first, second))
        if one != other:
            yield f"{name} differs: {one} and {other}"


def _answers(run: RunRecord) -> Iterable[str]:
    """Yield how many of a run's answers were declined, and what is odd about what its server answered with."""
    declined = run.declined.part(run.spec.eval_split.value)
    if declined.examples:
        yield f"{run.spec.model.label}: {declined}"
    for note in served_notes(run.spec.model.name, served_models(run.provenance)):
        yield f"{run.spec.model.label}: {note}"


def _shown(value: Any) -> str:
    return str(getattr(value, "label", value))


def _by_question(runs: Sequence[RunRecord], model: str) -> dict[str, RunRecord]:
    """Return a model's runs by what was asked, everything of the spec but suite and model; the newest of equals."""
    named = [run for run in runs if model in (run.spec.model.name, run.spec.model.label)]
    labels = sorted({run.spec.model.label for run in named})
    if not named:
        hint = did_you_mean(model, {run.spec.model.label for run in runs})
        raise DataError(f"there is no run of model {model!r}. {hint}".rstrip())
    if len(labels) > 1 and model not in labels:
        raise DataError(f"{model!r} is the name of several models: {', '.join(labels)}. Name one with its arguments.")
    exact = [run for run in named if len(labels) == 1 or run.spec.model.label == model]
    by_question: dict[str, RunRecord] = {}
    for run in sorted(exact, key=lambda run: (run.status == "ok", run.finished)):
        by_question[run.spec.question] = run
    return by_question


def _label(spec: RunSpec) -> str:
    return f"{spec.scenario.label} ({spec.adapter.name})"
