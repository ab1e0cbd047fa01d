"""Importing inspect_ai's logs (UKGovernmentBEIS/inspect_ai), one run for each log.

A task gets a leaderboard column of its own, next to the scenario of the same name: its prompts differ from ours, so its
method is ``inspect`` with the solver's name. Metrics are called ``inspect.SCORE.METRIC``, with the reducer of epochs
after a comma unless it is the mean. inspect_ai's own means are computed again from the samples, and a log whose means
differ is refused; every other number is marked as reported by inspect_ai. A score that has the name of a metric of ours
gets our name if ours gives every example the same score.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.contracts import BOUNDED, PROPORTION, Scale, Split, Stat
from harness.contracts.specs import Component, RunSpec
from harness.errors import DataError, did_you_mean
from harness.imports.foreign_files import identity
from harness.imports.imported_run import OTHER, Imported, Scored, agrees, described, scale_of, stat_from
from harness.imports.inspect_log import read_log
from harness.imports.inspect_own import ESTIMATE, OwnLog, is_own, own_log, restored
from harness.imports.inspect_samples import example_of, score_of
from harness.imports.inspect_schema import Header, Metric, ResultScore, Sample
from harness.imports.our_plugins import chosen_parts, scenario_component
from harness.imports.reported_numbers import Keys, clusters_of, contradicted, impossible
from harness.plugins.registry import Registry

PREFIX = "inspect."
REPORTED = "as inspect_ai reported it: it cannot be computed from the scores of the samples"

_MEANS = ("accuracy", "mean")
_ERRORS = ("stderr", "bootstrap_stderr")
_OWN = "inspect_ai/"
_NOT_SETTINGS = {
    *("max_connections", "adaptive_connections", "max_retries", "timeout", "attempt_timeout", "batch", "cache"),
}


def inspect_logs(path: Path) -> list[Path]:
    """Return the logs in a folder, the newest first, or the file itself if it is one.

    Raises:
        DataError: There are none.
    """
    if path.is_file():
        return [path]
    # Names begin with the time.
    found = sorted([*path.rglob("*.eval"), *path.rglob("*.json")], key=lambda file: (file.name, file), reverse=True)
    logs = [file for file in found if file.is_file() and (file.suffix == ".eval" or _may_be_log(file))]
    if not logs:
        raise DataError(f"{path} has no logs of inspect_ai: there is no .eval file, nor a .json file with a log.")
    return logs


def _may_be_log(file: Path) -> bool:
    with file.open("rb") as content:
        beginning = content.read(200)
    return b'"version"' in beginning and b'"status"' in beginning


def read_inspect(file: Path, suite: str, registry: Registry, metric: str | None = None) -> Imported:
    """Read a log.

    Raises:
        DataError: The file is not a log, its evaluation failed, its numbers contradict each other, or it does not have
            the metric.
    """
    header, samples = read_log(file)
    results = header.results
    if header.status != "success" or results is None:
        why = f": {header.error.message}" if header.error is not None else ""
        raise DataError(f"the evaluation did not succeed (status {header.status!r}){why}.", file=file)
    try:
        own = own_log(header, suite)
    except ValueError as error:
        raise DataError(f"{error}.", file=file) from None
    reading = _Reading(file, header, registry, own)
    settings = {**header.eval.model_generate_config, **header.plan.config}
    headline = results.headline.score if results.headline is not None else None
    scored, values = _scored(reading, samples, settings, headline)
    names = {name: [ours] for name in values if (ours := _ours(registry, name, scored)) not in (None, name)}
    stats = [stat for place, score in enumerate(results.scores)
             for stat in _stats(score, f"results.scores[{place}]", reading, values, scored)]  # fmt: skip
    stats += [stat for one in stats for ours in names.get(one.metric, ()) for stat in [_renamed(one, ours, registry)]]
    main = _main(stats, reading, names, metric)
    return Imported(
        spec=_own_spec(header, reading.main.spec, main)
        if reading.main is not None
        else _spec(header, suite, registry, stats, main),
        stats=stats,
        origin={
            "program": "inspect_ai",
            "version": header.eval.packages.get("inspect_ai"),
            "task": header.eval.task,
            "task_version": header.eval.task_version,
            "run": header.eval.run_id,
            "files": [identity(file)],
        },
        examples=[Scored(one.example, _with_ours(one.scores, names), one.error) for one in scored],
        efficiency={"examples": len(scored)} if scored else {},
        started=header.stats.started_at,
        finished=header.stats.completed_at,
    )


@dataclass(frozen=True, slots=True)
class _Reading:
    """What is known about a log while its numbers are read."""

    file: Path
    header: Header
    registry: Registry
    own: OwnLog | None
    """What this harness wrote about the run; None for another program's log."""

    @property
    def main(self) -> OwnLog | None:
        """The same, of the main task of a run, whose statistics keep their names."""
        return self.own if self.own is not None and self.own.is_main else None

    def called(self, score: ResultScore, name: str) -> str:
        """Return the name here of a metric of a score."""
        if self.main is not None and name in ("mean", ESTIMATE):
            return score.name
        plain = score.reducer in (None, "mean")
        return f"{PREFIX}{score.name}.{name}" + ("" if plain else f",{score.reducer}")

    def scale(self, score: ResultScore) -> Scale | None:
        """Return the scale of a score of ours; None for others', whose scores may be any number."""
        return scale_of(self.registry, score.name) if is_own(self.header) else None


