"""Small real runs, compared by ``harness compare`` and on the site: the same families, numbers and reasons."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.contracts.specs import Component
from harness.leaderboard.site.addresses import model_address
from harness.leaderboard.site.builder import build_site
from harness.statistics import holm
from harness.storage.results import find_runs
from tests.harness.leaderboard.site.conftest import Visit
from tests.harness.leaderboard.site.test_builder import data

pytestmark = pytest.mark.slow

# No example of IFEval or CrowS-Pairs has the main metric: metrics of whole runs give it.
SWEEP = """\
suite: small
models: ["fake:a", "fake:b"]
defaults: {max_eval_instances: 60}
runs:
  - ifeval
  - crows_pairs
  - sample_reading
  - {scenario: boolq, max_eval_instances: 400}
  - {scenario: "boolq:prompt=lm_eval", max_eval_instances: 400}
"""
FIELDS = ("count", "first", "second", "difference", "low", "high", "p", "differing", "first_higher")


def _harness(folder: Path, *arguments: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "HARNESS_RESULTS_DIR"}
    done = subprocess.run(
        [sys.executable, "-m", "harness", *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory, data_dir: Path) -> Path:
    """A folder with results and their site."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "sweep.yaml").write_text(SWEEP, encoding="utf-8")
    _harness(folder, "run", "sweep.yaml", "--data-dir", str(data_dir))
    build_site(folder / "results", folder / "site")
    return folder


def _page(folder: Path, first: str, second: str) -> list[tuple[list[dict[str, Any]], list[Any]]]:
    """Return the page's rows of two models in the order of their addresses: the questions and what was computed."""
    questions = data(folder / "site", "compare/all")["questions"]
    names = "/".join(sorted(model_address(Component(name=name)) for name in (first, second)))
    places = [(row[0], row[2:]) for row in data(folder / "site", f"compare/all/{names}")]
    return [([questions[at] for at in (place if isinstance(place, list) else [place])], row) for place, row in places]


def test_the_page_has_the_comparisons_of_the_command(small: Path) -> None:
    models = sorted(("fake:a", "fake:b"), key=lambda name: model_address(Component(name=name)))
    told = json.loads(_harness(small, "compare", *models, "--suite", "small", "--format", "json"))["comparisons"]
    rows = {(asked["title"], asked["method"]): row for (asked,), row in _page(small, *models)}
    assert len(told) == len(rows) == 5
    adjusted = dict(zip(rows, holm([row[6] for row in rows.values()]), strict=True))
    for one in told:
        row = rows[one["title"], one["adapter"]]
        assert row[: len(FIELDS)] == pytest.approx([one[name] for name in FIELDS]), one["scenario"]
        assert adjusted[one["title"], one["adapter"]] == pytest.approx(one["p_holm"])
    assert any(one["differing"] for one in told if one["scenario"] in {"ifeval", "crows_pairs"})


def test_two_prompts_of_a_scenario_are_compared_as_the_command_does(browser: Any, small: Path) -> None:
    runs = [run for run in find_runs(small / "results") if run.spec.scenario.name == "boolq"]
    runs = [run for run in runs if run.spec.model.name == "fake:a"]
    ((sides, row),) = _page(small, "fake:a", "fake:a")
    folders = {str(run.spec.scenario.arguments.get("prompt") or ""): str(run.directory) for run in runs}
    said = json.loads(_harness(small, "compare", *(folders[side["prompt"]] for side in sides), "--format", "json"))
    (one,) = said["comparisons"]
    assert row[: len(FIELDS)] == pytest.approx([one[name] for name in FIELDS])
    assert 0 < one["count"] < 400
    assert one["differing"]
    assert any(note.startswith("prompts differ: ") for note in one["notes"])
    address = model_address(Component(name="fake:a"))
    opened = Visit(browser, (small / "site").as_uri(), viewport={"width": 1440, "height": 900})
    page = opened.go(f"compare?a={address}&b={address}")
    opened.until("document.querySelector('.question')")
    assert page.locator(".forest tr[data-key]").count() == 1
    assert "against" in page.inner_text(".forest tr[data-key] small")
    assert f"{one['count']}" in page.inner_text(".forest tr[data-key] th")
    note = page.inner_text(".side-pane .prompts >> nth=0"), page.inner_text(".side-pane .prompts >> nth=1")
    named = [side["prompt"] or "the scenario’s own" for side in sides]
    assert note[0] == f"Prompts: {named[0]} and {named[1]}."
    assert set(named) == {"the scenario’s own", "lm_eval"}
    assert note[1].startswith("Metrics: ")
    assert "Generation · Generation" not in page.inner_text("main")
    assert page.locator(".question").count() == min(20, one["differing"])
    opened.context.close()
    assert opened.wrong == []
