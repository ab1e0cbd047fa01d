"""Models in the arguments of metrics: their operational settings are set apart, since they change no score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.contracts.model_settings import HARDWARE
from harness.contracts.plugins import Kind, MetricDetails
from harness.contracts.specs import Component
from harness.plugins.registry import Registry


def without_operational(
    metrics: Sequence[Component], registry: Registry
) -> tuple[tuple[Component, ...], dict[str, dict[str, Any]]]:
    """Return metrics without the operational settings of the models that they ask, and these settings by metric.

    A model that has no other settings is then written as its name alone. The settings are nested as the arguments are,
    with the positions of lists as keys; :attr:`RunSpec.configured_metrics` puts them back.

    Args:
        metrics: Metrics with all arguments.
        registry: Knows which settings of a backend are operational.
    """
    bare, settings = [], {}
    for metric in metrics:
        details = registry.get(Kind.METRIC, metric.name).details
        if not isinstance(details, MetricDetails) or not (details.judges or details.models):
            bare.append(metric)
            continue
        arguments, found = _split(metric.arguments, registry)
        bare.append(Component(name=metric.name, arguments=arguments))
        if found:
            settings[metric.name] = found
    return tuple(bare), settings


def _split(value: Any, registry: Registry) -> tuple[Any, dict[str, Any]]:
    """Return a value without operational settings, and the settings as they are nested in it."""
    if isinstance(value, list):
        parts = [_split(item, registry) for item in value]
        return [rest for rest, _ in parts], {str(index): found for index, (_, found) in enumerate(parts) if found}
    if not isinstance(value, dict):
        return value, {}
    operational = _operational(value.get("name"), registry)
    if operational is None:
        pairs = {key: _split(item, registry) for key, item in value.items()}
        return {key: rest for key, (rest, _) in pairs.items()}, {
            key: found for key, (_, found) in pairs.items() if found
        }
    rest = {key: item for key, item in value.items() if key not in operational}
    return rest["name"] if len(rest) == 1 else rest, {key: item for key, item in value.items() if key in operational}


def _operational(name: object, registry: Registry) -> frozenset[str] | None:
    """Return the operational settings of a model, ``backend:identifier``; None for what does not name a model."""
    backend, colon, identifier = name.partition(":") if isinstance(name, str) else ("", "", "")
    if not colon or not identifier or backend not in registry.names(Kind.BACKEND):
        return None
    return HARDWARE | frozenset(getattr(registry.get(Kind.BACKEND, backend).target, "operational", ()))
