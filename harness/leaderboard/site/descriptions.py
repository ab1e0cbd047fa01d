"""Descriptions of scenarios and metrics from their plugins; empty for plugins that are not installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.contracts.plugins import Kind, MetricDetails, ScenarioDetails
from harness.plugins.registry import Registry


def taxonomy(registry: Registry, scenario: str) -> Mapping[str, str]:
    """Return a scenario's taxonomy by facet."""
    found = registry.find(Kind.SCENARIO, scenario)
    return dict(found.details.taxonomy) if found and isinstance(found.details, ScenarioDetails) else {}


def scenario(registry: Registry, name: str) -> dict[str, Any]:
    """Return the description of a scenario, as JSON."""
    found = registry.find(Kind.SCENARIO, name)
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
        "tags": list(details.tags),
        "untested": details.data.untested,
        "gated": details.data.gated,
    }


def metric(registry: Registry, name: str) -> str:
    """Return the first sentence of a metric's definition; '' for one of several scores of a metric."""
    found = registry.find(Kind.METRIC, name)
    return found.summary if found and (found.members or isinstance(found.details, MetricDetails)) else ""
