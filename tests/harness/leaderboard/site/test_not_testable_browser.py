"""Tests of data that cannot be tested, on every page of the site that shows a run: the word and its reason."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.contracts.specs import Component
from harness.leaderboard.site.addresses import address_of, model_address, scenario_address
from harness.leaderboard.site.builder import build_site
from harness.storage.results import RunRecord
from tests.harness.leaderboard.site.conftest import Record, Visit, save

pytestmark = pytest.mark.slow

FEW = "with 4 examples no p-value at the level 0.01 is possible; 7 examples are needed"
MODEL = "hf:org/alpha"


def untestable(make_run: Record, scenario: str, **found: Any) -> tuple[RunRecord, dict[str, Any]]:
    """Return a run without a value, and its details."""
    run = make_run(MODEL, scenario, None, metric="contamination", method="exchangeability")
    details = {"no_value": f"not testable: {FEW}", **found}
    return run, {"contamination": {"test": {"original": details}}}


@pytest.fixture
def visit_site(browser: Any, tmp_path: Path, make_run: Record) -> Iterator[Visit]:
    """A site with a test of the published order, and another metric, that have no value for a reason."""
    root = tmp_path / "results"
    for scenario in ("boolq", "imdb"):
        save(root, make_run(MODEL, scenario, 0.8))
        save(root, make_run("hf:org/beta", scenario, 0.6))
    found = {"headline_log10_p": None, "testable": False, "not_testable": FEW, "verdict": "not testable", "n_used": 4}
    test, details = untestable(make_run, "tiny", **found)
    save(root, test, details=details)
    other, details = untestable(make_run, "notes")
    save(root, dataclasses.replace(other, finished="2025-02-01"), details=details)
    opened = Visit(
        browser, build_site(root, tmp_path / "site").parent.as_uri(), viewport={"width": 1300, "height": 900}
    )
    opened.page.goto("about:blank")
    yield opened
    opened.context.close()
    assert opened.wrong == []


def test_the_contamination_page(visit_site: Visit, make_run: Record) -> None:
    page = visit_site.go("contamination")
    assert visit_site.texts("p.answer") == ["1 data set could not be tested."]
    (row,) = visit_site.texts("#contamination tbody tr")
    assert row.split("\t") == ["tiny", "alpha", "not testable", "—", "—", "4", "test"]
    assert FEW in page.locator("#contamination tbody .mark").get_attribute("data-tip")
    run, _ = untestable(make_run, "tiny")
    page = visit_site.go(f"contamination/{address_of(run)}.test")
    assert visit_site.texts("p.answer") == [f"Not testable: {FEW}."]
    assert "p-values" not in visit_site.texts("h2")
    assert "1.000" not in page.locator("main").inner_text()


def test_the_page_of_a_run(visit_site: Visit, make_run: Record) -> None:
    run, _ = untestable(make_run, "tiny")
    visit_site.go(f"run/{address_of(run)}")
    assert visit_site.texts(".measured .value") == ["not testable"]
    assert FEW in visit_site.texts(".measured")[0]


def test_the_page_of_a_model(visit_site: Visit) -> None:
    page = visit_site.go(f"model/{model_address(Component(name=MODEL))}?runs=1")
    tests = page.get_by_label("Tests of contamination").locator("tbody tr")
    assert tests.all_inner_texts() == ["tiny\tnot testable\t–"]
    assert FEW in tests.locator("[data-tip]").get_attribute("data-tip")
    listed = [row for row in visit_site.texts("#all-runs tbody tr") if row.startswith("tiny")]
    assert f"not testable: {FEW}" in listed[0]


def test_the_page_of_a_scenario(visit_site: Visit) -> None:
    page = visit_site.go(f"scenario/{scenario_address('tiny')}")
    assert "not testable" in visit_site.texts("#ranking tbody tr")[0]
    assert FEW in page.locator("#ranking a[data-tip]").get_attribute("data-tip")


def test_a_cell_of_the_leaderboard(visit_site: Visit) -> None:
    page = visit_site.go("board?suites=all")
    assert "tiny" not in page.locator(".board-grid").inner_text()  # a test of data is not a result of a model
    cell = page.locator(".board-grid .v.reason")
    assert cell.all_inner_texts() == ["not testable"]
    assert FEW in cell.get_attribute("aria-label")
    cell.hover()
    page.wait_for_selector("text=7 examples are needed")
    assert visit_site.texts(".ag-cell[col-id=covered]") == ["2/3", "2/3"]
