"""Check that a plugin has the form of its kind: its class, its signature, its category."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Mapping
from random import Random

from harness.contracts import Adapter, BatchMetric, Example, ExampleMetric, Instance, Model, RunMetric
from harness.contracts.aliases import read_alias
from harness.contracts.data import Data
from harness.contracts.listeners import Listener
from harness.contracts.plugins import CATEGORIES, TAG, Kind, MetricDetails, Plugin, ScenarioDetails
from harness.errors import PluginError, did_you_mean

_CALLED_WITH: Mapping[Kind, tuple[tuple[str, type], ...]] = {
    Kind.SCENARIO: (("data", Data),),
    Kind.METRIC: (("example", Example),),
    Kind.PERTURBATION: (("instance", Instance), ("rng", Random)),
}
"""The arguments that functions of a kind are called with; their parameters come after a ``*``."""

_SUBCLASS_OF: Mapping[Kind, tuple[type, ...]] = {
    Kind.ADAPTER: (Adapter,),
    Kind.BACKEND: (Model,),
    Kind.METRIC: (RunMetric, ExampleMetric, BatchMetric),
    Kind.LISTENER: (Listener,),
}


def check_form(plugin: Plugin) -> None:
    """Refuse a plugin that could not be called as its kind is.

    Raises:
        PluginError: Its class, its signature or its category is wrong.
    """
    target, bases = plugin.target, _SUBCLASS_OF.get(plugin.kind, ())
    if isinstance(plugin.details, MetricDetails) and plugin.details.category not in CATEGORIES:
        hint = did_you_mean(plugin.details.category, CATEGORIES)
        raise PluginError(f"{plugin.details.category!r} is not a category of metrics. {hint}")
    if isinstance(plugin.details, ScenarioDetails):
        for tag in plugin.details.tags:
            if not TAG.fullmatch(tag):
                raise PluginError(f"{tag!r} is not a tag: write lower-case words with hyphens, such as 'long-context'.")
        for program, names in plugin.details.aliases.items():
            for pattern, means in names.items():
                try:
                    read_alias(program, pattern, means)
                except ValueError as error:
                    raise PluginError(f"aliases: {error}.") from None
    if inspect.isclass(target) and bases and not issubclass(target, bases):
        parents = " or ".join(f"harness.{base.__name__}" for base in bases)
        raise PluginError(f"the class must be a subclass of {parents}.")
    expected = _CALLED_WITH.get(plugin.kind)
    if expected is None or not inspect.isfunction(target):
        return
    arguments = ", ".join(f"{name}: {kind.__name__}" for name, kind in expected)
    form = f"a {plugin.kind} is called with ({arguments}); its own parameters come after a *"
    positional = [
        parameter
        for parameter in inspect.signature(target).parameters.values()
        if parameter.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    ]
    if len(positional) != len(expected):
        raise PluginError(f"{form}; this one takes {len(positional)} positional parameters.")
    try:
        hints = typing.get_type_hints(target)
    except (NameError, TypeError):
        return
    for parameter, (_, kind) in zip(positional, expected, strict=True):
        hint = hints.get(parameter.name, kind)
        if inspect.isclass(hint) and not issubclass(kind, hint):
            raise PluginError(f"{form}; this one takes {parameter.name}: {hint.__name__}.")
