"""Importing results in repositories of models on the Hub: ``.eval_results/*.yaml``, and ``model-index`` in README.md.

Formats: https://huggingface.co/docs/hub/eval-results, and huggingface/hub-docs ``modelcard.md``. Both report numbers: a
run has no examples, and no standard error unless this harness wrote it. Metrics are called ``hub.`` and their name.
``.eval_results`` names none, so it is ``hub.value``, except in files that this harness wrote: their notes give the
metric, the method and the number of instances.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from harness.contracts import Split, Stat
from harness.contracts.specs import Component, RunSpec
from harness.errors import DataError, SpecError, did_you_mean
from harness.imports.foreign_files import identity
from harness.imports.imported_run import OTHER, Imported, scale_of
from harness.imports.reported_numbers import Keys, impossible
from harness.plugins.registry import Registry
from harness.storage.regular_files import open_regular
from harness.validation import explain
from harness.yaml_lines import Located, load, loads

FOLDER, CARD = ".eval_results", "README.md"
PREFIX = "hub."

_UNSAFE = re.compile(r"[^A-Za-z0-9.=+_-]+")
_SPLITS = {"validation": Split.VALID, "valid": Split.VALID, "dev": Split.VALID, "train": Split.TRAIN}
_LONGEST_CARD = 4_000_000

_OWN_NOTES = re.compile(
    r"(?P<metric>[^,]+), (?P<method>\w+)(, (?P<shots>\d{1,12})-shot)?(, (?P<split>train|valid|test) split)?"
    r", n=(?P<count>\d{1,12})"
    r"(, 95% interval (?P<low>\S+) to (?P<high>\S+))?"
    r"(, a random part of the split \(at most (?P<limit>[1-9]\d{0,11}) instances\))?"
    r"(, perturbed copies counted apart: (?P<perturbations>[^,]+))?(, seed (?P<seed>\d{1,12}))?, [^,]+, run [0-9a-f]+"
)
"""The notes that ``harness export --to eval-results`` writes."""
_NOTED = 1e-3
"""Relative rounding of the interval in these notes, which has four digits."""

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class _Setup:
    """How a value was measured, as far as it is known."""

    method: str | None = None
    shots: int | None = None
    limit: int | None = None
    perturbations: tuple[str, ...] = ()
    seed: int = 0
    run: str | None = None
    """Distinguishes setups that are otherwise equal."""


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


class _Part(BaseModel):
    """A part of another program's file; unknown keys are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class _EntryData(_Part):
    id: str
    task_id: str = "default"
    revision: str | None = None


class _Source(_Part):
    url: str
    name: str | None = None
    user: str | None = None
    org: str | None = None


class _Entry(_Part):
    dataset: _EntryData
    value: Number
    date: str | None = None
    source: _Source | None = None
    notes: str | None = None


class _CardData(_Part):
    type: str
    name: str = ""
    config: str | None = None
    split: str | None = None
    revision: str | None = None


def _ascending(pair: tuple[float, float]) -> tuple[float, float]:
    if pair[0] > pair[1]:
        raise ValueError(f"must be in ascending order, not {pair[0]:g} and {pair[1]:g}")
    return pair


class _Args(_Part):
    """What this harness writes as ``args``; other programs may have other keys."""

    method: Any = None
    run: Any = None
    max_train_instances: Any = None
    max_eval_instances: Any = None
    perturbations: Any = None
    seed: Any = None
    count: Annotated[int, Field(strict=True, ge=0)] | None = None
    stderr: Annotated[Number, Field(ge=0)] | None = None
    ci95: Annotated[tuple[Number, Number], AfterValidator(_ascending)] | None = None

    @property
    def setup(self) -> _Setup:
        method, run = (None if value is None else str(value) for value in (self.method, self.run))
        shots, limit, seed = map(_count, (self.max_train_instances, self.max_eval_instances, self.seed))
        names = self.perturbations if isinstance(self.perturbations, list) else []
        return _Setup(method, shots, limit or None, tuple(map(str, names)), seed or 0, run)


