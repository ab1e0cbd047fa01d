"""Descriptions of scenarios and metrics from their plugins; empty for plugins that are not installed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from harness.contracts.plugins import Kind, MetricDetails, Plugin, ScenarioDetails
from harness.errors import PluginError
from harness.plugins.registry import Registry

FACETS = ("task", "what", "who", "when", "language")
"""The parts of HELM's taxonomy of scenarios."""


@lru_cache(maxsize=4096)
def plugin(registry: Registry, kind: Kind, name: str) -> Plugin | None:
    """Return a plugin; None if the registry does not have it."""
    try:
        return registry.get(kind, name)
    except PluginError:
        return None


def taxonomy(registry: Registry, scenario: str) -> Mapping[str, str]:
    """Return a scenario's taxonomy by facet."""
    found = plugin(registry, Kind.SCENARIO, scenario)
    return dict(found.details.taxonomy) if found and isinstance(found.details, ScenarioDetails) else {}


def scenario(registry: Registry, name: str) -> dict[str, Any]:
    """Return the description of a scenario, as JSON."""
    found = plugin(registry, Kind.SCENARIO, name)
    if found is None or not isinstance(found.details, ScenarioDetails):
        return {"title": name, "known": False}
    details = found.details
    return {
        "title": details.title,
        "known": True,
        "doc": found.doc,
        "source": found.source,
        "taxonomy": dict(details.taxonomy),
        "licence": details.data.licence,
        "url": details.data.url if details.data.url.startswith(("https://", "http://")) else "",
        "hub": f"{details.data.hub.path} at {details.data.hub.revision}" if details.data.hub else "",
        "split": str(details.eval_split),
        "groups": details.groups,
    }


def metric(registry: Registry, name: str) -> str:
    """Return the first sentence of a metric's definition; '' for one of several scores of a metric."""
    found = plugin(registry, Kind.METRIC, name)
    return found.summary if found and (found.members or isinstance(found.details, MetricDetails)) else ""
