"""The plugins that a program can use: the installed ones, its own, and those that it names."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.contracts.plugins import Plugin
from harness.errors import HarnessError, PluginError, shown
from harness.plugins.decorators import ATTRIBUTE
from harness.plugins.registry import Registry, default_registry


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
