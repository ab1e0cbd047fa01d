"""Read one entry of a sweep, and its defaults: keys, shorthand and plugins, every name looked up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel

from harness.contracts.plugins import Kind, Plugin, ScenarioDetails
from harness.contracts.specs import Component
from harness.errors import KeyPath, PluginError, SpecError, did_you_mean, shown
from harness.plugins.parameters import PROMPT
from harness.plugins.registry import Registry
from harness.sweeps.adapter_settings import SHARED, read_adapter
from harness.sweeps.aliases import is_written_here, meant_here, shorthand_of
from harness.sweeps.components import find_plugin, placed, resolve_members, resolve_models
from harness.sweeps.context import Context, SweepModel
from harness.sweeps.fan_out import parameters
from harness.sweeps.foreign_names import KEYS
from harness.sweeps.keys import DefaultKeys, RunKeys, read_keys
from harness.sweeps.misplaced_keys import all_settings, methods_with, report_misplaced_keys
from harness.sweeps.shorthand import (
    ADAPTER_SETTINGS,
    FOREIGN,
    MODEL_GROUPS,
    RUN_KEYS,
    RunSettings,
    parse_entry,
    run_settings,
)
from harness.sweeps.written import Setting, Written, absence_hint, read_component


@dataclass(frozen=True, slots=True)
class Defaults:
    """A sweep's defaults: its keys, the adapter's method and settings, and the plugins that the keys name."""

    keys: DefaultKeys = field(default_factory=DefaultKeys)
    method: Written | None = None
    settings: Mapping[str, Setting] = field(default_factory=dict)
    perturbations: Sequence[Component] = ()
    metrics: Sequence[Component] | None = None


def read_defaults(value: Mapping[str, Any], context: Context) -> Defaults:
    """Return a sweep's defaults, checked as far as they can be without a run."""
    path: KeyPath = ("defaults",)
    value = dict(value)
    report_misplaced_keys(value, DefaultKeys, path, context)
    keys = read_keys(DefaultKeys, value, path, context.diagnostics)
    if keys is None:
        return Defaults()
    method, settings = read_adapter(keys, path, {}, context.diagnostics)
    if method is not None:
        find_plugin(Kind.ADAPTER, method, context)
    for name in [name for name in settings if name not in SHARED and not methods_with(name, context.registry)]:
        hint = did_you_mean(name, all_settings(context.registry))
        context.diagnostics.add(settings.pop(name).path, "is not a setting of any adaptation method.", hint)
    perturbations = _members(Kind.PERTURBATION, keys, path, context)
    return Defaults(keys, method, settings, perturbations or (), _members(Kind.METRIC, keys, path, context))


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a sweep, every name in it looked up."""

    keys: RunKeys
    path: KeyPath
    scenario: Written
    plugin: Plugin
    details: ScenarioDetails
    method: Written | None
    settings: Mapping[str, Setting]
    models: Sequence[SweepModel]
    perturbations: Sequence[Component]
    metrics: Sequence[Component]
    own_metrics: bool


def read_entry(value: Any, path: KeyPath, defaults: Defaults, context: Context) -> Entry | None:
    """Return an entry with everything that it names; None, and every error noted, if it is wrong."""
    diagnostics = context.diagnostics
    if not isinstance(value, str | Mapping):
        diagnostics.add(path, f"must be a run's shorthand, or a mapping with `scenario`, not {shown(value)}.")
        return None
    if isinstance(value, str):
        mapping, scenario_path = {"scenario": value}, path
    else:
        mapping, scenario_path = dict(value), (*path, "scenario")
    if "scenario" not in mapping:
        foreign = next((key for key in mapping if key == "name" or KEYS.get(key) == "scenario"), None)
        if foreign is not None:
            scenario_path = (*path, foreign)
            diagnostics.add(scenario_path, "is not a key of a run.", "Here it is called 'scenario'.")
            mapping["scenario"] = mapping.pop(foreign)
        elif hint := _scenario_as_key(mapping, context.registry) or absence_hint("scenario", mapping):
            diagnostics.add(path, "is a mapping without `scenario`.", hint)
            return None
    written, plugin, said = None, None, RunSettings({}, {})
    if "scenario" in mapping:
        written = read_component(mapping["scenario"], scenario_path, diagnostics, parse=parse_entry)
    if written is not None:
        plugin = _scenario(written, context)
        if plugin is not None and _reported_as_foreign(written, plugin, context):
            return None
        written, said = _sort_arguments(written, plugin, context)
        for key in said.run.keys() & mapping.keys():
            diagnostics.add((*path, key), "is also set in the scenario's shorthand.", "Remove one of them.")
        mapping.update(said.run)
    report_misplaced_keys(mapping, RunKeys, path, context)
    keys = read_keys(RunKeys, mapping, path, diagnostics)
    if keys is None or written is None:
        return None
    method, settings = read_adapter(keys, path, said.adapter, diagnostics)
    if method is not None:
        find_plugin(Kind.ADAPTER, method, context)
    models = _models(keys, path, context)
    perturbations = _members(Kind.PERTURBATION, keys, path, context)
    metrics = _members(Kind.METRIC, keys, path, context)
    metrics = defaults.metrics if metrics is None else metrics
    if plugin is None or not isinstance(plugin.details, ScenarioDetails):
        return None
    own_metrics = metrics is not None
    if metrics is None:
        metrics = _default_metrics(plugin, plugin.details, written, context)
    written = _with_prompt(written, plugin, keys, defaults.keys, path, context)
    return Entry(
        keys,
        path,
        written,
        plugin,
        plugin.details,
        method or defaults.method,
        settings,
        models,
        defaults.perturbations if perturbations is None else perturbations,
        metrics,
        own_metrics,
    )


def asked_by(entry: Entry, arguments: BaseModel, context: Context) -> Entry:
    """Return an entry as it is with the prompt that the scenario's arguments choose."""
    details = entry.details.asked(getattr(arguments, PROMPT, "")) if entry.details.prompts else entry.details
    if details == entry.details:
        return entry
    own = entry.own_metrics or details.metrics == entry.details.metrics
    metrics = entry.metrics if own else _default_metrics(entry.plugin, details, entry.scenario, context)
    return replace(entry, details=details, metrics=metrics)


