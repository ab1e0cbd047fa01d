"""The pages of a model and of all models in a real browser: what leads, what is said where there is nothing to show."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.contracts.specs import Component
from harness.leaderboard.site.addresses import model_address
from harness.leaderboard.site.builder import build_site
from tests.harness.leaderboard.site.conftest import Record, Visit, example, save, stat

pytestmark = pytest.mark.slow

ALPHA, GAMMA = (model_address(Component(name=f"hf:org/{name}")) for name in ("alpha", "gamma"))


def test_a_models_page_leads_with_its_scores(visit: Visit) -> None:
    page = visit.go(f"model/{ALPHA}?suite=first")
    figures = dict(zip(visit.texts(".hero dt"), visit.texts(".hero dd"), strict=True))
    assert figures["Rank among 3"].startswith("1")
    assert re.match(r"1\.00 \[[.\d]+, 1\.00\]", figures["Mean win rate"])
    assert figures["Results"].startswith("2 of 2 columns")
    assert figures["Order dependence detected"].startswith("1 of 1 tested")
    hero = page.locator(".hero").bounding_box()
    assert hero["y"] + hero["height"] < 320, "seen without scrolling"
    assert "accuracy" in page.inner_text("main section:has(h2:text('Profile'))").lower()
    assert page.locator("main section:has(h2:text('Profile')) .strip .other").count() > 0
    row = page.locator("#results tbody tr").filter(has_text="BoolQ")
    assert ".800" in row.inner_text()
    assert row.locator("th a").get_attribute("href").startswith("#/run/")
    mark = page.locator("section:has(h2:text('Contamination')) td .mark").first
    assert mark.inner_text() == "depends on the published order"
    headings = visit.texts("main h2")
    assert headings.index("Where it comes from") > headings.index("Contamination") > headings.index("All 2 scenarios")
    assert not page.locator("#all-runs table").is_visible()
    page.click("#all-runs > summary")
    visit.until("document.querySelectorAll('#runs tbody tr').length === 6")


def test_facts_say_where_they_come_from_or_that_nobody_states_them(visit: Visit) -> None:
    page = visit.go(f"model/{ALPHA}")
    facts = dict(zip(visit.texts(".fact-line dt"), visit.texts(".fact-line dd"), strict=True))
    assert facts["Creator"] == "The makers"
    assert facts["Not stated"] == "licence, released"
    page.locator(".fact-line dd span", has_text="The makers").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    visit.until(
        "!document.getElementById('tip')?.hidden && document.getElementById('tip')?.innerText.includes('Source')"
    )
    visit.go("models")
    assert page.locator("#models-licence").count() == 0, "stated of no model"
    visit.after(lambda: page.click("#models-parameters"))
    assert visit.texts("#models tbody tr th")[0] == "gamma"
    assert page.get_attribute("#models th:has(#models-parameters)", "aria-sort") == "descending"


def test_a_model_is_compared_from_its_page(visit: Visit) -> None:
    page = visit.go(f"model/{GAMMA}?suite=first")
    visit.after(lambda: page.click("a:text('Compare with')"))
    assert visit.texts(".notice:visible") == []
    assert page.title().startswith("gamma and ")


def test_the_strongest_scenarios_have_the_largest_differences(browser: Any, tmp_path: Path, make_run: Record) -> None:
    """With few models the spread of a scenario says little: two that happen to be close must not count more."""
    scores = {"boolq": (0.95, 0.5, 0.4), "imdb": (0.63, 0.5, 0.49), "copa": (0.2, 0.3, 0.31), "piqa": (0.1, 0.6, 0.5)}
    for scenario, found in scores.items():
        for model, score in zip(("alpha", "beta", "gamma"), found, strict=True):
            save(tmp_path / "results", make_run(f"hf:org/{model}", scenario, score))
    opened = Visit(browser, build_site(tmp_path / "results", tmp_path / "site").parent.as_uri())
    page = opened.go(f"model/{ALPHA}")
    best, worst = (
        page.locator(f"section:has(> h3:text('{side}')) tbody th").all_inner_texts() for side in ("Better", "Worse")
    )
    assert ([name.lower() for name in best], [name.lower() for name in worst]) == (["boolq", "imdb"], ["piqa", "copa"])
    assert opened.texts(".hero dd")[2].startswith("4 of 4 columns")
    opened.context.close()
    assert opened.wrong == []


def test_a_suite_without_results_of_the_model_is_named(visit: Visit) -> None:
    page = visit.go(f"model/{ALPHA}?suite=nothing")
    assert "in a suite called nothing" in page.inner_text("main")
    visit.go("model/nobody")
    assert "No model has the address nobody" in page.inner_text("main")
    visit.wrong = [wrong for wrong in visit.wrong if "ERR_FILE_NOT_FOUND" not in wrong]


def test_one_model_alone_and_one_that_always_failed_have_pages_that_make_sense(
    browser: Any, tmp_path: Path, make_run: Record
) -> None:
    bins = [{"count": 15, "probability": 0.7, "accuracy": 0.6, "accuracy_ci95": [0.4, 0.8]}]
    record = make_run("hf:org/alone", "boolq", 0.6, count=15, stderr=0.1, suite="small")
    save(tmp_path / "results", record, [example(n, right=n > 5) for n in range(15)],
         stats=[stat("ece_10_bin", "calibration", 0.1, higher=False)],
         details={"ece_10_bin": {"test": {"original": {"bins": bins}}}})  # fmt: skip
    save(tmp_path / "results", make_run("hf:org/broken", "boolq", None, error="the model fell over", suite="broken"))
    site = build_site(tmp_path / "results", tmp_path / "site").parent
    opened = Visit(browser, site.as_uri(), viewport={"width": 390, "height": 844})
    page = opened.go(f"model/{model_address(Component(name='hf:org/alone'))}")
    assert "The suite has no other model." in page.inner_text(".hero")
    assert "Best and worst" not in page.inner_text("main")
    assert ".600" in page.inner_text("#results")
    assert page.locator(".pair svg.chart .series.chosen .mark").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page = opened.go(f"model/{model_address(Component(name='hf:org/broken'))}")
    assert "1 failed" in page.inner_text(".hero")
    assert "the model fell over" in page.inner_text("#results")
    opened.context.close()
    assert opened.wrong == []


def test_hostile_facts_are_shown_as_text(browser: Any, tmp_path: Path, make_run: Record) -> None:
    acting = "<img src=x onerror='window.acted = 1'>\u202e"
    record = make_run("hf:org/a", "boolq", 0.6)
    about = {"creator": acting, "licence": acting, "access": acting, "tags": [acting]}
    spec = record.spec.model_copy(update={"operational": {"about": about, "display_name": acting}})
    save(
        tmp_path / "results", replace(record, spec=spec), model={"card": {"base_model": acting}, "architecture": acting}
    )
    site = build_site(tmp_path / "results", tmp_path / "site").parent
    opened = Visit(browser, site.as_uri())
    for route in ("models", f"model/{model_address(record.spec.model)}"):
        page = opened.go(route)
        assert page.locator("main img").count() == 0
        assert "<img src=x" in page.inner_text("main")
        assert page.evaluate("window.acted === undefined")
    opened.context.close()
    assert opened.wrong == []
