"""Compares two runs, or two models scenario by scenario, on the instances that both answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from harness.answers.reasoning_count import unannounced_note, unfinished_note
from harness.answers.served_models import served_models, served_notes
from harness.contracts import Scale
from harness.contracts.specs import Component, RunSpec
from harness.errors import DataError, HarnessError, MetricError, did_you_mean
from harness.leaderboard.columns import agreed
from harness.leaderboard.model_names import model_names, model_of
from harness.leaderboard.paired_scores import (
    Answers,
    AnswersByTrial,
    PairedScores,
    compare_answers,
    in_one_trial,
    over_repeats,
)
from harness.leaderboard.repeats import Seeds, parts, pooled_repeats, seeds
from harness.plugins.registry import Registry
from harness.plugins.titles import SEPARATOR, Titles
from harness.runs.rescoring import scores_of_instances
from harness.seeds import derive_seed
from harness.statistics import benjamini_hochberg, holm
from harness.storage.example_files import read_examples
from harness.storage.instance_scores import cluster_number
from harness.storage.results import RunRecord
from harness.storage.run_labels import distinctions
from harness.sweeps.shorthand import parse_model, value_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(PairedScores):
    """The comparison of two models on one scenario."""

    scenario: str
    """The scenario's label."""
    adapter: str
    """The adaptation method."""
    metric: str
    """The score that is compared."""
    higher_is_better: bool | None
    """True if higher is better, False if lower is; None if the runs do not say."""
    p_holm: float
    """The p-value adjusted over the family by Holm's method."""
    p_bh: float
    """The p-value adjusted over the family by Benjamini and Hochberg's method."""
    title: str = ""
    """The scenario's name for people, with its parameters."""
    settings: str = ""
    """The settings that distinguish it from other comparisons of the scenario and method, in brackets."""
    notes: tuple[str, ...] = ()
    """Notes for the reader."""


@dataclass(frozen=True, slots=True)
class ComparisonFamily:
    """Comparisons whose p-values are adjusted together."""

    first: str
    """The first model's or run's name."""
    second: str
    """The second's."""
    comparisons: tuple[Comparison, ...]
    """One for each scenario."""
    problems: tuple[str, ...] = ()
    """The runs that could not be compared, and why."""
    first_id: str = ""
    """The first model with its settings, as sweeps name it."""
    second_id: str = ""
    """The second's."""