class _Metric(_Part):
    type: str
    value: Number
    name: str | None = None
    config: str | None = None
    args: _Args = Field(default_factory=_Args)
    verified: bool | None = None


class _Result(_Part):
    dataset: _CardData
    metrics: tuple[_Metric, ...]
    source: _Source | None = None


class _Model(_Part):
    name: str
    results: tuple[_Result, ...]


def hub_files(path: Path) -> list[Path]:
    """Return the files in a folder that may hold results, or the file itself if it is one.

    Raises:
        DataError: There are none.
    """
    if path.is_file():
        return [path]
    found = sorted([*path.rglob(f"{FOLDER}/*.yaml"), *path.rglob(f"{FOLDER}/*.yml"), *path.rglob(CARD)])
    if path.name == FOLDER:
        found = sorted([*path.glob("*.yaml"), *path.glob("*.yml")])
    if not found:
        raise DataError(f"{path} has no results of the Hub's formats: there is no {FOLDER}/*.yaml and no {CARD}.")
    return found


def read_hub(
    file: Path, suite: str, registry: Registry, model: str | None = None, metric: str | None = None
) -> Iterator[Imported]:
    """Yield a run for each result of a ``.eval_results`` file, or for each data set of a card's ``model-index``.

    Args:
        file: The file.
        suite: The suite to write to.
        registry: The plugins, for the ranges of our metrics.
        model: The model, ``owner/name``; None to take it from the folders above ``.eval_results``, or from the card.
        metric: The main metric, of a card that has several.

    Raises:
        DataError: It is not such a file, does not say whose results they are, has an impossible number, or does not
            have the metric.
    """
    try:
        if file.name == CARD:
            yield from _card_runs(file, suite, registry, model, metric)
        else:
            yield from _entry_runs(file, suite, registry, model)
    except SpecError as error:
        raise DataError(str(error)) from None


def _entry_runs(file: Path, suite: str, registry: Registry, model: str | None) -> Iterator[Imported]:
    located = load(file)
    entries = _checked(located, (), located.data, _Entry)
    if model is None and file.resolve().parent.name == FOLDER:
        model = _repository(file.resolve().parent.parent)
    if model is None:
        raise DataError("does not say whose results they are: add --model OWNER/NAME.", file=file)
    seen: dict[str, float] = {}
    noted = [_noted(entry) for entry in entries]
    for place, (stat, setup) in enumerate(noted):
        keys = Keys(f"[{place}].value", "", f"[{place}].notes: the 95% interval")
        _check(stat, keys, registry if setup.method is not None else None, file, _NOTED)
    alike = Counter((entry.dataset, stat.metric, setup) for entry, (stat, setup) in zip(entries, noted, strict=True))
    for entry, (stat, setup) in zip(entries, noted, strict=True):
        about = {"task_id": entry.dataset.task_id, "revision": entry.dataset.revision}
        if alike[entry.dataset, stat.metric, setup] > 1:  # such as with and without tools
            about["notes"] = entry.notes
        source = None if entry.source is None else entry.source.model_dump(exclude_none=True)
        origin = {"program": "the Hub", "source": source, "task": entry.dataset.id, "files": [identity(file)]}
        spec = _spec(entry.dataset.id, about, setup, model, suite, [stat], stat)
        if seen.setdefault(spec.digest, entry.value) != entry.value:
            values = f"{seen[spec.digest]:g} and {entry.value:g}"
            raise DataError(f"{entry.dataset.id} (task {entry.dataset.task_id}) has two values, {values}.", file=file)
        yield Imported(spec, [stat], {**origin, "notes": entry.notes}, finished=entry.date or "")


