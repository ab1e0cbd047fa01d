"""Reads every record once, writes each run's own page, and keeps the part of the record that other pages compare.

A record of a HELM-sized run has some two hundred statistics, most of them of single perturbations, and thousands of
records would not fit into a gigabyte; only a run's own page shows them all. The page of a run that has not changed
since an earlier build is kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from harness.answers.reasoning_count import unannounced_note, unfinished_note
from harness.answers.served_models import served_models, served_notes
from harness.errors import DataError, HarnessError
from harness.leaderboard.site.addresses import address_of, model_address, scenario_address
from harness.leaderboard.site.calibration_plots import run_diagram
from harness.leaderboard.site.examples import write_examples
from harness.leaderboard.site.files import SiteFolder
from harness.leaderboard.site.measures import relevant
from harness.leaderboard.site.peers import peers_address
from harness.output.display import sentence
from harness.plugins.titles import group_title
from harness.storage.example_files import EXAMPLES_FILE
from harness.storage.results import RUN_FILE, RunRecord, read_run, run_directories, warn_set_aside

FORMAT = 12
"""The version of the files of a run's page; to be raised whenever they change."""

PARALLEL_FROM_RUNS = 200
"""From this many runs on, two processes are faster than one, since starting the second takes a second."""


@dataclass(frozen=True, slots=True)
class ReadRun:
    """What an earlier build of the same process read of a run."""

    made_of: list[Any]
    """The state of its files then."""
    record: RunRecord
    """The record as other pages need it."""
    files: Sequence[str]
    """The files of the run's page, relative to the site's folder."""
    problem: str
    """What is wrong with its examples; '' if nothing."""


def read_runs(
    results_dir: Path,
    folder: SiteFolder,
    suites: Sequence[str] | None = None,
    earlier: dict[Path, ReadRun] | None = None,
) -> tuple[list[RunRecord], dict[str, str]]:
    """Write the pages of all runs under a results folder.

    Args:
        results_dir: The results folder.
        folder: The site's folder.
        suites: The suites to read; None for all.
        earlier: The runs that an earlier build of this site read, by folder; those that have not changed are not read
            again. Updated to what this build read.

    Returns:
        The records by suite and name, and for each run with damaged examples its address and what is wrong with them.

    Raises:
        DataError: The folder or a suite does not exist.
        StorageError: The site's folder cannot be written.
    """
    directories = run_directories(results_dir, suites)
    states = {directory: _made_of(directory) for directory in directories}
    known = {
        directory: run
        for directory, run in (earlier or {}).items()
        if run.made_of == states.get(directory) and all((folder.root / name).is_file() for name in run.files)
    }
    unknown = [directory for directory in directories if directory not in known]
    if len(unknown) < PARALLEL_FROM_RUNS:
        found = [_read(directory, folder.root) for directory in unknown]
    else:
        # Spawned, since a fork would copy the state of this process's other threads.
        with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
            found = list(pool.map(_read, unknown, [folder.root] * len(unknown), chunksize=32))
    for directory, result in zip(unknown, found, strict=True):
        if isinstance(result, DataError):
            warn_set_aside(result)
        else:
            known[directory] = ReadRun(states[directory], *result)
    runs = [known[directory] for directory in directories if directory in known]
    for run in runs:
        folder.keep(folder.root / name for name in run.files)
    if earlier is not None:
        earlier.clear()
        earlier.update(known)
    return [run.record for run in runs], {address_of(run.record): run.problem for run in runs if run.problem}


def _read(directory: Path, root: Path) -> tuple[RunRecord, list[str], str] | DataError:
    """Return the record as other pages need it, the files of the run's page, and what is wrong with its examples.

    If the record itself cannot be read, the error is returned.
    """
    try:
        record = read_run(directory)
    except DataError as error:
        return error
    place = address_of(record)
    mark = root / "data" / "runs" / place / "made-of.json"
    made_of = _made_of(directory)
    known = _known(mark)
    if known is None or known["of"] != made_of or not all((root / name).is_file() for name in known["files"]):
        folder = SiteFolder(root)
        files, problem = [], ""
        if record.examples is not None:
            try:
                files = write_examples(record, place, folder)
            except HarnessError as error:
                problem = str(error)
        files.append(folder.put(f"runs/{place}/run", page_of(record, examples=bool(files), problem=problem)))
        written = [str(file.relative_to(root).as_posix()) for file in files]
        known = {"of": made_of, "files": written, "examples": len(files) > 1, "problem": problem}
        folder.write(str(mark.relative_to(root)), json.dumps(known))
    if not known["examples"]:  # other pages must not link to them
        record = replace(record, examples=None)
    return slim(record), [*known["files"], str(mark.relative_to(root))], known["problem"]


def slim(record: RunRecord) -> RunRecord:
    """Return a record without the statistics and details that only the run's own page shows."""
    return replace(record, stats=[stat for stat in record.stats if relevant(stat)], details=_originals(record.details))


def page_of(record: RunRecord, *, examples: bool, problem: str = "") -> dict[str, Any]:
    """Return the content of the run's page as JSON: with or without examples, and the problem with them if any."""
    spec = record.spec
    return {
        "name": record.name,
        "suite": record.suite,
        "status": record.status,
        "error": record.error,
        "no_value": sentence(record.no_value),
        "title": spec.scenario.label,
        "scenario": [spec.scenario.name, scenario_address(spec.scenario)],
        "model": [spec.model_label, model_address(spec.model)],
        "method": spec.adapter.name,
        "metric": spec.main_metric,
        "spec": spec.model_dump(mode="json"),
        "stats": [_row(stat) for stat in record.stats],
        "calibration": run_diagram(record),
        "declined": str(record.declined) if record.declined.examples else "",
        "reasoning": [
            note for note in (unfinished_note(record.efficiency), unannounced_note(record.efficiency)) if note
        ],
        "served": list(served_notes(spec.model.name, served_models(record.provenance))),
        "efficiency": record.efficiency,
        "provenance": record.provenance,
        "started": record.started,
        "finished": record.finished,
        "folder": f"{record.directory.parent.name}/{record.directory.name}",
        "examples": examples,
        "peers": peers_address(record),
        "problem": problem,
    }


def _row(stat: Any) -> list[Any]:
    low, high = stat.ci95 or (None, None)
    return [
        stat.metric, stat.category, stat.split, stat.perturbation, stat.computed_on, stat.group, stat.count, stat.mean,
        stat.stderr, low, high, stat.missing, stat.higher_is_better, stat.note,
        stat.group and group_title(stat.group),
    ]  # fmt: skip


def _originals(details: Mapping[str, Any]) -> dict[str, Any]:
    """Return the details of unperturbed instances."""
    return {
        metric: {split: {"original": parts["original"]} for split, parts in splits.items() if "original" in parts}
        for metric, splits in details.items()
        if isinstance(splits, Mapping) and all(isinstance(parts, Mapping) for parts in splits.values())
    }


def _made_of(directory: Path) -> list[Any]:
    """Return the state of the files that a run's page is made of."""
    return [FORMAT, _state(directory / RUN_FILE), _state(directory / EXAMPLES_FILE)]


def _state(file: Path) -> list[int] | None:
    """Return size and time of a file; None if it does not exist."""
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    return [status.st_size, status.st_mtime_ns]


def _known(mark: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(mark.read_text(encoding="utf-8"))
        return value if isinstance(value["files"], list) and "of" in value else None
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return None
