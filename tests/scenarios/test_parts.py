"""Which parameters choose a disjoint part of a scenario's data, and what a run's spec says of it."""

from __future__ import annotations

import pytest

from harness.contracts.plugins import Kind, ScenarioDetails
from harness.plugins.parameters import parameters_of
from harness.plugins.registry import default_registry
from harness.sweeps.load import sweep_from_entries


def test_parts_are_parameters_of_their_scenario() -> None:
    registry = default_registry()
    declared = 0
    for name in registry.names(Kind.SCENARIO):
        plugin = registry.get(Kind.SCENARIO, name)
        assert isinstance(plugin.details, ScenarioDetails)
        assert set(plugin.details.parts) <= set(parameters_of(plugin).model_fields)
        declared += bool(plugin.details.parts)
    assert declared >= 5


@pytest.mark.parametrize(
    ("entry", "parts"),
    [
        ("mmlu:subject=anatomy", ("subject",)),
        ("bbq:subject=Age", ("subject",)),
        ("bbq", ()),
        ("boolq:contrast_sets=true", ()),
        ("civil_comments:demographic=male", ()),
    ],
)
def test_a_run_says_which_of_its_parameters_choose_a_part(entry: str, parts: tuple[str, ...]) -> None:
    sweep, _ = sweep_from_entries([entry], ["fake:0"])
    assert [run.parts for run in sweep.runs] == [parts]