def _noted(entry: _Entry) -> tuple[Stat, _Setup]:
    """Return an entry's result and its setup, as far as the notes of our own files tell.

    Notes of others say nothing here: they are for people, and may name the run, which would tell apart equal setups.
    """
    own = _OWN_NOTES.fullmatch(entry.notes or "")
    if own is None:
        return _stat(f"{PREFIX}value", entry.value, Split.TEST), _Setup()
    split = Split(own["split"] or Split.TEST)
    metric = f"{PREFIX}{own['metric'].removeprefix(PREFIX)}"
    shots, limit = (None if own[key] is None else int(own[key]) for key in ("shots", "limit"))
    perturbations = tuple((own["perturbations"] or "").split())
    setup = _Setup(own["method"], shots, limit, perturbations, int(own["seed"] or 0))
    return _stat(metric, entry.value, split, count=int(own["count"]), ci95=_interval(own)), setup


def _interval(notes: re.Match[str]) -> tuple[float, float] | None:
    """Return the interval in notes; None if there is none, or it is not one."""
    try:
        low, high = float(notes["low"] or "nan"), float(notes["high"] or "nan")
    except ValueError:
        return None
    return (low, high) if low <= high else None


def _repository(folder: Path) -> str | None:
    """Return the name of a copied repository, ``owner/name``; None if the folder has no parent."""
    return "/".join(folder.parts[-2:]) if len(folder.parts) > 2 else None


def _check(stat: Stat, keys: Keys, registry: Registry | None, file: Path, rounding: float = 1e-6) -> None:
    """Check that a value is possible.

    Args:
        stat: The value with its uncertainty.
        keys: The names of its numbers.
        registry: Knows the ranges of our metrics; None for a file of others, in which an accuracy may be in percent.
        file: The file.
        rounding: How far the ends of the interval are rounded, relative to them.

    Raises:
        DataError: It is not.
    """
    name = stat.metric.removeprefix(PREFIX)
    for wrong in impossible(stat, keys, None if registry is None else scale_of(registry, name), rounding):
        raise DataError(f"{name}: {wrong}.", file=file)


def _card_runs(file: Path, suite: str, registry: Registry, model: str | None, metric: str | None) -> Iterator[Imported]:
    head = _metadata(file)
    located = loads(head, file=str(file))
    index = located.data.get("model-index") if isinstance(located.data, dict) else None
    if index is None:
        raise DataError("has no model-index in its metadata.", file=file)
    found, known = False, set[str]()
    folder = file.resolve().parent
    for number, one in enumerate(_checked(located, ("model-index",), index, _Model)):
        if model is None and one.name == folder.name:
            model = _repository(folder)  # as its .eval_results are named
        grouped: dict[tuple[Any, ...], list[_Result]] = {}
        for place, result in enumerate(one.results):
            of = result.dataset
            for each, measured in enumerate(result.metrics):
                here, setup = f"model-index[{number}].results[{place}].metrics[{each}]", measured.args.setup
                keys = Keys(f"{here}.value", f"{here}.args.stderr", f"{here}.args.ci95")
                is_ours = setup.method is not None and setup.run is not None
                _check(_metric_stat(measured, Split.TEST), keys, registry if is_ours else None, file)
            grouped.setdefault((of.type, of.config, of.split, of.revision), []).append(result)
        for (dataset, config, split, revision), results in grouped.items():
            setups = _card_stats(results, _SPLITS.get(split or "", Split.TEST))
            alike = Counter(replace(setup, run=None) for setup in setups)
            for setup, stats in setups.items():
                known |= {stat.metric for stat in stats}
                main = next(
                    (stat for stat in stats if metric in (None, stat.metric, stat.metric.removeprefix(PREFIX))), None
                )
                if main is None:
                    continue
                found = True
                about = {"config": config, "split": split, "revision": revision}
                if alike[replace(setup, run=None)] > 1:  # otherwise models share a column
                    about["run"] = setup.run
                source = next((one.source.model_dump(exclude_none=True) for one in results if one.source), None)
                origin = {"program": "the Hub", "source": source, "task": dataset, "files": [identity(file)]}
                spec = _spec(dataset, about, setup, model or one.name, suite, stats, main)
                yield Imported(spec, stats, {**origin, "run": setup.run})
    if not found:
        hint = did_you_mean(metric or "", known)
        raise DataError(
            f"no result has the metric {metric}. {hint}".strip() if metric else "has no results.", file=file
        )


