"""A folder for each run, with a results file and a samples file for each task.

A task is made of the instances with the same split, perturbation and train trial. Where a run has several trials, the
statistics over all of them are those of a group of these tasks.
"""

from __future__ import annotations

import math
from contextlib import ExitStack
from itertools import groupby
from typing import Any, BinaryIO

from harness.contracts import Stat
from harness.contracts.specs import RunSpec
from harness.exports.exporter import Exporter
from harness.exports.json_text import json_text
from harness.exports.lm_eval.documents import document, hashed, metric_name, output_type
from harness.exports.output_folder import OutputFolder, portable_name
from harness.exports.privacy import public, public_text
from harness.exports.report import ExportReport
from harness.exports.stored_run import StoredExample, StoredRun
from harness.exports.tasks import Task, file_date, is_mean, moment, scenario_name
from harness.installation import DISTRIBUTION, harness_version
from harness.statistics import mean_estimate

Json = dict[str, Any]


class LmEvalExporter(Exporter):
    """Writes results and samples files of lm-evaluation-harness."""

    def export_run(self, run: StoredRun, folder: OutputFolder, report: ExportReport) -> None:
        """Write a run's results file and its samples files.

        Raises:
            CannotHoldError: The run asks what lm-evaluation-harness cannot ask.
        """
        record = run.record
        date = file_date(record.finished or record.started)
        place = (portable_name(record.suite), portable_name(record.name))
        if not run.has_examples:
            report.leave_out("samples of runs without examples")
        tasks: dict[tuple[Task, int], _TaskFile] = {}
        with ExitStack() as files:
            # The samples of an instance follow each other.
            stored = run.examples() if run.has_examples else iter(())
            for (task, trial, _), samples in groupby(stored, lambda one: _key(one)):
                if (task, trial) not in tasks:
                    name = _task_name(run, task, trial)
                    file = folder.open(*place, f"samples_{portable_name(name)}_{date}.jsonl")
                    tasks[task, trial] = _TaskFile(name, trial, files.enter_context(file))
                tasks[task, trial].add(list(samples), report)
        written = _results(run, tasks, report)
        text = json_text(written, indent=2)
        folder.write(*place, f"results_{date}.json", text=text + "\n")


def _key(one: StoredExample) -> tuple[Task, int, str]:
    return Task.of(one.example), one.example.trial, one.example.instance.id


def _task_name(run: StoredRun, task: Task, trial: int | None) -> str:
    spec = run.record.spec
    several = int(spec.adapter.arguments.get("train_trials") or 1) > 1
    suffix = f"_trial-{trial}" if several and trial is not None else ""
    return scenario_name(spec) + task.suffix(spec) + suffix


class _TaskFile:
    """A task's samples file, and what its results need of the samples."""

    def __init__(self, name: str, trial: int, file: BinaryIO) -> None:
        self.name, self.trial, self._file = name, trial, file
        self.scores: dict[str, dict[str, list[float]]] = {}
        self.count = self.shots = self.repeats = 0
        self.output_type = "generate_until"
        self.settings: Json = {}
        self._hashes: list[str] = []

    def add(self, samples: list[StoredExample], report: ExportReport) -> None:
        """Write an instance's line."""
        example = samples[0].example
        line = document(samples, self.count, report)
        self._file.write(json_text(line).encode("utf-8", "backslashreplace") + b"\n")
        self.output_type = output_type(example)
        self.count += 1
        self.repeats = max(self.repeats, len(samples))
        self.shots = max(self.shots, len(example.train_instances))
        self._hashes.append(line["doc_hash"] + line["prompt_hash"] + line["target_hash"])
        for name in line["metrics"]:
            self.scores.setdefault(name, {}).setdefault(example.instance.id, []).append(line[name])
        if self.output_type == "generate_until" and not self.settings and line["arguments"]:
            self.settings = line["arguments"]["gen_args_0"]["arg_1"]

    @property
    def hash(self) -> str:
        """The task's hash, by which samples of another task are recognised."""
        return hashed("".join(self._hashes))


