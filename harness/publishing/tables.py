"""The tables of a published data set: runs, statistics, scores of samples, and on request their texts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.contracts import Stat
from harness.errors import HarnessError
from harness.exports.model_identity import model_identity
from harness.exports.stored_run import StoredExample
from harness.installation import DISTRIBUTION, install_advice
from harness.publishing.public_run import PublicRun
from harness.publishing.secrets import SecretCheck

Row = dict[str, Any]

_TEXT, _NUMBER, _COUNT, _TRUTH, _TEXTS = "string", "double", "int64", "bool", "list"

RUNS = {
    "suite": _TEXT, "run": _TEXT, "status": _TEXT, "error": _TEXT, "no_value": _TEXT, "scenario": _TEXT,
    "title": _TEXT, "method": _TEXT, "model": _TEXT, "model_id": _TEXT, "split": _TEXT, "main_metric": _TEXT,
    "value": _NUMBER, "stderr": _NUMBER, "ci95_low": _NUMBER, "ci95_high": _NUMBER, "count": _COUNT,
    "max_eval_instances": _COUNT, "seed": _COUNT, "perturbations": _TEXTS, "data_kind": _TEXT, "data_path": _TEXT,
    "data_revision": _TEXT, "prompt_tokens": _COUNT, "completion_tokens": _COUNT, "model_seconds": _NUMBER,
    "imported_from": _TEXT, "harness_version": _TEXT, "started": _TEXT, "finished": _TEXT,
}  # fmt: skip
"""Columns of the table of runs, one row for each."""

STATS = {
    "suite": _TEXT, "run": _TEXT, "model_id": _TEXT, "scenario": _TEXT, "metric": _TEXT, "category": _TEXT,
    "split": _TEXT, "perturbation": _TEXT, "computed_on": _TEXT, "group": _TEXT, "count": _COUNT, "missing": _COUNT,
    "value": _NUMBER, "stderr": _NUMBER, "ci95_low": _NUMBER, "ci95_high": _NUMBER, "min": _NUMBER, "max": _NUMBER,
    "clusters": _COUNT, "higher_is_better": _TRUTH, "note": _TEXT,
}  # fmt: skip
"""Columns of the table of statistics, one row for each statistic of each finished run."""

SCORES = {
    "suite": _TEXT, "run": _TEXT, "model_id": _TEXT, "scenario": _TEXT, "id": _TEXT, "split": _TEXT,
    "perturbation": _TEXT, "trial": _COUNT, "sample": _COUNT, "metric": _TEXT, "score": _NUMBER,
    "prompt_tokens": _COUNT, "completion_tokens": _COUNT,
}  # fmt: skip
"""Columns of the table of scores, one row for each score of each sample; no text of the data is in it."""

SAMPLES = {
    "suite": _TEXT, "run": _TEXT, "model_id": _TEXT, "scenario": _TEXT, "id": _TEXT, "split": _TEXT,
    "perturbation": _TEXT, "trial": _COUNT, "sample": _COUNT, "input": _TEXT, "prompt": _TEXT, "references": _TEXTS,
    "correct": _TEXTS, "prediction": _TEXT, "completions": _TEXTS, "scores": _TEXT, "canary": _TEXT,
}  # fmt: skip
"""Columns of the table of samples, with the texts of the data and the model's answers."""

_BLOCK = 2_000
"""Rows that are held in memory."""


def run_row(run: PublicRun) -> Row:
    """Return a run's row in the table of runs."""
    record, spec = run.record, run.record.spec
    data, titles = record.provenance.get("data") or {}, record.provenance.get("scenario") or {}
    origin = record.provenance.get("origin") or {}
    main = run.stored.main_stat
    return {
        **_about(run),
        "status": record.status,
        "error": record.error,
        "no_value": record.no_value or None,
        "title": titles.get("title"),
        "method": spec.adapter.name,
        "model": spec.model.label,
        "split": spec.eval_split.value,
        "main_metric": spec.main_metric,
        **(_numbers(main) if main is not None else {}),
        "max_eval_instances": spec.max_eval_instances,
        "seed": spec.seed,
        "perturbations": [one.name for one in spec.perturbations],
        "data_kind": data.get("kind"),
        "data_path": data.get("path"),
        "data_revision": data.get("revision"),
        **{key: record.efficiency.get(key) for key in ("prompt_tokens", "completion_tokens", "model_seconds")},
        "imported_from": origin.get("program"),
        "harness_version": (record.provenance.get("versions") or {}).get(DISTRIBUTION),
        "started": record.started,
        "finished": record.finished,
    }


