"""Scenarios, methods, metrics, perturbations and models: the names in a sweep looked up, with every argument."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_origin

from pydantic import BaseModel

from harness.contracts.model_settings import OPERATIONAL, ModelSettings
from harness.contracts.plugins import Kind, MetricDetails, Plugin
from harness.contracts.specs import Component
from harness.errors import HarnessError, KeyPath, PluginError, did_you_mean, shown
from harness.inference.judge_pool import Judges
from harness.inference.model_pool import has_settings
from harness.plugins.parameters import build, entry_of, field_docs, honoured, parameters_of
from harness.plugins.registry import Registry, nearest_name
from harness.sweeps.aliases import meant_here, shorthand_of
from harness.sweeps.context import Context, SweepModel
from harness.sweeps.fan_out import combinations, parameters
from harness.sweeps.foreign_names import METHODS, METRICS, MODEL_KEYS
from harness.sweeps.model_facts import with_facts
from harness.sweeps.shorthand import parse_entry, parse_model
from harness.sweeps.written import Setting, Written, by, nested, read_component
from harness.validation import allowed_values

_OWN = ModelSettings.model_fields.keys()
"""Keys of a model's entry that are not its backend's."""

PERMISSION = "allow_"
"""The beginning of the names of parameters by which a user permits something, such as ``allow_code_execution``."""

Placed = Iterable[tuple[KeyPath, Any]]
"""Values as they were written, each with its place."""


def find_plugin(kind: Kind, written: Written, context: Context) -> Plugin | None:
    """Return the named plugin; report an error and return None if it does not exist or is broken."""
    if written.name in context.registry.names(kind):
        try:
            return context.registry.get(kind, written.name)
        except PluginError as error:
            context.diagnostics.add(written.name_path, str(error))
            return None
    known = context.registry.names(kind)
    hint = _foreign_name(kind, written, context.registry)
    if not hint:
        hint = nearest_name(kind, written.name, known)
        hint = _with_required(hint, written, context.registry) if kind is Kind.SCENARIO else hint
    broken = [str(problem) for problem in context.registry.problems if written.name and written.name in str(problem)]
    if broken:
        hint = f"{hint} A plugin could not be loaded: {broken[0]}".strip()
    context.diagnostics.add(
        written.name_path, f"there is no {kind} named {shown(written.name)}{by(written.origin)}.", hint
    )
    return None


def _with_required(hint: str, written: Written, registry: Registry) -> str:
    """Return a hint that suggests a scenario with ``all`` for the parameters that it requires."""
    found = re.match(r"Did you mean '(.+?)'\?", hint)
    plugin = registry.find(Kind.SCENARIO, found[1]) if found else None
    if found is None or plugin is None:
        return hint
    try:
        fields = parameters_of(plugin).model_fields
    except PluginError:  # it has parameters without types, which its use reports
        return hint
    asked = [
        f"{key}=all"
        for key, field in fields.items()
        if field.is_required() and key not in written.arguments and get_origin(field.annotation) is Literal
    ]
    return hint.replace(found[1], f"{found[1]}:{','.join(asked)}", 1) if asked else hint


def _foreign_name(kind: Kind, written: Written, registry: Registry) -> str:
    """Return what a task, method or metric of another program is called here; '' if that is not known."""
    name = written.name
    ours = {Kind.ADAPTER: METHODS, Kind.METRIC: METRICS}.get(kind, {}).get(name)
    if ours in registry.names(kind):
        return f"Here it is called {ours!r}."
    if kind is not Kind.SCENARIO:
        return ""
    return meant_here(shorthand_of(name, {key: setting.value for key, setting in written.arguments.items()}), registry)


def resolve_members(
    kind: Kind, values: Placed, context: Context, *, origin: str = "", scenario: str = "…"
) -> list[Component]:
    """Return metrics or perturbations in order, sets resolved to their members, with every argument.

    The same member twice is one; the same with other arguments is an error.
    """
    resolved: dict[str, Component] = {}
    for path, value in values:
        written = read_component(value, path, context.diagnostics, parse=parse_entry, origin=origin)
        plugin = written and find_plugin(kind, written, context)
        if not written or not plugin:
            continue
        written = _permitted(plugin, written, context)
        lacking = _lacking(plugin, written) if origin else None
        if lacking:
            message, form = lacking
            others = ", ".join(form if other == value else str(other) for _, other in values)
            hint = f"Write {{scenario: {scenario}, {kind}s: [{others}]}}{_or_allow(plugin, written)}."
            context.diagnostics.add(written.path, f"{kind} {written.name!r}{by(origin)} needs {message}.", hint)
            continue
        for component in _members(kind, written, plugin, context):
            if resolved.setdefault(component.name, component) != component:
                message = f"is listed twice with different arguments: {component.label} and"
                message += f" {resolved[component.name].label}. A run can have each {kind} once."
                context.diagnostics.add(written.path, f"{kind} {message}")
    return list(resolved.values())


def _permissions(plugin: Plugin, written: Written) -> Iterator[str]:
    """Yield the parameters of a plugin that are permissions and were not given."""
    if plugin.target is not None:
        with suppress(PluginError):
            for name, field in parameters_of(plugin).model_fields.items():
                if name.startswith(PERMISSION) and field.is_required() and name not in written.arguments:
                    yield name


def _permitted(plugin: Plugin, written: Written, context: Context) -> Written:
    """Return a metric with the permissions that the command line gives."""
    given = dict(written.arguments)
    for parameter in _permissions(plugin, written):
        name = parameter.removeprefix(PERMISSION)
        context.permissions.setdefault(name, []).append(written.path)
        if context.permitted is None or name in context.permitted:
            given[parameter] = Setting(True, written.path)
    return replace(written, arguments=given)


def _or_allow(plugin: Plugin, written: Written) -> str:
    """Return the end of a hint for a plugin that lacks a permission."""
    names = [f"--allow {name.removeprefix(PERMISSION)}" for name in _permissions(plugin, written)]
    return f", or run the sweep with {' '.join(names)}" if names else ""


def _lacking(plugin: Plugin, written: Written) -> tuple[str, str] | None:
    """Return the required parameters that were not given, and the plugin with them as YAML; None if none is missing."""
    if plugin.target is None:
        return None
    try:
        model = parameters_of(plugin)
    except PluginError:
        return None
    fields = model.model_fields
    lacking = {name: field for name, field in fields.items() if field.is_required() and name not in written.arguments}
    if not lacking:
        return None
    docs = field_docs(model)
    given = [f"{name}: {setting.value}" for name, setting in written.arguments.items()]
    wanted = [f"{name}: {(allowed_values(field.annotation) or ('…',))[0]}" for name, field in lacking.items()]
    message = " and ".join(f"{name}, {docs[name]}" if name in docs else name for name in lacking)
    return message, f"{{name: {written.name}, {', '.join([*given, *wanted])}}}"


def resolve_models(values: Placed, context: Context) -> Iterator[SweepModel]:
    """Yield the models, one for each combination where lists of parameters fan out."""
    seen: dict[str, KeyPath] = {}
    steps: dict[tuple[str, int], Component] = {}
    for path, value in values:
        written = read_component(value, path, context.diagnostics, parse=parse_model)
        backend = written and _backend(written, context)
        entry = _entry(backend, path, context) if backend else None
        if not written or not backend or not entry:
            continue
        settings = nested(written.arguments)
        for key in [key for key in settings if key in MODEL_KEYS and key not in entry.model_fields]:
            context.diagnostics.add(settings.pop(key).path, "is not a parameter.", MODEL_KEYS[key])
        _report_unhonoured(settings, backend, context)
        for params in combinations(entry, settings, path, context.diagnostics):
            # Only what was given: a backend's defaults are part of its fingerprint, not of the model's name.
            given = params.model_dump(mode="json", exclude_unset=True)
            given = {key: value for key, value in given.items() if key not in _OWN or value is not None}
            _report_effort(given, settings, backend, context)
            known = frozenset(getattr(backend.target, "operational", ())) | OPERATIONAL
            operational = {key: value for key, value in given.items() if key in known}
            arguments = {key: value for key, value in given.items() if key not in known}
            name = _model_name(written.name)
            operational = with_facts(context.model_facts, name, operational)
            component = Component(name=name, arguments=arguments)
            key = component.model_dump_json()
            if key not in seen:
                seen[key] = path
                _report_shared_step(component, operational, steps, path, context)
                yield SweepModel(component, operational, backend, path)
            elif seen[key] != path:
                context.diagnostics.add(
                    path, f"is the same model as {context.diagnostics.where(seen[key])}.", "Remove one of them."
                )
            else:
                context.diagnostics.add(
                    path, f"gives one model several values of {' and '.join(operational)}.", "Choose one."
                )


def _report_shared_step(
    model: Component,
    operational: Mapping[str, Any],
    steps: dict[tuple[str, int], Component],
    path: KeyPath,
    context: Context,
) -> None:
    """Report a model that is declared as the same step of a training as another, which curves could not tell apart."""
    about = operational.get("about") or {}
    series, step = about.get("series"), about.get("step")
    if series is None or step is None:
        return
    other = steps.setdefault((series, step), model)
    if other is not model:
        message = f"{model.label} is declared as step {step} of series {series!r}, and so is {other.label}."
        context.diagnostics.add((*path, "about"), message, "Give each its own step, or another series.")


def _entry(backend: Plugin, path: KeyPath, context: Context) -> type[BaseModel] | None:
    try:
        return entry_of(backend)
    except PluginError as error:
        context.diagnostics.add(path, str(error))
        return None


def _report_unhonoured(settings: Mapping[str, Setting], backend: Plugin, context: Context) -> None:
    """Report settings of a model that its backend cannot apply, and name backends that can."""
    for key, setting in settings.items():
        if key in _OWN and key not in honoured(backend) and setting.value is not None:
            able = [other.name for other in context.registry.all(Kind.BACKEND) if key in honoured(other)]
            hint = f"These can: {', '.join(f'{name}:…' for name in able)}." if able else ""
            context.diagnostics.add(setting.path, f"cannot be applied by backend {backend.name!r}.", hint)


def _report_effort(
    given: Mapping[str, Any], settings: Mapping[str, Setting], backend: Plugin, context: Context
) -> None:
    """Report an effort of reasoning that the backend cannot ask for."""
    effort = (given.get("reasoning") or {}).get("effort")
    if effort is not None and "reasoning" in honoured(backend) and "reasoning.effort" not in honoured(backend):
        hint = ""
        if "chat_template_kwargs" in entry_of(backend).model_fields:
            written = f"chat_template_kwargs: {{reasoning_effort: {effort}}}"
            hint = f"If the model's chat template has a variable for it, write {written}."
        path = (*settings["reasoning"].path, "effort")
        context.diagnostics.add(path, f"cannot be applied by backend {backend.name!r}.", hint)


def _model_name(name: str) -> str:
    """Return a model's name, a local path in its shortest form: ``./x`` and ``x/`` are ``x``."""
    prefix, _, identifier = name.partition(":")
    try:
        path = Path(os.path.expanduser(identifier))
        short = os.path.normpath(identifier)
        same = path.exists() and Path(os.path.expanduser(short)).samefile(path)
    except (OSError, ValueError, RuntimeError):  # it cannot be a path
        return name
    return f"{prefix}:{short}" if same else name


