"""A folder for each run, as lighteval's ``--output-dir``: a results file, and a details file for each task.

A task is made of the instances with the same split and perturbation; an instance has a row for each train trial.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import groupby
from typing import Any, BinaryIO

from harness.contracts import Stat
from harness.errors import DataError
from harness.exports.exporter import Exporter
from harness.exports.json_text import json_text
from harness.exports.lighteval.details import method_of, row_of, schema
from harness.exports.output_folder import OutputFolder, portable_name
from harness.exports.privacy import public, public_text
from harness.exports.public_spec import public_spec
from harness.exports.report import ExportReport
from harness.exports.stored_run import StoredExample, StoredRun
from harness.exports.tasks import Task, file_date, is_mean, scenario_name
from harness.installation import DISTRIBUTION, harness_version, install_advice

Json = dict[str, Any]

_ROWS = 500
"""Rows that are written at once."""


class LightevalExporter(Exporter):
    """Writes results and details of lighteval."""

    def export_run(self, run: StoredRun, folder: OutputFolder, report: ExportReport) -> None:
        """Write a run's results file and its details files.

        Raises:
            CannotHoldError: The run asks what lighteval cannot ask.
            DataError: PyArrow is missing.
        """
        try:
            import pyarrow.parquet  # noqa: F401 - tells whether it is there before anything is written
        except ImportError:
            raise DataError(f"lighteval's details are Parquet files: {install_advice('exchange')}") from None
        record = run.record
        date = file_date(record.finished or record.started)
        root = (portable_name(record.suite), portable_name(record.name))
        model = _model_name(record.spec.model.name)
        parts = [portable_name(part) for part in model.split("/")]
        if not run.has_examples:
            report.leave_out("samples of runs without examples")
        shots = _shots(run)
        names = _metric_names(run)
        files: dict[Task, _Details] = {}
        with ExitStack() as opened:
            # The samples of an instance follow each other.
            for (task, _, _), samples in groupby(run.examples() if run.has_examples else (), _key):
                if task not in files:
                    name = f"{_task_name(run, task)}|{shots}"
                    file = opened.enter_context(
                        folder.open(*root, "details", *parts, date, f"details_{name}_{date}.parquet")
                    )
                    files[task] = opened.enter_context(_Details(name, file, names.get(task, ())))
                files[task].add(list(samples), report)
        text = json_text(_results(run, model, files, shots, report), indent=2)
        folder.write(*root, "results", *parts, f"results_{date}.json", text=text + "\n")


def _key(one: StoredExample) -> tuple[Task, int, str]:
    return Task.of(one.example), one.example.trial, one.example.instance.id


def _shots(run: StoredRun) -> int:
    return int(run.record.spec.adapter.arguments.get("max_train_instances") or 0)


def _task_name(run: StoredRun, task: Task) -> str:
    return (scenario_name(run.record.spec, ":") + task.suffix(run.record.spec)).replace("|", "_")


def _metric_names(run: StoredRun) -> dict[Task, Sequence[str]]:
    """Return the names of the scores that a task's examples have; the columns of a file must be known first."""
    found: dict[Task, dict[str, None]] = {}
    for one in run.examples() if run.has_examples else ():
        found.setdefault(Task.of(one.example), {}).update(dict.fromkeys(one.scores))
    return {task: sorted(names) for task, names in found.items()}


class _Details:
    """A details file, written in blocks of rows."""

    def __init__(self, name: str, file: BinaryIO, metrics: Sequence[str]) -> None:
        import pyarrow.parquet as pq

        self.name, self.count, self.method = name, 0, "GENERATIVE"
        self.scores: dict[str, dict[str, list[float]]] = {}
        self.settings: Json = {}
        self.trials = self.samples = 1
        self._schema = schema(metrics)
        self._writer = pq.ParquetWriter(file, self._schema)
        self._rows: list[Json] = []

    def __enter__(self) -> _Details:
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            self._flush()
        self._writer.close()

    def add(self, samples: list[StoredExample], report: ExportReport) -> None:
        """Write an instance's row."""
        example = samples[0].example
        row = row_of(samples, self.name, report)
        self._rows.append(row)
        self.count += 1
        self.method = method_of(example)
        self.trials = max(self.trials, example.trial + 1)
        self.samples = max(self.samples, row["doc"]["num_samples"])
        doc = row["doc"]
        self.settings = self.settings or {
            "generation_size": doc["generation_size"],
            "stop_sequence": doc["stop_sequences"],
            "temperature": next((getattr(one, "temperature", None) for one in example.requests), None),
        }
        for name, score in row["metric"].items():
            self.scores.setdefault(name, {}).setdefault(example.instance.id, []).append(score)
        if len(self._rows) == _ROWS:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        if self._rows:
            self._writer.write_table(pa.Table.from_pylist(self._rows, schema=self._schema))
            self._rows = []


