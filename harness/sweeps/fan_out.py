"""Arguments checked against a plugin's parameters; lists and ``all`` make one set of arguments for each value."""

from __future__ import annotations

import collections.abc
import itertools
import json
import math
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel

from harness.contracts.plugins import Plugin
from harness.errors import Diagnostic, KeyPath, PluginError, shown
from harness.plugins.parameters import check_parameters, parameters_of
from harness.sweeps.diagnostics import Diagnostics
from harness.sweeps.shorthand import value_of
from harness.sweeps.written import Setting, by

MAX_RUNS = 250_000


def parameters(plugin: Plugin, path: KeyPath, diagnostics: Diagnostics) -> type[BaseModel] | None:
    """Return the model of a plugin's parameters; report an error and return None if they have no types."""
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
    """Yield checked arguments: one set, or one for each combination of the values of lists.

    A list fans out where the parameter's type does not take a list. Every error is reported; wrong sets are
    not yielded.

    Args:
        model: The parameters.
        settings: What was written.
        path: Where the component is.
        diagnostics: Takes errors.
        fan_out: True if lists give one set for each value.
        all_choices: True if ``all`` means every choice of a parameter, unless ``all`` is one of its choices.
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
        params = _checked(model, dict(zip(alternatives, chosen, strict=True)), path, diagnostics, all_choices)
        if params is not None:
            yield params


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
        diagnostics.add(setting.path, "is an empty list, so there would be no run.")
    alternatives: dict[str, Setting] = {}
    for index, value in enumerate(setting.value):
        alternative = Setting(value, (*setting.path, index), setting.text, setting.origin)
        if alternatives.setdefault(json.dumps(value), alternative) is not alternative:
            diagnostics.add(alternative.path, f"is listed twice: {shown(value)}.")
    return list(alternatives.values())


def takes_list(annotation: Any) -> bool:
    """Return True if a parameter of this type takes a list as one value."""
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
    model: type[BaseModel], chosen: Mapping[str, Setting], path: KeyPath, diagnostics: Diagnostics, all_choices: bool
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
        if all_choices and diagnostic.hint.startswith("One of: "):
            diagnostic = replace(diagnostic, hint=f"Write all, or one of: {diagnostic.hint.removeprefix('One of: ')}")
        _note(diagnostic, chosen, path, diagnostics)
    return params


def _note(diagnostic: Diagnostic, chosen: Mapping[str, Setting], path: KeyPath, diagnostics: Diagnostics) -> None:
    key = diagnostic.keys[0] if diagnostic.keys else ""
    setting = chosen.get(str(key))
    if setting is None:
        diagnostics.add((*path, *diagnostic.keys), diagnostic.message, diagnostic.hint)
    elif setting.origin:
        diagnostics.add(
            setting.path, f"{key} {diagnostic.message.removeprefix(str(key))}{by(setting.origin)}", diagnostic.hint
        )
    else:
        diagnostics.add((*setting.path, *diagnostic.keys[1:]), diagnostic.message, diagnostic.hint)
