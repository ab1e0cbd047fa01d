"""``run.json``: everything that is known of a run but its examples."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from harness.contracts import Scale, Stat
from harness.declined import Declined, decode_declined, encode_declined
from harness.durable import make_folder, write_whole, writing
from harness.errors import DataError
from harness.instance_counts import InstanceCounts
from harness.instance_scores import InstanceScores
from harness.specs import RunSpec

SCHEMA_VERSION = 2
RUN_FILE = "run.json"


@dataclass(frozen=True, slots=True)
class ExamplesDigest:
    """Which file of examples belongs to a record.

    Attributes:
        count: Number of examples.
        sha256: SHA-256 of ``examples.jsonl.gz``, in hexadecimal.
    """

    count: int
    sha256: str


@dataclass(frozen=True, slots=True)
class RunRecord:
    """Everything that is known of one run but its examples.

    Attributes:
        directory: The run's folder.
        name: The run's name, which is the folder's.
        suite: The suite it belongs to.
        status: ``ok``, or ``failed`` with the error.
        error: Why it failed.
        spec: The resolved spec.
        stats: Every statistic per metric, split and perturbation.
        efficiency: Queries, tokens and seconds of the whole run.
        details: What metrics give for diagrams, by metric, split and perturbation.
        declined: How many examples the model or its provider declined to answer, by kind.
        instances: How many instances each perturbation changed, and how many have no label to be grouped by.
        instance_scores: The main metric's scores of the unperturbed instances, where it is a mean of them.
        provenance: Versions, model, data, seeds and host.
        examples: Count and digest of the examples; None where there are none.
        started: UTC, ISO 8601.
        finished: UTC, ISO 8601.
        schema_version: Version of run.json's layout.
    """

    directory: Path
    name: str
    suite: str
    status: Literal["ok", "failed"]
    error: str | None
    spec: RunSpec
    stats: Sequence[Stat] = ()
    efficiency: Mapping[str, Any] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    declined: Declined = field(default_factory=Declined)
    instances: InstanceCounts = field(default_factory=InstanceCounts)
    instance_scores: InstanceScores | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    examples: ExamplesDigest | None = None
    started: str = ""
    finished: str = ""
    schema_version: int = SCHEMA_VERSION


def run_directory(results_dir: Path, spec: RunSpec) -> Path:
    """Return the folder of a run's results."""
    return results_dir / spec.suite / spec.name


def write_run(record: RunRecord) -> None:
    """Write run.json into the record's folder.

    Raises:
        StorageError: The folder or the file cannot be written.
    """
    value = {
        "schema_version": record.schema_version,
        "name": record.name,
        "suite": record.suite,
        "status": record.status,
        "error": record.error,
        "spec": record.spec.model_dump(mode="json"),
        "stats": [asdict(stat) for stat in record.stats],
        "efficiency": dict(record.efficiency),
        "details": dict(record.details),
        "declined": encode_declined(record.declined),
        "instances": record.instances.to_json(),
        "provenance": dict(record.provenance),
        "examples": None if record.examples is None else asdict(record.examples),
        "started": record.started,
        "finished": record.finished,
        "instance_scores": None if record.instance_scores is None else record.instance_scores.to_json(),
    }
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    with writing(record.directory / RUN_FILE):
        make_folder(record.directory)
        write_whole(record.directory / RUN_FILE, (text + "\n").encode("utf-8", "backslashreplace"))


def read_run(directory: Path) -> RunRecord:
    """Read a run's run.json.

    Raises:
        DataError: There is none, or it is not what this version writes.
    """
    file = directory / RUN_FILE
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
        version = value.pop("schema_version")
        if version != SCHEMA_VERSION:
            raise DataError(
                f"schema version {version} is not the one this version reads ({SCHEMA_VERSION}).", file=file
            )
        if value["status"] not in {"ok", "failed"}:
            raise DataError(f"status {value['status']!r} is neither ok nor failed.", file=file)
        value.setdefault("details", {})
        value.setdefault("declined", encode_declined(Declined()))
        value.setdefault("instances", InstanceCounts().to_json())
        for key in ("efficiency", "details", "declined", "instances", "provenance"):
            if not isinstance(value[key], dict):
                raise DataError(f"not a run's record ({key!r} is no object).", file=file)
        value["spec"] = RunSpec.model_validate(value["spec"])
        value["declined"] = decode_declined(value["declined"])
        value["instances"] = InstanceCounts.from_json(value["instances"])
        value["stats"] = [_stat(stat) for stat in value["stats"]]
        value["examples"] = None if value["examples"] is None else ExamplesDigest(**value["examples"])
        if (scores := value.get("instance_scores")) is not None:
            value["instance_scores"] = InstanceScores.from_json(scores)
        return RunRecord(directory=directory, **value)
    except FileNotFoundError:
        raise DataError("there is no finished run here.", file=file) from None
    except KeyError as error:
        raise DataError(f"not a run's record (it has no {error}).", file=file) from error
    except (ValueError, TypeError, AttributeError, OSError, RecursionError) as error:
        raise DataError(f"not a run's record ({error}).", file=file) from error


def find_runs(results_dir: Path, suites: Sequence[str] | None = None) -> list[RunRecord]:
    """Return the runs under a results folder, by suite and name.

    Args:
        results_dir: The results folder.
        suites: Only these suites; None for all.

    Raises:
        DataError: The folder or a suite does not exist, or a record cannot be read.
    """
    return [read_run(directory) for directory in run_directories(results_dir, suites)]


def run_directories(results_dir: Path, suites: Sequence[str] | None = None) -> list[Path]:
    """Return the folders of the runs that have ended, by suite and name.

    Args:
        results_dir: The results folder.
        suites: Only these suites; None for all.

    Raises:
        DataError: The folder or a suite does not exist.
    """
    if not results_dir.is_dir():
        raise DataError(f"{results_dir} is no folder of results. Run a sweep first, or name it with --results-dir.")
    known = sorted(path.name for path in results_dir.iterdir() if path.is_dir() and not path.name.startswith("."))
    for suite in suites or ():
        if suite not in known:
            there = [name for name in known if any((results_dir / name).glob("*/run.json"))]  # the site is no suite
            raise DataError(f"there is no suite {suite!r} in {results_dir}. There are: {', '.join(there) or 'none'}.")
    return [
        file.parent
        for suite in known
        if suites is None or suite in suites
        for file in sorted((results_dir / suite).glob(f"*/{RUN_FILE}"))
    ]


def _stat(value: Mapping[str, Any]) -> Stat:
    interval, scale = value["ci95"], value.get("scale")
    rest = {key: item for key, item in value.items() if key in _STAT_FIELDS}
    ends = None if interval is None else (interval[0], interval[1])
    return Stat(**{**rest, "ci95": ends, "scale": None if scale is None else Scale(**scale)})


_STAT_FIELDS = frozenset(item.name for item in fields(Stat))
