"""What the runs of a sweep read, and where it is: data sets, models, the models of judges and metrics."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from harness.contracts.plugins import (
    BackendDetails,
    CheckpointSource,
    Download,
    HubSource,
    JudgeDetails,
    Kind,
    MetricDetails,
    ScenarioDetails,
)
from harness.contracts.specs import Component, RunSpec
from harness.data.archives import containing_file
from harness.data.fetching import fetch_hub_file, received, received_of_download
from harness.data.hub import hub_reachable, prepared_folder, prepared_rows
from harness.data.hub_repository import (
    HubError,
    RemoteFile,
    Repository,
    cached_model,
    card_info,
    check_access,
    data_files,
    describe,
    model_files,
    page,
    terms,
)
from harness.data.source import LocalFiles, local_files
from harness.errors import HarnessError
from harness.inference.judge_pool import Judges
from harness.inference.model_pool import Models
from harness.plugins.registry import Registry
from harness.runs.lacking import lacking_examples, lacking_parts
from harness.runs.pipeline import run_judges

State = Literal["ready", "download", "incomplete", "missing"]
"""``ready``: it is here; ``download``: it can be downloaded; ``incomplete``: it lacks some files; ``missing``: the user
has to do something first."""

Road = Literal["files", "computed", "sample", "hub", "address", "folder", "server", ""]

ASKED_AT_ONCE = 8
"""Number of simultaneous requests to the Hub about repositories."""

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")


@dataclass(frozen=True, slots=True)
class Supply:
    """One data set or model that runs of a sweep read."""

    kind: Literal["data", "model"]
    name: str
    """The scenario with its parameters, or the model as the sweep names it."""
    state: State
    road: Road
    """Where it comes from: local ``files``, the ``hub`` or its cache, an ``address``, a model's ``folder``, …"""
    where: str
    """The same for people."""
    size: int | None = None
    """Its bytes; of a download, those that are still to come. None if not known."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """The rows of each split, where they are known without reading them."""
    licence: str = ""
    gated: bool = False
    note: str = ""
    """What the user has to know or do."""
    local: Sequence[Path] = ()
    """Its files on this machine."""
    repository: Repository | None = None
    files: Sequence[RemoteFile] = ()
    """The files that it needs of the repository."""
    hub: HubSource | None = None
    """The data set on the Hub."""
    checkpoint: CheckpointSource | None = None
    """The model on the Hub."""
    converted: int = 0
    """The bytes of the copy, in Arrow's format, that reading a data set of the Hub makes of its files."""
    downloads: Sequence[Download] = ()
    """The files that are published at an address."""
    to_come: Sequence[int] = ()
    """The bytes of each of them that are still to come."""


def survey(runs: Sequence[RunSpec], registry: Registry, data_dir: Path | None) -> list[Supply]:
    """Return what runs read, in their order: first data sets, then models.

    The Hub is asked for sizes and terms if it can be reached; nothing is downloaded but data sets' cards.
    """
    asked: list[Callable[[], Supply]] = []
    scenarios: dict[tuple[str, str], RunSpec] = {}
    for spec in runs:
        key = spec.scenario.label, str(spec.eval_split)
        if key not in scenarios or spec.adapter.arguments.get("max_train_instances"):
            scenarios[key] = spec  # rather the one that needs examples too
    for spec in scenarios.values():
        asked.append(lambda spec=spec: _data(spec, registry, data_dir))  # type: ignore[misc]
    for name, checkpoint, problem in _checkpoints(runs, registry):
        if checkpoint is None:
            state: State = "missing" if problem else "ready"
            nothing = Supply("model", name, state, "" if problem else "server", "nothing to download", note=problem)
            asked.append(lambda nothing=nothing: nothing)  # type: ignore[misc]
        else:
            asked.append(lambda name=name, checkpoint=checkpoint: _model(name, checkpoint))  # type: ignore[misc]
    with ThreadPoolExecutor(ASKED_AT_ONCE) as threads:
        return list(threads.map(lambda ask: ask(), asked))


