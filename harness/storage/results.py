"""``run.json``: everything that is known about a run, except its examples."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from harness.answers.declined import Declined, encode_declined
from harness.contracts import Stat
from harness.contracts.specs import RunSpec
from harness.errors import DataError
from harness.storage.durable import make_folder, write_whole, writing
from harness.storage.instance_counts import InstanceCounts
from harness.storage.instance_scores import InstanceScores
from harness.storage.run_schema import SCHEMA_VERSION, ExamplesDigest, parse_run

RUN_FILE = "run.json"

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunRecord:
    """Everything that is known of one run but its examples."""

    directory: Path
    """The run's folder."""
    name: str
    """The run's name, which is the folder's."""
    suite: str
    """The suite it belongs to."""
    status: Literal["ok", "failed"]
    """``ok``, or ``failed`` with the error."""
    error: str | None
    """Why it failed."""
    spec: RunSpec
    """The resolved spec."""
    stats: Sequence[Stat] = ()
    """Every statistic per metric, split and perturbation."""
    efficiency: Mapping[str, Any] = field(default_factory=dict)
    """Queries, tokens and seconds of the whole run."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What metrics give for diagrams, by metric, split and perturbation."""
    declined: Declined = field(default_factory=Declined)
    """How many examples the model or its provider declined to answer, by kind."""
    instances: InstanceCounts = field(default_factory=InstanceCounts)
    """How many instances each perturbation changed, and how many have no label to be grouped by."""
    instance_scores: InstanceScores | None = None
    """The main metric's scores of the unperturbed instances, where it is a mean of them."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Versions, model, data, seeds and host."""
    examples: ExamplesDigest | None = None
    """Count and digest of the examples; None where there are none."""
    started: str = ""
    """UTC, ISO 8601."""
    finished: str = ""
    """UTC, ISO 8601."""
    schema_version: int = SCHEMA_VERSION
    """Version of run.json's layout."""


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
        "instances": asdict(record.instances),
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
        DataError: The file is missing, or does not fit the schema.
    """
    file = directory / RUN_FILE
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        raise DataError("no finished run here.", file=file) from None
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error}).", file=file) from error
    return RunRecord(directory=directory, **dict(parse_run(content, file)))


def find_runs(
    results_dir: Path, suites: Sequence[str] | None = None, *, set_aside: Callable[[DataError], None] | None = None
) -> list[RunRecord]:
    """Return the runs under a results folder, by suite and name.

    Args:
        results_dir: The results folder.
        suites: Only these suites; None for all.
        set_aside: Called with the error of each record that cannot be read (default: log it).

    Raises:
        DataError: The folder or a suite does not exist.
    """
    found = []
    for directory in run_directories(results_dir, suites):
        try:
            found.append(read_run(directory))
        except DataError as error:
            (set_aside or warn_set_aside)(error)
    return found


def warn_set_aside(error: DataError) -> None:
    """Log that a record is left out."""
    _LOG.warning("Left out: %s", error)


def run_directories(results_dir: Path, suites: Sequence[str] | None = None) -> list[Path]:
    """Return the folders of the runs that have ended, by suite and name.

    Args:
        results_dir: The results folder.
        suites: Only these suites; None for all.

    Raises:
        DataError: The folder or a suite does not exist.
    """
    if not results_dir.is_dir():
        raise DataError(f"{results_dir} is not a results folder. Run a sweep first, or name it with --results-dir.")
    known = sorted(path.name for path in results_dir.iterdir() if path.is_dir() and not path.name.startswith("."))
    for suite in suites or ():
        if suite not in known:
            there = [name for name in known if any((results_dir / name).glob("*/run.json"))]  # the site is not a suite
            raise DataError(f"no suite {suite!r} in {results_dir}. Suites: {', '.join(there) or 'none'}.")
    return [
        file.parent
        for suite in known
        if suites is None or suite in suites
        for file in sorted((results_dir / suite).glob(f"*/{RUN_FILE}"))
    ]