def _results(run: StoredRun, model: str, files: dict[Task, _Details], shots: int, report: ExportReport) -> Json:
    record, spec = run.record, run.record.spec
    results: Json = {}
    configs: Json = {}
    stated = {Task(stat.split, stat.perturbation or "") for stat in record.stats}
    for task in dict.fromkeys([Task.main(spec), *sorted(stated | set(files))]):
        means = task.means(record)
        report.leave_out("statistics of groups, worst cases and drops", len(task.derived(record)))
        file = files.get(task)
        if not means and file is None:
            continue
        name = file.name if file is not None else f"{_task_name(run, task)}|{shots}"
        results[name] = dict(_values(means))
        configs[name] = _config(run, task, file, means, shots)
    settings = next((file.settings for file in files.values()), {})
    main = files.get(Task.main(spec))
    written_by = {
        "program": DISTRIBUTION,
        "version": harness_version(),
        "run": record.name,
        "task": main.name if main is not None else f"{_task_name(run, Task.main(spec))}|{shots}",
        "spec": public_spec(spec),
    }
    return {
        "config_general": {
            "lighteval_sha": "?",
            "num_fewshot_seeds": max((file.trials for file in files.values()), default=1),
            "max_samples": spec.max_eval_instances,
            "model_config": {
                "model_name": model,
                "generation_parameters": {"temperature": settings.get("temperature"), "seed": spec.seed},
                **{key: value for key, value in public(spec.model.arguments).items() if key != "model_name"},
            },
            "model_name": model,
            "written_by": written_by,
        },
        "results": results,
        "versions": dict.fromkeys(configs, 0),
        "config_tasks": configs,
        "summary_tasks": {},
        "summary_general": {},
    }


def _values(means: Sequence[Stat]) -> Iterator[tuple[str, float]]:
    for stat in means:
        yield stat.metric, stat.mean
        if stat.stderr is not None:
            yield f"{stat.metric}_stderr", stat.stderr


def _config(run: StoredRun, task: Task, file: _Details | None, means: Sequence[Stat], shots: int) -> Json:
    spec = run.record.spec
    method = file.method if file is not None else "GENERATIVE"
    split = "validation" if task.split == "valid" else task.split
    settings = file.settings if file is not None else {}
    return {
        "name": _task_name(run, task),
        "prompt_function": spec.adapter.name,
        "hf_repo": spec.scenario.name,
        "hf_subset": "default",
        "metrics": [
            {
                "metric_name": stat.metric,
                "higher_is_better": stat.higher_is_better,
                "category": method,
                "corpus_level_fn": "mean" if file is not None and _over_rows(stat, file) else "estimate",
            }
            for stat in means
        ],
        "evaluation_splits": [split],
        "few_shots_split": "train" if shots else None,
        "generation_size": settings.get("generation_size"),
        "stop_sequence": settings.get("stop_sequence") or [],
        "num_samples": file.samples if file is not None else None,
        "num_fewshots": shots,
        "version": 0,
        "parameters": {
            "scenario": public(spec.scenario.arguments),
            "adapter": public(spec.adapter.arguments),
            **({"perturbation": task.perturbation} if task.perturbation else {}),
        },
    }


def _over_rows(stat: Stat, file: _Details) -> bool:
    """Return True if a statistic is the mean over instances, and also that over rows."""
    scores = file.scores.get(stat.metric, {})
    each = [score for several in scores.values() for score in several]
    return is_mean(stat, scores) and math.isclose(math.fsum(each) / len(each), stat.mean, rel_tol=1e-9, abs_tol=1e-9)


def _model_name(name: str) -> str:
    """Return a model's name as a path below a folder, ``openai-community/gpt2``, without folders of this machine."""
    backend, _, identifier = name.partition(":")
    found = [part for part in public_text(identifier or backend).split("/") if part not in ("", ".", "..")]
    return "/".join(found) or backend
