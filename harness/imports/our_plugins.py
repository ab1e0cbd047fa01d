"""Our plugins of another program's names: its task's scenario and parameters, its metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.contracts.plugins import Kind, ScenarioDetails
from harness.contracts.specs import Component
from harness.plugins.parameters import check_parameters, parameters_of, scenario_arguments
from harness.plugins.registry import Registry


def scenario_component(registry: Registry, name: str, arguments: Mapping[str, Any]) -> Component:
    """Return a scenario, with every parameter written out if it is one of ours."""
    scenario, details = registry.find(Kind.SCENARIO, name), scenario_details(registry, name)
    checked = None if scenario is None else check_parameters(parameters_of(scenario), arguments)[0]
    written = dict(arguments) if checked is None or details is None else scenario_arguments(checked, details)
    return Component(name=name, arguments=written)


def chosen_parts(registry: Registry, scenario: Component) -> tuple[str, ...]:
    """Return the parameters that choose a part of a scenario's data; of a scenario that is not ours, all of them."""
    details = scenario_details(registry, scenario.name)
    return tuple(scenario.arguments) if details is None else details.chosen_parts(scenario.arguments)


def scenario_details(registry: Registry, name: str) -> ScenarioDetails | None:
    """Return the details of our scenario of this name; None if there is none."""
    scenario = registry.find(Kind.SCENARIO, name)
    return scenario.details if scenario is not None and isinstance(scenario.details, ScenarioDetails) else None