def placed(path: KeyPath, values: Sequence[Any]) -> Placed:
    """Return a list's values with their places."""
    return [((*path, index), value) for index, value in enumerate(values)]


def _members(kind: Kind, written: Written, plugin: Plugin, context: Context) -> Iterator[Component]:
    try:
        members = list(_expanded(kind, written, plugin, context))
    except (PluginError, ValueError) as error:
        context.diagnostics.add(written.path, f"{kind} set {plugin.name!r}: {error}")
        return
    except RecursionError:
        context.diagnostics.add(written.path, f"{kind} set {plugin.name!r} contains itself.")
        return
    for member, arguments in members:
        model = parameters(member, written.path, context.diagnostics)
        for params in combinations(model, arguments, written.path, context.diagnostics, fan_out=False) if model else ():
            component = Component(name=member.name, arguments=params.model_dump(mode="json"))
            if isinstance(member.details, MetricDetails):
                _check_asking(component, member, member.details, written.path, context)
            yield component


def _check_asking(metric: Component, plugin: Plugin, details: MetricDetails, path: KeyPath, context: Context) -> None:
    """Report a judge or model that does not exist or is given wrong parameters; building one loads nothing."""
    try:
        if details.judges:
            Judges(context.registry)(metric.arguments.get("judge", ""))
        if details.models:
            build(plugin, Judges(context.registry).models, arguments=metric.arguments)
    except HarnessError as error:
        context.diagnostics.add(path, str(error))


