"""Sweeps: YAML that says what to run, checked as a whole, and expanded to run specs with every default written out.

The same run written twice is an error: an entry all of whose runs earlier entries make already. Where entries overlap
in part, as lists that fan out do, each run is made once.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from harness.contracts.specs import RunSpec
from harness.errors import Diagnostic, KeyPath, PluginError, SpecError, did_you_mean
from harness.plugins.registry import Registry, default_registry
from harness.sweeps.expand import Context, Defaults, expand_entry, read_defaults, report_misplaced_keys
from harness.sweeps.json_schema import json_schema
from harness.sweeps.keys import Diagnostics, SweepKeys, read_keys, shown
from harness.sweeps.resolve import MAX_RUNS, placed, resolve_models
from harness.yaml_lines import Located, load

__all__ = [
    "Sweep",
    "find_sweep",
    "json_schema",
    "load_sweep",
    "shipped_sweeps",
    "sweep_from_entries",
    "sweep_from_mapping",
]


@dataclass(frozen=True, slots=True)
class Sweep:
    """A checked sweep."""

    suite: str
    """Name of the folder of results."""
    runs: tuple[RunSpec, ...]
    """What to run, in the order in which it was written; all different."""
    file: str
    """The file as the user named it, or ``command line``."""
    plugins: tuple[Path, ...] = ()
    """The plugins and scenario files that the runs need besides the installed ones, as absolute paths."""
    description: str = ""
    """What the sweep is for."""
    warnings: tuple[Diagnostic, ...] = ()
    """What is allowed but may not be what the user meant, with its place."""


def load_sweep(
    path: Path,
    *,
    plugins: Sequence[Path] = (),
    suite: str | None = None,
    models: Sequence[str] = (),
    only: Sequence[str] = (),
    max_eval_instances: int | None = None,
    max_declined: float | None = None,
    seed: int | None = None,
    registry: Registry | None = None,
) -> tuple[Sweep, Registry]:
    """Read a sweep and check all of it before anything is loaded.

    Args:
        path: The YAML file. Plugins and scenario files that it names are relative to its folder.
        plugins: Further plugins: Python files, scenario files, or folders of them.
        suite: Replaces the sweep's own.
        models: Replace the models of the sweep and of its runs.
        only: Keep the runs whose scenario's name or shorthand matches one of these patterns (``mmlu``, ``raft:*``).
        max_eval_instances: Replaces that of every run.
        max_declined: Replaces that of every run.
        seed: Replaces that of every run.
        registry: Where names are looked up, and the sweep's plugins are added; the installed plugins without it.

    Raises:
        SpecError: There are errors; it holds all of them.
    """
    document = load(path)
    overrides = _Overrides(tuple(plugins), suite, tuple(models), tuple(only), max_eval_instances, max_declined, seed)
    diagnostics = Diagnostics(document, overrides.shown())
    diagnostics.extend(document.diagnostics)
    if not isinstance(document.data, Mapping):
        what = "is empty" if document.data is None else f"holds {shown(document.data)}"
        diagnostics.add((), f"{what}; a sweep is a mapping with `suite`, `models` and `runs`.")
        diagnostics.raise_any()
    elif "runs" not in document.data and {"source", "input"} <= document.data.keys():
        diagnostics.add(
            (), "is a scenario's file, not a sweep.", f"To run it: harness run -r {path} -m backend:identifier"
        )
        diagnostics.raise_any()
    return _read(document.data, path.parent, document, diagnostics, overrides, registry)


def sweep_from_entries(
    entries: Sequence[str],
    models: Sequence[str],
    *,
    suite: str | None = None,
    plugins: Sequence[Path] = (),
    only: Sequence[str] = (),
    max_eval_instances: int | None = None,
    max_declined: float | None = None,
    seed: int | None = None,
    registry: Registry | None = None,
) -> tuple[Sweep, Registry]:
    """Return the sweep that the command line's ``--run`` and ``--model`` describe; like :func:`load_sweep`.

    Its suite is ``command-line`` unless another is given.
    """
    overrides = _Overrides(tuple(plugins), suite, tuple(models), tuple(only), max_eval_instances, max_declined, seed)
    diagnostics = Diagnostics(None, {"--run": entries, **overrides.shown()})
    if not models:
        diagnostics.add(("--model",), "is required.", "For example: --model hf:openai-community/gpt2")
    data = {"suite": "command-line", "runs": list(entries)}
    return _read(data, Path(), None, diagnostics, overrides, registry)


def sweep_from_mapping(
    content: Mapping[str, Any],
    *,
    option: str = "--run",
    plugins: Sequence[Path] = (),
    seed: int | None = None,
    registry: Registry | None = None,
) -> tuple[Sweep, Registry]:
    """Return the sweep whose keys and values a program has put together; like :func:`load_sweep`.

    The option is what errors in its runs are said of.
    """
    overrides = _Overrides(tuple(plugins), None, (), (), None, None, seed)
    shown_runs = [str(run.get("scenario") if isinstance(run, Mapping) else run) for run in _list(content, "runs")]
    diagnostics = Diagnostics(None, {option: shown_runs, **overrides.shown()})
    return _read(content, Path(), None, diagnostics, overrides, registry, option)


def find_sweep(name: str) -> Path:
    """Return the path of a sweep: a file of the user's, or by name one that comes with the harness.

    Raises:
        SpecError: There is neither.
    """
    path = Path(name)
    if path.is_file():
        return path
    shipped = shipped_sweeps()
    if name in shipped:
        return shipped[name]
    message = "is a folder, not a sweep." if path.is_dir() else "there is no such file, and no sweep of that name."
    raise SpecError([Diagnostic((), message, did_you_mean(name, shipped), name)])


def shipped_sweeps() -> dict[str, Path]:
    """Return the sweeps that come with the harness, by name."""
    spec = importlib.util.find_spec("run_specs")
    folders = (spec.submodule_search_locations or ()) if spec else ()
    return {file.stem: file for folder in folders for file in sorted(Path(folder).glob("*.yaml"))}


@dataclass(frozen=True, slots=True)
class _Overrides:
    """What the command line says about every run."""

    plugins: tuple[Path, ...]
    suite: str | None
    models: tuple[str, ...]
    only: tuple[str, ...]
    max_eval_instances: int | None
    max_declined: float | None
    seed: int | None

    def shown(self) -> dict[str, Sequence[str]]:
        return {"--model": self.models, "--only": self.only, "--plugin": [str(plugin) for plugin in self.plugins]}


def _read(
    data: Mapping[str, Any],
    base: Path,
    document: Located | None,
    diagnostics: Diagnostics,
    overrides: _Overrides,
    registry: Registry | None,
    option: str = "--run",
) -> tuple[Sweep, Registry]:
    registry = registry if registry is not None else default_registry()
    # What can be read of a sweep with errors is checked all the same, so that all errors are reported at once.
    named = [base / name for name in _list(data, "plugins") if isinstance(name, str)]
    plugins = [
        *_load_plugins(overrides.plugins, "--plugin", registry, diagnostics),
        *_load_plugins(named, "plugins", registry, diagnostics),
    ]
    written = {**data, "suite": overrides.suite} if overrides.suite is not None else dict(data)
    report_misplaced_keys(written, SweepKeys, (), registry, diagnostics)
    keys = read_keys(SweepKeys, written, (), diagnostics)
    context = Context(registry, diagnostics, base, keys.suite if keys else "unnamed")
    _apply(overrides, data, context)
    defaults = data.get("defaults")
    shared = read_defaults(defaults, context) if isinstance(defaults, Mapping) else Defaults()
    entries = data.get("runs")
    runs = _expand(entries, "runs" if document else option, shared, context) if isinstance(entries, list) else []
    runs = _select(runs, overrides.only, diagnostics)
    diagnostics.raise_any()
    needed = tuple(path.resolve() for path in (*plugins, *context.scenario_files))
    sweep = Sweep(
        context.suite,
        tuple(runs),
        document.file if document else "command line",
        tuple(dict.fromkeys(needed)),
        keys.description if keys else "",
        diagnostics.warnings,
    )
    return sweep, registry


def _list(data: Mapping[str, Any], key: str) -> list[Any]:
    value = data.get(key)
    return value if isinstance(value, list) else []


def _load_plugins(paths: Sequence[Path], key: str, registry: Registry, diagnostics: Diagnostics) -> Sequence[Path]:
    for index, path in enumerate(paths):
        known = len(registry.problems)
        try:
            registry.load_path(path)
        except PluginError as error:
            diagnostics.add((key, index), str(error))
        # A file that was named must work; in a folder a broken one is reported and does not keep the others from it.
        if not path.is_dir():
            for problem in registry.problems[known:]:
                diagnostics.add((key, index), str(problem))
    return paths


def _apply(overrides: _Overrides, data: Mapping[str, Any], context: Context) -> None:
    """Put into the context what the command line says, and the sweep's own models."""
    diagnostics = context.diagnostics
    written = data.get("models")
    if isinstance(written, list):
        context.models = list(resolve_models(placed(("models",), written), context.registry, diagnostics))
        if not written and not overrides.models:
            diagnostics.add(("models",), "is empty; a sweep needs a model.", "For example: [hf:openai-community/gpt2]")
    elif written is not None:
        context.models = ()
    if overrides.models:
        context.models = list(resolve_models(placed(("--model",), overrides.models), context.registry, diagnostics))
        context.fixed_models = True
    if overrides.max_eval_instances is not None and overrides.max_eval_instances < 1:
        diagnostics.add(("--max-eval-instances",), f"is at least 1, not {overrides.max_eval_instances}.")
    else:
        context.max_eval_instances = overrides.max_eval_instances
    if overrides.max_declined is not None and not 0 <= overrides.max_declined <= 1:
        diagnostics.add(("--max-declined",), f"must be a share from 0 to 1, not {overrides.max_declined:g}.")
    else:
        context.max_declined = overrides.max_declined
    context.seed = overrides.seed


