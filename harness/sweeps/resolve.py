"""From a component as it was written to components with every argument checked and written out."""

from __future__ import annotations

import collections.abc
import itertools
import json
import math
import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import BaseModel

from harness.contracts.plugins import Kind, MetricDetails, Plugin
from harness.contracts.specs import Component
from harness.errors import Diagnostic, HarnessError, KeyPath, PluginError, did_you_mean
from harness.inference.judge_pool import Judges
from harness.plugins.parameters import check_parameters, parameters_of
from harness.plugins.registry import Registry, nearest_name
from harness.sweeps.foreign_names import METHODS, scenario_hint
from harness.sweeps.keys import Diagnostics, Setting, Written, read_component, shown
from harness.sweeps.shorthand import Entry, parse_entry, parse_model, value_of
from harness.validation import allowed_values

MAX_RUNS = 50_000

Placed = Iterable[tuple[KeyPath, Any]]
"""Values as they were written, each with its place."""


@dataclass(frozen=True, slots=True)
class Model:
    """One model of a sweep."""

    component: Component
    """Its name, and the settings that can change its answers."""
    operational: dict[str, Any]
    """Its other settings."""
    backend: Plugin
    """Its backend."""
    path: KeyPath
    """Where it was written."""


def find_plugin(kind: Kind, written: Written, registry: Registry, diagnostics: Diagnostics) -> Plugin | None:
    """Return the plugin that is named; None, and an error noted, if there is none."""
    if written.name in registry.names(kind):
        try:
            return registry.get(kind, written.name)
        except PluginError as error:
            diagnostics.add(written.name_path, str(error))
            return None
    hint = _foreign_name(kind, written.name, registry) or nearest_name(kind, written.name, registry.names(kind))
    broken = [str(problem) for problem in registry.problems if written.name and written.name in str(problem)]
    if broken:
        hint = f"{hint} A plugin could not be loaded: {broken[0]}".strip()
    diagnostics.add(written.name_path, f"there is no {kind} named {shown(written.name)}{_by(written.origin)}.", hint)
    return None


def _foreign_name(kind: Kind, name: str, registry: Registry) -> str:
    """Return what another program's name of a task or a method is here; '' where it is none."""
    if kind is Kind.ADAPTER and METHODS.get(name) in registry.names(kind):
        return f"Here it is called {METHODS[name]!r}."
    if kind is not Kind.SCENARIO:
        return ""
    choices: dict[str, dict[str, tuple[str, ...]]] = {}
    for scenario in registry.names(kind):
        try:
            fields = parameters_of(registry.get(kind, scenario)).model_fields
        except PluginError:
            continue
        choices[scenario] = {key: allowed_values(field.annotation) for key, field in fields.items()}
    return scenario_hint(name, choices)


def parameters(plugin: Plugin, path: KeyPath, diagnostics: Diagnostics) -> type[BaseModel] | None:
    """Return the model of a plugin's parameters; None, and an error noted, if the plugin does not declare them."""
    try:
        return parameters_of(plugin)
    except PluginError as error:
        diagnostics.add(path, str(error))
        return None


def combinations(
    model: type[BaseModel],
    settings: Mapping[str, Setting],
    path: KeyPath,
    diagnostics: Diagnostics,
    *,
    fan_out: bool = True,
    all_choices: bool = False,
) -> Iterator[BaseModel]:
    """Yield checked arguments: one set, or one for each combination where lists stand for one value each.

    A list fans out where the parameter's type does not take a list. Every error is noted; what is wrong is not
    yielded.

    Args:
        model: The parameters.
        settings: What was written.
        path: Where the component stands.
        diagnostics: Takes errors.
        fan_out: Whether lists may stand for one value each.
        all_choices: Whether ``all`` means every choice of a parameter, unless ``all`` is one of its choices.
    """
    written = {key: _all_choices(model, key, setting) if all_choices else setting for key, setting in settings.items()}
    alternatives = {
        key: _alternatives(model, key, setting, diagnostics) if fan_out else [setting]
        for key, setting in written.items()
    }
    size = math.prod(map(len, alternatives.values()))
    if size > MAX_RUNS:
        diagnostics.add(path, f"fans out to {size:,} runs; at most {MAX_RUNS:,} are made.")
        return
    for chosen in itertools.product(*alternatives.values()):
        params = _checked(model, dict(zip(alternatives, chosen, strict=True)), path, diagnostics)
        if params is not None:
            yield params


