"""Find the plugin that declares a role, so that a command need not know its name."""

from __future__ import annotations

from harness.contracts.plugins import Kind, Plugin
from harness.errors import PluginError
from harness.plugins.registry import Registry


def plugin_with_role(registry: Registry, kind: Kind, role: str) -> Plugin:
    """Return the plugin of a kind that declares a role.

    Raises:
        PluginError: No plugin declares it, or several do.
    """
    found = [plugin for plugin in registry.all(kind) if plugin.role == role]
    if len(found) != 1:
        named = ", ".join(plugin.name for plugin in found) or "none"
        raise PluginError(f"exactly one {kind} must declare role={role!r}; found: {named}.")
    return found[0]