def compare_runs(
    first: RunRecord,
    second: RunRecord,
    metric: str | None = None,
    registry: Registry | None = None,
) -> Comparison:
    """Compare two runs of a scenario on the instances and trials that both have, on unperturbed instances.

    An instance's score is the mean over the trials that both runs have, or over all trials of all repeats. The interval
    of the difference is that of :func:`harness.statistics.paired_difference`, or over clusters, if both runs have the
    same ones, that of :func:`harness.statistics.clustered_difference`.

    Args:
        first: A run, or repeats as one (:func:`harness.leaderboard.repeats.pooled_repeats`).
        second: Another of the same scenario.
        metric: The score; the runs' main metric by default.
        registry: The metrics; needed for scores that are not stored with the examples.
            Such a score is the mean over an instance's trials, whichever they are.

    Raises:
        DataError: The runs are of different scenarios, have failed, or have no instance in common.
        MetricError: The metric has no scores of single instances.
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
    clusters: dict[str, int] | None = {} if first.spec.cluster == second.spec.cluster != "" else None
    answers = [
        over_repeats([_answers(part, metric, registry, clusters) for part in parts(run)]) for run in (first, second)
    ]
    if max(len(parts(first)), len(parts(second))) > 1:
        answers = [in_one_trial(each) for each in answers]
    scores = compare_answers(answers[0], answers[1], scale_of([first, second], metric), metric, clusters)
    called = model_names([first, second])
    return Comparison(
        **asdict(scores),
        title=Titles(registry).run(first.spec.scenario),
        scenario=first.spec.scenario.label,
        adapter=first.spec.adapter.name,
        metric=metric,
        higher_is_better=_direction(first, metric),
        p_holm=scores.p,
        p_bh=scores.p,
        notes=(
            *_setting_notes(first, second, called),
            *_answer_notes(first, model_of(first, called)),
            *_answer_notes(second, model_of(second, called)),
            *filter(None, [scores.note]),
        ),
    )


def compare_models(
    runs: Iterable[RunRecord], first: str, second: str, metric: str | None = None, registry: Registry | None = None
) -> ComparisonFamily:
    """Compare two models on every scenario that both were asked in the same way, as one family.

    Args:
        runs: The runs to look through.
        first: A model's name as tables show it or as sweeps have it; with its arguments where several have the name.
        second: Another's.
        metric: The score; each scenario's main metric by default.
        registry: As in :func:`compare_runs`.

    Raises:
        DataError: A model is unknown, or nothing can be compared.
    """
    known = list(runs)
    names = model_names(known)
    left, right = (_by_question(known, name, names) for name in (first, second))
    one, other = (next(iter(found.values())) for found in (left, right))
    first, second = model_of(one, names), model_of(other, names)
    titles = Titles(registry)
    comparisons, problems = [], []
    asked = {question: run.spec for question, run in {**right, **left}.items()}
    questions = sorted(asked, key=lambda question: (question_label(asked[question]), question))
    alone = [asked[question].model_copy(update={"model": Component(name=first)}) for question in questions]
    for question, distinction in zip(questions, distinctions(alone, question_label), strict=True):
        if question not in left or question not in right:
            run, absent = (left[question], second) if question in left else (right[question], first)
            problems.append(f"{question_title(run.spec, titles)}{distinction}: {absent} has no matching run.")
            continue
        try:
            found = compare_runs(left[question], right[question], metric, registry)
            comparisons.append(replace(found, settings=distinction.strip()))
        except HarnessError as error:
            problems.append(f"{question_title(left[question].spec, titles)}{distinction}: {error}")
    if not comparisons:
        raise DataError("\n".join([f"{first} and {second} have nothing in common to compare.", *problems]))
    ids = one.spec.model.label, other.spec.model.label
    return ComparisonFamily(first, second, adjusted(comparisons), tuple(problems), *ids)


def adjusted(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Return comparisons with their p-values adjusted for their number."""
    values = [comparison.p for comparison in comparisons]
    return tuple(
        replace(comparison, p_holm=strict, p_bh=loose)
        for comparison, strict, loose in zip(comparisons, holm(values), benjamini_hochberg(values), strict=True)
    )


def scale_of(runs: Iterable[RunRecord], metric: str) -> Scale | None:
    """Return the scale of a score that several runs have; None if it is unknown, or they disagree."""
    return agreed(stat.scale for run in runs for stat in run.stats if stat.metric == metric)


def question_label(spec: RunSpec) -> str:
    """Return a scenario with its adaptation method, as specs name them."""
    return f"{spec.scenario.label} ({spec.adapter.name})"


def question_title(spec: RunSpec, titles: Titles) -> str:
    """Return a scenario with its adaptation method, for people."""
    return SEPARATOR.join([titles.run(spec.scenario), titles.method(spec.adapter.name).short])


def told_apart(questions: Iterable[tuple[str, str]], titles: Titles) -> dict[tuple[str, str], str]:
    """Return what tables call each scenario and method: the scenario, with the method if it has several there."""
    known = set(questions)
    several = {title for title, count in Counter(title for title, _ in known).items() if count > 1}
    return {
        (title, method): SEPARATOR.join([title, titles.method(method).short]) if title in several else title
        for title, method in known
    }


