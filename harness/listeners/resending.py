"""The command that sends what a listener has not got, as a user can paste it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.contracts.plugins import Plugin
from harness.contracts.specs import Component
from harness.plugins.parameters import parameters_of
from harness.runs.settings import results_folder


def track_command(
    component: Component,
    plugin: Plugin,
    results_dir: Path,
    *,
    suites: Sequence[str] = (),
    plugins: Sequence[Path] = (),
    again: bool = False,
) -> str:
    """Return the ``harness track`` command for a listener.

    Args:
        component: The listener and its settings; those with their default values are left out.
        plugin: Its plugin.
        results_dir: The results folder.
        suites: The suites to send; empty for all.
        plugins: Plugin files and folders that were loaded; of these, the one that defines the listener is named.
        again: True to send runs that were sent before, too.
    """
    words = ["harness", "track", *suites]
    file = plugin_file(plugin)
    for path in plugins:
        if file is not None and file.is_relative_to(path.resolve()):
            words += ["--plugin", str(_short(path))]
            break
    words += ["--listener", _written(component, plugin)]
    if results_dir != results_folder():
        words += ["--results-dir", str(results_dir)]
    return shlex.join([*words, "--again"] if again else words)


def plugin_file(plugin: Plugin) -> Path | None:
    """Return the file that defines a plugin; None if it has none, as in a notebook."""
    module = sys.modules.get(getattr(plugin.target, "__module__", ""))
    file = getattr(module, "__file__", None)
    return Path(file) if file else None


def _short(path: Path) -> Path:
    """Return a path relative to the current folder if it is in it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _written(component: Component, plugin: Plugin) -> str:
    fields = parameters_of(plugin).model_fields
    defaults = {
        name: field.get_default(call_default_factory=True) for name, field in fields.items() if not field.is_required()
    }
    changed = {
        name: value for name, value in component.arguments.items() if name not in defaults or defaults[name] != value
    }
    flat = Component(name=component.name, arguments=changed).flat
    settings = ",".join(f"{key}={value}" for key, value in flat.items() if value is not None)
    return f"{component.name}:{settings}" if settings else component.name
