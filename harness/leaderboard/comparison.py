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
from harness.leaderboard.model_names import endings_of, model_names, model_of
from harness.leaderboard.paired_scores import (
    Answers,
    AnswersByTrial,
    PairedScores,
    compare_prompts,
    in_one_trial,
    over_repeats,
)
from harness.leaderboard.prompt_spread import VariedRun, parts
from harness.leaderboard.prompt_spread import variants as variants_of
from harness.leaderboard.prompt_variants import counting_run
from harness.leaderboard.run_titles import run_titles
from harness.leaderboard.scales import wider_scale
from harness.plugins.parameters import PROMPT
from harness.plugins.registry import Registry
from harness.plugins.titles import SEPARATOR, Titles
from harness.runs.rescoring import scores_of_instances
from harness.seeds import derive_seed
from harness.statistics import benjamini_hochberg, holm
from harness.storage.example_files import read_examples
from harness.storage.instance_scores import cluster_number, instance_key
from harness.storage.results import RunRecord
from harness.storage.run_labels import distinctions
from harness.sweeps.shorthand import parse_model, value_of

APART = (
    "the runs have no instance in common: with max_eval_instances, their prompts choose different instances. "
    "Run both without max_eval_instances."
)
"""Why runs with different prompts cannot be compared if their number of instances is limited."""


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
    could_show: float | None
    """The smallest true difference that it shows with a power of 0.8 after Holm's correction; None if it can show
    none. It does not depend on the difference that was found.
    """
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

    The runs may ask by different prompts of the scenario. Instances are then matched by their ids, since a prompt may
    write their texts in its own way, and the main metrics may have different names if they have the same scale and
    direction.

    Args:
        first: A run, or repeats and variants of a prompt as one
            (:func:`harness.leaderboard.prompt_variants.counting_run`). Variants that both runs have are compared,
            and the interval and the test allow for differences between prompts if there are at least three.
        second: Another of the same scenario.
        metric: The score; the runs' main metric by default.
        registry: The metrics; needed to compute scores of another than the main metric that no example has.
            Such a score is the mean over an instance's trials, whichever they are.

    Raises:
        DataError: The runs are of different scenarios, have failed, have no value (such as tests of data that cannot
            be tested), or have no instance in common.
        MetricError: The metric has no scores of single instances.
    """
    if first.directory == second.directory:
        raise DataError(f"both runs are {first.suite}/{first.name}; name two.")
    for run in (first, second):
        if run.status != "ok":
            raise DataError(f"run {run.suite}/{run.name} failed: {run.error}")
        if run.no_value and metric in (None, run.spec.main_metric):
            raise DataError(f"run {run.suite}/{run.name} has no value to compare, {run.no_value}")
    prompts = [run.spec.scenario.arguments.get(PROMPT) for run in (first, second)]
    if without_prompt(first.spec.scenario) != without_prompt(second.spec.scenario):
        labels = f"{first.spec.scenario.label} and {second.spec.scenario.label}"
        raise DataError(f"the runs are of different scenarios, {labels}; only runs of the same one can be compared.")
    metrics = [metric or run.spec.main_metric for run in (first, second)]
    if metrics[0] != metrics[1] and (prompts[0] == prompts[1] or not _same_kind(first, second)):
        names = f"{metrics[0]} and {metrics[1]}"
        raise MetricError(f"the runs have different main metrics, {names}; choose one with --metric.")
    clusters: dict[str, int] | None = {} if first.spec.cluster == second.spec.cluster != "" else None
    variants = matched_prompts(first, second)
    found = [
        [
            over_repeats(
                [_answers(part, name, registry, clusters, texts=prompts[0] == prompts[1]) for part in parts(run)]
            )
            for run in runs
        ]
        for runs, name in zip(zip(*variants.values(), strict=True), metrics, strict=True)
    ]
    pooled = max(len(parts(run)) for runs in variants.values() for run in runs) > 1 or len(variants) > 1
    if pooled:
        found = [[in_one_trial(each) for each in answers] for answers in found]
    common = [set().union(*answers) for answers in found]
    if prompts[0] != prompts[1] and not common[0] & common[1] and _limited(first, second):
        raise DataError(APART)
    scores = compare_prompts(found[0], found[1], _shared_scale(first, second, metrics), metrics[0], clusters)
    called = model_names([first, second])
    titles = run_titles([first, second], registry)
    return Comparison(
        **asdict(scores),
        title=titles.run(first.spec.scenario if prompts[0] == prompts[1] else without_prompt(first.spec.scenario)),
        scenario=first.spec.scenario.label,
        adapter=first.spec.adapter.name,
        metric=metrics[0],
        higher_is_better=_direction(first, metrics[0]),
        p_holm=scores.p,
        p_bh=scores.p,
        could_show=scores.detectable(),
        notes=(
            *_prompt_notes(prompts, metrics, titles),
            *_variant_notes(first, second, len(variants)),
            *_setting_notes(first, second, called),
            *_answer_notes(first, model_of(first, called)),
            *_answer_notes(second, model_of(second, called)),
            *filter(None, [scores.note]),
        ),
    )


def compare_two_runs(
    first: RunRecord, second: RunRecord, metric: str | None = None, registry: Registry | None = None
) -> ComparisonFamily:
    """Compare two runs as a family of one comparison; arguments and errors are those of :func:`compare_runs`.

    Raises:
        DataError: They are the same run, too.
    """
    called = model_names([first, second])
    names = [f"{model_of(run, called)} ({run.suite}/{run.name})" for run in (first, second)]
    return ComparisonFamily(names[0], names[1], adjusted([compare_runs(first, second, metric, registry)]))


def compare_models(
    runs: Iterable[RunRecord], first: str, second: str, metric: str | None = None, registry: Registry | None = None
) -> ComparisonFamily:
    """Compare two models on every scenario that both were asked in the same way, as one family.

    Args:
        runs: The runs to look through.
        first: A model's name as tables show it or as sweeps have it, or an ending of that; with its arguments where
            several have the name.
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
    if one.model_key == other.model_key:
        raise DataError(f"both models are {first}; name two.")
    titles = run_titles(known, registry)
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
    """Return comparisons with their p-values, and what they could show, adjusted for their number."""
    values = [comparison.p for comparison in comparisons]
    return tuple(
        replace(comparison, p_holm=strict, p_bh=loose, could_show=comparison.detectable(len(comparisons)))
        for comparison, strict, loose in zip(comparisons, holm(values), benjamini_hochberg(values), strict=True)
    )