def _scored(
    reading: _Reading, samples: Iterator[Sample], settings: Mapping[str, Any], headline: str | None
) -> tuple[list[Scored], dict[str, dict[str, list[float]]]]:
    """Return the examples, and the values of each mean by metric and sample, one for each epoch."""
    file, results = reading.file, reading.header.results
    own = is_own(reading.header)
    split = Split.TEST if reading.own is None else reading.own.split
    wanted = [
        (score, [reading.called(score, name) for name in score.metrics if name in _MEANS], reading.scale(score))
        for score in (results.scores if results is not None else ())
        if score.reducer in (None, "mean")
    ]
    found: dict[tuple[str, int], Scored] = {}
    values: dict[str, dict[str, list[float]]] = {}
    for sample in samples:
        place = (str(sample.id), sample.epoch)
        if place in found:
            raise DataError(f"sample {sample.id!r} of epoch {sample.epoch} is listed twice.", file=file)
        scores: dict[str, float] = {}
        for score, metrics, scale in wanted:
            value = score_of(sample, score.name, score.scorer)
            if value is None:
                continue
            key = f"sample {sample.id!r}: scores.{score.name}.value"
            if not math.isfinite(value):
                raise DataError(f"{key} must be a finite number, not {value}.", file=file)
            if scale is not None and scale.clipped(value) is None:
                raise DataError(f"{key} must be {scale}, not {value:g}.", file=file)
            for metric in metrics:
                scores[metric] = float(value)
                values.setdefault(metric, {}).setdefault(place[0], []).append(scores[metric])
        try:
            example = example_of(sample, settings, headline)
            example = restored(example, sample, split) if own else example
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise DataError(f"sample {sample.id!r} has an unusable setting or message ({error}).", file=file) from error
        found[place] = Scored(example, scores, sample.error.message if sample.error is not None else None)
    return [found[place] for place in sorted(found)], values


