"""Our scenario for another program's task, by name and parameters; the task's own name if there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.contracts.plugins import Kind, ScenarioDetails
from harness.contracts.specs import Component
from harness.errors import HarnessError
from harness.plugins.parameters import check_parameters, parameters_of
from harness.plugins.registry import Registry


def scenario_component(registry: Registry, name: str, arguments: Mapping[str, Any]) -> Component:
    """Return a scenario, with every parameter written out if it is one of ours."""
    try:
        model = parameters_of(registry.get(Kind.SCENARIO, name))
    except HarnessError:
        return Component(name=name, arguments=dict(arguments))
    checked, _ = check_parameters(model, arguments)
    return Component(name=name, arguments=dict(arguments) if checked is None else checked.model_dump(mode="json"))


def chosen_parts(registry: Registry, scenario: Component) -> tuple[str, ...]:
    """Return the parameters that choose a part of a scenario's data; of a scenario we do not know, all of them."""
    details = scenario_details(registry, scenario.name)
    return tuple(scenario.arguments) if details is None else details.chosen_parts(scenario.arguments)


def scenario_details(registry: Registry, name: str) -> ScenarioDetails | None:
    """Return the details of our scenario of this name; None if there is none."""
    try:
        details = registry.get(Kind.SCENARIO, name).details
    except HarnessError:
        return None
    return details if isinstance(details, ScenarioDetails) else None