def _expanded(
    kind: Kind, written: Written, plugin: Plugin, context: Context
) -> Iterator[tuple[Plugin, Mapping[str, Setting]]]:
    """Yield a plugin with its arguments or, for a set, its members, expanded all the way down.

    Raises:
        PluginError: A member does not exist.
        ValueError: A member is not written as it should be.
        RecursionError: A set contains itself.
    """
    if plugin.target is not None:
        yield plugin, written.arguments
        return
    for key, setting in written.arguments.items():
        context.diagnostics.add(setting.path, f"{kind} set {plugin.name!r} takes no parameters, not {key!r}.")
    origin = f"{kind} set {plugin.name!r}"
    for member in plugin.members:
        entry = parse_entry(member)
        settings = {key: Setting(text, written.path, text=True, origin=origin) for key, text in entry.arguments.items()}
        inner = Written(entry.name, settings, written.path, origin=origin)
        yield from _expanded(kind, inner, context.registry.get(kind, entry.name), context)


def _backend(written: Written, context: Context) -> Plugin | None:
    prefix, colon, identifier = written.name.partition(":")
    known = context.registry.names(Kind.BACKEND)
    if not colon:
        guess = "replay" if written.name.endswith(".jsonl") and "replay" in known else "hf"
        hint = f"Did you mean '{guess}:{written.name}'?" if guess in known else did_you_mean("", known)
        context.diagnostics.add(
            written.name_path,
            f"{shown(written.name)} does not name a backend; write a model as backend:identifier.",
            hint,
        )
    elif prefix not in known:
        hint = nearest_name(Kind.BACKEND, prefix, known)
        if hint.startswith("Did"):
            hint = hint.replace("'?", f":{identifier}'?", 1)
        context.diagnostics.add(written.name_path, f"there is no backend named {shown(prefix)}.", hint)
    elif not identifier:
        context.diagnostics.add(written.name_path, f"'{prefix}:' has no identifier after it.")
    elif has_settings(written.name):
        context.diagnostics.add(
            written.name_path,
            f"{shown(written.name)} is a name that looks as if it had settings.",
            "Write them in a sweep: {name: …, key: value}; on the command line, values have no commas.",
        )
    else:
        return find_plugin(Kind.BACKEND, Written(prefix, {}, written.path, written.key), context)
    return None
