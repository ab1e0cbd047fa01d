"""The page in a real browser: two raters at the keyboard, hostile texts, phones, and accessibility."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.annotation.ratings import read_ratings
from harness.annotation.study import RATINGS_FILE
from harness.annotation.table import ratings_table
from tests.harness.annotation.conftest import FORM, PAIR, made_study, serving
from tests.harness.leaderboard.site.conftest import Visit
from tests.harness.leaderboard.site.test_hostile import HANDLERS, STRINGS

pytestmark = pytest.mark.slow


def begin(visit: Visit, rater: str) -> Any:
    page = visit.page
    page.goto(visit.address)
    page.fill("#rater", rater)
    page.keyboard.press("Enter")
    page.wait_for_selector("#work:not([hidden]) .answer")
    return page


def close(visit: Visit) -> None:
    visit.context.close()
    assert visit.wrong == []


def test_two_raters_annotate_twenty_answers_and_the_table_appears(browser: Any, tmp_path: Path) -> None:
    study = made_study(FORM, 10)
    with serving(study, tmp_path) as server:
        for rater, lower in (("ann", "2"), ("bob", "1")):
            visit = Visit(browser, server.url)
            page = begin(visit, rater)
            for place, item in enumerate(study.order(rater)):
                visit.until(f"document.getElementById('work').dataset.item === '{item}'")
                mine = page.locator(".answer").inner_text()
                page.keyboard.press("4" if mine.endswith("l") else lower)  # quality; the cursor moves on
                page.keyboard.press("1")  # tone
                if place == 7:  # a reload in between loses nothing
                    visit.until("document.getElementById('saved').textContent === 'Saved'")
                    page = begin(visit, rater)
                    continue
                page.keyboard.press("Enter")
            page.wait_for_selector("#end:not([hidden])")
            assert page.locator("#count").text_content() == "20 of 20"
            close(visit)
    ratings = read_ratings(tmp_path / RATINGS_FILE, study)
    table = ratings_table(study, ratings)
    means = {one["model"]: one["value"] for one in table.records if one["statistic"] == "mean"}
    assert means == {"large": 4.0, "small": 1.5}
    assert {one["ratings"] for one in table.records if one["statistic"] == "mean"} == {20}
    assert any(str(one["statistic"]).startswith("Krippendorff") for one in table.records)


def test_keys_notes_guidelines_and_what_cannot_be_judged(browser: Any, tmp_path: Path) -> None:
    study = made_study(FORM, 2)
    with serving(study, tmp_path) as server:
        visit = Visit(browser, server.url)
        page = begin(visit, "ann")
        first = study.order("ann")[0]
        page.keyboard.press("Enter")  # a question is open
        assert page.locator("#saved").text_content() == "Please answer this question"
        page.keyboard.press("g")
        assert page.locator("#guidelines").get_attribute("open") is not None
        page.keyboard.press("n")
        page.keyboard.type("4 gnu")  # keys do nothing while writing
        page.keyboard.press("Escape")
        page.keyboard.press("5")
        page.keyboard.press("Tab")
        page.keyboard.type("because")
        page.keyboard.press("Escape")
        page.click("#skip")
        visit.until("document.getElementById('count').textContent.startsWith('1 of 4')")
        visit.until(f"document.getElementById('work').dataset.item !== '{first}'")  # the next one is shown
        page.click("#back")
        visit.until("document.getElementById('skip').getAttribute('aria-pressed') === 'true'")
        assert page.locator("#note").input_value() == "4 gnu"
        close(visit)
        assert server.ratings.values("ann")[first] == {"quality": 5, "note": "4 gnu", "skip": True, "why": "because"}


def test_a_choice_that_was_not_saved_is_said_and_tried_again(browser: Any, tmp_path: Path) -> None:
    study = made_study(PAIR, 2)
    with serving(study, tmp_path) as server:
        visit = Visit(browser, server.url)
        page = begin(visit, "ann")
        page.route("**/api/keep", lambda route: route.abort())
        page.keyboard.press("1")
        page.wait_for_selector("#problem:not([hidden])")
        assert "Not saved" in page.locator("#problem").inner_text()
        page.unroute("**/api/keep")
        page.keyboard.press("Enter")
        visit.until("document.getElementById('count').textContent.startsWith('1 of 2')")
        assert len(server.ratings.values("ann")) == 1
        visit.context.close()


def test_hostile_texts_are_only_read(browser: Any, tmp_path: Path) -> None:
    for number, text in enumerate(STRINGS):
        clean = text.encode("utf-8", "backslashreplace").decode()
        asked = {"id": "q", "question": clean, "help": clean, "choices": {"a": clean, "b": f"{clean}2"}}
        study = made_study({**FORM, "title": clean, "guidelines": clean, "questions": [asked]}, 1, text=clean)
        with serving(study, tmp_path / str(number)) as server:
            visit = Visit(browser, server.url)
            page = begin(visit, "ann")
            page.keyboard.press("1")
            page.wait_for_timeout(50)
            assert page.evaluate("window.acted") is None
            assert page.evaluate(HANDLERS) == 0
            close(visit)


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_the_page_fits_and_axe_finds_nothing_serious(browser: Any, tmp_path: Path, width: int, scheme: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    with serving(made_study(FORM, 2, text="long" * 200), tmp_path) as server:
        viewport = {"width": width, "height": 800}
        visit = Visit(browser, server.url, viewport=viewport, color_scheme=scheme, bypass_csp=True)
        visit.page.goto(server.url)
        visit.page.wait_for_selector("#start:not([hidden])")
        found = [axe.run(visit.page).response["violations"]]
        page = begin(visit, "ann")
        page.keyboard.press("4")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        found.append(axe.run(page).response["violations"])
        if width < 700:
            assert page.locator(".cells span").first.bounding_box()["height"] >= 44
        serious = [each for one in found for each in one if each["impact"] in {"serious", "critical"}]
        visit.context.close()
    assert serious == []
