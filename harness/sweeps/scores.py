"""A sweep's composite scores: which runs each of them needs, and every mistake in them reported."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from harness.contracts import Scale
from harness.contracts.plugins import Kind, MetricDetails
from harness.contracts.scores import CompositeScore, ScoredRun, ScoreMember
from harness.contracts.specs import RunSpec
from harness.errors import KeyPath, did_you_mean, shown
from harness.plugins.parameters import PROMPT, given_names
from harness.sweeps.context import Context
from harness.sweeps.keys import ScoreKeys, read_keys


def with_scores(written: Sequence[Any], runs: Sequence[RunSpec], context: Context) -> list[RunSpec]:
    """Return a sweep's runs, each with the scores to which it contributes."""
    before = context.diagnostics.count
    scores: list[CompositeScore] = []
    for place, value in enumerate(written):
        path: KeyPath = ("scores", place)
        if not isinstance(value, Mapping):
            context.diagnostics.add(path, f"must be a mapping with `name`, not {shown(value)}.")
            continue
        keys = read_keys(ScoreKeys, value, path, context.diagnostics)
        if keys is None or before:  # with mistakes in the runs, it is not known what a pattern matches
            continue
        if "over" in keys.model_fields_set and not keys.over:
            hint = "Name a scenario, or leave `over` out: the score is then over every scenario of the sweep."
            context.diagnostics.add((*path, "over"), "is empty.", hint)
            continue
        if any(score.name == keys.name for score in scores):
            context.diagnostics.add(
                (*path, "name"), f"{keys.name!r} is already the name of another score.", "Rename one."
            )
            continue
        members = _members(keys, runs, path, context)
        if members:
            title = " ".join(keys.title.split())
            scores.append(CompositeScore(name=keys.name, title=title, mean=keys.mean, members=members))
    if not scores:
        return list(runs)
    questions = [{run.question for run in score.runs} for score in scores]
    return [
        run.model_copy(
            update={
                "scores": tuple(
                    score
                    for score, asked in zip(scores, questions, strict=True)
                    if run.with_unchanged_prompt.question_digest in asked
                )
            }
        )
        for run in runs
    ]


def chosen(run: RunSpec, pattern: str) -> bool:
    """Return True if a pattern matches a run's scenario: its name, its shorthand, or some of its parameters.

    ``mmlu`` and ``raft:*`` match all runs of a scenario, ``bbh:task=navigate`` those whose ``task`` is ``navigate``.
    """
    if any(fnmatchcase(name, pattern) for name in (run.scenario.name, run.scenario.label)):
        return True
    name, _, rest = pattern.partition(":")
    given = [part.partition("=") for part in rest.split(",")]
    flat = run.scenario.flat
    return fnmatchcase(run.scenario.name, name) and all(
        equals and key in flat and fnmatchcase(str(flat[key]), value) for key, equals, value in given
    )


def _members(
    keys: ScoreKeys, runs: Sequence[RunSpec], path: KeyPath, context: Context
) -> tuple[ScoreMember, ...] | None:
    """Return what a score is the mean of; None, and every error noted, if it cannot be computed."""
    before = context.diagnostics.count
    asked = {run.question: run for run in runs if run.prompt_variant is None}  # the mean over its variants counts
    names = {run.scenario.name for run in asked.values()}
    patterns = dict(enumerate(keys.over)) or dict(enumerate(sorted(names)))
    taken: dict[str, str] = {}
    found: list[tuple[str, list[RunSpec]]] = []
    for place, pattern in patterns.items():
        where = (*path, "over", place) if keys.over else path
        matching = _of_own_prompts({question: run for question, run in asked.items() if chosen(run, pattern)}, pattern)
        prompts = Counter(_without_prompt(run) for run in matching.values())
        if f"{PROMPT}=" not in pattern and (several := [label for label, count in prompts.items() if count > 1]):
            labels = [run.scenario.label for run in matching.values() if _without_prompt(run) == several[0]]
            if len(set(labels)) > 1:
                message = f"{pattern!r} matches several prompts of one scenario: {', '.join(labels)}."
                context.diagnostics.add(where, message, f"Name the prompt that counts: {labels[0]!r}.")
        if not matching:
            context.diagnostics.add(
                where, f"{pattern!r} matches none of the sweep's runs.", did_you_mean(pattern, names)
            )
        for question, run in matching.items():
            if question in taken:
                message = f"{pattern!r} matches {run.scenario.label}, which {taken[question]!r} matches already."
                context.diagnostics.add(where, message, "Name every run once.")
                break
        labels = [run.scenario.label for run in matching.values()]
        twice = next((label for label in labels if labels.count(label) > 1), None)
        if twice is not None:
            message = f"{pattern!r} matches several runs of {twice}, which differ only in their settings."
            context.diagnostics.add(where, message, "A score needs exactly one: move the others to another sweep.")
        taken |= dict.fromkeys(matching, pattern)
        found.append((pattern, list(matching.values())))
    every = [run for _, members in found for run in members]
    chances = _chances(keys, every, path, context)
    _check_metrics(every, bool(keys.chance), path, context)
    if context.diagnostics.count > before:
        return None
    return tuple(
        ScoreMember(
            name=pattern,
            runs=tuple(
                ScoredRun(label=run.scenario.label, question=run.question_digest, chance=chances.get(run.question, 0.0))
                for run in members
            ),
        )
        for pattern, members in found
    )