def resolve_members(
    kind: Kind, values: Placed, registry: Registry, diagnostics: Diagnostics, *, origin: str = "", scenario: str = "…"
) -> list[Component]:
    """Return metrics or perturbations in order, sets resolved to their members, with every argument.

    The same member twice is one; the same with other arguments is an error.

    Args:
        kind: Which of the two.
        values: What is written, with its places.
        registry: Knows the plugins.
        diagnostics: Takes errors.
        origin: Who names them, if it is not the sweep.
        scenario: The run's scenario, for messages that write the run anew.
    """
    resolved: dict[str, Component] = {}
    for path, value in values:
        written = read_component(value, path, diagnostics, parse=shorthand, origin=origin)
        plugin = written and find_plugin(kind, written, registry, diagnostics)
        if not written or not plugin:
            continue
        lacking = _lacking(plugin, written) if origin else None
        if lacking:
            message, form = lacking
            others = ", ".join(form if other == value else str(other) for _, other in values)
            hint = f"Write {{scenario: {scenario}, {kind}s: [{others}]}}."
            diagnostics.add(written.path, f"{kind} {written.name!r}{_by(origin)} needs {message}.", hint)
            continue
        for component in _members(kind, written, plugin, registry, diagnostics):
            if resolved.setdefault(component.name, component) != component:
                message = f"stands twice with different arguments: {component.label} and"
                message += f" {resolved[component.name].label}; names are unique in a run."
                diagnostics.add(written.path, f"{kind} {message}")
    return list(resolved.values())


def _lacking(plugin: Plugin, written: Written) -> tuple[str, str] | None:
    """Return what a plugin needs and nobody gave, and the plugin with it as YAML; None if nothing lacks."""
    if plugin.target is None:
        return None
    try:
        fields = parameters_of(plugin).model_fields
    except PluginError:
        return None
    lacking = {name: field for name, field in fields.items() if field.is_required() and name not in written.arguments}
    given = [f"{name}: {setting.value}" for name, setting in written.arguments.items()]
    wanted = [f"{name}: {(allowed_values(field.annotation) or ('…',))[0]}" for name, field in lacking.items()]
    message = " and ".join(
        f"{name}, {field.description}" if field.description else name for name, field in lacking.items()
    )
    return (message, f"{{name: {written.name}, {', '.join([*given, *wanted])}}}") if lacking else None


def resolve_models(values: Placed, registry: Registry, diagnostics: Diagnostics) -> Iterator[Model]:
    """Yield the models, one for each combination where lists of parameters fan out."""
    seen: dict[str, KeyPath] = {}
    for path, value in values:
        written = read_component(value, path, diagnostics, parse=model_shorthand)
        backend = written and _backend(written, registry, diagnostics)
        model = parameters(backend, path, diagnostics) if backend else None
        if not written or not backend or not model:
            continue
        for params in combinations(model, written.arguments, path, diagnostics):
            # Only what was given: a backend's defaults are part of its fingerprint, not of the model's name.
            given = params.model_dump(mode="json", exclude_unset=True)
            known: frozenset[str] = getattr(backend.target, "operational", frozenset())
            operational = {key: value for key, value in given.items() if key in known}
            arguments = {key: value for key, value in given.items() if key not in known}
            component = Component(name=written.name, arguments=arguments)
            key = component.model_dump_json()
            if key not in seen:
                seen[key] = path
                yield Model(component, operational, backend, path)
            elif seen[key] != path:
                diagnostics.add(path, f"is the same model as {diagnostics.where(seen[key])}.", "Remove one of them.")
            else:
                diagnostics.add(path, f"gives one model several values of {' and '.join(operational)}.", "Choose one.")


def placed(path: KeyPath, values: Sequence[Any]) -> Placed:
    """Return a list's values with their places."""
    return [((*path, index), value) for index, value in enumerate(values)]


def shorthand(text: str) -> tuple[str, Mapping[str, str]]:
    """Split HELM's shorthand, for :func:`harness.sweeps.keys.read_component`."""
    entry: Entry = parse_entry(text)
    return entry.name, entry.arguments


def model_shorthand(text: str) -> tuple[str, Mapping[str, str]]:
    """Split a model's name and its settings, for :func:`harness.sweeps.keys.read_component`."""
    entry = parse_model(text)
    return entry.name, entry.arguments


def _members(
    kind: Kind, written: Written, plugin: Plugin, registry: Registry, diagnostics: Diagnostics
) -> Iterator[Component]:
    try:
        members = list(_expanded(kind, written, plugin, registry, diagnostics))
    except (PluginError, ValueError) as error:
        diagnostics.add(written.path, f"{kind} set {plugin.name!r}: {error}")
        return
    except RecursionError:
        diagnostics.add(written.path, f"{kind} set {plugin.name!r} contains itself.")
        return
    for member, arguments in members:
        model = parameters(member, written.path, diagnostics)
        for params in combinations(model, arguments, written.path, diagnostics, fan_out=False) if model else ():
            component = Component(name=member.name, arguments=params.model_dump(mode="json"))
            if isinstance(member.details, MetricDetails) and member.details.judges:
                _check_judge(component, written.path, registry, diagnostics)
            yield component


def _check_judge(metric: Component, path: KeyPath, registry: Registry, diagnostics: Diagnostics) -> None:
    """Report a judge that does not exist or is given wrong parameters; building one loads nothing."""
    try:
        Judges(registry)(metric.arguments.get("judge", ""))
    except HarnessError as error:
        diagnostics.add(path, str(error))


