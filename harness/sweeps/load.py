"""Load a sweep: check all of it, and expand it to run specs with every default written out.

An entry all of whose runs are in earlier entries is an error. Entries may overlap in part, as lists that fan out do;
each run is then made once.
"""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, Unpack

from harness.contracts.model_settings import GENERATION
from harness.contracts.specs import Component, RunSpec
from harness.errors import Diagnostic, KeyPath, PluginError, SpecError, did_you_mean, shown
from harness.plugins.registry import Registry, default_registry
from harness.sweeps.adapter_settings import GENERATE, asks_of
from harness.sweeps.components import placed, resolve_models
from harness.sweeps.context import Context
from harness.sweeps.diagnostics import Diagnostics
from harness.sweeps.entries import Defaults, read_defaults, report_default_prompts
from harness.sweeps.executor_keys import ExecutorKeys
from harness.sweeps.executors import read_executor
from harness.sweeps.fan_out import MAX_RUNS
from harness.sweeps.keys import SweepKeys, read_keys
from harness.sweeps.listeners import read_listeners
from harness.sweeps.misplaced_keys import report_misplaced_keys
from harness.sweeps.model_facts import read_model_facts
from harness.sweeps.prompt_variants import report_unused_changes
from harness.sweeps.scores import chosen, with_scores
from harness.sweeps.tags import expand
from harness.yaml_lines import load

_LOG = logging.getLogger(__name__)


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
    """Things that are allowed but may not be intended, with their places."""
    executor: ExecutorKeys | None = None
    """Where the runs are executed; None if nobody says."""
    listeners: tuple[Component, ...] = ()
    """Listeners that get each run as it ends."""
    reuse_across_gpus: bool = False
    """Take answers from the response cache that another kind of GPU gave."""


class Overrides(TypedDict, total=False):
    """What the command line sets for all runs of a sweep."""

    plugins: Sequence[Path]
    """Further plugins: Python files, scenario files, or folders of them."""
    suite: str | None
    """Replaces the sweep's suite."""
    models: Sequence[str | Mapping[str, Any]]
    """Replace the models of the sweep and of its runs."""
    only: Sequence[str]
    """Keep the runs whose scenario's name or shorthand matches one of these patterns (``mmlu``, ``raft:*``)."""
    max_eval_instances: int | None
    """Replaces that of every run."""
    max_declined: float | None
    """Replaces that of every run."""
    seed: int | None
    """Replaces that of every run."""
    allow: Sequence[str] | None
    """Permissions for all runs, such as ``code_execution``; None for all of them, where nothing is executed."""
    executor: str | None
    """Where the runs are executed: a name, or a name with settings, ``local:heads=4``."""
    listeners: Sequence[str | Mapping[str, Any]]
    """Listeners that get each run as it ends, besides the sweep's own: names with settings, ``wandb:project=evals``."""
    keywords: Mapping[str, str]
    """For messages: the Python argument that replaces each command-line option; empty on the command line."""


def load_sweep(
    path: Path, *, registry: Registry | None = None, **overrides: Unpack[Overrides]
) -> tuple[Sweep, Registry]:
    """Read a sweep and check all of it before anything is loaded.

    Args:
        path: The YAML file. Plugins and scenario files that it names are relative to its folder.
        registry: Where names are looked up, and the sweep's plugins are added (default: the installed plugins).
        overrides: What replaces parts of the file.

    Raises:
        SpecError: There are errors; it holds all of them.
    """
    document = load(path)
    diagnostics = Diagnostics(document, _options(overrides), overrides.get("keywords", {}))
    diagnostics.extend(document.diagnostics)
    if not isinstance(document.data, Mapping):
        what = "is empty" if document.data is None else f"is {shown(document.data)}"
        diagnostics.add((), f"{what}; a sweep is a mapping with `suite`, `models` and `runs`.")
        diagnostics.raise_any()
    elif "runs" not in document.data and {"source", "input"} <= document.data.keys():
        hint = f"To run it: harness run -r {path} -m backend:identifier"
        diagnostics.add((), "is a scenario file, not a sweep.", hint)
        diagnostics.raise_any()
    return _read(document.data, path.parent, "runs", diagnostics, registry, overrides)


