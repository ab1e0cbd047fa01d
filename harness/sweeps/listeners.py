"""The listeners of a sweep: those of its key ``listeners``, and those of the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.contracts.plugins import Kind
from harness.contracts.specs import Component
from harness.errors import KeyPath
from harness.plugins.parameters import parameters_of
from harness.plugins.registry import Registry
from harness.sweeps.components import find_plugin
from harness.sweeps.context import Context
from harness.sweeps.diagnostics import Diagnostics
from harness.sweeps.fan_out import combinations
from harness.sweeps.shorthand import parse_entry
from harness.sweeps.written import read_component


def read_listeners(value: Any, options: Sequence[Any], context: Context) -> tuple[Component, ...]:
    """Return the listeners of a sweep with every argument, errors reported.

    One of the command line replaces the sweep's own of the same name.

    Args:
        value: What the sweep has under ``listeners``; None without it.
        options: What the command line names.
        context: Knows the plugins, and takes errors.
    """
    listed = value if isinstance(value, list) else [] if value is None else [value]
    own = _by_name([(("listeners", place), each) for place, each in enumerate(listed)], context)
    given = _by_name([(("--listener", place), each) for place, each in enumerate(options)], context)
    return tuple({**own, **given}.values())


def _by_name(written: Sequence[tuple[KeyPath, Any]], context: Context) -> dict[str, Component]:
    found: dict[str, Component] = {}
    for path, value in written:
        component = _read(value, path, context)
        if component is None:
            continue
        if component.name in found:
            context.diagnostics.add(path, f"listener {component.name!r} is listed twice.")
        found[component.name] = component
    return found


def _read(value: Any, path: KeyPath, context: Context) -> Component | None:
    written = read_component(value, path, context.diagnostics, parse=parse_entry)
    plugin = written and find_plugin(Kind.LISTENER, written, context)
    if not written or not plugin:
        return None
    found = combinations(parameters_of(plugin), written.arguments, written.path, context.diagnostics, fan_out=False)
    return next((Component(name=written.name, arguments=one.model_dump(mode="json")) for one in found), None)


def named_listeners(options: Sequence[str], registry: Registry) -> tuple[Component, ...]:
    """Return the listeners that a command line names, without a sweep.

    Raises:
        SpecError: A name or a setting is wrong; all errors are reported at once.
    """
    diagnostics = Diagnostics(None, {"--listener": options})
    found = read_listeners(None, options, Context(registry, diagnostics, Path()))
    diagnostics.raise_any()
    return found