def grouped(supplies: Iterable[Supply]) -> list[Supply]:
    """Return supplies with the parts of one scenario that have the same state and origin as one."""
    groups: dict[tuple[Any, ...], list[Supply]] = {}
    for supply in supplies:
        name = supply.name.partition(":")[0] if supply.kind == "data" else supply.name
        source = (supply.hub.path, supply.hub.revision) if supply.hub else _folder(supply.local)
        key = (supply.kind, name, supply.state, supply.road, source, "" if supply.kind == "data" else supply.where)
        groups.setdefault(key, []).append(supply)
    return [_together(name, group) for (_, name, *_), group in groups.items()]


def size_of(supplies: Iterable[Supply]) -> int | None:
    """Return the bytes of supplies, each file counted once; None if that of one is not known."""
    known = list(supplies)
    if any(supply.size is None for supply in known):
        return None
    if any(supply.state != "download" for supply in known):
        return sum(_bytes(path) for path in dict.fromkeys(path for supply in known for path in supply.local))
    files = {
        (supply.repository.name, supply.repository.commit, file.path): file.size - received(supply.repository, file)
        for supply in known
        if supply.repository is not None
        for file in supply.files
    }
    others = {
        download.file: size for supply in known for download, size in zip(supply.downloads, supply.to_come, strict=True)
    }
    return sum(files.values()) + sum(others.values())


def _together(name: str, group: Sequence[Supply]) -> Supply:
    if len(group) == 1:
        return group[0]
    rows: dict[str, int] = {}
    for supply in group:
        for split, number in supply.rows.items():
            rows[split] = rows.get(split, 0) + number
    first = group[0]
    local = tuple(dict.fromkeys(path for supply in group for path in supply.local))
    where = _described(local) if local and first.road == "files" else first.where
    if first.hub is not None:
        where = f"{first.hub.path}@{first.hub.revision[:12]}, {len({one.hub.config for one in group if one.hub})} "
        where += "configurations" if len({one.hub.config for one in group if one.hub}) > 1 else "configuration"
    notes = list(dict.fromkeys(supply.note for supply in group if supply.note))
    note = "".join(notes[:1]) + (f" And {len(notes) - 1} more like this." if len(notes) > 1 else "")
    return replace(
        first, name=f"{name} ({len(group)} parts)", where=where, size=size_of(group), rows=rows, note=note, local=local
    )


# ---------------------------------------------------------------------------------------------------------------
# Data sets


def _data(spec: RunSpec, registry: Registry, data_dir: Path | None) -> Supply:
    plugin = registry.get(Kind.SCENARIO, spec.scenario.name)
    details = plugin.details
    name = spec.scenario.label
    try:
        if not isinstance(details, ScenarioDetails):
            raise HarnessError(f"scenario {plugin.name!r} has no details ({plugin.origin}).")
        local = local_files(
            details, spec.scenario.arguments, name=plugin.name, data_dir=data_dir, split=str(spec.eval_split)
        )
        located = _located(name, local, details, data_dir)
        if located.state == "ready" and (lacking := lacking_examples(spec, registry, data_dir)):
            located = replace(located, state="missing", note=lacking)
        elif located.road == "files" and (parts := lacking_parts(spec, registry, data_dir)):
            files = ", ".join(str(local.source.files[part]) for part in parts)
            located = replace(located, state="incomplete", note=f"Missing: {files}.")
        return replace(located, note=located.note.removeprefix(f"{plugin.name}: "))
    except (HarnessError, OSError) as error:
        return Supply("data", name, "missing", "", "", note=str(error).removeprefix(f"{plugin.name}: "))


def _located(name: str, local: LocalFiles, details: ScenarioDetails, data_dir: Path | None) -> Supply:
    source = local.source
    known = Supply("data", name, "ready", "files", "", licence=source.licence, gated=source.gated)
    files = tuple(dict.fromkeys(containing_file(path) for paths in local.files.values() for path in paths))
    if local.found and not local.lacking:
        absent = [split for split, paths in local.files.items() if not paths]
        note = f"Without split {' and '.join(absent)}." if absent else ""
        return replace(known, where=_described(files), size=sum(map(_bytes, files)), local=files, note=note)
    if source.hub is not None and not local.found:
        return _hub_data(replace(known, hub=source.hub), source.hub)
    if not source.files and not source.hub:
        home = details.file.parent if details.file else Path()
        if source.sample:
            paths = tuple(home / path for path in source.sample.values())
            return replace(
                known, road="sample", where="sample data that come with it", size=sum(map(_bytes, paths)), local=paths
            )
        return replace(known, road="computed", where="nothing to download", size=0)
    if source.downloads and not local.found:
        return _published(replace(known, downloads=source.downloads), data_dir)
    accept = f" Its terms have to be accepted first at {source.url}." if source.gated and source.url else ""
    return replace(known, state="missing", road="", where="", note=local.lacking + accept)


