"""What a sweep compares its models on: one question for each scenario, method and metric, whatever its parts.

The runs of a scenario's parts (MMLU's subjects) are one question, as they are one column of a leaderboard.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass

from harness.contracts import RunMetric, Scale
from harness.contracts.plugins import Kind, Plugin
from harness.contracts.specs import RunSpec
from harness.errors import PluginError, did_you_mean, shown
from harness.leaderboard.columns import canonical, grouped, run_settings
from harness.plugins.parameters import given_names
from harness.plugins.registry import Registry
from harness.plugins.titles import Titles
from harness.statistics.reductions import split_name

SIZES = ("max_eval_instances", "instance_seed", "samples", "train_trials")
"""Settings that choose how much is asked, not what."""


@dataclass(frozen=True, slots=True)
class Question:
    """What two models are compared on."""

    runs: tuple[int, ...]
    """The positions of its runs in the sweep, of all models."""
    spec: RunSpec
    """The first of these runs."""
    title: str
    """The scenario's name for people, with the parameters that do not choose a part."""
    metric: str
    """The score that is compared."""
    scale: Scale | None
    """The score's scale; None if the metric does not declare it."""
    averaged: bool
    """True if the score is the mean over an instance's answers, so that more of them make it more precise."""
    answers: int = 1
    """Answers of a model to each instance: samples, of all trials and repeats."""
    prompts: int = 1
    """Variants of the prompt by which each model is asked."""
    problem: str = ""
    """Why no number of instances can be given; '' if one can."""

    @property
    def key(self) -> str:
        """Equal for runs whose scores can be used to plan it."""
        return alike(self.spec, self.metric)


def questions(runs: Sequence[RunSpec], registry: Registry, metric: str | None = None) -> list[Question]:
    """Return the questions of a sweep, in its order.

    Args:
        runs: The sweep's runs.
        registry: Knows the plugins.
        metric: The score to compare; the runs' main metrics by default.

    Raises:
        PluginError: No metric gives such a score.
    """
    titles = Titles(registry)
    if metric is not None:
        _check_known(metric, registry, titles)
    places = grouped(range(len(runs)), lambda place: _identity(runs[place]))
    return [_question(runs, several, metric, registry, titles) for several in places.values()]


def alike(spec: RunSpec, metric: str) -> str:
    """Return what runs have in common whose scores vary alike: scenario, method, split and score."""
    return canonical([spec.scenario.name, _arguments(spec), spec.adapter.name, spec.eval_split, metric])


def part(spec: RunSpec) -> str:
    """Return which part of its scenario a run is about; '{}' if it has none."""
    return canonical({name: value for name, value in spec.scenario.arguments.items() if name in spec.parts})


def answers_each(spec: RunSpec) -> int:
    """Return how many answers each instance gets, over which its score is averaged: samples of all trials."""
    return spec.samples * int(spec.adapter.arguments.get("train_trials") or 1)


def _arguments(spec: RunSpec) -> dict[str, object]:
    return {name: "" if name in spec.parts else value for name, value in spec.scenario.arguments.items()}


def _identity(spec: RunSpec) -> str:
    """Return what the runs of a question share; texts may follow from the part, as each subject's instructions do."""
    settings = {
        name: value for name, value in run_settings(spec).items() if not (spec.parts and isinstance(value, str))
    }
    return canonical([alike(spec, spec.main_metric), settings, spec.cluster])


def _question(
    runs: Sequence[RunSpec], places: Sequence[int], metric: str | None, registry: Registry, titles: Titles
) -> Question:
    spec = runs[places[0]]
    name = metric or spec.main_metric
    scenario = spec.scenario
    if len({part(runs[place]) for place in places}) > 1:
        whole = {key: value for key, value in scenario.arguments.items() if key not in spec.parts}
        scenario = scenario.model_copy(update={"arguments": whole})
    plugin = titles.giving(name)
    problem = ""
    if plugin is not None and all(one.name != plugin.name for one in spec.metrics):
        problem = f"its runs do not compute {name}."
    elif plugin is not None and _of_whole_runs(plugin):
        problem = f"{titles.metric(name).title} is a statistic of a whole run, not a mean over instances."
    asked = grouped((runs[place] for place in places), lambda run: (run.model.label, part(run)))
    repeats = max(len({(run.seed, run.sampling_seed) for run in several}) for several in asked.values())
    return Question(
        tuple(places),
        spec,
        titles.run(scenario),
        name,
        titles.metric(name).scale,
        averaged=split_name(name, spec.samples)[1] is None,
        answers=answers_each(spec) * repeats,
        prompts=len({runs[place].prompt_description for place in places}),
        problem=problem,
    )


def _check_known(metric: str, registry: Registry, titles: Titles) -> None:
    if titles.giving(metric) is None:
        given = {name for plugin in registry.all(Kind.METRIC) for name in given_names(plugin) if "*" not in name}
        raise PluginError(f"no metric gives the score {shown(metric)}. {did_you_mean(metric, given)}".rstrip())


def _of_whole_runs(plugin: Plugin) -> bool:
    target = plugin.target
    if not inspect.isclass(target) or not issubclass(target, RunMetric):
        return False
    return target.instance_scores is RunMetric.instance_scores