def _card_stats(results: Sequence[_Result], split: Split) -> dict[_Setup, list[Stat]]:
    """Return the statistics of a data set, separately for each setup that this harness writes.

    Raises:
        DataError: One metric has two values in one setup.
    """
    found: dict[_Setup, dict[str, Stat]] = {}
    for one in (metric for result in results for metric in result.metrics):
        stat = _metric_stat(one, split)
        before = found.setdefault(one.args.setup, {}).setdefault(stat.metric, stat)
        if before != stat:
            raise DataError(f"the metric {one.type} has two values, {before.mean:g} and {one.value:g}")
    return {setup: list(stats.values()) for setup, stats in found.items()}


def _metric_stat(one: _Metric, split: Split) -> Stat:
    name = f"{PREFIX}{one.type}" + (f" ({one.config})" if one.config else "")
    args = one.args
    return _stat(name, one.value, split, count=args.count or 0, stderr=args.stderr, ci95=args.ci95)


def _stat(
    metric: str,
    value: float,
    split: Split,
    *,
    count: int = 0,
    stderr: float | None = None,
    ci95: tuple[float, float] | None = None,
) -> Stat:
    return Stat(metric, OTHER, split.value, None, count, value, stderr, ci95, None, None)


def _spec(
    dataset: str,
    about: Mapping[str, Any],
    setup: _Setup,
    model: str,
    suite: str,
    stats: Sequence[Stat],
    main: Stat,
) -> RunSpec:
    part = about.get("config") or about.get("task_id")
    chosen = {} if part in (None, "default") else {"task": part}
    known = {**about, "method": setup.method, "max_train_instances": setup.shots}
    return RunSpec(
        suite=suite,
        scenario=Component(name=_UNSAFE.sub("-", dataset).strip("-.") or "unknown", arguments=chosen),
        parts=tuple(chosen),
        adapter=Component(name="reported", arguments={key: value for key, value in known.items() if value is not None}),
        metrics=tuple(Component(name=stat.metric) for stat in stats),
        main_metric=main.metric,
        model=Component(name=f"hub:{model}"),
        eval_split=Split(main.split),
        max_eval_instances=setup.limit,
        perturbations=tuple(Component(name=name) for name in setup.perturbations),
        seed=setup.seed,
    )


def _checked(located: Located, keys: tuple[str | int, ...], items: Any, kind: type[M]) -> list[M]:
    """Return the items of a list.

    Raises:
        SpecError: It is not a list, or items do not fit; it holds all errors with their lines.
    """
    diagnostics = list(located.diagnostics)
    found = []
    if not isinstance(items, list):
        raise SpecError([*diagnostics, located.diagnostic(keys, "must be a list of results.")])
    for index, item in enumerate(items):
        try:
            found.append(kind.model_validate(item))
        except ValidationError as error:
            diagnostics += [
                located.diagnostic((*keys, index, *one.keys), one.message, one.hint)
                for one in explain(error, kind, item)
            ]
    if diagnostics:
        raise SpecError(diagnostics)
    return found


def _metadata(file: Path) -> str:
    """Return the YAML between the two lines ``---`` at the beginning of a card.

    Raises:
        DataError: There is none, or the card cannot be read.
    """
    try:
        with open_regular(file) as opened:
            content = opened.read(_LONGEST_CARD)
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error}).", file=file) from error
    lines = content.decode("utf-8", "replace").splitlines()
    ends = [index for index, line in enumerate(lines) if line.rstrip() == "---"]
    if len(ends) < 2 or ends[0] != 0:
        raise DataError("has no metadata: a card begins with YAML between two lines ---.", file=file)
    return "\n".join(["", *lines[1 : ends[1]]])  # so that line numbers are those of the card
