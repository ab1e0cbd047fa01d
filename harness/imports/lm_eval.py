"""Importing lm-evaluation-harness's ``results_*.json`` and ``samples_*.jsonl`` (EleutherAI), one run for each task.

A task gets a leaderboard column of its own, next to the scenario of the same name: its prompts differ from ours, so its
method is ``lm-eval`` with the kind of its output. Metrics keep their names after ``lm-eval.``, with the filter's name
unless it is ``none``. Metrics that ours declare as defined alike get our name as well; those that are alike for scored
options only, if no two options tie for the best score.

Files that this harness wrote keep the scenario, method, metrics and instances of their run, and so share its column.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.contracts import Split, Stat
from harness.contracts.specs import Component, RunSpec
from harness.errors import DataError, did_you_mean
from harness.imports.foreign_files import identity, read_json, read_json_lines, understood
from harness.imports.imported_run import (
    OTHER,
    Counterparts,
    Imported,
    Scored,
    counterparts,
    described,
    scale_of,
    stat_from,
)
from harness.imports.lm_eval_checks import check_means, check_samples
from harness.imports.lm_eval_own import is_main_task, is_own, own_metric, own_spec
from harness.imports.lm_eval_samples import PREFIX, evaluated_split, read_samples, their_name
from harness.imports.our_plugins import chosen_parts, scenario_component
from harness.plugins.registry import Registry

PROGRAM = "lm-eval"
RESULTS_FILE = "a results file of lm-evaluation-harness"
SAMPLES_FILE = "a samples file of lm-evaluation-harness"
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
        DataError: A file is not lm-evaluation-harness's, or no task has the metric.
    """
    written = read_json(file, RESULTS_FILE)
    with understood(file, RESULTS_FILE):
        groups = written.get("group_subtasks") or {}
        tasks = [task for task in written["results"] if task in written["configs"] and not groups.get(task)]
    ours = counterparts(registry, PROGRAM)
    known: dict[str, None] = {}
    found = False
    for task in tasks:
        samples = file.with_name(f"samples_{task}_{file.stem.removeprefix('results_')}.jsonl")
        rows = list(read_json_lines(samples, SAMPLES_FILE)) if samples.is_file() else []
        with understood(samples, SAMPLES_FILE):
            check_samples(task, rows, written, samples)
            own = is_main_task(written, task)
            examples = read_samples(task, rows, written["configs"][task], ours, own=is_own(written), main=own)
            check_means(task, rows, written, samples, file)
        with understood(file, RESULTS_FILE):
            stats = list(_stats(task, written, examples, registry, ours, own=own))
            known.update(dict.fromkeys(stat.metric for stat in stats))
            main = _main(stats, metric or (written["written_by"]["main_metric"] if own else None), ours)
            if main is None:
                continue
            found = True
            yield Imported(
                spec=own_spec(_spec(task, written, suite, registry, stats, main), task, written, registry)
                if own
                else _spec(task, written, suite, registry, stats, main),
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
                model={
                    "parameters": written["config"].get("model_num_parameters"),
                    "dtype": written["config"].get("model_dtype"),
                    "revision": written["config"].get("model_revision"),
                },
                finished=_time(written.get("date")),
            )
    if not found:
        wanted = f"the metric {metric}" if metric else "the main metric that it names" if known else "a metric"
        hint = did_you_mean(metric, known) if metric else f"Metrics: {', '.join(known)}." if known else ""
        raise DataError(f"no task has {wanted}. {hint}".strip(), file=file)


def _spec(
    task: str, written: Mapping[str, Any], suite: str, registry: Registry, stats: Sequence[Stat], main: Stat
) -> RunSpec:
    config = written["configs"][task]
    model = written.get("model_name") or _model_argument(written["config"].get("model_args"))
    scenario = (
        scenario_component(registry, "mmlu", {"subject": task.removeprefix(_MMLU)})
        if task.startswith(_MMLU)
        else scenario_component(registry, task, {})
    )
    arguments = {key: config[key] for key in _SETTINGS if config.get(key) not in (None, "")}
    limit = written["config"].get("limit")
    return RunSpec(
        suite=suite,
        scenario=scenario,
        parts=chosen_parts(registry, scenario),
        adapter=Component(name=f"lm-eval {config.get('output_type', 'generate_until')}", arguments=arguments),
        metrics=tuple(Component(name=name) for name in dict.fromkeys(stat.metric for stat in stats)),
        main_metric=main.metric,
        model=Component(name=f"lm-eval:{model or written['config']['model']}"),
        eval_split=Split(main.split),
        max_eval_instances=int(limit) if isinstance(limit, int | float) and limit >= 1 else None,
    )


def _model_argument(arguments: Any) -> str:
    """Return the model's name from its arguments, which older versions write as one string."""
    pairs = dict(part.partition("=")[::2] for part in arguments.split(",")) if isinstance(arguments, str) else arguments
    named = (pairs or {}).get("pretrained") or (pairs or {}).get("model")
    return str(named) if named else ""


def _stats(
    task: str,
    written: Mapping[str, Any],
    examples: Sequence[Scored],
    registry: Registry,
    known: Counterparts,
    *,
    own: bool,
) -> Iterator[Stat]:
    directions = (written.get("higher_is_better") or {}).get(task) or {}
    split = evaluated_split(written["configs"][task]).value
    count = ((written.get("n-samples") or {}).get(task) or {}).get("effective", 0)
    for key, value in written["results"][task].items():
        name, comma, filtered = key.partition(",")
        if not comma or name.endswith("_stderr") or not isinstance(value, int | float):
            continue
        error = written["results"][task].get(f"{name}_stderr,{filtered}")
        theirs = their_name(name, filtered)
        stat = Stat(
            metric=theirs,
            category=OTHER,
            split=split,
            perturbation=None,
            count=int(count),
            mean=float(value),
            stderr=float(error) if isinstance(error, int | float) and math.isfinite(error) else None,
            ci95=None,
            min=None,
            max=None,
            higher_is_better=directions.get(name),
        )
        scores = [one.scores[theirs] for one in examples if theirs in one.scores]
        stat = stat_from(stat, scores, scale_of(registry, theirs))
        yield stat
        agreeing = known.agreeing.get(theirs.removeprefix(PREFIX), ())
        alike = (*known.same.get(name, ()), *(one for one in agreeing if any(one in e.scores for e in examples)))
        for ours in (own_metric(name),) if own else alike:
            category, higher = described(registry, ours)
            yield replace(stat, metric=ours, category=category, higher_is_better=higher)


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


def _time(date: Any) -> str:
    return datetime.fromtimestamp(date, UTC).isoformat(timespec="seconds") if isinstance(date, int | float) else ""
