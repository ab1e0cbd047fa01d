"""A job: the runs of a sweep and how to run them, in a file that worker processes read.

A job's folder in the results folder::

    .jobs/<id>/job.jsonl.gz      what to run: a line of settings, then one line a run
    .jobs/<id>/head-0.jsonl      what head 0 reports (:mod:`.reports`)
    .jobs/<id>/head-0.log        what it printed, where the executor keeps it there

The id is random, so a worker that finds the file sees the same results folder as the process that wrote it.
"""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import os
import platform
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import harness
from harness.contracts.plugins import Kind
from harness.contracts.specs import Component, RunSpec
from harness.costs.prices import Price, PriceTable
from harness.costs.runtimes import RuntimeTable
from harness.errors import HarnessError, PluginError, StorageError
from harness.executors.job_order import dealing_order, run_seconds
from harness.installation import harness_version
from harness.plugins.registry import Registry, default_registry
from harness.progress.file import PROGRESS_FOLDER
from harness.runs.provenance import plugin_files, recorded_command
from harness.runs.settings import Settings
from harness.storage.durable import make_folder, partial_path, put_in_place, writing

JOBS_FOLDER = ".jobs"
JOB_FILE = "job.jsonl.gz"

_SHARED = ("scenario", "adapter", "perturbations", "metrics", "model", "operational", "judges_operational", "scores")
"""Fields in which many runs are equal."""


def _new_id() -> str:
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(8)}"


@dataclass(frozen=True, slots=True)
class Job:
    """The runs of a sweep, and how to run them."""

    runs: Sequence[RunSpec]
    """What to run."""
    settings: Settings
    """Folders and limits."""
    plugins: Sequence[Path] = ()
    """The plugins and scenario files that the runs need besides the installed ones."""
    id: str = field(default_factory=_new_id)
    """Names its folder."""
    directory: Path = field(default_factory=Path.cwd)
    """The folder in which it was started; relative paths of models begin there."""
    command: Sequence[str] = field(default_factory=lambda: tuple(recorded_command()))
    """The command that started it, which run.json names."""

    @property
    def suite(self) -> str:
        """The suite of its runs; empty without runs."""
        return self.runs[0].suite if self.runs else ""

    @property
    def folder(self) -> Path:
        """Its folder in the results folder."""
        return self.settings.results_dir / JOBS_FOLDER / self.id

    @property
    def file(self) -> Path:
        """The file that :func:`write_job` writes."""
        return self.folder / JOB_FILE

    def head_name(self, head: int) -> str:
        """The name of a head in the file of its progress; no other job has it."""
        return f"{self.id[-8:]}-{head}"


def write_job(job: Job, registry: Registry, seconds: Sequence[float] | None = None) -> Path:
    """Write a job for worker processes, its longest runs first, and return the file's absolute path.

    Args:
        job: The job.
        registry: Knows the plugins.
        seconds: How long each run takes; None to estimate it.

    Raises:
        StorageError: The results folder cannot be written.
    """
    head = {
        "id": job.id,
        "directory": str(job.directory),
        "command": list(job.command),
        "plugins": [str(path.absolute()) for path in job.plugins],
        "settings": _encoded(job.settings),
        "code": code_digests(job.runs, registry),
    }
    runs = dealing_order(job.runs, run_seconds(job.runs, registry, job.settings) if seconds is None else seconds)
    file = job.file.absolute()
    partial = partial_path(file)
    with writing(file):
        make_folder(file.parent)
        with gzip.open(
            partial, "wt", compresslevel=1, encoding="ascii"
        ) as lines:  # one at a time: there may be 250,000
            for value in itertools.chain([head], (spec.model_dump(mode="json") for spec in runs)):
                lines.write(json.dumps(value) + "\n")
        put_in_place(partial, file)
    return file


def read_job(file: Path) -> tuple[Job, Registry]:
    """Return a job as a worker process may run it, with a registry that has its plugins.

    Raises:
        StorageError: There is no such job here, or its folder cannot be written.
        HarnessError: The harness or a plugin differs from that of the process that wrote the job.
    """
    try:
        with gzip.open(file, "rt", encoding="ascii") as lines:
            value = json.loads(next(lines, ""))
            _check_harness(value["code"])  # another version may write other keys
            parts: dict[str, Any] = {}
            runs = [_spec(line, parts) for line in lines]
        job = Job(
            runs=runs,
            settings=_decoded(value["settings"]),
            plugins=[Path(path) for path in value["plugins"]],
            id=value["id"],
            directory=Path(value["directory"]),
            command=tuple(value["command"]),
        )
    except FileNotFoundError:
        raise StorageError(
            f"{platform.node()}: {file} does not exist here. The results folder must be on a file system that all "
            "workers share, under the same path."
        ) from None
    except (OSError, EOFError, LookupError, TypeError, ValueError) as error:
        raise StorageError(f"{platform.node()}: {file} cannot be read ({type(error).__name__}: {error}).") from error
    _check_writable(file)
    registry = default_registry(job.plugins)
    _check_plugins(value["code"], code_digests(job.runs, registry))
    return job, registry


def _spec(line: str, parts: dict[str, Any]) -> RunSpec:
    """Return the run of a line; what it has in common with other runs is held once, in ``parts``."""
    value = json.loads(line)
    written = {key: f"{key} {json.dumps(value[key])}" for key in _SHARED if key in value}
    known = {key: parts[text] for key, text in written.items() if text in parts}
    spec = RunSpec.model_validate({**value, **known})
    parts.update({text: getattr(spec, key) for key, text in written.items() if key not in known})
    return spec