def _answers(run: RunRecord, metric: str, registry: Registry | None, clusters: dict[str, int] | None = None) -> Answers:
    """Return a run's scores of a metric, and note the clusters of its instances."""
    collected = AnswersByTrial()
    known: set[str] = set()
    for example, scores, _ in read_examples(run):
        instance = example.instance
        if instance.perturbation is not None or instance.split != run.spec.eval_split:
            continue
        known.update(scores)
        texts = (instance.input, *((reference.text, reference.correct) for reference in instance.references))
        collected.add(instance.id, example.trial, scores.get(metric), derive_seed(0, repr(texts)))
        if clusters is not None:
            clusters[instance.id] = cluster_number(instance.id, instance.meta, run.spec.cluster)
    answers = collected.answers()
    if metric not in known and registry is not None:
        given = scores_of_instances(run, metric, registry)
        if given:
            return {
                name: {trial: (given.get(name), text) for trial, (_, text) in trials.items()}
                for name, trials in answers.items()
            }
    if metric not in known:
        hint = did_you_mean(metric, known)
        raise MetricError(f"{run.suite}/{run.name} has no scores of single instances for {metric}. {hint}".rstrip())
    return answers


def _direction(run: RunRecord, metric: str) -> bool | None:
    return next((stat.higher_is_better for stat in run.stats if stat.metric == metric and stat.overall), None)


def _setting_notes(first: RunRecord, second: RunRecord, called: Mapping[str, str]) -> Iterator[str]:
    for run in (first, second):
        if len(parts(run)) > 1:
            yield f"{model_of(run, called)}: the mean over {len(parts(run))} repeats, which differ in their seeds"
    if first.spec.adapter.label != second.spec.adapter.label:
        yield f"adapter differs: {first.spec.adapter.label} and {second.spec.adapter.label}"
    repeated = max(len(parts(first)), len(parts(second))) > 1
    names = ("instance_seed", "max_eval_instances", "samples", "cluster")
    for name in names if repeated else ("seed", "sampling_seed", *names):
        one, other = (getattr(run.spec, name) for run in (first, second))
        if one != other:
            yield f"{name} differs: {one} and {other}"


def _answer_notes(run: RunRecord, model: str) -> Iterator[str]:
    """Yield how many of a run's answers were declined or unfinished, and if its server answered with another model."""
    declined = run.declined.part(run.spec.eval_split.value)
    if declined.examples:
        yield f"{model}: {declined}"
    for note in filter(None, (unfinished_note(run.efficiency), unannounced_note(run.efficiency))):
        yield f"{model}: {note}"
    for note in served_notes(run.spec.model.name, served_models(run.provenance)):
        yield f"{model}: {note}"


def _by_question(runs: Sequence[RunRecord], model: str, names: Mapping[str, str]) -> dict[str, RunRecord]:
    """Return a model's runs by their question (the spec without suite, model and seeds), repeats as one run.

    The newest of several equal runs counts.
    """
    named = [run for run in runs if model == model_of(run, names)] or [
        run for run in runs if model == run.spec.settings.display_name or _is_named(run.spec.model, model)
    ]
    labels = sorted({run.spec.model.label for run in named})
    if not named:
        hint = did_you_mean(model, {*names.values(), *(run.spec.model.label for run in runs)})
        raise DataError(f"no run of model {model!r} found. {hint}".rstrip())
    if len(labels) > 1 and model not in labels:
        raise DataError(f"{model!r} matches several models: {', '.join(labels)}. Add the settings of one of them.")
    exact = [run for run in named if len(labels) == 1 or run.spec.model.label == model]
    alike: dict[str, dict[Seeds, RunRecord]] = {}
    for run in sorted(exact, key=lambda run: (run.status == "ok", run.finished)):
        alike.setdefault(run.spec.model_copy(update={"seed": 0, "sampling_seed": None}).question, {})[seeds(run)] = run
    return {
        question: pooled_repeats([run for run in repeats.values() if run.status == "ok"] or list(repeats.values())[-1:])
        for question, repeats in alike.items()
    }


def _is_named(model: Component, written: str) -> bool:
    """Return True if a text is a model's name or label, or its name with settings as ``harness run -m`` takes them."""
    if written in (model.name, model.label):
        return True
    entry = parse_model(written)
    given = model.flat
    return (
        bool(entry.arguments)
        and entry.name == model.name
        and all(
            key in given and (text.casefold() == str(given[key]).casefold() or value_of(text) == given[key])
            for key, text in entry.arguments.items()
        )
    )
