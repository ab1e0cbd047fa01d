"""The lock of a results folder: packages, machine, models, data and settings with their digests."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from harness.contracts.models import IN_MEMORY
from harness.contracts.specs import RunSpec
from harness.costs.graphics_cards import graphics_cards
from harness.data.strict_json import parse_json
from harness.errors import DataError, HarnessError, StrictJsonError, reraise_interrupt
from harness.inference.judge_pool import Judges
from harness.inference.model_pool import Models, load_model
from harness.inference.replica_server import worker_facts
from harness.plugins.registry import Registry
from harness.runs.evaluation import open_scenario_data
from harness.runs.provenance import definitions, environment, now
from harness.storage.durable import write_whole, writing
from harness.storage.example_files import check_examples, has_examples
from harness.storage.regular_files import read_regular
from harness.storage.results import RUN_FILE, RunRecord, read_run
from harness.storage.run_schema import reasons
from harness.verification.packages import Package, installed_packages, requirements
from harness.verification.parts import part
from harness.verification.permissions import check_permissions
from harness.verification.reasons import Reason, definition_changes, environment_changes, model_changes

LOCK_FILE = "harness.lock.json"
REQUIREMENTS_FILE = "harness.requirements.txt"

_CODE = Path(__file__).parent.parent
_SUFFIXES = frozenset({".py", ".yaml", ".json", ".jsonl", ".js", ".css", ".txt", ".tsv", ".csv"})


class LockedRun(BaseModel):
    """A run, as its record had it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    spec: RunSpec
    """Its settings."""
    model: dict[str, Any]
    """The fingerprint of its model: weights' digest or revision, precision, chat template."""
    data: dict[str, Any]
    """Its data files with their SHA-256, or revision."""
    definitions: dict[str, str]
    """SHA-256 of what defines its plugins."""
    examples: str | None
    """SHA-256 of its examples; null if it has none."""
    stats: str | None = None
    """SHA-256 of its statistics; null in locks of earlier versions."""


class Lock(BaseModel):
    """Everything that results depend on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    lock_version: Literal[1] = 1
    """Version of the layout."""
    written: str
    """When it was written: UTC, ISO 8601."""
    python: dict[str, str]
    """Version and implementation of Python."""
    harness_sha256: str
    """SHA-256 of the harness's own files, which its version does not tell apart where it is used from its source."""
    host: dict[str, Any]
    """System, processor, GPUs, driver, CUDA and cuDNN."""
    packages: dict[str, Package]
    """The installed packages, by name."""
    suites: dict[str, str]
    """SHA-256 of the settings of all runs of each suite."""
    runs: dict[str, LockedRun]
    """The runs, by ``suite/name``."""


def make_lock(records: Sequence[RunRecord], wheels: Path | None = None) -> Lock:
    """Return the lock of some runs in the present environment.

    Args:
        records: The runs; digests of models and data are those that they recorded.
        wheels: A folder with the wheels of packages, for their hashes.

    Raises:
        DataError: The folder cannot be read, or a run's examples are not those that its run.json describes.
    """
    return Lock(
        written=now(),
        python={"version": environment()["versions"]["python"], "implementation": sys.implementation.name},
        harness_sha256=_harness_digest(),
        host=_host(),
        packages=installed_packages(wheels),
        suites=_suites([record.spec for record in records]),
        runs={f"{record.suite}/{record.name}": _locked(record) for record in records},
    )


def write_lock(lock: Lock, folder: Path) -> None:
    """Write a lock into a results folder, with a requirements file for pip.

    Raises:
        StorageError: A file cannot be written.
    """
    text = json.dumps(lock.model_dump(mode="json"), indent=2, ensure_ascii=False, allow_nan=False)
    for name, content in ((LOCK_FILE, f"{text}\n"), (REQUIREMENTS_FILE, "\n".join(requirements(lock.packages)) + "\n")):
        with writing(folder / name):
            write_whole(folder / name, content.encode("utf-8", "backslashreplace"))