def discard_job(job: Job) -> None:
    """Remove a job's folder and what its heads wrote of their progress; what cannot be removed stays."""
    shutil.rmtree(job.folder, ignore_errors=True)
    with suppress(OSError):
        job.folder.parent.rmdir()
    for file in job.settings.results_dir.glob(f"{PROGRESS_FOLDER}/{job.suite}@{job.head_name(0)[:-1]}*.json"):
        with suppress(OSError):
            file.unlink()


def code_digests(runs: Sequence[RunSpec], registry: Registry) -> dict[str, str]:
    """Return the version of the harness, and digests of its source and of the files of all plugins that runs use."""
    used: dict[tuple[Kind, str], None] = {}
    for spec in runs:
        used[Kind.SCENARIO, spec.scenario.name] = None
        used[Kind.ADAPTER, spec.adapter.name] = None
        used[Kind.BACKEND, spec.model.name.partition(":")[0]] = None
        used.update(dict.fromkeys((Kind.PERTURBATION, part.name) for part in spec.perturbations))
        used.update(dict.fromkeys(part for metric in spec.metrics for part in _of_metric(metric)))
    found = {"harness version": harness_version(), "harness source": _source_digest()}
    for kind, name in sorted(used):
        try:
            plugin = registry.get(kind, name)
        except PluginError:
            continue  # its runs say why
        if getattr(plugin.target, "__module__", "") == "__main__":
            raise PluginError(
                f"{kind} {name!r} is defined in a notebook or in the running program ({plugin.origin}), where other "
                "processes cannot find it. Put it into a file of its own and name that under `plugins`, or use the "
                "executor local:heads=1."
            )
        files = plugin_files(plugin)
        found[f"{kind} {name}"] = hashlib.sha256(b"".join(map(registry.digest, files))).hexdigest()
    return found


def _of_metric(metric: Component) -> Iterator[tuple[Kind, str]]:
    yield Kind.METRIC, metric.name
    judge = metric.arguments.get("judge")
    name = judge.get("name") if isinstance(judge, Mapping) else judge
    if isinstance(name, str):
        yield Kind.JUDGE, name


@cache
def _source_digest() -> str:
    """Return a digest of the engine's source files, which do not change while it runs."""
    digest = hashlib.sha256()
    root = Path(harness.__file__).parent
    names = sorted(file.relative_to(root).as_posix() for ending in ("py", "yaml") for file in root.rglob(f"*.{ending}"))
    for name in names:
        digest.update(name.encode() + b"\0" + hashlib.sha256((root / name).read_bytes()).digest())
    return digest.hexdigest()


def _check_harness(digests: Mapping[str, str]) -> None:
    ours, theirs = harness_version(), digests["harness version"]
    if ours != theirs:
        raise HarnessError(
            f"{platform.node()} has harness {ours}, but the sweep was started with {theirs}. Install the same version "
            "everywhere."
        )
    if digests["harness source"] != _source_digest():
        raise HarnessError(
            f"{platform.node()} has harness {ours} with other source files than where the sweep was started. Install "
            "the same sources everywhere."
        )


def _check_plugins(theirs: Mapping[str, str], ours: Mapping[str, str]) -> None:
    different = [name for name in theirs if ours.get(name, theirs[name]) != theirs[name]]
    missing = [name for name in theirs if name not in ours]
    wrong = [*(["other files of " + ", ".join(different)] if different else [])]
    wrong += ["no usable " + ", ".join(missing)] if missing else []
    if wrong:
        raise HarnessError(
            f"{platform.node()} has {' and '.join(wrong)}, unlike where the sweep was started. Use the same plugins "
            "everywhere."
        )


def _check_writable(file: Path) -> None:
    probe = file.with_name(f".{platform.node()}.{os.getpid()}")
    try:
        probe.touch()
        probe.unlink()
    except OSError as error:
        results = file.parent.parent.parent
        raise StorageError(
            f"{platform.node()} cannot write the results folder, {results} ({error.strerror or error})."
        ) from error


def _encoded(settings: Settings) -> dict[str, Any]:
    prices = settings.prices
    return {
        "results_dir": str(settings.results_dir.absolute()),
        "data_dir": None if settings.data_dir is None else str(settings.data_dir.absolute()),
        "cache_dir": None if settings.cache_dir is None else str(settings.cache_dir.absolute()),
        "force": settings.force,
        "reuse_across_gpus": settings.reuse_across_gpus,
        "own_cache": settings.own_cache,
        "prices": None if prices is None else [[pattern, asdict(price)] for pattern, price in prices.prices],
        "runtimes": settings.runtimes.model_dump(mode="json"),
    }


def _decoded(value: Mapping[str, Any]) -> Settings:
    prices = value["prices"]
    return Settings(
        results_dir=Path(value["results_dir"]),
        data_dir=None if value["data_dir"] is None else Path(value["data_dir"]),
        cache_dir=None if value["cache_dir"] is None else Path(value["cache_dir"]),
        force=value["force"],
        reuse_across_gpus=value["reuse_across_gpus"],
        own_cache=value["own_cache"],
        prices=None if prices is None else PriceTable(tuple((pattern, Price(**price)) for pattern, price in prices)),
        runtimes=RuntimeTable.model_validate(value["runtimes"]),
    )