def _default_metrics(
    plugin: Plugin, details: ScenarioDetails, written: Written, context: Context
) -> Sequence[Component]:
    named = [(written.path, name) for name in details.metrics]
    name = "…" if written.arguments else plugin.name
    return resolve_members(Kind.METRIC, named, context, origin=f"scenario {plugin.name!r}", scenario=name)


def _with_prompt(
    written: Written, plugin: Plugin, keys: RunKeys, defaults: DefaultKeys, path: KeyPath, context: Context
) -> Written:
    """Return a scenario as written, with the prompt that its run or the sweep's defaults choose as an argument."""
    own = keys.prompt is not None
    chosen, place = (keys.prompt, (*path, PROMPT)) if own else (defaults.prompt, ("defaults", PROMPT))
    if PROMPT in written.arguments and own:
        where = context.diagnostics.where(written.arguments[PROMPT].path)
        context.diagnostics.add(place, f"is also set at {where}.", "Remove one of them.")
    if chosen is None or PROMPT in written.arguments:
        return written
    model = parameters(plugin, written.path, context.diagnostics)
    if not own and context.without_prompt is not None and (lacking := _lacking(chosen, plugin)):
        for prompt in lacking:
            context.without_prompt.setdefault(prompt, []).append(plugin.name)
        return written
    if model is not None and PROMPT not in model.model_fields:
        context.diagnostics.add(place, _one_prompt(plugin.name), "Leave `prompt` out, or set `adapter`.")
        return written
    return replace(written, arguments={**written.arguments, PROMPT: Setting(chosen, place)})