def sweep_from_entries(
    entries: Sequence[str],
    models: Sequence[str | Mapping[str, Any]],
    /,
    *,
    registry: Registry | None = None,
    **overrides: Unpack[Overrides],
) -> tuple[Sweep, Registry]:
    """Return the sweep that the command line's ``--run`` and ``--model`` describe; like :func:`load_sweep`.

    Its suite is ``command-line`` unless another is given.
    """
    overrides["models"] = models
    diagnostics = Diagnostics(None, {**_options(overrides), "--run": entries})
    if not models:
        diagnostics.add(("--model",), "is required.", "For example: --model hf:openai-community/gpt2")
    return _read({"suite": "command-line", "runs": list(entries)}, Path(), "--run", diagnostics, registry, overrides)


def sweep_from_mapping(
    content: Mapping[str, Any],
    *,
    option: str = "--run",
    registry: Registry | None = None,
    **overrides: Unpack[Overrides],
) -> tuple[Sweep, Registry]:
    """Return the sweep whose keys and values a program has put together; like :func:`load_sweep`.

    Errors in its runs are reported for the given command-line option.
    """
    runs = [_named(run.get("scenario") if isinstance(run, Mapping) else run) for run in _list(content, "runs")]
    return _read(content, Path(), option, Diagnostics(None, {option: runs, **_options(overrides)}), registry, overrides)


def sweep_from_program(
    content: Mapping[str, Any], *, registry: Registry | None = None, **overrides: Unpack[Overrides]
) -> tuple[Sweep, Registry]:
    """Return the sweep that a mapping with a sweep file's keys describes; like :func:`load_sweep`.

    Plugins and scenario files that it names are relative to the current folder.
    """
    diagnostics = Diagnostics(None, _options(overrides), overrides.get("keywords", {}))
    return _read(content, Path(), "runs", diagnostics, registry, overrides)


def _named(scenario: object) -> str:
    """Return what a user calls a run's scenario: a file's path, or its name."""
    if isinstance(scenario, Mapping):
        return str(scenario.get("path", scenario.get("name")))
    return str(scenario)


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
    message = "is a folder, not a sweep." if path.is_dir() else "no such file, and no sweep of that name."
    hint = f"{did_you_mean(name, shipped)} `harness list sweeps` describes them.".strip()
    raise SpecError([Diagnostic((), message, hint, name)])


def shipped_sweeps() -> dict[str, Path]:
    """Return the sweeps that come with the harness, by name."""
    spec = importlib.util.find_spec("run_specs")
    folders = (spec.submodule_search_locations or ()) if spec else ()
    return {file.stem: file for folder in folders for file in sorted(Path(folder).glob("*.yaml"))}


def _options(overrides: Overrides) -> dict[str, Sequence[str]]:
    """Return what was given on the command line, by option, for messages."""
    return {
        "--model": [model if isinstance(model, str) else repr(model) for model in overrides.get("models", ())],
        "--only": overrides.get("only", ()),
        "--allow": overrides.get("allow") or (),
        "--listener": [one if isinstance(one, str) else repr(one) for one in overrides.get("listeners", ())],
        "--plugin": [str(plugin) for plugin in overrides.get("plugins", ())],
    }