def scale_of(runs: Iterable[RunRecord], metric: str) -> Scale | None:
    """Return the scale of a score that several runs have; None if it is unknown, or they disagree."""
    return agreed(stat.scale for run in runs for stat in run.stats if stat.metric == metric)


def without_prompt(scenario: Component) -> Component:
    """Return a scenario without the choice of its prompt."""
    arguments = {name: value for name, value in scenario.arguments.items() if name != PROMPT}
    return scenario.model_copy(update={"arguments": arguments})


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


def _answers(
    run: RunRecord, metric: str, registry: Registry | None, clusters: dict[str, int] | None, *, texts: bool
) -> Answers:
    """Return a run's scores of a metric, and note the clusters of its instances.

    Without ``texts``, instances with the same id are the same whatever their texts.
    """
    collected = AnswersByTrial()
    known: set[str] = set()
    main = metric == run.spec.main_metric
    recorded = run.instance_scores.by_key() if main and run.instance_scores is not None else {}
    given: dict[str, float] = {}
    for example, scores, _ in read_examples(run):
        instance = example.instance
        if instance.perturbation is not None or instance.split != run.spec.eval_split:
            continue
        known.update(scores)
        asked = (instance.input, *((reference.text, reference.correct) for reference in instance.references))
        digest = derive_seed(0, repr(asked)) if texts else 0
        collected.add(instance.id, example.trial, scores.get(metric), digest)
        if recorded and metric not in known and (score := recorded.get(instance_key(instance))) is not None:
            given[instance.id] = score
        if clusters is not None:
            clusters[instance.id] = cluster_number(instance.id, instance.meta, run.spec.cluster)
    answers = collected.answers()
    if metric not in known:
        # A metric of whole runs gives it: the record has that of the main metric, as the results site reads it.
        computed = scores_of_instances(run, metric, registry) if registry is not None and not main else given
        if computed:
            return {
                name: {trial: (computed.get(name), text) for trial, (_, text) in trials.items()}
                for name, trials in answers.items()
            }
        hint = did_you_mean(metric, known)
        raise MetricError(f"{run.suite}/{run.name} has no scores of single instances for {metric}. {hint}".rstrip())
    return answers


def _limited(*runs: RunRecord) -> bool:
    return any(run.spec.max_eval_instances is not None for run in runs)


def _same_kind(first: RunRecord, second: RunRecord) -> bool:
    """Return True if two runs' main metrics have the same direction and the same known range."""
    metrics = first.spec.main_metric, second.spec.main_metric
    directions = {_direction(run, metric) for run, metric in zip((first, second), metrics, strict=True)}
    return len(directions) == 1 and _shared_scale(first, second, metrics) is not None


