"""A scenario's page in a real browser: what it is, the ranking, difficulty of items, an example with its prompt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.leaderboard.site.addresses import scenario_address
from harness.leaderboard.site.builder import build_site
from tests.harness.leaderboard.site.conftest import Record, Visit, example, save

pytestmark = pytest.mark.slow

BOOLQ, MMLU = scenario_address("boolq"), scenario_address("mmlu")


def test_a_scenario_says_what_it_is_and_who_is_best_on_it(visit: Visit) -> None:
    page = visit.go(f"scenario/{BOOLQ}")
    facts = dict(zip(visit.texts(".fact-line dt"), visit.texts(".fact-line dd"), strict=True))
    assert facts["Licence"] == "CC BY-SA 3.0"
    assert facts["Language"] == "English"
    figures = dict(zip(visit.texts(".hero dt"), visit.texts(".hero dd"), strict=True))
    assert figures["Best"].startswith(".800 [.760, .840]")
    assert "alpha" in figures["Best"]
    assert visit.texts("#ranking tbody th") == ["alpha", "beta", "gamma"]
    assert page.get_attribute("#ranking tbody tr:first-child td a", "href").startswith("#/run/")
    assert "Yes/no questions" in page.inner_text(".lead")
    assert not page.locator("#all-metrics table").is_visible()
    page.click("#all-metrics > summary")
    assert "0.800" in page.inner_text("#metrics")


def test_an_example_is_shown_with_the_prompt_that_the_model_read(visit: Visit) -> None:
    page = visit.go(f"scenario/{BOOLQ}")
    box = page.locator(".example-item")
    assert "Question number 0 about the moon?" in box.locator(".prose").first.inner_text()
    assert "yes it is correct" in " ".join(box.inner_text().split())
    box.locator("summary").click()
    assert "Answer:" in box.locator("details .prose").inner_text()


def test_results_that_do_not_exist_are_named(visit: Visit) -> None:
    page = visit.go(f"scenario/{BOOLQ}?column=nothing")
    assert "has no results called nothing" in page.inner_text("main")
    visit.go("scenario/nowhere")
    assert "No scenario has the address nowhere" in page.inner_text("main")
    visit.wrong = [wrong for wrong in visit.wrong if "ERR_FILE_NOT_FOUND" not in wrong]


def test_hard_items_lead_to_the_run_and_hostile_items_are_text(browser: Any, tmp_path: Path, make_run: Record) -> None:
    acting = "<img src=x onerror='window.acted = 1'>"
    for model, right in (("hf:org/a", 2), ("hf:org/b", 4)):
        told = [example(n, right=n < right, text=f"{acting} {n}", name=f"{acting}{n}") for n in range(6)]
        record = make_run(model, "boolq", right / 6, count=6, stderr=0.1, metric="quasi_exact_match")
        save(tmp_path / "results", record, told)
    site = build_site(tmp_path / "results", tmp_path / "site").parent
    opened = Visit(browser, site.as_uri(), viewport={"width": 390, "height": 844})
    page = opened.go(f"scenario/{BOOLQ}")
    assert "2 of 6" in " ".join(page.inner_text(".hero").split()), "items that nobody gets right"
    hardest = page.locator("article.item").first
    assert "0 of 2 models right" in hardest.inner_text()
    assert hardest.locator("a").get_attribute("href").startswith("#/run/")
    assert page.locator("main img").count() == 0
    assert page.evaluate("window.acted === undefined")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    opened.context.close()
    assert opened.wrong == []