def _read(
    data: Mapping[str, Any],
    base: Path,
    key: str,
    diagnostics: Diagnostics,
    registry: Registry | None,
    overrides: Overrides,
) -> tuple[Sweep, Registry]:
    """Read a sweep's keys, models, defaults and entries; ``key`` is where the entries are, for messages.

    What can be read of a sweep with errors is checked all the same, so that all errors are reported at once.
    """
    context = Context(registry if registry is not None else default_registry(), diagnostics, base)
    context.permitted = overrides.get("allow", ())
    named = [base / name for name in _list(data, "plugins") if isinstance(name, str)]
    plugins = [*overrides.get("plugins", ()), *named]
    _load_plugins(overrides.get("plugins", ()), "--plugin", context)
    _load_plugins(named, "plugins", context)
    written = dict(data)
    if overrides.get("suite") is not None:
        written["suite"] = overrides.get("suite")
    report_misplaced_keys(written, SweepKeys, (), context)
    keys = read_keys(SweepKeys, written, (), diagnostics)
    context.suite = keys.suite if keys else "unnamed"
    context.model_facts = read_model_facts(data.get("about"), context)
    _read_models(data, overrides.get("models", ()), context)
    _replace_settings(overrides, context)
    defaults = data.get("defaults")
    shared = read_defaults(defaults, context) if isinstance(defaults, Mapping) else Defaults()
    entries = data.get("runs")
    runs = _expand(entries, key, shared, context) if isinstance(entries, list) else []
    report_default_prompts(context)
    report_unused_changes(context)
    _report_permissions(context)
    _warn_of_idle_settings(runs, context)
    _warn_of_idle_defaults(runs, shared, context)
    runs = with_scores(_list(data, "scores"), runs, context)
    executor = read_executor(data.get("executor"), overrides.get("executor"), diagnostics)
    listeners = read_listeners(data.get("listeners"), overrides.get("listeners", ()), context)
    runs = _select(runs, overrides.get("only", ()), diagnostics)
    diagnostics.raise_any()
    sweep = Sweep(
        context.suite,
        tuple(runs),
        diagnostics.document.file if diagnostics.document else "command line",
        tuple(dict.fromkeys(path.resolve() for path in (*plugins, *context.scenario_files))),
        keys.description if keys else "",
        diagnostics.warnings,
        executor,
        listeners,
        bool(keys and keys.reuse_across_gpus),
    )
    _LOG.info("%s: suite %r has %d runs", sweep.file, sweep.suite, len(sweep.runs))
    return sweep, context.registry


def _list(data: Mapping[str, Any], key: str) -> list[Any]:
    value = data.get(key)
    return value if isinstance(value, list) else []


def _load_plugins(paths: Sequence[Path], key: str, context: Context) -> None:
    for index, path in enumerate(paths):
        known = len(context.registry.problems)
        try:
            context.registry.load_path(path)
        except PluginError as error:
            context.diagnostics.add((key, index), str(error))
        # A file that was named must work; a broken file in a folder is only logged.
        for problem in () if path.is_dir() else context.registry.problems[known:]:
            context.diagnostics.add((key, index), str(problem))


def _read_models(data: Mapping[str, Any], replacements: Sequence[str | Mapping[str, Any]], context: Context) -> None:
    """Read the sweep's models, which those of the command line replace."""
    written = data.get("models")
    if isinstance(written, list):
        context.models = list(resolve_models(placed(("models",), written), context))
        if not written and not replacements:
            hint = "For example: [hf:openai-community/gpt2]"
            context.diagnostics.add(("models",), "is empty; a sweep needs a model.", hint)
    elif written is not None:
        context.models = ()
    if replacements:
        context.models = list(resolve_models(placed(("--model",), replacements), context))
        context.fixed_models = True


def _replace_settings(overrides: Overrides, context: Context) -> None:
    """Check what the command line sets for every run, and keep it for the entries."""
    most, declined, seed = overrides.get("max_eval_instances"), overrides.get("max_declined"), overrides.get("seed")
    if most is not None and most < 1:
        context.diagnostics.add(("--max-eval-instances",), f"must be at least 1, not {most}.")
        most = None
    if declined is not None and not 0 <= declined <= 1:
        context.diagnostics.add(("--max-declined",), f"must be a share from 0 to 1, not {declined:g}.")
        declined = None
    given = {"max_eval_instances": most, "max_declined": declined, "seed": seed}
    context.settings = {name: value for name, value in given.items() if value is not None}


