"""One ``.eval`` log for each run and perturbation; epochs are train trials and samples of an instance."""

from __future__ import annotations

import math
import zipfile
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any, BinaryIO

from harness.exports.exporter import Exporter
from harness.exports.inspect_ai.results import results_of, scorers_of
from harness.exports.inspect_ai.samples import identifier, sample_of, summary_of
from harness.exports.json_text import json_text
from harness.exports.output_folder import OutputFolder, portable_name
from harness.exports.privacy import public, public_text
from harness.exports.public_spec import public_spec
from harness.exports.report import ExportReport
from harness.exports.stored_run import StoredExample, StoredRun
from harness.exports.tasks import Task, is_mean, repeat_of, scenario_name
from harness.installation import DISTRIBUTION, harness_version

Json = dict[str, Any]

_VERSION = 2
_EPOCH = "1970-01-01T00:00:00+00:00"
_DATE = (1980, 1, 1, 0, 0, 0)  # the same bytes for the same run


class InspectExporter(Exporter):
    """Writes logs of inspect_ai."""

    def export_run(self, run: StoredRun, folder: OutputFolder, report: ExportReport) -> None:
        """Write a log for each of a run's tasks."""
        record = run.record
        if not run.has_examples:
            report.leave_out("samples of runs without examples")
        with ExitStack() as files:
            logs: dict[Task, _Log] = {}
            main = Task.main(record.spec)
            for task in [main, *sorted({Task(stat.split, stat.perturbation or "") for stat in record.stats} - {main})]:
                if task == main or (task.means(record) and task.perturbation in _perturbations(run)):
                    logs[task] = files.enter_context(_Log(run, task, folder))
            for stored in run.examples() if run.has_examples else ():
                task = Task.of(stored.example)
                if task not in logs:
                    logs[task] = files.enter_context(_Log(run, task, folder))
                logs[task].add(stored)
            for log in logs.values():
                log.finish()


def _perturbations(run: StoredRun) -> set[str]:
    return {"", *(component.name for component in run.record.spec.perturbations)}