def _lacking(chosen: Any, plugin: Plugin) -> list[str]:
    """Return the prompts that a scenario does not have."""
    known = plugin.details.named_prompts if isinstance(plugin.details, ScenarioDetails) else ()
    wanted = chosen if isinstance(chosen, list) else [chosen]
    return [prompt for prompt in map(str, wanted) if prompt not in known and not (prompt == "all" and known)]


def report_default_prompts(context: Context) -> None:
    """Report the scenarios that lack a prompt chosen by the sweep's defaults."""
    for prompt, scenarios in (context.without_prompt or {}).items():
        names = list(dict.fromkeys(scenarios))
        message = f"scenario {names[0]!r} has no prompt {prompt!r}."
        if len(names) > 1:
            message = f"{len(names)} scenarios have no prompt {prompt!r}: {', '.join(names)}."
        hint = f"Remove it from `defaults`, and set it in the runs that have it: {{scenario: …, prompt: {prompt}}}."
        context.diagnostics.add(("defaults", PROMPT), message, hint)


def _one_prompt(scenario: str) -> str:
    return f"chooses a prompt, but scenario {scenario!r} has only one."


def _reported_as_foreign(written: Written, plugin: Plugin, context: Context) -> bool:
    """Report arguments of another program's scenario of the same name, and return True if there are such."""
    entry = shorthand_of(written.name, {key: setting.value for key, setting in written.arguments.items()})
    try:
        here = "" if is_written_here(entry, plugin) else meant_here(entry, context.registry)
    except PluginError:  # it has parameters without types, which its use reports
        return False
    if here:
        context.diagnostics.add(written.path, "uses another harness's arguments.", here)
    return bool(here)


def _scenario_as_key(mapping: Mapping[str, Any], registry: Registry) -> str:
    """Return how ``{boolq: {…}}`` is written here; '' for any other mapping."""
    ((name, inner),) = mapping.items() if len(mapping) == 1 else ((None, None),)
    if name not in registry.names(Kind.SCENARIO) or not isinstance(inner, Mapping | None):
        return ""
    given = {
        KEYS.get(key, key): value if isinstance(value, str | int | float) else "…"
        for key, value in (inner or {}).items()
    }
    run = [f"{key}: {value}" for key, value in given.items() if key in RunKeys.model_fields]
    own = [f"{key}: {value}" for key, value in given.items() if key not in RunKeys.model_fields]
    scenario = f"{{{', '.join([f'name: {name}', *own])}}}" if own else name
    return f"Write {{{', '.join([f'scenario: {scenario}', *run])}}}."


def _scenario(written: Written, context: Context) -> Plugin | None:
    if written.name.endswith(".py"):
        hint = "Name the file with --plugin, or under `plugins` in a sweep, and here the scenario that it defines."
        context.diagnostics.add(written.name_path, "is a Python file, not a scenario's name.", hint)
        return None
    if not written.name.endswith((".yaml", ".yml")):
        return find_plugin(Kind.SCENARIO, written, context)
    from harness.data.scenario_file import load_scenario_file

    path = (context.base / written.name).resolve()
    if path not in context.scenario_files:
        context.scenario_files[path] = None
        if not path.is_file():
            context.diagnostics.add(written.name_path, f"scenario file {path} does not exist.")
            return None
        try:
            plugin = load_scenario_file(path)
        except SpecError as error:
            context.diagnostics.extend(error.diagnostics)
            return None
        context.registry.add(plugin)
        context.scenario_files[path] = plugin
    found = context.scenario_files[path]
    # By its name, so that one that is registered twice is refused.
    return found and find_plugin(Kind.SCENARIO, Written(found.name, {}, written.path, written.key), context)


