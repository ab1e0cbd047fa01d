"""Translates other programs' task names into ours: each scenario declares its names elsewhere."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from harness.contracts.aliases import Alias, read_alias
from harness.contracts.plugins import Kind, Plugin, ScenarioDetails
from harness.errors import PluginError
from harness.plugins.parameters import check_parameters, parameters_of
from harness.plugins.registry import Registry
from harness.sweeps.shorthand import ADAPTER_SETTINGS, MODEL_GROUPS, RUN_KEYS, Entry, value_of

_OR = "|"
"""Between several values of a parameter."""

_PROMPT = "prompt"
"""The parameter that chooses among a scenario's prompts, which may imitate other programs."""


def called_here(entry: Entry, registry: Registry) -> str:
    """Return what to write here for a task or a run entry of another program; '' if no scenario knows it.

    >>> called_here(parse_entry("mmlu_anatomy"), registry)
    'mmlu:subject=anatomy'
    """
    return _here(entry, registry)[0]


def meant_here(entry: Entry, registry: Registry) -> str:
    """Return ``called_here`` in a sentence, which also says if no prompt here equals that task's; '' if unknown."""
    here, alias = _here(entry, registry)
    if not here or alias is None:
        return ""
    differs = " It is asked differently here: no prompt equals that task's." if alias.means.get(_PROMPT) == "" else ""
    if here.startswith("{"):  # several values, which a shorthand cannot have
        return f"In a sweep file, write this under `runs`: {here}.{differs}"
    return f"Did you mean {here!r}?{differs}"


def _here(entry: Entry, registry: Registry) -> tuple[str, Alias | None]:
    found = [
        (alias.literal, plugin, alias, arguments)
        for plugin in registry.all(Kind.SCENARIO)
        for alias in aliases_of(plugin)
        if (arguments := _arguments(alias, plugin, entry)) is not None
    ]
    if not found:
        return "", None
    _, plugin, alias, arguments = max(found, key=lambda one: one[0])
    kept = {key: value for key, value in _further(alias, plugin, entry).items() if key not in arguments}
    return _written(plugin.name, {**arguments, **kept}), alias


def _written(name: str, arguments: Mapping[str, str]) -> str:
    """Return a scenario with its arguments as a shorthand, or, with lists, as a mapping of a sweep."""
    texts = [f"{key}={value}" for key, value in arguments.items()]
    if not any(_OR in value for value in arguments.values()):
        return f"{name}:{','.join(texts)}" if texts else name
    own = {key: value for key, value in arguments.items() if key not in RUN_KEYS and key not in ADAPTER_SETTINGS}
    values = {key: f"[{value.replace(_OR, ', ')}]" if _OR in value else value for key, value in own.items()}
    scenario = ", ".join([f"name: {name}", *(f"{key}: {value}" for key, value in values.items())])
    run = [f"{RUN_KEYS.get(key, key)}: {value}" for key, value in arguments.items() if key not in own]
    return f"{{{', '.join([f'scenario: {{{scenario}}}', *run])}}}"


def is_written_here(entry: Entry, plugin: Plugin) -> bool:
    """Return True if a scenario, or any run, has every argument of an entry, and every value is possible.

    An entry with arguments must also have those that the scenario requires.
    """
    fields = parameters_of(plugin).model_fields
    if entry.arguments and any(field.is_required() and key not in entry.arguments for key, field in fields.items()):
        return False
    for key, value in entry.arguments.items():
        if key in fields:
            choices = _choices(fields[key].annotation)
            if choices and value != "all" and value not in map(str, choices):
                return False
        elif key not in RUN_KEYS and key not in ADAPTER_SETTINGS:
            return False
    return True


def aliases_of(plugin: Plugin) -> Iterator[Alias]:
    """Yield the names that other programs have for a scenario."""
    if isinstance(plugin.details, ScenarioDetails):
        for program, names in plugin.details.aliases.items():
            for pattern, means in names.items():
                yield read_alias(program, pattern, means)


def _arguments(alias: Alias, plugin: Plugin, entry: Entry) -> dict[str, str] | None:
    """Return a scenario's arguments for an entry; None if it is not what the alias means."""
    captured = alias.values(entry.name, entry.arguments)
    if captured is None:
        return None
    try:
        model = parameters_of(plugin)
    except PluginError:
        return None
    arguments: dict[str, str] = {}
    for key, text in {**alias.means, **captured}.items():
        values = [_possible(model, key, each) for each in text.split(_OR)]
        if None in values and (key, text) != (_PROMPT, ""):
            return None
        arguments[key] = _OR.join(filter(None, values))
    asks = model.model_fields.get(_PROMPT)
    if asks is not None and alias.program in _choices(asks.annotation) and asks.default != alias.program:
        arguments.setdefault(_PROMPT, alias.program)
    for key, field in model.model_fields.items():
        if field.is_required() and key not in arguments and key not in entry.arguments and _choices(field.annotation):
            arguments[key] = "all"
    return {key: value for key, value in arguments.items() if value}


def _further(alias: Alias, plugin: Plugin, entry: Entry) -> dict[str, str]:
    """Return the arguments of an entry that also have a meaning here; the others, such as ``device``, are left out."""
    model = parameters_of(plugin)
    kept: dict[str, str] = {}
    for key, text in entry.arguments.items():
        if key in model.model_fields:
            value = _possible(model, key, text)
            if value is not None and key not in alias.given:
                kept[key] = value
        elif key in ADAPTER_SETTINGS or (key in RUN_KEYS and (key != "model" or _names_model(text))):
            kept[key] = text
    return kept


def _names_model(text: str) -> bool:
    """Return True for ``backend:identifier``; other programs name models and groups of models otherwise."""
    return text not in MODEL_GROUPS and ":" in text


def _possible(model: type[BaseModel], key: str, text: str) -> str | None:
    """Return a parameter's value as it is spelled here; None if there is no such parameter, run key or value."""
    if key in RUN_KEYS or key in ADAPTER_SETTINGS:
        return text
    field = model.model_fields.get(key)
    if field is None:
        return None
    choices = _choices(field.annotation)
    if choices and text != "all":
        return next((str(choice) for choice in choices if _folded(str(choice)) == _folded(text)), None)
    _, wrong = check_parameters(model, {key: value_of(text)})
    _, also = check_parameters(model, {key: text})
    either = [found for found in (wrong, also) if not any(one.keys[:1] == (key,) for one in found)]
    return text if choices or either else None


def _choices(annotation: Any) -> tuple[Any, ...]:
    return typing.get_args(annotation) if typing.get_origin(annotation) is typing.Literal else ()


def _folded(text: str) -> str:
    return "_".join(re.findall("[a-z0-9]+", text.lower().replace("&", "and")))


def shorthand_of(name: str, arguments: Mapping[str, Any]) -> Entry:
    """Return a scenario and its arguments as if they had been written as a shorthand; lists are left out."""
    scalars = {key: str(value) for key, value in arguments.items() if isinstance(value, str | int | float)}
    return Entry(name, scalars)