def _expand(entries: Sequence[Any], key: str, defaults: Defaults, context: Context) -> list[RunSpec]:
    diagnostics = context.diagnostics
    if not entries:
        diagnostics.add((key,), "is empty; nothing would be run.")
    runs: dict[str, RunSpec] = {}
    writers: dict[str, KeyPath] = {}
    wrong: set[KeyPath] = set()  # What is left of these without their errors may equal another.
    for index, value in enumerate(entries):
        path = (key, index)
        first: KeyPath | None = None
        new, before = False, diagnostics.count
        for run in expand_entry(value, path, defaults, context):
            digest = run.digest
            new = new or digest not in runs
            first = first or writers.get(digest)
            runs.setdefault(digest, run)
            writers.setdefault(digest, path)
        if diagnostics.count > before:
            wrong.add(path)
        elif first is not None and not new and first not in wrong:
            diagnostics.add(path, f"is written already, at {diagnostics.where(first)}.", "Remove one of them.")
        if len(runs) > MAX_RUNS:
            diagnostics.add(path, f"makes it more than {MAX_RUNS:,} runs in one sweep.")
            break
    return list(runs.values())


def _select(runs: Sequence[RunSpec], patterns: Sequence[str], diagnostics: Diagnostics) -> list[RunSpec]:
    if not patterns:
        return list(runs)
    kept: dict[str, RunSpec] = {}
    for index, pattern in enumerate(patterns):
        matching = {
            run.name: run
            for run in runs
            if any(fnmatchcase(n, pattern) for n in (run.scenario.name, run.scenario.label))
        }
        if not matching:
            names = {run.scenario.name for run in runs}
            diagnostics.add(("--only", index), "matches none of the sweep's runs.", did_you_mean(pattern, names))
        kept.update(matching)
    return [run for run in runs if run.name in kept]
