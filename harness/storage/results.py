"""``run.json``: everything that is known about a run, except its examples."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.answers.declined import Declined, encode_declined
from harness.contracts import Stat
from harness.contracts.specs import RunSpec
from harness.errors import DataError
from harness.storage.durable import make_folder, write_whole, writing
from harness.storage.instance_scores import InstanceScores
from harness.storage.run_schema import RunFile, parse_run

RUN_FILE = "run.json"

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class RunRecord(RunFile):
    """Everything that is known of one run but its examples."""

    directory: Path
    """The run's folder."""

    @cached_property
    def model_key(self) -> str:
        """The model with its arguments as JSON, equal for runs of the same model."""
        return _canonical(self.spec.model.model_dump(mode="json"))

    @cached_property
    def spec_key(self) -> str:
        """Everything that decides what is asked and measured as JSON, equal for runs of the same thing."""
        return _canonical(self.spec.identity)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def run_directory(results_dir: Path, spec: RunSpec) -> Path:
    """Return the folder of a run's results."""
    return results_dir / spec.suite / spec.name


def write_run(record: RunRecord) -> None:
    """Write run.json into the record's folder.

    Raises:
        StorageError: The folder or the file cannot be written.
    """
    value = {field.name: getattr(record, field.name) for field in fields(RunFile)}
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False, default=_as_json)
    with writing(record.directory / RUN_FILE):
        make_folder(record.directory)
        write_whole(record.directory / RUN_FILE, (text + "\n").encode("utf-8", "backslashreplace"))


def _as_json(value: Any) -> Any:
    match value:
        case RunSpec():
            return value.model_dump(mode="json")
        case InstanceScores():
            return value.to_json()
        case Declined():
            return encode_declined(value)
        case Mapping():
            return dict(value)
        case Stat(clusters=None):
            return {name: item for name, item in asdict(value).items() if name != "clusters"}
    return asdict(value)


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
    read = parse_run(content, file)
    return RunRecord(directory=directory, **{field.name: getattr(read, field.name) for field in fields(read)})


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


def _may_be_suite(path: Path) -> bool:
    return path.is_dir() and not path.name.startswith(".") and not (path / "index.html").exists()  # which a site has


def warn_set_aside(error: DataError) -> None:
    """Log that a record is left out."""
    _LOG.warning("Left out: %s", error)


def run_directories(results_dir: Path, suites: Sequence[str] | None = None) -> list[Path]:
    """Return the folders of the runs that have ended, by suite and name.

    Raises:
        DataError: The folder or a suite does not exist.
    """
    if not results_dir.is_dir():
        raise DataError(f"{results_dir} is not a results folder. Run a sweep first, or name the folder of its results.")
    known = sorted(path.name for path in results_dir.iterdir() if _may_be_suite(path))
    for suite in suites or ():
        if suite not in known:
            there = [name for name in known if any((results_dir / name).glob(f"*/{RUN_FILE}"))]
            raise DataError(f"no suite {suite!r} in {results_dir}. Suites: {', '.join(there) or 'none'}.")
    return [
        file.parent
        for suite in known
        if suites is None or suite in suites
        for file in sorted((results_dir / suite).glob(f"[!.]*/{RUN_FILE}"))  # a signature does not cover hidden ones
    ]