def _expand(entries: Sequence[Any], key: str, defaults: Defaults, context: Context) -> list[RunSpec]:
    diagnostics = context.diagnostics
    if not entries:
        diagnostics.add((key,), "is empty; there is nothing to run.")
    runs: dict[str, RunSpec] = {}
    writers: dict[str, KeyPath] = {}
    wrong: set[KeyPath] = set()  # without their wrong parts, these may equal other entries
    for index, value in enumerate(entries):
        path = (key, index)
        first: KeyPath | None = None
        new, before = False, diagnostics.count
        for run in expand(value, path, defaults, context):
            digest = run.digest
            new = new or digest not in runs
            first = first or writers.get(digest)
            runs.setdefault(digest, run)
            writers.setdefault(digest, path)
        if diagnostics.count > before:
            wrong.add(path)
        elif first is not None and not new and first not in wrong:
            diagnostics.add(path, f"is the same run as {diagnostics.where(first)}.", "Remove one of them.")
        if len(runs) > MAX_RUNS:
            diagnostics.add(path, f"brings the sweep to more than {MAX_RUNS:,} runs.")
            break
    return list(runs.values())


def _report_permissions(context: Context) -> None:
    """Report permissions that nothing asks for; mention those that only `harness run` would ask for."""
    for index, name in enumerate(context.permitted or ()):
        if name not in context.permissions and (context.permissions or not context.diagnostics.count):
            hint = did_you_mean(name, context.permissions)
            context.diagnostics.add(("--allow", index), "is not a permission that any metric of the sweep needs.", hint)
    if context.permitted is None:
        for name, places in context.permissions.items():
            others = len(set(places)) - 1
            also = f", as {others} more place{'s' if others > 1 else ''} in the sweep do" if others else ""
            message = f"asks for the permission {name!r}{also}."
            context.diagnostics.warn(places[0], message, f"To run the sweep: harness run --allow {name} ….")


def _warn_of_idle_settings(runs: Sequence[RunSpec], context: Context) -> None:
    """Warn of a model's settings for generating text, if none of its runs generates any."""
    for model in context.models or ():
        own = [run for run in runs if run.model == model.component]
        idle = [name for name in GENERATION if name in model.component.arguments]
        if own and idle and not any(GENERATE in asks_of(run.adapter, context.registry) for run in own):
            verb = "has" if len(idle) == 1 else "have"
            message = f"{' and '.join(idle)} {verb} no effect, since none of the model's runs generates text."
            context.diagnostics.warn(model.path, message)


def _warn_of_idle_defaults(runs: Sequence[RunSpec], defaults: Defaults, context: Context) -> None:
    """Warn of default numbers of samples and trials that apply to no run."""
    trials = defaults.settings.get("train_trials")
    idle = {
        "samples": (defaults.keys.samples > 1, {run.samples for run in runs}, "generate no text"),
        "train_trials": (
            trials is not None and trials.value not in (1, "1"),
            {run.adapter.arguments.get("train_trials", 1) for run in runs},
            "show no examples",
        ),
    }
    for key, (given, used, why) in idle.items():
        if given and used == {1}:
            message = f"has no effect: the runs that it applies to {why}."
            context.diagnostics.warn(("defaults", key), message)


def _select(runs: Sequence[RunSpec], patterns: Sequence[str], diagnostics: Diagnostics) -> list[RunSpec]:
    if not patterns:
        return list(runs)
    kept: dict[str, RunSpec] = {}
    for index, pattern in enumerate(patterns):
        matching = {run.name: run for run in runs if chosen(run, pattern)}
        if not matching:
            names = {run.scenario.name for run in runs}
            diagnostics.add(("--only", index), "matches none of the sweep's runs.", did_you_mean(pattern, names))
        kept.update(matching)
    return [run for run in runs if run.name in kept]
