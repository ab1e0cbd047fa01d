"""Which of our scenarios another program's task is, by name and parameters; where it is none, the task's own name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.contracts.plugins import Kind, ScenarioDetails
from harness.contracts.specs import Component
from harness.errors import HarnessError
from harness.plugins.parameters import check_parameters, parameters_of
from harness.plugins.registry import Registry


def scenario_component(registry: Registry, name: str, arguments: Mapping[str, Any]) -> Component:
    """Return a scenario with every parameter written out where it is one of ours, else as it is given."""
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
    """Return what we know of a scenario; None if it is none of ours."""
    try:
        details = registry.get(Kind.SCENARIO, name).details
    except HarnessError:
        return None
    return details if isinstance(details, ScenarioDetails) else None