def _stats(
    score: ResultScore, key: str, reading: _Reading,
    values: Mapping[str, Mapping[str, list[float]]], scored: Sequence[Scored],
) -> Iterator[Stat]:  # fmt: skip
    """Yield a stat for each metric of a score; standard errors belong to its means.

    Raises:
        DataError: A number is impossible, or contradicts the samples.
    """
    file = reading.file
    own = _own_metrics(reading.header, score.scorer)
    plain = score.reducer in (None, "mean")
    cluster = reading.own.spec.cluster if reading.own is not None else ""
    clusters = clusters_of((one.example for one in scored), cluster)
    error = next((name for name in _ERRORS if name in score.metrics), None)
    for name, metric in score.metrics.items():
        if name in _ERRORS:
            continue
        if not math.isfinite(metric.value):
            raise DataError(f"{key}.metrics.{name}.value must be a finite number, not {metric.value}.", file=file)
        called = reading.called(score, name)
        by_sample = values.get(called, {}) if name in _MEANS and plain else {}
        scores = [math.fsum(each) / len(each) for each in by_sample.values()]
        stat = _stat(score, name, metric, called, error, len(scores), reading)
        keys = Keys(
            f"{key}.metrics.{name}.value", f"{key}.metrics.{error}.value", f"{key}.metrics.{name}.metadata.ci95"
        )
        is_checked = bool(scores) and name in own and not metric.params
        if is_checked:
            if score.scored_samples not in (None, len(scores)):
                message = (
                    f"{key}.scored_samples is {score.scored_samples}, but the log has {len(scores)} scored samples"
                )
                raise DataError(f"{message} ({score.name}).", file=file)
            # Of clusters, other programs' logs do not say enough to compute errors again.
            knows_errors = clusters is not None or error is None or error in own
            checked = stat if knows_errors else replace(stat, stderr=None, ci95=None)
            _refuse(contradicted(checked, keys, by_sample, "samples", is_mean=True, clusters=clusters), file)
        _refuse(impossible(stat, keys, _limits(score, name, reading, bool(scored))), file)
        every = [value for each in by_sample.values() for value in each]
        scale = (reading.scale(score) or _scale(every)) if scores and name in own else None
        by_score = None if clusters is None else [clusters[sample] for sample in by_sample]
        computed = stat_from(stat, scores, scale, by_score)
        reported = computed is stat and stat.metric != score.name
        yield replace(stat, note=REPORTED) if reported else computed


def _stat(
    score: ResultScore, name: str, metric: Metric, called: str, error: str | None, scored: int, reading: _Reading
) -> Stat:
    """Return a metric as it is in the log; of our own logs with what they say beyond inspect_ai's fields."""
    known = (metric.metadata or {}) if called == score.name else {}
    reported = score.metrics[error].value if error is not None and (name in _MEANS or called == score.name) else None
    ends = known.get("ci95")
    return Stat(
        metric=called,
        category=str(score.params.get("category", OTHER)) if called == score.name else OTHER,
        split=(Split.TEST if reading.own is None else reading.own.split).value,
        perturbation=None,
        count=score.scored_samples if score.scored_samples is not None else scored,
        mean=metric.value,
        stderr=reported if reported is not None and math.isfinite(reported) else None,
        ci95=(float(ends[0]), float(ends[1])) if isinstance(ends, list) and len(ends) == 2 else None,
        min=None,
        max=None,
        higher_is_better=known.get("higher_is_better", True if name == "accuracy" else None),
        note=str(known.get("note", "")),
    )


def _limits(score: ResultScore, name: str, reading: _Reading, has_samples: bool) -> Scale | None:
    """Return the range of a metric, as far as it is known without the samples."""
    if name in ("mean", ESTIMATE):
        return reading.scale(score)
    return BOUNDED if name == "accuracy" and not has_samples else None


def _refuse(problems: Iterator[str], file: Path) -> None:
    for problem in problems:
        raise DataError(f"{problem}.", file=file)


def _own_metrics(header: Header, scorer: str) -> frozenset[str]:
    """Return which of the means and their errors are inspect_ai's own without options, whose definition is known."""
    found: set[str] = set()

    def look(declared: Any) -> None:
        if isinstance(declared, list):
            for item in declared:
                look(item)
        elif isinstance(declared, Mapping):
            name = declared.get("name")
            if not isinstance(name, str):
                for item in declared.values():
                    look(item)
            elif name.startswith(_OWN) and not declared.get("options"):
                found.add(name.removeprefix(_OWN))

    for one in header.eval.scorers or ():
        if one.name.rpartition("/")[2] == scorer.rpartition("/")[2]:
            look(one.metrics)
    return frozenset(found) & frozenset((*_MEANS, *_ERRORS))