def _results(run: StoredRun, files: dict[tuple[Task, int], _TaskFile], report: ExportReport) -> Json:
    record, spec = run.record, run.record.spec
    results: Json = {}
    configs: Json = {}
    groups: dict[str, list[str]] = {}
    kinds: dict[str, dict[str, bool | None]] = {}
    counts: Json = {}
    parts: dict[Task, list[_TaskFile]] = {}
    for (task, _), file in files.items():
        parts.setdefault(task, []).append(file)
    stated = {Task(stat.split, stat.perturbation or "") for stat in record.stats}
    for task in dict.fromkeys([Task.main(spec), *sorted(stated | set(parts))]):
        means = task.means(record)
        report.leave_out("statistics of groups, worst cases and drops", len(task.derived(record)))
        if not means and task not in parts:
            continue
        name = _task_name(run, task, None)
        of_task = parts.get(task, [])
        kinds[name] = {metric_name(stat.metric): stat.higher_is_better for stat in means}
        results[name] = _values(name, means, max((stat.count for stat in means), default=0))
        if len(of_task) > 1:
            groups[name] = [file.name for file in of_task]
        for file in of_task:
            if len(of_task) > 1:
                results[file.name] = _values(file.name, _of_trial(file, means), file.count)
                kinds[file.name] = kinds[name]
            configs[file.name] = _config(run, task, file, means, of_task)
            counts[file.name] = {"original": file.count, "effective": file.count}
        if not of_task:
            configs[name] = _config(run, task, None, means, [])
            counts[name] = {"original": results[name]["sample_len"], "effective": results[name]["sample_len"]}
    model = record.provenance.get("model") or {}
    identifier = public_text(spec.model.name.partition(":")[2] or spec.model.name)
    return {
        "results": results,
        **({"groups": {name: results[name] for name in groups}} if groups else {}),
        "group_subtasks": groups,
        "configs": configs,
        "versions": dict.fromkeys(configs, 0),
        "n-shot": {name: config["num_fewshot"] for name, config in configs.items()},
        "higher_is_better": kinds,
        "n-samples": counts,
        "config": {
            "model": spec.model.name.partition(":")[0],
            "model_args": {"pretrained": identifier, **public(spec.model.arguments)},
            "model_num_parameters": model.get("parameters"),
            "model_dtype": model.get("dtype"),
            "model_revision": model.get("revision"),
            "limit": spec.max_eval_instances,
            "random_seed": spec.seed,
            "fewshot_seed": spec.seed,
        },
        "date": moment(record.finished or record.started).timestamp(),
        "task_hashes": {file.name: file.hash for file in files.values()},
        "model_source": spec.model.name.partition(":")[0],
        "model_name": identifier,
        "model_name_sanitized": portable_name(identifier.replace("/", "__")),
        "written_by": {
            "program": DISTRIBUTION,
            "version": harness_version(),
            "run": record.name,
            "task": _task_name(run, Task.main(spec), None),
            **_setup(spec),
        },
    }


def _setup(spec: RunSpec) -> Json:
    """Return the parts of a run's setup that its tasks' configs lack, for the import."""
    return {
        "main_metric": spec.main_metric,
        "metrics": [{"name": one.name, "arguments": public(one.arguments)} for one in spec.metrics],
        "parts": list(spec.parts),
        "perturbations": [{"name": one.name, "arguments": public(one.arguments)} for one in spec.perturbations],
        "instance_seed": spec.instance_seed,
        "seed": spec.seed,
        "samples": spec.samples,
        "sampling_seed": spec.sampling_seed,
        "cluster": spec.cluster,
        "prompt_variant": None if spec.prompt_variant is None else public(spec.prompt_variant.model_dump(mode="json")),
    }


def _values(name: str, means: list[Stat], count: int) -> Json:
    value: Json = {"name": name, "alias": name, "sample_len": count}
    for stat in means:
        metric = metric_name(stat.metric)
        value[f"{metric},none"] = stat.mean
        value[f"{metric}_stderr,none"] = "N/A" if stat.stderr is None else stat.stderr
    return value


def _of_trial(file: _TaskFile, means: list[Stat]) -> list[Stat]:
    """Return the statistics of one trial, of the metrics that are means of the instances' scores."""
    found = []
    for stat in means:
        scores = [math.fsum(each) / len(each) for each in file.scores.get(metric_name(stat.metric), {}).values()]
        if scores:
            estimate = mean_estimate(scores, stat.scale)
            found.append(Stat(stat.metric, stat.category, stat.split, stat.perturbation, len(scores), estimate.value,
                              estimate.stderr, None, None, None, stat.higher_is_better))  # fmt: skip
    return found


def _config(run: StoredRun, task: Task, file: _TaskFile | None, means: list[Stat], trials: list[_TaskFile]) -> Json:
    """Return the settings of a task, or of one train trial of several."""
    spec = run.record.spec
    split = {"train": "training_split", "valid": "validation_split", "test": "test_split"}[task.split]
    value: Json = {
        "task": file.name if file is not None else _task_name(run, task, None),
        "dataset_path": spec.scenario.name,
        "dataset_kwargs": public(spec.scenario.arguments),
        split: task.split,
        "num_fewshot": file.shots if file is not None else spec.adapter.arguments.get("max_train_instances", 0),
        "metric_list": [
            {
                "metric": metric_name(stat.metric),
                "aggregation": "mean" if _is_mean(stat, trials) else "estimate",
                "higher_is_better": stat.higher_is_better,
            }
            for stat in means
        ],
        "output_type": file.output_type if file is not None else "generate_until",
        "repeats": file.repeats if file is not None else 1,
        "metadata": {"version": 0, "method": spec.adapter.name, "adapter": public(spec.adapter.arguments)},
    }
    if task.perturbation:
        value["metadata"]["perturbation"] = task.perturbation
    if file is not None and len(trials) > 1:
        value["metadata"]["trial"] = file.trial
    if file is not None and file.settings:
        value["generation_kwargs"] = file.settings
    return value


def _is_mean(stat: Stat, trials: list[_TaskFile]) -> bool:
    scores: dict[str, list[float]] = {}
    for file in trials:
        for instance, each in file.scores.get(metric_name(stat.metric), {}).items():
            scores.setdefault(instance, []).extend(each)
    return is_mean(stat, scores)
