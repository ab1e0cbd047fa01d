"""The site in a real browser, from disk and from a server: pages, sorting, filters, prompts, contaminated cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.contracts.specs import Component
from harness.leaderboard.site.addresses import address_of, model_address, scenario_address
from harness.storage.results import find_runs, read_run
from tests.harness.leaderboard.site.conftest import Visit

pytestmark = pytest.mark.slow

ALPHA, BETA = (model_address(Component(name=f"hf:org/{name}")) for name in ("alpha", "beta"))
BOOLQ, MMLU = scenario_address("boolq"), scenario_address("mmlu")


def run_of(results: Path, model: str, scenario: str) -> str:
    (found,) = [
        run
        for run in find_runs(results)
        if run.spec.model.name == f"hf:org/{model}" and run.spec.scenario.name == scenario and run.suite == "first"
    ]
    return address_of(found)


def routes(results: Path) -> dict[str, str]:
    """Return a route to every page, with what its first heading says."""
    run = run_of(results, "alpha", "boolq")
    return {
        "": "Leaderboard",
        "board?suites=all&tab=categories": "Leaderboard",
        "board?suites=all&tab=robustness": "Leaderboard",
        "models": "Models",
        f"model/{ALPHA}": "alpha",
        f"scenario/{BOOLQ}": "BoolQ",
        f"scenario/{MMLU}?view=accuracy": "MMLU",
        "coverage": "Scenarios",
        f"run/{run}": "BoolQ",
        f"run/{run}?view=stats": "BoolQ",
        f"run/{run}?view=spec": "BoolQ",
        f"run/{run}?view=provenance": "BoolQ",
        "contamination": "Contamination",
        f"contamination/{contaminated(results)}": "BoolQ",
    }


def contaminated(results: Path) -> str:
    from harness.leaderboard.site.addresses import address_of

    runs = [run for run in find_runs(results) if run.suite == "order" and run.spec.model.name == "hf:org/alpha"]
    return address_of(runs[0])


def test_every_page_is_drawn_from_disk(visit: Visit, results: Path) -> None:
    for route, heading in routes(results).items():
        page = visit.go(route)
        assert page.locator("h1").first.inner_text() == heading, route
        assert page.locator("main table, main article, main pre, main [role=grid]").count() > 0, route


@pytest.mark.parametrize(("width", "hidden"), [(1440, 0), (720, 1), (390, 2)])
def test_every_page_is_in_sight_or_behind_more(browser: Any, site: Path, width: int, hidden: int) -> None:
    opened = Visit(browser, site.as_uri(), viewport={"width": width, "height": 450})
    page = opened.go("models")
    nav = page.locator(".site-head nav")
    names = ["Leaderboard", "Models", "Scenarios", "Plots", "Compare", "Contamination"]
    seen = nav.locator("a").all_inner_texts()
    assert nav.evaluate("nav => nav.scrollWidth <= nav.clientWidth")
    assert len(seen) <= len(names) - hidden
    if len(seen) < len(names):
        page.focus("#more-pages")
        page.keyboard.press("Enter")
        assert seen + page.locator("#more-pages-panel a").all_inner_texts() == names
        opened.after(lambda: page.keyboard.press("Enter"))  # the first of them has the focus
        assert page.locator("#more-pages-panel").is_hidden()
        assert nav.locator("[aria-current=page]").inner_text() == names[len(seen)]
    opened.context.close()
    assert opened.wrong == []


def test_every_link_of_every_page_leads_somewhere(visit: Visit, results: Path) -> None:
    known, waiting = {""}, [""]
    while waiting:
        page = visit.go(waiting.pop())
        assert page.locator("h1").first.inner_text() != "This page cannot be shown"
        for link in page.eval_on_selector_all("a[href^='#/']", "links => links.map(a => a.getAttribute('href'))"):
            route = link.removeprefix("#/")
            kind = route.split("?")[0]
            if kind not in {found.split("?")[0] for found in known}:
                known.add(route)
                waiting.append(route)
    assert {route.split("/")[0].split("?")[0] for route in known} >= {
        "board", "models", "model", "scenario", "coverage", "run", "contamination"
    }  # fmt: skip


def test_a_server_may_have_the_site_under_any_path(browser: Any, served: str, results: Path) -> None:
    opened = Visit(browser, served)
    for route, heading in routes(results).items():
        assert opened.go(route).locator("h1").first.inner_text() == heading
    opened.context.close()
    assert opened.wrong == []


def test_the_contamination_table_corrects_over_a_models_sets(visit: Visit) -> None:
    page = visit.go("contamination")
    assert "3.2 × 10⁻¹³" in page.inner_text("#contamination tbody tr:first-child")
    assert "no dependence found" in page.inner_text("#contamination tbody tr:nth-child(2)")
    assert "found in 1 of 2 tests: 1 model, 1 data set." in page.inner_text(".answer")
    assert page.locator(".evidence svg.chart .mark").count() == 2
    visit.after(lambda: page.check("#only"))
    assert page.locator("#contamination tbody tr").count() == 1
    visit.go("contamination?model=nobody")
    assert "No test is about the model nobody." in page.inner_text("main")


def test_a_phone_shows_a_test_s_model_below_its_data_set(browser: Any, site: Path) -> None:
    opened = Visit(browser, site.as_uri(), viewport={"width": 390, "height": 844})
    page = opened.go("contamination")
    first = page.locator("#contamination tbody tr").first
    assert [text for text in first.inner_text().split() if text] == ["BoolQ", "alpha", "depends", "3.2", "×", "10⁻¹³"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    scroll = page.locator(".scroll:has(#contamination)")
    assert scroll.evaluate("box => box.scrollWidth <= box.clientWidth + 1")
    opened.context.close()
    assert opened.wrong == []


BOXES = """[...document.querySelectorAll('main :is(h1, h2, p, button, select, th, dd)')]
    .filter((e) => e.offsetParent && !e.closest('.ag-root-wrapper'))
    .map((e) => {
        const box = e.getBoundingClientRect(), style = getComputedStyle(e);
        const text = e.innerText.slice(0, 30);
        return [e.tagName, text, Math.round(box.x), Math.round(box.width), style.fontSize, style.fontWeight].join(' ');
    })"""


PLOTTED = """[...document.querySelectorAll('figure.plot')].every((figure) => {
    if (!figure.dataset.drawn) figure.scrollIntoView();
    return figure.dataset.drawn;
})"""
"""All plots of a page are drawn, which they are only once they are in sight."""


@pytest.mark.parametrize("width", [1300, 390])
def test_a_page_looks_the_same_after_all_others(browser: Any, site: Path, results: Path, width: int) -> None:
    size = {"width": width, "height": 900}
    seen = Visit(browser, site.as_uri(), viewport=size)
    pages = [*routes(results), "compare?suite=first"]
    for route in pages:
        seen.go(route)
    for route in pages:
        fresh = Visit(browser, site.as_uri(), viewport=size)
        shown = []
        for visit in (fresh, seen):
            page = visit.go(route)
            visit.until(PLOTTED)
            shown.append(page.evaluate(BOXES))
        assert shown[0] == shown[1], route
        fresh.context.close()
        assert fresh.wrong == []
    seen.context.close()
    assert seen.wrong == []


def test_coverage_says_what_ran_what_failed_and_what_is_missing(visit: Visit) -> None:
    page = visit.go("coverage?suite=second")
    assert "2 of 3 results (1 scenario, 3 models) are available; 1 failed, for 1 reason." in page.inner_text(".lead")
    assert visit.texts("#failures tbody td") == ["1", "the model fell over", "gamma", "IMDB"]
    assert page.locator("#not-run").count() == 0
    heights = page.evaluate("[...document.querySelectorAll('#coverage tbody tr')].map((row) => row.offsetHeight)")
    assert max(heights) <= 25
    visit.go("coverage?suite=nothing")
    assert "Unknown suite nothing" in page.inner_text("main")


def test_what_is_not_there_says_so(visit: Visit) -> None:
    for route in ("nonsense", "model/nobody", "run/../../../etc/passwd", "scenario/%2e%2e%2fsite", "board?suite=x"):
        page = visit.go(route)
        assert page.locator("h1").inner_text() in {"This page cannot be shown", "Leaderboard"}
    visit.wrong = [wrong for wrong in visit.wrong if "ERR_FILE_NOT_FOUND" not in wrong]


def test_coverage_is_filtered_by_several_facets_at_once(visit: Visit) -> None:
    page = visit.go("coverage?tag=task:question%20answering")
    both = len(visit.texts("#coverage tbody tr"))
    assert page.locator("#facet-task").input_value() == "question answering"
    visit.after(lambda: page.select_option("#facet-when", "before 2021"))
    assert page.locator("#facet-task").input_value() == "question answering"
    assert 0 < len(visit.texts("#coverage tbody tr")) < both


@pytest.mark.parametrize("width", [340, 800])
def test_a_narrow_window_scrolls_in_its_tables_alone(browser: Any, site: Path, results: Path, width: int) -> None:
    opened = Visit(browser, site.as_uri(), viewport={"width": width, "height": 700})
    for route in routes(results):
        page = opened.go(route)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, route
    opened.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser: Any, site: Path, results: Path, scheme: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    opened = Visit(browser, site.as_uri(), color_scheme=scheme, bypass_csp=True)
    rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"] if scheme == "light" else ["color-contrast"]
    options = {"runOnly": {"type": "tag" if scheme == "light" else "rule", "values": rules}}
    found = []
    for route in routes(results):
        page = opened.go(route)
        for violation in axe.run(page, options=options).response["violations"]:
            if violation["impact"] in {"serious", "critical"}:
                nodes = [node["html"][:200] for node in violation["nodes"][:3]]
                found.append(f"{route}: {violation['id']}: {nodes}")
    opened.context.close()
    assert found == []


def test_the_theme_is_kept(visit: Visit) -> None:
    page = visit.go("")
    colour = "getComputedStyle(document.body).backgroundColor"
    page.select_option("#theme", "dark")
    dark = page.evaluate(colour)
    page.reload()
    visit.drawn()
    assert page.evaluate(colour) == dark
    page.select_option("#theme", "light")
    assert page.evaluate(colour) == "rgb(255, 255, 255)"


def test_the_records_are_as_they_were(results: Path) -> None:
    assert all(read_run(run.directory).name == run.name for run in find_runs(results))


def test_paragraphs_of_a_description_are_paragraphs(visit: Visit) -> None:
    page = visit.go(f"scenario/{BOOLQ}")
    assert page.locator(".definition").count() > 1
    assert "\\n" not in page.inner_text("main")


def test_the_browser_rounds_as_the_command_line_does(visit: Visit) -> None:
    """Exact ties go to the even digit in both: 0.0625 is shown as 0.062."""
    values = [sign * k / 2**n for sign in (1, -1) for n in range(1, 7) for k in range(2**n + 1)]
    values += [0.0005, 0.0015, 1.0005, 2.5, 0.9995, 0.99951, 99.995, 12.345, 1e-9, 5e-4, 123.25, 99999.95]
    with_decimals = [(value, decimals) for value in values for decimals in (1, 2, 3)]
    shown = visit.go("").evaluate(
        "pairs => pairs.map(([value, decimals]) => harness.fixed(value, decimals))", with_decimals
    )
    assert shown == [f"{value:.{decimals}f}" for value, decimals in with_decimals]