def _shared_scale(first: RunRecord, second: RunRecord, metrics: Sequence[str]) -> Scale | None:
    """Return a scale that fits the scores of both runs; None if one is unknown, or their ranges differ."""
    if metrics[0] == metrics[1]:
        return scale_of([first, second], metrics[0])
    return wider_scale(*(scale_of([run], metric) for run, metric in zip((first, second), metrics, strict=True)))


def matched_prompts(first: RunRecord, second: RunRecord) -> dict[str, tuple[RunRecord, RunRecord]]:
    """Return the runs of two models with the same variants of a prompt, by description; of single runs just these.

    Raises:
        DataError: They have no prompt in common.
    """
    if not isinstance(first, VariedRun) and not isinstance(second, VariedRun):
        return {"": (first, second)}
    one, other = ({part.spec.prompt_description: part for part in (variants_of(run))} for run in (first, second))
    if not (common := [prompt for prompt in one if prompt in other]):
        raise DataError("the runs have no variant of the prompt in common.")
    return {prompt: (one[prompt], other[prompt]) for prompt in common}


def _variant_notes(first: RunRecord, second: RunRecord, common: int) -> Iterator[str]:
    counts = [len(variants_of(run)) for run in (first, second)]
    if max(counts) == 1:
        return
    only = "" if counts == [common, common] else f", of {counts[0]} of the first and {counts[1]} of the second"
    yield f"over the {common} variant{'s' if common > 1 else ''} of the prompt that both have{only}"


def _prompt_notes(prompts: Sequence[str | None], metrics: Sequence[str], titles: Titles) -> Iterator[str]:
    if prompts[0] != prompts[1]:
        one, other = (prompt or "the scenario's own" for prompt in prompts)
        yield f"prompts differ: {one} and {other}"
    if metrics[0] != metrics[1]:
        one, other = (titles.metric(metric).title for metric in metrics)
        yield f"metrics differ: {one} of the first run and {other} of the second"


def _direction(run: RunRecord, metric: str) -> bool | None:
    return next((stat.higher_is_better for stat in run.stats if stat.metric == metric and stat.overall), None)


def _setting_notes(first: RunRecord, second: RunRecord, called: Mapping[str, str]) -> Iterator[str]:
    repeats = [max(len(parts(one)) for one in (variants_of(run))) for run in (first, second)]
    for run, count in zip((first, second), repeats, strict=True):
        if count > 1:
            yield f"{model_of(run, called)}: the mean over {count} repeats, which differ in their seeds"
    varied = isinstance(first, VariedRun) or isinstance(second, VariedRun)
    one, other = (run.spec.unchanged_adapter if varied else run.spec.adapter for run in (first, second))
    if one.label != other.label:
        yield f"adapter differs: {one.label} and {other.label}"
    repeated = max(repeats) > 1
    names = ("instance_seed", "max_eval_instances", "samples", "cluster")
    for name in names if repeated else ("seed", "sampling_seed", *names):
        values = [getattr(run.spec, name) for run in (first, second)]
        if values[0] != values[1]:
            yield f"{name} differs: {values[0]} and {values[1]}"


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
    """Return a model's runs by their question: the spec without suite, model, seeds and change of the prompt.

    Repeats and variants of the prompt are one run.

    The newest of several equal runs counts.
    """
    named = (
        [run for run in runs if model == model_of(run, names)]
        or [run for run in runs if model == run.spec.settings.display_name or _is_named(run.spec.model, model)]
        or [run for run in runs if model in endings_of(run.spec.model.name)]
    )
    labels = sorted({run.spec.model.label for run in named})
    if not named:
        hint = did_you_mean(model, {*names.values(), *(run.spec.model.label for run in runs)})
        raise DataError(f"no run of model {model!r} found. {hint}".rstrip())
    if len(labels) > 1 and model not in labels:
        raise DataError(f"{model!r} matches several models: {', '.join(labels)}. Add the settings of one of them.")
    exact = [run for run in named if len(labels) == 1 or run.spec.model.label == model]
    alike: dict[str, dict[str, RunRecord]] = {}
    for run in sorted(exact, key=lambda run: (run.status == "ok", run.finished)):
        asked = run.spec.with_unchanged_prompt.model_copy(update={"seed": 0, "sampling_seed": None}).question
        alike.setdefault(asked, {})[run.spec_key] = run
    return {question: counting_run(list(several.values())) for question, several in alike.items()}


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
