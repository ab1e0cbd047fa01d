"""docs/deviations.md knows every definition that says how it differs from HELM's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.contracts.plugins import Kind
from harness.plugins.registry import Registry, default_registry

PAGE = Path(__file__).parent.parent / "docs" / "deviations.md"
SECTIONS = {
    Kind.METRIC: "Metrics",
    Kind.PERTURBATION: "Perturbations",
    Kind.ADAPTER: "Adapters",
    Kind.SCENARIO: "Scenarios",
}


@pytest.fixture(scope="module")
def registry() -> Registry:
    return default_registry()


def _rows(section: str) -> list[list[str]]:
    """Return the cells of a section's table, row by row."""
    (text,) = re.findall(rf"^## {section}$(.*?)(?=^## |\Z)", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def _named(section: str) -> set[str]:
    return {name for row in _rows(section) for name in re.findall(r"`([^`]+)`", row[0])}


@pytest.mark.parametrize("kind", SECTIONS)
def test_whatever_mentions_helm_has_a_row(registry: Registry, kind: Kind) -> None:
    plugins = [registry.get(kind, name) for name in registry.names(kind)]
    mentioning = {plugin.name for plugin in plugins if plugin.target is not None and "HELM" in plugin.doc}
    assert mentioning, "no docstring was read"
    assert mentioning - _named(SECTIONS[kind]) == set()


@pytest.mark.parametrize("section", [*SECTIONS.values(), "Statistics"])
def test_every_row_says_what_helm_does_what_is_done_here_and_why(section: str) -> None:
    for row in _rows(section):
        assert len(row) == 4, row
        assert all(row), row


@pytest.mark.parametrize("kind", SECTIONS)
def test_rows_name_what_there_is(registry: Registry, kind: Kind) -> None:
    beside = {"denoised_seconds", "idealized_seconds"}  # of a run's record
    assert _named(SECTIONS[kind]) - beside <= set(registry.names(kind))


def test_the_readme_links_it() -> None:
    assert "(docs/deviations.md)" in (PAGE.parent.parent / "README.md").read_text("utf-8")