def read_lock(file: Path) -> Lock:
    """Return a lock.

    Raises:
        DataError: There is none, or it is damaged.
    """
    try:
        value = parse_json(read_regular(file).decode("utf-8"))
        if isinstance(value, dict) and value.get("lock_version") != 1:
            raise DataError(
                f"not a lock that this version reads: lock_version is {value.get('lock_version')!r}.", file=file
            )
        return Lock.model_validate(value)
    except FileNotFoundError:
        raise DataError("there is no lock; write one with harness lock.", file=file) from None
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error}).", file=file) from error
    except UnicodeDecodeError:
        raise DataError("not a lock: it is not text in UTF-8.", file=file) from None
    except StrictJsonError as error:
        raise DataError(f"not a lock: it {error}.", file=file) from None
    except ValidationError as error:
        raise DataError(f"not a lock: {reasons(error, Lock)}.", file=file) from None


def lock_changes(
    lock: Lock, folder: Path, registry: Registry, data_dir: Path | None = None, allow: Collection[str] = ()
) -> Iterator[Reason]:
    """Yield what differs between a lock and the present.

    Args:
        lock: The lock.
        folder: The results folder.
        registry: Knows the plugins.
        data_dir: The local data folder.
        allow: Permissions, as for :func:`harness.verification.permissions.check_permissions`.
    """
    present = {"version": environment()["versions"]["python"], "implementation": sys.implementation.name}
    for name in present.keys() | lock.python.keys():
        if (then := lock.python.get(name)) != present.get(name):
            yield Reason(f"python {name}", str(then), str(present.get(name)))
    yield from environment_changes({"host": lock.host}, {"host": _host()})
    yield from _package_changes(lock.packages, installed_packages())
    if lock.harness_sha256 != (digest := _harness_digest()):
        yield Reason("the harness's own files", f"{lock.harness_sha256[:12]}…", f"{digest[:12]}…")
    seen: set[Reason] = set()
    for name, run in lock.runs.items():
        for reason in (*_file_changes(name, run, folder), *_run_changes(run, registry, data_dir, allow)):
            if reason not in seen:
                seen.add(reason)
                yield reason


def _package_changes(then: Mapping[str, Package], now_there: Mapping[str, Package]) -> Iterator[Reason]:
    for name in sorted(then.keys() | now_there.keys()):
        old, new = then.get(name), now_there.get(name)
        versions = [one.version if one else "not installed" for one in (old, new)]
        if versions[0] != versions[1]:
            yield Reason(f"package {name}", *versions)
        elif old and new and not (old.editable or new.editable) and old.files_sha256 != new.files_sha256:
            digests = [f"files {(one.files_sha256 or 'unknown')[:12]}…" for one in (old, new)]
            yield Reason(f"package {name} {old.version}", *digests)


def _file_changes(name: str, run: LockedRun, folder: Path) -> Iterator[Reason]:
    """Yield how a run in the folder differs from the locked one."""
    suite, _, own = name.partition("/")
    if "/" in own or own in ("", ".", "..") or suite in ("", ".", ".."):
        yield Reason(f"run {name}", "in the folder", "a path outside of it")
        return
    try:
        record = read_run(folder / suite / own)
    except DataError as error:
        yield Reason(f"run {name}", "there", str(error))
        return
    if record.spec.identity != run.spec.identity:
        yield Reason(f"run {name}", f"settings {run.spec.digest}", f"settings {record.spec.digest}")
    then = f"examples {(run.examples or 'none')[:12]}"
    try:
        digest = _examples_digest(record)
        if digest != run.examples:
            yield Reason(f"run {name}", then, f"examples {(digest or 'none')[:12]}")
    except DataError as error:
        yield Reason(f"run {name}", then, str(error))
    if run.stats is not None and run.stats != (stats := _stats_digest(record)):
        yield Reason(f"run {name}", f"statistics {run.stats[:12]}", f"statistics {stats[:12]}")


