"""What metrics do only with permission, and how the command line gives it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness.cli.conftest import Harness

METRIC = '''\
"""A metric that asks for permission."""

from typing import Annotated, Literal

from pydantic import Field

from harness import Example, ExampleMetric, metric


@metric("fire", category="accuracy", source="Made up.")
class Fire(ExampleMetric):
    """Lights a fire.

    Args:
        allow_fire: Your permission to light a fire.
    """

    def __init__(self, *, allow_fire: Annotated[Literal[True], Field(description="your permission")]) -> None:
        pass

    def __call__(self, example: Example) -> dict[str, float]:
        return {"fire": 1.0}
'''


@pytest.fixture
def sweep(folder: Path) -> Path:
    (folder / "fire.py").write_text(METRIC)
    (folder / "fire.yaml").write_text(
        "suite: fire\nplugins: [fire.py, quiz.yaml]\nmodels: ['fake:0']\n"
        "runs:\n- {scenario: quiz, metrics: [fire, exact_match]}\n- quiz\n"
    )
    return folder / "fire.yaml"


def test_a_run_is_refused_until_it_is_permitted(harness: Harness, sweep: Path) -> None:
    said = harness("run", "fire.yaml")
    assert said.code == 2
    assert "fire.yaml:5: runs[0].metrics[0].allow_fire: is required" in said.err
    assert not (sweep.parent / "results").exists()
    assert harness("run", "fire.yaml", "--allow", "fire").code == 0
    means = {
        stat["metric"]: stat["mean"]
        for file in (sweep.parent / "results").rglob("run.json")
        for stat in json.loads(file.read_text())["stats"]
    }
    assert means["fire"] == 1.0


@pytest.mark.parametrize("command", [("validate",), ("preview", "-n", "1"), ("run", "--dry-run")])
def test_what_executes_nothing_needs_no_permission_and_says_what_will(
    harness: Harness, sweep: Path, command: tuple[str, ...]
) -> None:
    said = harness(*command, "fire.yaml")
    assert said.code == 0, said.err
    assert said.err.count("fire.yaml:5: runs[0].metrics[0]: asks for the permission 'fire'.") == 1
    assert "harness run --allow fire" in said.err


def test_permitting_what_nothing_asks_for_is_a_mistake(harness: Harness, sweep: Path) -> None:
    said = harness("run", "fire.yaml", "--allow", "fier")
    assert said.code == 2
    assert "--allow fier: is not a permission that any metric of the sweep needs. Did you mean 'fire'?" in said.err
    said = harness("run", "sweep.yaml", "--allow", "fire")
    assert said.code == 2
    assert "--allow fire: is not a permission" in said.err


def test_a_permitted_run_is_the_one_whose_file_permits_it(harness: Harness, sweep: Path) -> None:
    harness("run", "fire.yaml", "--allow", "fire")
    sweep.write_text(sweep.read_text().replace("[fire, exact", "[{name: fire, allow_fire: true}, exact"))
    said = harness("run", "fire.yaml", "--dry-run")
    assert "2 of 2 runs are finished" in said.out
    assert "permission" not in said.err