def _sort_arguments(written: Written, plugin: Plugin | None, context: Context) -> tuple[Written, RunSettings]:
    """Separate a scenario's own arguments from HELM's run expanders, which a shorthand mixes."""
    model = parameters(plugin, written.path, context.diagnostics) if plugin else None
    own = set(model.model_fields) if model else set()
    texts: dict[str, str] = {}
    arguments: dict[str, Setting] = {}
    for key, setting in written.arguments.items():
        if key in own or not setting.text:
            arguments[key] = setting
        elif key in FOREIGN:
            message = f"{key!r} is one of HELM's run expanders and has no counterpart here."
            context.diagnostics.add(setting.path, message, "Write what it changes as settings of the adapter.")
        elif key == "model" and setting.value in MODEL_GROUPS:
            message = f"{setting.value!r} is one of HELM's groups of models, which do not exist here."
            context.diagnostics.add(setting.path, message, "Leave it out to use the sweep's models.")
        elif key in RUN_KEYS or key in ADAPTER_SETTINGS:
            texts[key] = setting.value
        elif plugin is None:
            arguments[key] = setting
        else:
            context.diagnostics.add(setting.path, *_not_in_shorthand(key, own, written, context))
    return Written(written.name, arguments, written.path, written.key), run_settings(texts)


def _not_in_shorthand(key: str, own: Set[str], written: Written, context: Context) -> tuple[str, str]:
    """Return what is wrong with a shorthand's key, and what would be right."""
    if key == PROMPT:
        return _one_prompt(written.name), "Leave `prompt` out, or set `adapter`."
    if ours := KEYS.get(key):
        if ours in {*own, *RUN_KEYS, *ADAPTER_SETTINGS}:
            return "is not a parameter.", f"Here it is called {ours!r}."
        key = ours
    settings = all_settings(context.registry)
    if key in settings:
        hint = f"Write {{scenario: {written.name}, adapter: {{{key}: …}}}}."
        return "is a setting of the adapter, which the shorthand cannot contain.", hint
    if key in RunKeys.model_fields:
        hint = f"Write {{scenario: {written.name}, {key}: …}}."
        return "is a key of the run, which the shorthand cannot contain.", hint
    held = {*own, *RUN_KEYS, *ADAPTER_SETTINGS}
    hint = did_you_mean(key, held.union(RunKeys.model_fields, settings))
    return "is not a parameter.", hint if hint.startswith("Did") else did_you_mean(key, held)


def _members(kind: Kind, keys: DefaultKeys, path: KeyPath, context: Context) -> Sequence[Component] | None:
    """Return the plugins that a run or the defaults name; None if they name none."""
    key = f"{kind}s"
    if key not in keys.model_fields_set:
        return None
    values = getattr(keys, key)
    if kind is Kind.METRIC and not values:
        context.diagnostics.add((*path, key), "is empty; a run needs at least one metric.")
    return resolve_members(kind, placed((*path, key), values), context)


def _models(keys: RunKeys, path: KeyPath, context: Context) -> Sequence[SweepModel]:
    own: list[SweepModel] = []
    if keys.model is not None and keys.models is not None:
        context.diagnostics.add((*path, "model"), "is also set as `models`.", "Remove one of them.")
    elif keys.model is not None:
        own = list(resolve_models([((*path, "model"), keys.model)], context))
    elif keys.models is not None:
        if not keys.models:
            context.diagnostics.add((*path, "models"), "is empty; a run needs a model.")
        own = list(resolve_models(placed((*path, "models"), keys.models), context))
    elif context.models is None and context.diagnostics.document is None:
        context.diagnostics.add(("--model",), "is required.", "For example: --model hf:openai-community/gpt2")
    elif context.models is None:
        message = "is required, since not every run names its own; models can also be named with --model."
        context.diagnostics.add(("models",), message, "For example: models: [hf:openai-community/gpt2]")
    if context.fixed_models or (keys.model is None and keys.models is None):
        return context.models or ()
    return own
