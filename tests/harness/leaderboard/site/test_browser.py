"""The site in a real browser, from disk and from a server: pages, sorting, filters, prompts, contaminated cells."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness import Completion, GenerateRequest, Message, Response, Tool, ToolCall
from harness.contracts.specs import Component
from harness.leaderboard.aggregate import build_board
from harness.leaderboard.pairwise import Contest, ContestResult
from harness.leaderboard.site.addresses import address_of, model_address, scenario_address
from harness.leaderboard.site.boards import pair_scores
from harness.leaderboard.site.builder import build_site
from harness.leaderboard.win_rate import mean_win_rates
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
        "board?view=all": "Leaderboard",
        "board?view=robustness": "Leaderboard",
        "models": "Models",
        f"model/{ALPHA}": "alpha",
        f"scenario/{BOOLQ}": "BoolQ",
        f"scenario/{MMLU}?view=accuracy": "MMLU",
        "coverage": "Coverage",
        f"run/{run}": "boolq",
        f"run/{run}?view=stats": "boolq",
        f"run/{run}?view=spec": "boolq",
        f"run/{run}?view=provenance": "boolq",
        "contamination": "Contamination",
        f"contamination/{contaminated(results)}": "boolq",
    }


def contaminated(results: Path) -> str:
    from harness.leaderboard.site.addresses import address_of

    runs = [run for run in find_runs(results) if run.suite == "order" and run.spec.model.name == "hf:org/alpha"]
    return address_of(runs[0])


def test_every_page_is_drawn_from_disk(visit: Visit, results: Path) -> None:
    for route, heading in routes(results).items():
        page = visit.go(route)
        assert page.locator("h1").first.inner_text() == heading, route
        assert page.locator("main table, main article, main pre").count() > 0, route


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


def test_the_numbers_are_those_of_the_leaderboard(visit: Visit, results: Path) -> None:
    board = build_board(find_runs(results))
    page = visit.go("")
    rows = page.locator("#overview tbody tr")
    for position, row in enumerate(board.rows):
        shown = rows.nth(position).inner_text()
        assert row.model in shown
        assert row.win_rate is None or f"{row.win_rate.value:.3f}" in shown
    cells = visit.texts("#scenarios tbody tr:first-child td")
    assert any(cell.startswith("0.800") for cell in cells)
    assert "the model fell over" in page.inner_text("main")
    assert "✗1" in page.inner_text("#scenarios")
    assert "sample data †" in page.inner_text("#scenarios thead")


def test_declined_answers_are_marked_on_every_page_that_shows_the_score(
    browser: Any, tmp_path: Path, make_run: Record
) -> None:
    from harness.leaderboard.site.addresses import address_of

    served = [{"model": "another", "system_fingerprint": None, "answers": 100}]
    declining = make_run("openai:a", "boolq", 0.25, declined={"refusal": 2}, served=served)
    save(tmp_path / "results", declining)
    save(tmp_path / "results", make_run("openai:b", "boolq", 0.5))
    opened = Visit(browser, build_site(tmp_path / "results", tmp_path / "site").parent.as_uri())
    opened.page.goto("about:blank")
    told = "2 of 100 answers were declined (2 refusals)"
    page = opened.go("")
    marked = [row.inner_text() for row in page.locator("main tbody tr").all() if "⊘" in row.inner_text()]
    assert len(marked) == 1
    assert "openai:a" in marked[0]
    assert told in page.locator("main").inner_text()
    page = opened.go(f"scenario/{BOOLQ}")
    assert page.locator("main table").first.inner_text().count("⊘") == 1
    page = opened.go(f"model/{model_address(Component(name='openai:a'))}")
    assert page.locator("main table").first.inner_text().count("⊘") == 1
    page = opened.go(f"run/{address_of(declining)}")
    assert "102 of 200 answers were declined" in page.locator("main").inner_text()
    assert "the server answered with 'another' (100 answers)" in page.locator("main").inner_text()
    opened.context.close()
    assert opened.wrong == []


def test_win_rates_of_what_is_shown_are_those_of_a_leaderboard_of_it(visit: Visit, results: Path) -> None:
    """The page's arithmetic against the builder's, on the runs that remain."""
    runs = [run for run in find_runs(results) if run.spec.model.name != "hf:org/gamma"]
    expected = {row.model: row.win_rate for row in build_board(runs).rows}
    page = visit.go(f"board?models={ALPHA},{BETA}")
    for name, rate in expected.items():
        row = page.locator("#overview tbody tr", has_text=name)
        value = row.locator("td").nth(1).inner_text()
        assert rate is not None
        assert value.startswith(f"{rate.value:.3f}")
        assert rate.low is not None
        assert f"[{rate.low:.2f}, {rate.high:.2f}]" in value


def test_win_rates_in_the_page_equal_the_builder_s(visit: Visit) -> None:
    """Tables of chance: some models without a result, some results without an error, some models left out."""
    rng = np.random.default_rng(1)
    page = visit.go("")
    for _ in range(20):
        size, count = int(rng.integers(2, 12)), int(rng.choice([20, 200, 2000]))
        names = [f"m{place:02d}" for place in range(size)]
        kept = [place for place in range(size) if rng.uniform() < 0.8]
        contests, measures = [], []
        for column in range(int(rng.integers(1, 30))):
            means = rng.uniform(0, 1, size)
            there = [place for place in range(size) if rng.uniform() < 0.85]
            entries = {
                names[place]: ContestResult(
                    float(means[place]),
                    float(np.sqrt(means[place] * (1 - means[place]) / count)) if rng.uniform() < 0.95 else None,
                    count,
                )
                for place in there
            }
            contests.append(Contest(f"{column:03d}", bool(rng.integers(2)), entries))
            cells = [[float(mean), 0, 0, count, 1] if at in there else None for at, mean in enumerate(means)]
            measures.append({"column": column, "higher": contests[-1].higher_is_better, "cells": cells})
        pairs = [pair_scores(contest, names) for contest in contests]
        found = page.evaluate(
            """([measures, pairs, models, size]) => [...harness.winRates(measures, pairs, models,
                new Set(measures.map((m) => m.column)), size, () => false, () => false)]""",
            [measures, pairs, kept, size],
        )
        shown = {names[place] for place in kept}
        expected = mean_win_rates(
            [
                replace(one, results={name: entry for name, entry in one.results.items() if name in shown})
                for one in contests
            ]
        )
        assert {names[place]: pytest.approx(rate) for place, rate in found} == {
            name: [rate.value, rate.low, rate.high, rate.columns, rate.of, rate.first, rate.last]
            for name, rate in expected.items()
        }


def test_headings_sort_and_the_address_keeps_the_order(visit: Visit) -> None:
    page = visit.go("")
    page.click("#overview-calibration")
    assert visit.texts("#overview tbody th") == ["alpha", "beta", "gamma"]
    page.click("#overview-calibration")
    assert visit.texts("#overview tbody th") == ["gamma", "beta", "alpha"]
    assert page.locator("#overview th[aria-sort=ascending]").inner_text().startswith("Calibration")
    assert "sort=calibration" in page.url
    page.reload()
    visit.drawn()
    assert visit.texts("#overview tbody th") == ["gamma", "beta", "alpha"]


def test_the_keyboard_sorts_too(visit: Visit) -> None:
    page = visit.go("")
    page.focus("#overview-model")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert visit.texts("#overview tbody th") == ["gamma", "beta", "alpha"]
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "overview-rank"


def test_the_list_of_models_stays_open_until_the_work_is_elsewhere(visit: Visit) -> None:
    page = visit.go("")
    page.click("#models summary")
    page.uncheck(f"#model-{BETA}")
    visit.until("document.querySelectorAll('#overview tbody tr').length === 2")
    assert page.locator("#models").get_attribute("open") is not None
    assert page.evaluate("document.activeElement.id") == f"model-{BETA}"
    page.keyboard.press("Escape")
    assert page.locator("#models").get_attribute("open") is None
    page.click("#models summary")
    page.click("h1")
    assert page.locator("#models").get_attribute("open") is None


def test_scenarios_and_suites_and_kinds_filter(visit: Visit) -> None:
    page = visit.go("")
    page.fill("#scenario-filter", "mmlu")
    visit.until("document.querySelectorAll('#scenarios thead th').length === 2")
    assert page.evaluate("document.activeElement.id") == "scenario-filter"
    assert "1 column ↑" in page.inner_text("#overview-accuracy")
    assert "q=mmlu" in page.url
    visit.go("board?tag=task:sentiment%20analysis")
    assert [text.split("\n")[0] for text in visit.texts("#scenarios thead .title")] == ["Model", "imdb"]
    visit.go("")
    page.select_option("#suite", label="second")
    visit.until("!document.querySelector('#scenarios').innerText.includes('boolq')")
    assert "imdb" in page.inner_text("#scenarios")
    page.go_back()
    visit.until("document.querySelector('#scenarios').innerText.includes('boolq')")
    visit.go("board?tag=measured:robustness")
    assert [text.split("\n")[0] for text in visit.texts("#scenarios thead .title")] == ["Model", "boolq"]
    visit.go("board?data=sample")
    assert [text.split("\n")[0] for text in visit.texts("#scenarios thead .title")] == ["Model", "sample_reading"]


def test_what_a_model_has_seen_is_struck_through_and_can_be_left_out(visit: Visit) -> None:
    page = visit.go("board?q=boolq")
    assert visit.texts("#overview tbody tr td:nth-child(4)") == ["1 of 1", "0 of 1", "—"]
    struck = page.locator("#scenarios s")
    assert struck.count() == 1
    assert struck.inner_text() == "0.800"
    assert page.locator("#scenarios td.best s").count() == 0  # the largest number, but nobody's best
    assert page.locator("#scenarios tr", has=page.locator("s")).locator("th").inner_text() == "alpha"
    mark = page.locator("#scenarios a.tip")
    mark.focus()
    assert "3.2 × 10⁻¹³" in mark.evaluate("e => getComputedStyle(e, '::after').content")
    before = page.locator("#overview tbody tr", has_text="alpha").locator("td").nth(1).inner_text()
    assert before.startswith("1.000")
    visit.after(lambda: page.check("#clean"))
    after = page.locator("#overview tbody tr", has_text="alpha").locator("td").nth(1).inner_text()
    assert after == "—"
    page.locator("#scenarios a.tip").click()
    visit.until("document.querySelector('h1').innerText === 'boolq'")
    assert "dependence on the published order detected" in page.inner_text("main")
    assert "2 of 4 boundaries" in page.inner_text("main")
    assert "0 of 2" in page.inner_text("#shards")


def test_the_contamination_table_corrects_over_a_models_sets(visit: Visit) -> None:
    page = visit.go("contamination")
    assert "3.2 × 10⁻¹³" in page.inner_text("#contamination tbody tr:first-child")
    assert "not detected" in page.inner_text("#contamination tbody tr:nth-child(2)")


def test_a_cell_leads_to_the_prompt(visit: Visit) -> None:
    page = visit.go("board?q=boolq")
    page.locator("#scenarios tbody tr", has_text="beta").locator("td a").first.click()
    page.wait_for_selector("article.example")
    first = page.locator("article.example").first
    first.locator("summary", has_text="Exact prompts").click()
    assert (
        "Question number 0 about the moon?\nAnswer:"
        in first.locator("pre[aria-label='the context']").first.inner_text()
    )
    table = first.locator("table").first.inner_text()
    assert "yes it is" in table
    assert "-2.000" in table


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


def test_the_pages_are_named_in_full_in_a_narrow_window(browser: Any, site: Path) -> None:
    opened = Visit(browser, site.as_uri(), viewport={"width": 390, "height": 700})
    page = opened.go("")
    heights = page.eval_on_selector_all(".site-head nav a", "links => links.map(a => a.getClientRects()[0].height)")
    opened.context.close()
    assert max(heights) == min(heights) < 40


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


def test_paper_is_white_and_holds_the_table(visit: Visit) -> None:
    page = visit.go("")
    page.select_option("#theme", "dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.querySelector('h1')).color") == "rgb(26, 31, 40)"
    assert page.locator("#theme").is_visible() is False
    page.set_viewport_size({"width": 1032, "height": 700})  # A4, landscape, within its margins
    assert page.evaluate("document.querySelector('#overview').getBoundingClientRect().right") <= 1032


def test_the_records_are_as_they_were(results: Path) -> None:
    assert all(read_run(run.directory).name == run.name for run in find_runs(results))


def test_pages_are_drawn_in_whatever_order_the_scripts_arrive(browser: Any, served: str, site: Path) -> None:
    scripts = re.findall(r'src="assets/([a-z]+\.js)', (site / "index.html").read_text(encoding="utf-8"))
    assert {"core.js", "table.js"} <= set(scripts)
    for late in scripts:
        opened = Visit(browser, served)

        def delayed(route: Any) -> None:
            time.sleep(0.5)
            route.continue_()

        opened.page.route(f"**/assets/{late}*", delayed)
        assert opened.go("").locator("h1").first.inner_text() == "Leaderboard", late
        assert opened.page.locator("#overview tbody tr").count() == 3, late
        opened.context.close()
        assert opened.wrong == [], late


@pytest.mark.parametrize("width", [1300, 800])
def test_headings_stay_within_their_columns(browser: Any, tmp_path: Path, make_run: Record, width: int) -> None:
    parameters = {"name": "civil_comments", "demographic": "all_of_the_groups", "edition": "toxic_spans_of_the_text"}
    for model in ("hf:org/a", "hf:org/b"):
        save(tmp_path / "results", make_run(model, parameters, 0.5, metric="a_metric_with_quite_a_long_name"))
        save(tmp_path / "results", make_run(model, "boolq", 0.5))
    build_site(tmp_path / "results", tmp_path / "site")
    opened = Visit(browser, (tmp_path / "site").as_uri(), viewport={"width": width, "height": 900})
    outside = opened.go("").evaluate(
        """() => [...document.querySelectorAll("thead th *")].filter((element) => {
          const [inner, outer] = [element, element.closest("th")].map((one) => one.getBoundingClientRect());
          return inner.width && (inner.left < outer.left - 1 || inner.right > outer.right + 1);
        }).map((element) => element.textContent)"""
    )
    opened.context.close()
    assert outside == []


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


def test_a_suite_is_addressed_by_its_name(visit: Visit) -> None:
    for name in ("board", "plots", "compare"):
        page = visit.go(f"{name}?suite=first")
        assert page.locator("#suite option:checked").inner_text() == "first", name
    page = visit.go("board?suite=first")
    assert "imdb" not in page.inner_text("#scenarios")
    visit.after(lambda: page.select_option("#suite", label="second"))
    assert "imdb" in page.inner_text("#scenarios")


def test_an_unknown_suite_is_refused_by_name(visit: Visit) -> None:
    shown = visit.go("board?suite=third").inner_text("main")
    assert "Unknown suite third. Known: first, order, second." in shown


def test_the_browser_rounds_as_the_command_line_does(visit: Visit) -> None:
    """Exact ties go to the even digit in both: 0.0625 is shown as 0.062."""
    values = [sign * k / 2**n for sign in (1, -1) for n in range(1, 7) for k in range(2**n + 1)]
    values += [0.0005, 0.0015, 1.0005, 2.5, 0.9995, 0.99951, 99.995, 12.345, 1e-9, 5e-4, 123.25, 99999.95]
    with_decimals = [(value, decimals) for value in values for decimals in (1, 2, 3)]
    shown = visit.go("").evaluate(
        "pairs => pairs.map(([value, decimals]) => harness.fixed(value, decimals))", with_decimals
    )
    assert shown == [f"{value:.{decimals}f}" for value, decimals in with_decimals]