def _scale(values: Sequence[float]) -> Scale | None:
    if all(value in (0.0, 1.0) for value in values):
        return PROPORTION
    return BOUNDED if all(value in (0.0, 0.5, 1.0) for value in values) else None


def _ours(registry: Registry, name: str, scored: Sequence[Scored]) -> str | None:
    """Return our metric with a score's name, if it gives every example the same score."""
    ours = name.removeprefix(PREFIX).rpartition(".")[0]
    return ours if agrees(registry, ours, scored, name) else None


def _renamed(stat: Stat, ours: str, registry: Registry) -> Stat:
    category, higher = described(registry, ours)
    return replace(stat, metric=ours, category=category, higher_is_better=higher, scale=scale_of(registry, ours))


def _with_ours(scores: Mapping[str, float], names: Mapping[str, Sequence[str]]) -> Mapping[str, float]:
    return {**scores, **{ours: scores[name] for name, several in names.items() if name in scores for ours in several}}


def _main(stats: Sequence[Stat], reading: _Reading, names: Mapping[str, Sequence[str]], metric: str | None) -> Stat:
    """Return the stat that was asked for, else the headline, by our name if it has one."""
    header, file = reading.header, reading.file
    known = {stat.metric: stat for stat in stats}
    if metric is None and reading.main is not None and reading.main.spec.main_metric in known:
        return known[reading.main.spec.main_metric]
    if metric is not None:
        found = known.get(metric) or known.get(PREFIX + metric)
        if found is None:
            raise DataError(f"the log has no metric {metric}. {did_you_mean(metric, known)}".strip(), file=file)
        return found
    headline = header.results.headline if header.results is not None else None
    if headline is not None:
        reducer = "" if headline.reducer in (None, "mean") else f",{headline.reducer}"
        called = f"{PREFIX}{headline.score}.{headline.metric}{reducer}"
        if called in known:
            return known[names[called][0]] if called in names else known[called]
    if not stats:
        raise DataError("the log has no metric: results.scores is empty.", file=file)
    first = stats[0]
    return known[names[first.metric][0]] if first.metric in names else first


def _own_spec(header: Header, spec: RunSpec, main: Stat) -> RunSpec:
    """Return the spec of the exported run, of the model that the log names."""
    return spec.model_copy(update={"model": Component(name=f"inspect:{header.eval.model}"), "main_metric": main.metric})


def _spec(header: Header, suite: str, registry: Registry, stats: Sequence[Stat], main: Stat) -> RunSpec:
    task = header.eval
    scenario = scenario_component(registry, task.task.rpartition("/")[2], task.task_args)
    solvers = [step.solver.rpartition("/")[2] for step in header.plan.steps]
    settings = {**task.model_generate_config, **header.plan.config}
    arguments: dict[str, Any] = {key: value for key, value in settings.items() if key not in _NOT_SETTINGS}
    for step in header.plan.steps:
        arguments |= {
            f"{step.solver.rpartition('/')[2]}.{key}": value for key, value in step.params.items() if value is not None
        }
    limit = task.config.limit
    if isinstance(limit, list):
        arguments["limit"] = limit
    return RunSpec(
        suite=suite,
        scenario=scenario,
        parts=chosen_parts(registry, scenario),
        adapter=Component(name=f"inspect {solvers[-1] if solvers else 'generate'}", arguments=arguments),
        metrics=tuple(Component(name=name) for name in dict.fromkeys(stat.metric for stat in stats)),
        main_metric=main.metric,
        model=Component(name=f"inspect:{task.model}"),
        eval_split=Split(main.split),
        max_eval_instances=limit if isinstance(limit, int) and limit >= 1 else None,
        samples=max(1, task.config.epochs or 1),
    )