class _Log:
    """One log, whose samples are written as they come."""

    def __init__(self, run: StoredRun, task: Task, folder: OutputFolder) -> None:
        self._run, self._task = run, task
        record = run.record
        name = f"{portable_name(record.suite)}_{portable_name(record.name + task.suffix(record.spec))}.eval"
        self._file = folder.open(name)
        self._model = model_name(record.spec.model.name)
        self._time = _time(record.started)
        self._summaries: list[Json] = []
        self._scores: dict[str, dict[str, list[float]]] = {}
        self._usage: dict[str, int] = {}
        self._settings: Json = {}
        self._failed = self._epochs = 0

    def __enter__(self) -> _Log:
        raw: BinaryIO = self._file.__enter__()
        self._archive = zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED)
        return self

    def __exit__(self, *error: Any) -> None:
        self._archive.close()  # after an error as well, since it would write when it is collected
        self._file.__exit__(*error)

    def add(self, stored: StoredExample) -> None:
        """Write one sample."""
        epoch = repeat_of(stored.example, self._run.record.spec.samples) + 1
        sample = sample_of(stored, epoch, self._model, self._run.record.name, self._time)
        self._write(f"samples/{_file_name(sample['id'])}_epoch_{epoch}.json", sample)
        self._summaries.append(summary_of(sample))
        self._epochs = max(self._epochs, epoch)
        self._failed += stored.error is not None
        for metric, score in sample["scores"].items():
            self._scores.setdefault(metric, {}).setdefault(sample["id"], []).append(score["value"])
        for used in sample["model_usage"].values():
            for name, count in used.items():
                self._usage[name] = self._usage.get(name, 0) + count
        if not self._settings and sample["events"]:
            self._settings = sample["events"][0]["config"]

    def finish(self) -> None:
        """Write everything but the samples."""
        record, spec = self._run.record, self._run.record.spec
        means = {
            stat.metric: len(self._scores[stat.metric])
            for stat in self._task.means(record)
            if is_mean(stat, self._scores.get(stat.metric, {}))
        }
        results = results_of(record, self._task, means, len(self._summaries), self._failed, self._epochs)
        ids = list(dict.fromkeys(one["id"] for one in self._summaries))
        arguments = public(spec.scenario.arguments)
        if self._task.perturbation:
            arguments = {**arguments, "perturbation": self._task.perturbation}
        if self._task.split != spec.eval_split.value:
            arguments = {**arguments, "split": self._task.split}
        adapter = public(spec.adapter.arguments)
        header: Json = {
            "version": _VERSION,
            "status": "success",
            "eval": {
                "eval_id": identifier(record.name, *self._task_key(), "eval"),
                "run_id": identifier(record.name, "run"),
                "created": self._time,
                "task": spec.scenario.name,
                "task_id": identifier(record.name, *self._task_key(), "task"),
                "task_version": 0,
                "task_args": arguments,
                "task_args_passed": arguments,
                "dataset": {
                    "name": scenario_name(spec),
                    "samples": len(ids),
                    "sample_ids": ids,
                    "shuffled": False,
                },
                "model": self._model,
                "model_args": public(spec.model.arguments),
                "config": {
                    "limit": spec.max_eval_instances,
                    "epochs": max(1, self._epochs),
                    **({"epochs_reducer": ["mean"]} if self._epochs > 1 else {}),
                },
                "packages": {DISTRIBUTION: harness_version()},
                "metadata": {
                    "program": DISTRIBUTION,
                    "suite": public_text(record.suite),
                    "run": record.name,
                    "spec": public_spec(spec),
                    "split": self._task.split,
                    "perturbation": self._task.perturbation,
                },
                "scorers": scorers_of(results, spec.cluster),
            },
            "plan": {
                "name": "plan",
                "steps": [{"solver": spec.adapter.name, "params": adapter, "params_passed": adapter}],
                "config": self._settings,
            },
            "results": results,
            "stats": {
                "started_at": self._time,
                "completed_at": _time(record.finished),
                "model_usage": {self._model: self._usage} if self._usage else {},
            },
        }
        self._write("_journal/start.json", {name: header[name] for name in ("version", "eval", "plan")})
        self._write("summaries.json", self._summaries)
        self._write("reductions.json", self._reductions(means))
        self._write("header.json", header)

    def _task_key(self) -> tuple[str, str]:
        return self._task.split, self._task.perturbation

    def _reductions(self, means: dict[str, int]) -> list[Json]:
        reducer = {"reducer": "mean"} if self._epochs > 1 else {}
        return [
            {
                "scorer": metric,
                **reducer,
                "samples": [
                    {"value": math.fsum(values) / len(values), "history": [], "sample_id": one}
                    for one, values in self._scores[metric].items()
                ],
            }
            for metric in means
        ]

    def _write(self, name: str, value: Any) -> None:
        content = json_text(value).encode("utf-8", "backslashreplace")
        info = zipfile.ZipInfo(name, _DATE)
        info.compress_type = zipfile.ZIP_DEFLATED
        self._archive.writestr(info, content)


def model_name(name: str) -> str:
    """Return a model's name in inspect_ai's form, ``hf/openai-community/gpt2``, without folders of this machine."""
    backend, _, identifier = name.partition(":")
    return f"{backend}/{public_text(identifier)}" if identifier else backend


def _file_name(sample: str) -> str:
    unsafe = sample.startswith("/") or "\\" in sample or ".." in sample.split("/")
    return portable_name(sample) if unsafe else sample


def _time(written: str) -> str:
    """Return a time with its zone, as inspect_ai wants it; 1970 if it is unknown."""
    try:
        found = datetime.fromisoformat(written)
    except ValueError:
        return _EPOCH
    return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).isoformat(timespec="seconds")
