"""``run.json``: everything that is known about a run, except its examples."""

from __future__ import annotations

import json
import logging
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.answers.declined import Declined, encode_declined
from harness.contracts import NO_VALUE, Stat
from harness.contracts.specs import RunSpec
from harness.errors import DataError
from harness.storage.durable import make_folder, write_whole, writing
from harness.storage.instance_scores import InstanceScores
from harness.storage.regular_files import read_regular
from harness.storage.run_schema import RunFile, parse_run

RUN_FILE = "run.json"

MOST_LISTED = 3
"""Largest number of runs that an error lists."""

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

    @cached_property
    def no_value(self) -> str:
        """Why the run's main metric has no number although the run succeeded; '' if there is no such reason."""
        main, split = self.spec.main_metric, self.spec.eval_split
        measured = any(stat.metric == main and stat.split == split and stat.overall for stat in self.stats)
        return "" if measured or self.error is not None else no_value_of(self.spec, self.details)


def no_value_of(spec: RunSpec, details: Mapping[str, Any]) -> str:
    """Return why a metric gives no number for the evaluated instances; '' if there is no such reason."""
    for by_split in details.values():
        parts = by_split.get(spec.eval_split.value) if isinstance(by_split, Mapping) else None
        found = parts.get("original") if isinstance(parts, Mapping) else None
        if isinstance(found, Mapping) and isinstance(reason := found.get(NO_VALUE), str):
            return reason
    return ""


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
        content = read_regular(file)
    except FileNotFoundError:
        raise _not_a_run(directory) from None
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


def is_hidden(path: Path) -> bool:
    """Return True for a path below a results folder that has a part beginning with a dot.

    Temporary runs and runs that were set aside are hidden: they are not read, counted, exported or signed.
    """
    return any(part.startswith(".") for part in path.parts)


def warn_set_aside(error: DataError) -> None:
    """Log that a record is left out."""
    _LOG.warning("Left out: %s", error)


def run_directories(results_dir: Path, suites: Sequence[str] | None = None) -> list[Path]:
    """Return the folders of the runs that have ended, by suite and name.

    Raises:
        DataError: The folder or a suite does not exist, or the folder is that of a suite.
    """
    known = _suites_in(results_dir)
    for suite in suites or ():
        if suite not in known:
            raise _not_a_suite(suite, results_dir, known)
    if not results_dir.is_dir():
        raise DataError(f"{results_dir} is not a results folder. Run a sweep first, or name the folder of its results.")
    if suite_directories(results_dir):
        own = results_dir if results_dir.name not in ("", "..") else results_dir.resolve()
        advice = f"Name the results folder, {own.parent}, and the suite {own.name}."
        raise DataError(f"{results_dir} is the folder of a suite. {advice}")
    return [
        directory
        for suite in known
        if suites is None or suite in suites
        for directory in suite_directories(results_dir / suite)
    ]


def suite_directories(suite: Path) -> list[Path]:
    """Return the folders of a suite's runs that have ended, by name; none if the folder is not that of a suite."""
    return [file.parent for file in sorted(suite.glob(f"*/{RUN_FILE}")) if not is_hidden(file.relative_to(suite))]


def _suites_in(results_dir: Path) -> list[str]:
    if not results_dir.is_dir():
        return []
    try:
        names = sorted(name for name in os.listdir(results_dir) if not is_hidden(Path(name)))
    except OSError as error:
        raise DataError(f"cannot be listed ({error.strerror or error}).", file=results_dir) from error
    # A site is not a suite. The functions of os.path are False in folders that may not be entered; Path's would raise.
    folders = (name for name in names if os.path.isdir(results_dir / name))
    return [name for name in folders if not os.path.exists(results_dir / name / "index.html")]


def _not_a_suite(suite: str, results_dir: Path, known: Sequence[str]) -> DataError:
    """Return the error for a suite that is not in the results folder; the name may be a path."""
    message = f"no suite {suite!r} in {results_dir}"
    for place in (Path(suite), results_dir / suite):
        if not os.path.isdir(place):  # also False for a name that cannot be a path
            continue
        folder, what = place.absolute(), "the folder of a suite"
        if (folder / RUN_FILE).is_file():
            folder, what = folder.parent, "the folder of a run"
        if is_hidden(Path(folder.name)) or not suite_directories(folder):
            continue
        if folder.parent.resolve() == results_dir.resolve():
            return DataError(f"{message}: that is {what}. Write the suite's name: {folder.name}")
        where = f"{what} in {folder.parent}"
        return DataError(f"{message}: that is {where}. Name that results folder, and the suite {folder.name}.")
    there = [name for name in known if suite_directories(results_dir / name)]
    return DataError(f"{message}. Suites: {', '.join(there) or 'none'}.")


def _not_a_run(directory: Path) -> DataError:
    """Return the error for a folder without run.json, which may be a suite's folder or a results folder."""
    runs, what = suite_directories(directory), "a suite's folder"
    if not runs:
        runs = [run for suite in _suites_in(directory) for run in suite_directories(directory / suite)]
        what = "a results folder"
    if not runs:
        return DataError("no finished run here.", file=directory / RUN_FILE)
    listed = [f"\n  {shlex.quote(str(run))}" for run in runs[:MOST_LISTED]]
    more = f"\n  … and {len(runs) - MOST_LISTED:,} more" if len(runs) > MOST_LISTED else ""
    return DataError(f"{directory} is {what}. Name the folder of one run:{''.join(listed)}{more}")
