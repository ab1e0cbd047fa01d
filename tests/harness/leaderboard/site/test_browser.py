"""The site in a real browser, from disk and from a server: pages, sorting, filters, prompts, contaminated cells."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness import Completion, GenerateRequest, Message, Response, Tool, ToolCall
from harness.contracts.specs import Component
from harness.leaderboard.site.addresses import address_of, model_address, scenario_address
from harness.leaderboard.site.builder import build_site
from harness.storage.results import find_runs, read_run
from tests.harness.leaderboard.site.conftest import Record, Visit, generated, save

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
        "coverage": "Coverage",
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


def test_every_link_of_every_page_leads_somewhere(visit: Visit, results: Path) -> None:
    known, waiting = {""}, [""]
    while waiting:
        page = visit.go(waiting.pop())
        assert page.locator("h1").first.inner_text() != "This cannot be shown"
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
    assert "not detected" in page.inner_text("#contamination tbody tr:nth-child(2)")


def test_examples_filter_by_what_is_wrong_and_by_words(visit: Visit, results: Path) -> None:
    run = run_of(results, "alpha", "boolq")
    page = visit.go(f"run/{run}")
    assert "1–10 of 80 examples" in page.inner_text("main")
    visit.after(lambda: page.select_option("#only", "wrong"))
    page.select_option("#copies", "original")
    visit.until("document.querySelector('main').innerText.includes('1–8 of 8 examples')")
    assert set(visit.texts("article.example > header .mark")) == {"wrong"}
    visit.go(f"run/{run}")
    page.fill("#example-filter", "number 37 about")
    visit.until("document.querySelectorAll('article.example').length === 2")
    assert "test-37" in page.inner_text("article.example")
    page.fill("#example-filter", "number 37 about the moon? Answer:")  # stands in a prompt alone
    visit.until("document.querySelector('main').innerText.includes('1 of 80 examples match')")
    visit.go(f"run/{run}?page=8")
    assert "71–80 of 80" in page.inner_text("main")
    page.click("text=Previous")
    visit.until("document.querySelector('main').innerText.includes('61–70 of 80')")


def test_examples_stand_beside_another_models(visit: Visit, results: Path) -> None:
    alpha, beta = run_of(results, "alpha", "boolq"), run_of(results, "beta", "boolq")
    page = visit.go(f"run/{alpha}?with={beta}&only=differs&copies=original")
    # Alpha is right on the first eight of ten, beta on the first six.
    assert "1–8 of 8 examples" in page.inner_text("main")
    assert visit.texts("article.example h4 .mark")[:2] == ["right", "wrong"]


def test_a_perturbed_copy_stands_beside_its_original_with_the_change_marked(visit: Visit, results: Path) -> None:
    page = visit.go(f"run/{run_of(results, 'alpha', 'boolq')}?at=0")
    copy = page.locator("article.example").nth(1)
    assert copy.locator("del").all_inner_texts() == ["moon?"]
    assert copy.locator("ins").all_inner_texts() == ["m00n?"]


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


def test_what_was_read_is_shown_with_its_place_in_the_answer(browser: Any, tmp_path: Path, make_run: Record) -> None:
    told = generated(1, "How many?", "It is 2 + 2, so\n#### 4 <b>", True)
    told = replace(told, prediction="4", predictions=("4",), readings={"strict": "4", "flexible": "4"})
    silent = generated(2, "How many?", "I cannot say.", False)
    silent = replace(silent, prediction="", unread=True, readings={"strict": None, "flexible": None})
    run = save(tmp_path / "results", make_run("hf:org/a", "boolq", 0.5), [told, silent], score=lambda one: 1.0)
    build_site(tmp_path / "results", tmp_path / "site")
    opened = Visit(browser, (tmp_path / "site").as_uri())
    page = opened.go(f"run/{address_of(run)}")
    first, second = page.locator("article.example").all()
    assert first.locator(".readings dd").all_inner_texts() == ["4", "4"]
    assert first.locator(".readings mark").all_inner_texts() == ["4"]
    assert "#### 4 <b>" in first.locator(".readings pre").inner_text()
    assert second.locator(".readings dd").all_inner_texts() == ["nothing", "nothing"]
    assert "no answer could be read" in second.locator("header").inner_text()
    opened.context.close()
    assert opened.wrong == []


def test_calls_of_tools_are_shown_as_text(browser: Any, tmp_path: Path, make_run: Record) -> None:
    acting = "<img src=x onerror='window.acted = 1'>"
    calls = (ToolCall(f"weather{acting}", {f"city{acting}": acting}), ToolCall("half", f'{{"a": {acting}'))
    told = generated(1, "Which tools?", "", True)
    asked = (Message("user", "Before?"), Message("assistant", "", calls), Message("tool", acting, tool_call_id="x"))
    request = GenerateRequest(asked, 5, tools=(Tool("weather", acting, {"type": acting}),))
    response = Response((Completion("", finish_reason="tool_call", tool_calls=calls),))
    told = replace(told, requests=(request,), responses=(response,))
    run = save(tmp_path / "results", make_run("hf:org/a", "boolq", 0.5), [told], score=lambda one: 1.0)
    build_site(tmp_path / "results", tmp_path / "site")
    opened = Visit(browser, (tmp_path / "site").as_uri())
    page = opened.go(f"run/{address_of(run)}")
    card = page.locator("article.example")
    assert f"weather{acting}" in card.locator(".answers").inner_text()
    for summary in card.locator("summary").all():
        summary.click()
    assert card.inner_text().count(f"Calls weather{acting}") == 3  # of the answer, twice, and of the prompt
    assert card.inner_text().count(f'{{"a": {acting}') == 3
    assert f'"description": "{acting}"' in card.inner_text()
    assert page.evaluate("window.acted === undefined")
    assert page.locator("main img").count() == 0
    opened.context.close()
    assert opened.wrong == []


def test_reasoning_is_folded_and_shown_as_text(browser: Any, tmp_path: Path, make_run: Record) -> None:
    acting = "<img src=x onerror='window.acted = 1'>"
    thought = Completion("4", reasoning=f"Two and two.\n{acting}", reasoning_tokens=1234)
    endless = Completion("", finish_reason="unfinished_reasoning", reasoning="Let me")
    first = replace(generated(1, "How many?", "4", True), responses=(Response((thought,)),))
    second = replace(generated(2, "How many?", "", False), responses=(Response((endless,)),))
    used = {"examples": 2, "unfinished_reasoning": 1, "prompt_tokens": 9, "completion_tokens": 1300}
    made = make_run("hf:org/a", "boolq", 0.5, efficiency={**used, "reasoning_tokens": 1234})
    run = save(tmp_path / "results", made, [first, second], score=lambda one: 1.0)
    build_site(tmp_path / "results", tmp_path / "site")
    opened = Visit(browser, (tmp_path / "site").as_uri())
    page = opened.go(f"run/{address_of(run)}")
    told, silent = page.locator("article.example").all()
    assert "Two and two" not in told.inner_text()
    told.get_by_text("Reasoning (1,234 tokens)").click()
    assert f"Two and two.\n{acting}" in told.inner_text()
    assert "unfinished reasoning" in silent.locator("header").inner_text()
    assert silent.get_by_text("Reasoning (6 characters, unfinished)").count() == 1
    facts = page.locator("main").inner_text()
    assert "1 of 2 answers end in unfinished reasoning" in facts
    assert "1,234 of them reasoning" in facts
    assert page.evaluate("window.acted === undefined")
    assert page.locator("main img").count() == 0
    opened.context.close()
    assert opened.wrong == []


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