def _published(known: Supply, data_dir: Path | None) -> Supply:
    where = ", ".join(dict.fromkeys(re.sub(r"(https?://[^/]+).*", r"\1", one.url) for one in known.downloads))
    known = replace(known, to_come=[one.bytes for one in known.downloads])
    if data_dir is None:
        note = "Name the folder that it goes to with --data-dir or HARNESS_DATA_DIR."
        return replace(known, state="missing", road="address", where=where, note=note)
    to_come = [one.bytes - received_of_download(one, data_dir) for one in known.downloads]
    return replace(known, state="download", road="address", where=where, size=sum(to_come), to_come=to_come)


def _hub_data(known: Supply, hub: HubSource) -> Supply:
    config = f", configuration {hub.config}" if hub.config else ""
    known = replace(known, road="hub", where=f"{hub.path}@{hub.revision[:12]}{config}")
    try:
        folder = prepared_folder(hub)
    except ImportError:
        folder = None
    if folder is not None:
        counted = prepared_rows(folder)
        rows = {ours: counted[theirs] for ours, theirs in hub.splits.items() if theirs in counted}
        local = tuple(sorted(path for path in folder.iterdir() if path.is_file()))
        known = replace(known, where=f"{known.where}, in the cache", rows=rows, local=local)
        return replace(known, size=sum(map(_bytes, local)))
    known = replace(known, state="download")
    try:
        repository = describe("dataset", hub.path, hub.revision)
        check_access(repository)

        def fetch(file: RemoteFile) -> Path:
            return fetch_hub_file(repository, file, lambda _: None)

        files, card = data_files(repository, hub, fetch), card_info(repository, hub, fetch)
    except HubError as problem:
        return _unanswered(known, problem)
    to_come = sum(file.size - received(repository, file) for file in files)
    return replace(
        known,
        size=to_come,
        repository=repository,
        files=tuple(files),
        rows={ours: card.rows[theirs] for ours, theirs in hub.splits.items() if theirs in card.rows},
        converted=sum(file.size for file in files) if card.size is None else card.size,
        gated=repository.gated or known.gated,
        licence=known.licence or repository.licence,
    )


def _unanswered(known: Supply, problem: HubError) -> Supply:
    if not problem.unreachable:
        return replace(known, state="missing", note=str(problem))
    name = known.hub.path if known.hub else known.checkpoint.name if known.checkpoint else known.name
    kind: Literal["dataset", "model"] = "dataset" if known.kind == "data" else "model"
    return replace(known, note=terms(kind, name) if known.gated else "")


# ---------------------------------------------------------------------------------------------------------------
# Models


def _checkpoints(runs: Sequence[RunSpec], registry: Registry) -> Iterator[tuple[str, CheckpointSource | None, str]]:
    """Yield name, checkpoint and problem of each model of runs, and of their judges and metrics."""
    judges = Judges(registry)
    found: dict[tuple[str, CheckpointSource | None, str], None] = {}
    components: dict[str, Component] = {}
    for spec in runs:
        components.setdefault(spec.configured_model.model_dump_json(), spec.configured_model)
    for component in components.values():
        found.update(dict.fromkeys(_of_model(component, registry)))
    for spec in {spec.model_dump_json(include={"metrics", "judges_operational"}): spec for spec in runs}.values():
        try:
            run_judges(spec, registry, judges)
        except HarnessError as error:
            found[f"judge of {spec.scenario.label}", None, str(error)] = None
        for part in spec.configured_metrics:
            details = registry.get(Kind.METRIC, part.name).details
            if isinstance(details, MetricDetails):
                found.update(dict.fromkeys(_declared(f"metric {part.name}", details.checkpoints, part.arguments)))
                if details.judges:
                    found.update(dict.fromkeys(_of_judge(part.arguments.get("judge"), registry)))
    if isinstance(judges.models, Models):
        for component in judges.models.named():
            found.update(dict.fromkeys(_of_model(component, registry)))
    yield from found