def _of_own_prompts(runs: Mapping[str, RunSpec], pattern: str) -> dict[str, RunSpec]:
    """Return runs without those of further prompts of a scenario, where a pattern names no prompt."""
    own = {_without_prompt(run) for run in runs.values() if PROMPT not in run.scenario.arguments}
    named = f"{PROMPT}=" in pattern
    return {
        question: run
        for question, run in runs.items()
        if named or PROMPT not in run.scenario.arguments or _without_prompt(run) not in own
    }


def _without_prompt(run: RunSpec) -> str:
    arguments = {name: value for name, value in run.scenario.arguments.items() if name != PROMPT}
    return run.scenario.model_copy(update={"arguments": arguments}).model_dump_json()


def _chances(keys: ScoreKeys, runs: Sequence[RunSpec], path: KeyPath, context: Context) -> Mapping[str, float]:
    levels: dict[str, tuple[str, float]] = {}
    for pattern, level in keys.chance.items():
        matching = [run for run in runs if chosen(run, pattern)]
        if not matching:
            hint = did_you_mean(pattern, {run.scenario.name for run in runs})
            context.diagnostics.add((*path, "chance", pattern), "matches none of the score's runs.", hint)
            continue
        found = [levels.setdefault(run.question, (pattern, level)) for run in matching]
        before = dict.fromkeys(other for other, _ in found if other != pattern)
        if pattern not in (other for other, _ in found):
            message = (
                f"has no effect: the first pattern that matches a run counts, here {', '.join(map(repr, before))}."
            )
            context.diagnostics.add((*path, "chance", pattern), message, "Write it before them, or remove it.")
    return {question: level for question, (_, level) in levels.items()}


def _check_metrics(runs: Sequence[RunSpec], rescaled: bool, path: KeyPath, context: Context) -> None:
    """Report main metrics that cannot be averaged, and warn of those whose ranges differ."""
    directions: dict[bool | None, RunSpec] = {}
    ranges: dict[tuple[float, float], RunSpec] = {}
    for run in runs:
        for details, scale in _main_metric(run, context):
            directions.setdefault(details.higher_is_better, run)
            if scale is not None:
                ranges.setdefault(scale.bounds, run)
    if None in directions:
        run = directions[None]
        message = f"averages {run.main_metric} of {run.scenario.label}, for which neither higher nor lower is better."
        context.diagnostics.add(path, message, "Leave it out with `over`, or name another `main_metric` in the run.")
    elif len(directions) > 1:
        up, down = (f"{directions[way].main_metric} of {directions[way].scenario.label}" for way in (True, False))
        message = f"averages {up} (higher is better) and {down} (lower is better)."
        context.diagnostics.add(path, message, "Name only one kind with `over`.")
    elif rescaled and False in directions:
        run = directions[False]
        message = f"{run.main_metric} of {run.scenario.label} is better if lower, so it cannot be rescaled from chance."
        context.diagnostics.add((*path, "chance"), message)
    elif len(ranges) > 1:
        listed = "; ".join(
            f"{run.main_metric} of {run.scenario.label} from {low:g} to {high:g}" for (low, high), run in ranges.items()
        )
        context.diagnostics.warn(path, f"averages metrics with different ranges: {listed}.")


def _main_metric(run: RunSpec, context: Context) -> Iterator[tuple[MetricDetails, Scale | None]]:
    """Yield the description and the scale of a run's main metric, as far as they are known."""
    base = re.split(r"[:(]", run.main_metric, maxsplit=1)[0].strip()
    for metric in run.metrics:
        plugin = context.registry.get(Kind.METRIC, metric.name)
        if isinstance(plugin.details, MetricDetails) and (
            metric.name == base or any(fnmatchcase(base, name) for name in given_names(plugin))
        ):
            yield plugin.details, plugin.details.scale_of(base)
            return
