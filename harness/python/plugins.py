"""The plugins that a program can use: the installed ones, its own, and those that it names."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.contracts.plugins import Kind, Plugin
from harness.contracts.specs import RunSpec
from harness.errors import HarnessError, PluginError, shown
from harness.plugins.cell_source import unnoticed
from harness.plugins.decorators import ATTRIBUTE
from harness.plugins.registry import Registry, default_registry
from harness.runs.provenance import plugin_files


def registry_with(plugins: Sequence[Any] = ()) -> Registry:
    """Return a registry with the installed plugins, those that the running program or notebook defines, and others.

    Args:
        plugins: Files, folders, decorated objects, or modules that have some.

    Raises:
        PluginError: One of them is not a plugin, or not in the form of its kind.
    """
    registry = default_registry()
    main = sys.modules.get("__main__")
    for given in (*([main] if main is not None else []), *plugins):
        if isinstance(given, ModuleType):
            registry.load_module(given)
        elif isinstance(given, str | os.PathLike):
            registry.load_path(Path(given))
        elif isinstance(plugin := getattr(given, ATTRIBUTE, None), Plugin):
            _add(plugin, registry)
        else:
            raise PluginError(
                f"{shown(given)} is not a plugin: name a file or a folder, or decorate it, for example with "
                "@harness.metric."
            )
    return registry


def _add(plugin: Plugin, registry: Registry) -> None:
    try:
        registry.add(plugin)
    except PluginError as error:
        raise PluginError(f"{plugin.kind} {plugin.name!r} ({plugin.origin}): {error}") from None


def check_names(registry: Registry) -> None:
    """Refuse plugins of the program whose names others have: what such a name means would be a guess.

    Raises:
        PluginError: There are some.
    """
    if twice := [str(problem) for problem in registry.problems if problem.taken]:
        raise PluginError("\n".join(twice))


def unnoticed_changes(runs: Iterable[RunSpec], registry: Registry) -> Iterator[str]:
    """Yield a sentence for each plugin without a file that uses values of which no digest can be made."""
    used: dict[tuple[Kind, str], None] = {}
    for spec in runs:
        used |= {(Kind.SCENARIO, spec.scenario.name): None, (Kind.ADAPTER, spec.adapter.name): None}
        used |= {(Kind.PERTURBATION, part.name): None for part in spec.perturbations}
        used |= {(Kind.METRIC, part.name): None for part in spec.configured_metrics}
    for kind, name in used:
        plugin = registry.find(kind, name)
        if plugin is None or plugin.target is None or plugin_files(plugin):
            continue
        if names := unnoticed(plugin.target):
            yield (
                f"{kind} {name!r} uses {', '.join(names)}. Changes of such values are not noticed: if you change one, "
                "repeat finished runs with force=True."
            )


def objects_of(plugins: Sequence[Any]) -> list[Any]:
    """Return the plugins that are not files or folders."""
    return [given for given in plugins if not isinstance(given, str | os.PathLike)]


def files_of(plugins: Sequence[Any]) -> list[Path]:
    """Return the files and folders among plugins."""
    return [Path(given) for given in plugins if isinstance(given, str | os.PathLike)]


def listed(given: Any, name: str) -> list[Any]:
    """Return an argument that must be a list as one.

    Raises:
        HarnessError: It is something else, such as a text, which Python would read letter by letter.
    """
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence):
        raise HarnessError(f"{name} must be a list, not {shown(given)}. Write {name}=[…].")
    return list(given)