def _run_changes(run: LockedRun, registry: Registry, data_dir: Path | None, allow: Collection[str]) -> Iterator[Reason]:
    """Yield how model, data and plugins of a run differ from the locked ones; a failed run may have locked none."""
    spec = run.spec
    try:
        check_permissions(spec, allow)  # what follows builds the model and the judges that the lock names
    except HarnessError as error:
        yield Reason(spec.model.name, "there", f"cannot be checked: {error}")
        return
    if run.model and spec.model.name.partition(":")[0] != IN_MEMORY:
        yield from _model_changes(run, registry)
    if run.data:
        yield from _data_changes(run, registry, data_dir)
    models = Models(registry)
    try:
        found = definitions(spec, registry, Judges(registry, models))
        yield from definition_changes({"definitions": run.definitions}, found)
    finally:
        models.close()


def _model_changes(run: LockedRun, registry: Registry) -> Iterator[Reason]:
    spec = run.spec
    try:
        model = load_model(spec.configured_model, registry)
        try:
            fingerprint = dict(model.fingerprint())
        finally:
            with suppress(HarnessError):
                model.close()
        for reason in model_changes({"model": {"fingerprint": run.model}}, fingerprint):
            yield Reason(f"{spec.model.name}: {reason.what}", reason.then, reason.now)
    except HarnessError as error:
        yield Reason(spec.model.name, "there", f"cannot be checked: {error}")


def _data_changes(run: LockedRun, registry: Registry, data_dir: Path | None) -> Iterator[Reason]:
    spec = run.spec
    try:
        if not open_scenario_data(spec, registry, data_dir).unchanged(run.data):
            yield Reason(f"data of {spec.scenario.label}", "as recorded", "other files, or none")
    except BaseException as error:  # what the lock says of data may be anything
        reraise_interrupt(error)
        yield Reason(f"data of {spec.scenario.label}", "there", f"cannot be checked: {error}")


def _locked(record: RunRecord) -> LockedRun:
    provenance = record.provenance
    return LockedRun(
        spec=record.spec,
        model=dict(part(provenance, "model", "fingerprint")),
        data=dict(part(provenance, "data")),
        definitions={key: str(value) for key, value in part(provenance, "definitions").items()},
        examples=_examples_digest(record),
        stats=_stats_digest(record),
    )


def _examples_digest(record: RunRecord) -> str | None:
    """Return the SHA-256 of a run's file of examples, None if it has none; what run.json claims is checked."""
    if record.examples is None or not has_examples(record):
        return None
    check_examples(record)
    return record.examples.sha256


def _stats_digest(record: RunRecord) -> str:
    """Return a digest of a run's statistics as run.json has them, so that later versions of the harness agree."""
    file = record.directory / RUN_FILE
    try:
        stats = json.loads(read_regular(file))["stats"]
    except (OSError, ValueError, KeyError, TypeError) as error:  # it was replaced since the record was read
        raise DataError(f"cannot be read ({error}).", file=file) from error
    return hashlib.sha256(json.dumps(stats, sort_keys=True).encode()).hexdigest()


def _suites(specs: Sequence[RunSpec]) -> dict[str, str]:
    """Return a digest of the settings of all runs of each suite; their order does not matter."""
    settings: dict[str, list[str]] = {}
    for spec in specs:
        settings.setdefault(spec.suite, []).append(json.dumps(spec.identity, sort_keys=True))
    return {suite: hashlib.sha256("\n".join(sorted(own)).encode()).hexdigest() for suite, own in settings.items()}


def _host() -> dict[str, Any]:
    """Return the machine; with GPUs also CUDA and cuDNN, which only PyTorch knows."""
    if graphics_cards().names and find_spec("torch") is not None:
        import torch  # noqa: F401
    facts = worker_facts()
    known = {key: facts[key] for key in ("gpus", "driver", "cuda", "cudnn") if key in facts}
    return {**{key: value for key, value in environment()["host"].items() if key != "name"}, **known}


def _harness_digest() -> str:
    """Return the SHA-256 of the names and contents of the harness's files."""
    total = hashlib.sha256()
    for file in sorted(_CODE.rglob("*")):
        if file.suffix in _SUFFIXES and "__pycache__" not in file.parts:
            digest = hashlib.sha256(file.read_bytes()).hexdigest()
            total.update(f"{file.relative_to(_CODE).as_posix()}\0{digest}\n".encode())
    return total.hexdigest()
