"""A run on disk: ``run.json`` and ``examples.jsonl.gz`` in a folder of its own, each written whole and then moved."""

from __future__ import annotations

import glob
import gzip
import json
import os
import platform
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from harness.contracts import Example, Stat
from harness.declined import Declined, decode_declined, encode_declined
from harness.encoding import decode_example, encode_example
from harness.errors import DataError, StorageError
from harness.specs import RunSpec

SCHEMA_VERSION = 1
RUN_FILE = "run.json"
EXAMPLES_FILE = "examples.jsonl.gz"


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
        provenance: Versions, model, data, seeds and host.
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
    provenance: Mapping[str, Any] = field(default_factory=dict)
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
        "provenance": dict(record.provenance),
        "started": record.started,
        "finished": record.finished,
    }
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    with _writing(record.directory / RUN_FILE):
        record.directory.mkdir(parents=True, exist_ok=True)
        _write_whole(record.directory / RUN_FILE, (text + "\n").encode("utf-8", "backslashreplace"))


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
        for key in ("efficiency", "details", "declined", "provenance"):
            if not isinstance(value[key], dict):
                raise DataError(f"not a run's record ({key!r} is no object).", file=file)
        value["spec"] = RunSpec.model_validate(value["spec"])
        value["declined"] = decode_declined(value["declined"])
        value["stats"] = [_stat(stat) for stat in value["stats"]]
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


class ExampleWriter:
    """Writes a run's examples as they come; the file appears under its name only when all are written.

    Raises:
        StorageError: The folder or the file cannot be written.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / EXAMPLES_FILE
        with _writing(self._path):
            directory.mkdir(parents=True, exist_ok=True)
            _clear_abandoned(directory)
            self._partial = _partial(self._path)
            self._raw = self._partial.open("wb")
        # Level 3 compresses repeated few-shot headers nearly as well as 9, at a third of the time.
        self._file = gzip.GzipFile(filename="", mode="wb", compresslevel=3, fileobj=self._raw, mtime=0)

    def write(self, example: Example, scores: Mapping[str, float], error: str | None = None) -> None:
        """Append one example with its scores by metric, or with the error that took their place."""
        value = encode_example(example)
        value["scores"] = scores
        if error is not None:
            value["error"] = error
        line = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        with _writing(self._path):
            self._file.write(line.encode("utf-8", "backslashreplace") + b"\n")

    def __enter__(self) -> ExampleWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            with _writing(self._path):
                try:
                    self._file.close()
                finally:
                    self._raw.close()
                if kind is None:
                    self._partial.replace(self._path)
        except StorageError:
            # What stopped the writing says more than that its rest could not be written either.
            if kind is None:
                raise
        finally:
            self._partial.unlink(missing_ok=True)


def read_examples(directory: Path) -> Iterator[tuple[Example, dict[str, float], str | None]]:
    """Yield each example of a run with its scores and its error.

    Raises:
        DataError: The file is missing, truncated or not what this version writes.
    """
    file = directory / EXAMPLES_FILE
    number = 0
    try:
        with gzip.open(file, "rb") as lines:
            for line in lines:
                number += 1
                value = json.loads(line)
                yield decode_example(value), value.get("scores", {}), value.get("error")
    except FileNotFoundError:
        raise DataError("the run's examples are missing; run it again with --force.", file=file) from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"truncated or damaged ({error}); run it again with --force.", file=file) from error
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"not an example ({error}).", file=file, row=number) from error


def _stat(value: Mapping[str, Any]) -> Stat:
    interval = value["ci95"]
    rest = {key: item for key, item in value.items() if key in _STAT_FIELDS}
    return Stat(**{**rest, "ci95": None if interval is None else (interval[0], interval[1])})


_STAT_FIELDS = frozenset(item.name for item in fields(Stat))


def has_examples(directory: Path) -> bool:
    """Return whether a run's examples are there."""
    return (directory / EXAMPLES_FILE).is_file()


def discard_examples(directory: Path) -> None:
    """Remove the examples of an earlier attempt at a run, which a record that follows does not describe.

    Raises:
        StorageError: They cannot be removed.
    """
    file = directory / EXAMPLES_FILE
    with _writing(file):
        if directory.is_dir():
            file.unlink(missing_ok=True)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(f"{path} cannot be written ({error.strerror or error}).") from error


def _write_whole(path: Path, content: bytes) -> None:
    partial = _partial(path)
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _partial(path: Path) -> Path:
    """Return the name under which this process writes a file; another one's, on any host, is different."""
    return path.with_name(f".{path.name}.{platform.node()}.{os.getpid()}")


def _clear_abandoned(directory: Path) -> None:
    """Remove what processes of this host that were killed have left half written."""
    for name in (EXAMPLES_FILE, RUN_FILE):
        for partial in directory.glob(f".{name}.{glob.escape(platform.node())}.*"):
            process = partial.suffix[1:]
            if process.isdecimal() and int(process) != os.getpid() and not _alive(int(process)):
                partial.unlink(missing_ok=True)


def _alive(process: int) -> bool:
    if os.name != "posix":  # there, asking would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