def _expanded(
    kind: Kind, written: Written, plugin: Plugin, registry: Registry, diagnostics: Diagnostics
) -> Iterator[tuple[Plugin, Mapping[str, Setting]]]:
    """Yield what a plugin stands for with its arguments: itself, or the members of a set all the way down.

    Raises:
        PluginError: There is no such member.
        ValueError: A member is not written as it should be.
        RecursionError: A set contains itself.
    """
    if plugin.target is not None:
        yield plugin, written.arguments
        return
    for key, setting in written.arguments.items():
        diagnostics.add(setting.path, f"{kind} set {plugin.name!r} takes no parameters, not {key!r}.")
    origin = f"{kind} set {plugin.name!r}"
    for member in plugin.members:
        name, arguments = shorthand(member)
        settings = {key: Setting(text, written.path, text=True, origin=origin) for key, text in arguments.items()}
        inner = Written(name, settings, written.path, origin=origin)
        yield from _expanded(kind, inner, registry.get(kind, name), registry, diagnostics)


def _backend(written: Written, registry: Registry, diagnostics: Diagnostics) -> Plugin | None:
    prefix, colon, identifier = written.name.partition(":")
    known = registry.names(Kind.BACKEND)
    if not colon:
        guess = "replay" if written.name.endswith(".jsonl") and "replay" in known else "hf"
        hint = f"Did you mean '{guess}:{written.name}'?" if guess in known else did_you_mean("", known)
        diagnostics.add(
            written.name_path, f"{shown(written.name)} names no backend; a model is backend:identifier.", hint
        )
    elif prefix not in known:
        hint = nearest_name(Kind.BACKEND, prefix, known)
        if hint.startswith("Did"):
            hint = hint.replace("'?", f":{identifier}'?", 1)
        diagnostics.add(written.name_path, f"there is no backend named {shown(prefix)}.", hint)
    elif not identifier:
        diagnostics.add(written.name_path, f"'{prefix}:' is followed by no identifier.")
    else:
        return find_plugin(Kind.BACKEND, Written(prefix, {}, written.path, written.key), registry, diagnostics)
    return None


def _all_choices(model: type[BaseModel], key: str, setting: Setting) -> Setting:
    field = model.model_fields.get(key)
    choices = typing.get_args(field.annotation) if field and typing.get_origin(field.annotation) is Literal else ()
    if not choices or setting.value != "all" or "all" in choices:
        return setting
    return replace(setting, value=list(choices), text=False)


def _alternatives(model: type[BaseModel], key: str, setting: Setting, diagnostics: Diagnostics) -> list[Setting]:
    field = model.model_fields.get(key)
    if not isinstance(setting.value, list) or field is None or takes_list(field.annotation):
        return [setting]
    if not setting.value:
        diagnostics.add(setting.path, "is an empty list, which stands for no run at all.")
    alternatives: dict[str, Setting] = {}
    for index, value in enumerate(setting.value):
        alternative = Setting(value, (*setting.path, index), setting.text, setting.origin)
        if alternatives.setdefault(json.dumps(value), alternative) is not alternative:
            diagnostics.add(alternative.path, f"stands twice in the list: {shown(value)}.")
    return list(alternatives.values())


def takes_list(annotation: Any) -> bool:
    """Whether a parameter of this type takes a list as its one value."""
    origin = typing.get_origin(annotation)
    if annotation is Any:
        return True
    if origin is typing.Annotated:
        return takes_list(typing.get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        return any(map(takes_list, typing.get_args(annotation)))
    kind = origin or annotation
    return (
        isinstance(kind, type)
        and issubclass(kind, collections.abc.Iterable)
        and not issubclass(kind, str | bytes | collections.abc.Mapping | BaseModel)
    )


def _checked(
    model: type[BaseModel], chosen: Mapping[str, Setting], path: KeyPath, diagnostics: Diagnostics
) -> BaseModel | None:
    values = {key: value_of(setting.value) if setting.text else setting.value for key, setting in chosen.items()}
    params, found = check_parameters(model, values)
    if found and any(setting.text for setting in chosen.values()):
        # '5' is a number, but where a name is asked for it is a name.
        wrong = {diagnostic.keys[0] for diagnostic in found if diagnostic.keys}
        texts = {key: setting.value for key, setting in chosen.items() if setting.text and key in wrong}
        again, _ = check_parameters(model, {**values, **texts})
        if again is not None:
            return again
    for diagnostic in found:
        _note(diagnostic, chosen, path, diagnostics)
    return params


def _note(diagnostic: Diagnostic, chosen: Mapping[str, Setting], path: KeyPath, diagnostics: Diagnostics) -> None:
    key = diagnostic.keys[0] if diagnostic.keys else ""
    setting = chosen.get(str(key))
    if setting is None:
        diagnostics.add((*path, *diagnostic.keys), diagnostic.message, diagnostic.hint)
    elif setting.origin:
        diagnostics.add(
            setting.path, f"{key} {diagnostic.message.removeprefix(str(key))}{_by(setting.origin)}", diagnostic.hint
        )
    else:
        diagnostics.add((*setting.path, *diagnostic.keys[1:]), diagnostic.message, diagnostic.hint)


def _by(origin: str) -> str:
    return f" (so says {origin})" if origin else ""