def stat_rows(run: PublicRun) -> Iterator[Row]:
    """Yield a run's rows in the table of statistics; none of a failed run."""
    for stat in run.record.stats if run.record.status == "ok" else ():
        yield {
            **_about(run),
            "metric": stat.metric,
            "category": stat.category,
            "split": stat.split,
            "perturbation": stat.perturbation,
            "computed_on": stat.computed_on,
            "group": stat.group,
            "missing": stat.missing,
            **_numbers(stat),
            "min": stat.min,
            "max": stat.max,
            "clusters": stat.clusters,
            "higher_is_better": stat.higher_is_better,
            "note": stat.note or None,
        }


def score_rows(run: PublicRun) -> Iterator[Row]:
    """Yield a run's rows in the table of scores."""
    about = _about(run)
    for one in run.stored.examples():
        given = [response.prompt_tokens for response in one.example.responses]
        made = [response.completion_tokens for response in one.example.responses]
        for metric, score in one.scores.items():
            yield {
                **about,
                **_sample(one),
                "metric": metric,
                "score": score,
                "prompt_tokens": None if None in given or not given else sum(count or 0 for count in given),
                "completion_tokens": None if None in made or not made else sum(count or 0 for count in made),
            }


def sample_rows(run: PublicRun, canary: str) -> Iterator[Row]:
    """Yield a run's rows in the table of samples."""
    from harness.exports.every_eval_ever.samples import prompt_text

    about = _about(run)
    for one in run.stored.examples():
        example = one.example
        yield {
            **about,
            **_sample(one),
            "input": example.instance.input,
            "prompt": prompt_text(example) if example.requests else None,
            "references": [reference.text for reference in example.references],
            "correct": [reference.text for reference in example.correct],
            "prediction": example.prediction,
            "completions": [item.text for response in example.responses for item in response.completions],
            "scores": json.dumps(dict(one.scores), sort_keys=True),
            "canary": canary,
        }


def write_table(file: Path, columns: Mapping[str, str], rows: Iterator[Row], check: SecretCheck, where: str) -> int:
    """Write rows as a Parquet file, which is the same for the same rows, and return their number; no file without any.

    Raises:
        HarnessError: A row holds a secret, or the library for Parquet files is not installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise HarnessError(f"tables need pyarrow: {install_advice('dataframes')}") from None
    types = {
        _TEXT: pa.string(),
        _NUMBER: pa.float64(),
        _COUNT: pa.int64(),
        _TRUTH: pa.bool_(),
        _TEXTS: pa.list_(pa.string()),
    }
    schema = pa.schema([(name, types[kind]) for name, kind in columns.items()])
    count, writer = 0, None
    try:
        while block := [row for _, row in zip(range(_BLOCK), rows, strict=False)]:
            for row in block:
                check.check_all(_texts(row), where)
            if writer is None:
                file.parent.mkdir(parents=True, exist_ok=True)
                writer = pq.ParquetWriter(file, schema, compression="zstd")
            writer.write_table(pa.Table.from_pylist([_valid(row, columns) for row in block], schema))
            count += len(block)
    finally:
        if writer is not None:
            writer.close()
    return count


def _about(run: PublicRun) -> Row:
    record = run.record
    return {
        "suite": record.suite,
        "run": record.name,
        "model_id": model_identity(run.stored).id,
        "scenario": record.spec.scenario.label,
    }


def _sample(one: StoredExample) -> Row:
    instance = one.example.instance
    return {
        "id": instance.id,
        "split": instance.split.value,
        "perturbation": instance.perturbation,
        "trial": one.example.trial,
        "sample": one.example.sample,
    }


def _numbers(stat: Stat) -> Row:
    low, high = stat.ci95 or (None, None)
    return {"value": stat.mean, "stderr": stat.stderr, "ci95_low": low, "ci95_high": high, "count": stat.count}


def _texts(row: Row) -> Iterator[str]:
    for value in row.values():
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from value


def _valid(row: Row, columns: Mapping[str, str]) -> Row:
    """Return a row with each column's type, and with halves of surrogate pairs, which Parquet lacks, as escapes."""
    return {name: _cell(row.get(name), kind) for name, kind in columns.items()}


def _cell(value: Any, kind: str) -> Any:
    if value is None:
        return None
    if kind == _TEXT:
        return _writable(str(value))
    if kind == _TEXTS:
        return [_writable(str(item)) for item in _sequence(value)]
    return float(value) if kind == _NUMBER else value


def _sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]


def _writable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
