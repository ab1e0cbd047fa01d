"""Importing lm-evaluation-harness's ``results_*.json`` and ``samples_*.jsonl`` (EleutherAI), one run for each task.

A task gets a leaderboard column of its own, next to the scenario of the same name: its prompts differ from ours, so its
method is ``lm-eval`` with the kind of its output. Metrics keep their names after ``lm-eval.``, with the filter's name
unless it is ``none``. Metrics that ours declare as defined alike get our name as well; those that are alike for scored
options only, if no two options tie for the best score.

Files that this harness wrote are one run with the scenario, method, metrics, instances, train trials and perturbed
copies of the exported run, and so share its column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.contracts import Split, Stat
from harness.contracts.specs import Component, RunSpec
from harness.errors import DataError, did_you_mean
from harness.imports.foreign_files import check_shape, identity, read_json, understood
from harness.imports.imported_run import (
    OTHER,
    Counterparts,
    Imported,
    Scored,
    counterparts,
    described,
    scale_of,
    stat_from,
    unit_interval,
)
from harness.imports.lm_eval_checks import Reported, check_bounds, check_numbers, read_lines, reported_numbers
from harness.imports.lm_eval_own import finished, is_own, model_facts, read_own, samples_file
from harness.imports.lm_eval_samples import PREFIX, evaluated_split, read_samples, their_name
from harness.imports.lm_eval_schema import ResultsFile
from harness.imports.our_plugins import chosen_parts, scenario_component
from harness.plugins.registry import Registry

PROGRAM = "lm-eval"
RESULTS_FILE = "a results file of lm-evaluation-harness"
# The main metric of a task: the first of these that it has.
MAIN = ("acc", "exact_match", "f1", "bits_per_byte", "word_perplexity")

_SETTINGS = ("num_fewshot", "description", "doc_to_text", "doc_to_target", "doc_to_choice", "generation_kwargs")
_MMLU = "mmlu_"


def lm_eval_files(path: Path) -> list[Path]:
    """Return the results files in a folder, the newest first, or the file itself if it is one.

    Raises:
        DataError: There are none.
    """
    if path.is_file():
        return [path]
    found = sorted(path.rglob("results_*.json"), reverse=True)
    if not found:
        raise DataError(f"{path} has no results of lm-evaluation-harness: there is no results_*.json.")
    return found


def read_lm_eval(file: Path, suite: str, registry: Registry, metric: str | None = None) -> Iterator[Imported]:
    """Yield a run for each task of a results file; the leaderboard computes groups of tasks.

    Raises:
        DataError: A file is not lm-evaluation-harness's, contradicts another, or no task has the metric.
    """
    written = read_json(file, RESULTS_FILE)
    check_shape(ResultsFile, written, file, RESULTS_FILE)
    if is_own(written):
        yield read_own(file, written, suite, registry, metric, RESULTS_FILE)
        return
    groups = written.get("group_subtasks") or {}
    tasks = [task for task in written["results"] if task in written["configs"] and not groups.get(task)]
    ours = counterparts(registry, PROGRAM)
    known: dict[str, None] = {}
    found = False
    for task in tasks:
        samples = samples_file(file, task)
        config = written["configs"][task]
        with understood(file, RESULTS_FILE):
            numbers = reported_numbers(task, written, file, _limits)
        examples: list[Scored] = []
        if samples.is_file():
            rows = read_lines(task, written, samples)
            with understood(file, RESULTS_FILE):
                check_numbers(task, numbers, rows, written, samples, file, _limits)
            examples = read_samples(task, rows, config, ours, samples, metric)
        check_bounds(numbers, _count(task, written), file, _limits)
        with understood(file, RESULTS_FILE):
            stats = list(_stats(task, written, numbers, examples, registry, ours))
            known.update(dict.fromkeys(stat.metric for stat in stats))
            main = _main(stats, metric, ours)
            if main is None:
                continue
            found = True
            yield Imported(
                spec=_spec(task, written, suite, registry, stats, main),
                stats=stats,
                origin={
                    "program": "lm-evaluation-harness",
                    "version": written.get("lm_eval_version"),
                    "task": task,
                    "task_version": (written.get("versions") or {}).get(task),
                    "files": [identity(path) for path in (file, samples) if path.is_file()],
                },
                examples=examples,
                efficiency={"examples": len(examples)} if examples else {},
                model=model_facts(written),
                finished=finished(written.get("date")),
            )
    if not found:
        wanted = f"the metric {metric}" if metric else "a metric"
        raise DataError(f"no task has {wanted}. {did_you_mean(metric or '', known)}".strip(), file=file)


def _limits(name: str) -> tuple[float | None, float | None]:
    return (0.0, 1.0) if unit_interval(name) else (None, None)


def _count(task: str, written: Mapping[str, Any]) -> int:
    return ((written.get("n-samples") or {}).get(task) or {}).get("effective") or 0


def _spec(
    task: str, written: Mapping[str, Any], suite: str, registry: Registry, stats: Sequence[Stat], main: Stat
) -> RunSpec:
    config, general = written["configs"][task], written.get("config") or {}
    model = written.get("model_name") or _model_argument(general.get("model_args"))
    scenario = (
        scenario_component(registry, "mmlu", {"subject": task.removeprefix(_MMLU)})
        if task.startswith(_MMLU)
        else scenario_component(registry, task, {})
    )
    arguments = {key: config[key] for key in _SETTINGS if config.get(key) not in (None, "")}
    limit = general.get("limit")
    return RunSpec(
        suite=suite,
        scenario=scenario,
        parts=chosen_parts(registry, scenario),
        adapter=Component(name=f"lm-eval {config.get('output_type', 'generate_until')}", arguments=arguments),
        metrics=tuple(Component(name=name) for name in dict.fromkeys(stat.metric for stat in stats)),
        main_metric=main.metric,
        model=Component(name=f"lm-eval:{model or general['model']}"),
        eval_split=Split(main.split),
        max_eval_instances=int(limit) if isinstance(limit, int | float) and limit >= 1 else None,
    )


def _model_argument(arguments: Any) -> str:
    """Return the model's name from its arguments, which older versions write as one string."""
    pairs = dict(part.partition("=")[::2] for part in arguments.split(",")) if isinstance(arguments, str) else arguments
    named = (pairs or {}).get("pretrained") or (pairs or {}).get("model")
    return str(named) if named else ""