def _of_model(component: Component, registry: Registry) -> Iterator[tuple[str, CheckpointSource | None, str]]:
    backend, _, identifier = component.name.partition(":")
    try:
        details = registry.get(Kind.BACKEND, backend).details
    except HarnessError as error:
        yield component.name, None, str(error)
        return
    find = details.checkpoints if isinstance(details, BackendDetails) else None
    declared = list(_declared(component.name, find, component.arguments, identifier))
    yield from declared or [(component.name, None, "")]


def _of_judge(written: Any, registry: Registry) -> Iterator[tuple[str, CheckpointSource | None, str]]:
    arguments = {"name": written} if isinstance(written, str) else dict(written or {})
    name = str(arguments.pop("name", ""))
    try:
        details = registry.get(Kind.JUDGE, name).details
    except HarnessError:
        return  # said where the judge was built
    if isinstance(details, JudgeDetails):
        yield from _declared(f"judge {name}", details.checkpoints, arguments)


def _declared(
    name: str, find: Callable[..., Sequence[CheckpointSource]] | None, arguments: Mapping[str, Any], *identifier: str
) -> Iterator[tuple[str, CheckpointSource | None, str]]:
    for checkpoint in find(*identifier, **arguments) if find is not None else ():
        shown = name if name.endswith(f":{checkpoint.name}") else f"{name}: {checkpoint.name}"
        yield shown, checkpoint, ""


def _model(name: str, checkpoint: CheckpointSource) -> Supply:
    folder = Path(checkpoint.name)
    known = Supply("model", name, "ready", "folder", str(folder), checkpoint=checkpoint)
    try:
        folder = folder.expanduser()
        here = folder.is_dir()
    except (OSError, RuntimeError) as error:  # a name that is too long, or the home of nobody
        note = f"{checkpoint.name!r} is neither a folder nor the name of a model: {error}"
        return replace(known, state="missing", road="", where="", note=note)
    known = replace(known, where=str(folder))
    if here:
        return replace(known, size=_bytes(folder), local=(folder,))
    if checkpoint.name.startswith((".", "/", "~")) or _HUB_NAME.fullmatch(checkpoint.name) is None:
        return replace(known, state="missing", road="", where="", note=f"There is no such folder: {folder}.")
    known = replace(known, road="hub", where=f"{checkpoint.name}@{(checkpoint.revision or 'main')[:12]}")
    try:
        repository = describe("model", checkpoint.name, checkpoint.revision)
        files = model_files(repository, checkpoint)
        to_come = sum(file.size - received(repository, file) for file in files)
        known = replace(
            known,
            where=f"{checkpoint.name}@{repository.commit[:12]}",
            repository=repository,
            files=tuple(files),
            gated=repository.gated,
            licence=repository.licence,
            size=to_come,
        )
        if not to_come:
            return replace(known, where=f"{known.where}, in the cache", size=sum(file.size for file in files))
        check_access(repository)
    except HubError as problem:
        cached = cached_model(checkpoint) if problem.unreachable else None
        if cached is not None:
            return replace(known, where=f"{known.where}, in the cache", size=cached)
        return _unanswered(replace(known, state="download"), problem)
    return replace(known, state="download")


# ---------------------------------------------------------------------------------------------------------------
# Files


def _described(files: Sequence[Path]) -> str:
    """Return where files are, in a few words."""
    return str(files[0]) if len(files) == 1 else f"{len(files)} files in {_folder(files)}"


def _folder(files: Sequence[Path]) -> str:
    return os.path.commonpath([path.parent for path in files]) if files else ""


def _bytes(path: Path) -> int:
    if path.is_dir():
        return sum(child.stat().st_size for child in path.rglob("*") if child.is_file())
    return path.stat().st_size if path.exists() else 0


def terms_page(supply: Supply) -> str:
    """Return the page of a supply on the Hub; '' if it does not come from there."""
    if supply.hub is not None:
        return page("dataset", supply.hub.path)
    if supply.checkpoint is not None and supply.road == "hub":
        return page("model", supply.checkpoint.name)
    return ""


def offline() -> bool:
    """Return True if the Hub cannot be asked."""
    try:
        return not hub_reachable()
    except ImportError:
        return True
