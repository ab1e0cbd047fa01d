"""The table of all scenarios is complete, and says the same as the scenarios about what they were tested on."""

from __future__ import annotations

import re

import pytest

from docs.scenario_table import BOARDS, seen_data
from docs.write_reference import reference_pages
from harness.contracts.plugins import Kind, ScenarioDetails
from harness.plugins.registry import default_registry
from tests.scenarios.row_facts import ROWS

REGISTRY = default_registry()
NAMES = REGISTRY.names(Kind.SCENARIO)


@pytest.fixture(scope="module")
def page() -> str:
    return reference_pages()["scenarios.md"]


def test_every_scenario_has_a_row(page: str) -> None:
    rows = {name: line for line in page.splitlines() if (name := "".join(re.findall(r"^\| \[(\w+)\]\(#", line)))}
    assert list(rows) == NAMES
    assert "official (3,270)" in rows["boolq"]
    assert "part of the official (993 of 11,490)" in rows["summarization_cnndm"]
    assert "written by hand" in rows["winogrande"]
    for name, line in rows.items():
        _, _, _, file, lines, metric, method = (cell.strip(" `") for cell in line.strip("|").split(" | "))
        assert file in {f"scenarios/{name}.py", f"scenarios/{name}.yaml"}
        assert int(lines) > 15
        assert metric
        assert method in REGISTRY.names(Kind.ADAPTER)


def test_the_leaderboards_are_complete(page: str) -> None:
    for title, size in BOARDS.values():
        (line,) = re.findall(rf"^\| {title} \| (.*) \|$", page, re.MULTILINE)
        here, *seen = line.split(" | ")
        assert here == f"{size} of {size}"
        assert sum(map(int, seen)) == size


@pytest.mark.parametrize("name", NAMES)
def test_a_scenario_says_if_it_was_never_run_on_the_official_data(name: str, page: str) -> None:
    plugin = REGISTRY.get(Kind.SCENARIO, name)
    assert isinstance(plugin.details, ScenarioDetails)
    assert plugin.details.data.untested == (seen_data(plugin, ROWS) in {"written", "stand-in"})
    section = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    assert ("**Tested on:**" in section) == plugin.details.data.untested