def _stats(
    task: str, written: Mapping[str, Any], numbers: Sequence[Reported], examples: Sequence[Scored],
    registry: Registry, known: Counterparts,
) -> Iterator[Stat]:  # fmt: skip
    directions = (written.get("higher_is_better") or {}).get(task) or {}
    split = evaluated_split(written["configs"][task]).value
    for one in numbers:
        theirs = their_name(one.name, one.filter)
        stat = Stat(
            metric=theirs,
            category=OTHER,
            split=split,
            perturbation=None,
            count=_count(task, written),
            mean=one.mean,
            stderr=one.stderr,
            ci95=None,
            min=None,
            max=None,
            higher_is_better=directions.get(one.name),
        )
        scores = [example.scores[theirs] for example in examples if theirs in example.scores]
        stat = stat_from(stat, scores, scale_of(registry, theirs))
        yield stat
        agreeing = known.agreeing.get(theirs.removeprefix(PREFIX), ())
        for ours in (*known.same.get(one.name, ()), *(name for name in agreeing if _has(examples, name))):
            category, higher = described(registry, ours)
            yield replace(stat, metric=ours, category=category, higher_is_better=higher)


def _has(examples: Sequence[Scored], metric: str) -> bool:
    return any(metric in one.scores for one in examples)


def _main(stats: Sequence[Stat], metric: str | None, known: Counterparts) -> Stat | None:
    """Return a task's main stat; of a metric with several filters, the first."""
    ours = [name for names in (*known.agreeing.values(), *known.same.values()) for name in names]
    names = [metric] if metric else [*ours, *MAIN]
    for name in names:
        exact = [stat for stat in stats if stat.metric == name]
        found = exact or [stat for stat in stats if stat.metric.removeprefix(PREFIX).partition(",")[0] == name]
        if found:
            return found[0]
    return stats[0] if stats and metric is None else None
