"""Plots, the comparison of models and a running sweep in a real browser: drawn, saved, computed, and nothing acts."""

from __future__ import annotations

import csv
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.contracts.specs import Component
from harness.leaderboard.comparison import compare_models
from harness.leaderboard.site.addresses import model_address
from harness.leaderboard.site.builder import build_site
from harness.leaderboard.site.live import LiveSite
from harness.leaderboard.site.server import SiteServer
from harness.storage.results import find_runs
from tests.harness.leaderboard.site.conftest import Record, Visit
from tests.harness.leaderboard.site.plotted import MODELS, write_plotted

pytestmark = pytest.mark.slow

MARKS = ".drawing svg path, .drawing svg rect, .drawing svg line, .drawing svg text"
ADDRESSES = {model: model_address(Component(name=model)) for model in MODELS}


@pytest.fixture(scope="module")
def plotted(tmp_path_factory: pytest.TempPathFactory, make_run: Record) -> Path:
    """A results folder with every plot, and its site beside it."""
    root = tmp_path_factory.mktemp("plotted") / "results"
    write_plotted(root, make_run)
    build_site(root, root.parent / "public")
    return root


@pytest.fixture
def looking(browser: Any, plotted: Path) -> Iterator[Visit]:
    opened = Visit(browser, (plotted.parent / "public").as_uri(), viewport={"width": 1400, "height": 900})
    opened.page.goto("about:blank")
    yield opened
    opened.context.close()
    assert opened.wrong == []


def _draw_all(visit: Visit) -> int:
    """Scroll from plot to plot until each is drawn; return how many there are."""
    figures = visit.page.locator("figure.plot")
    for position in range(figures.count()):
        figures.nth(position).scroll_into_view_if_needed()
        visit.until(f"document.querySelectorAll('figure.plot')[{position}].dataset.drawn")
        assert figures.nth(position).get_attribute("data-drawn") == "yes"
        assert figures.nth(position).locator(MARKS.replace(".drawing ", "")).count() > 3
    return int(figures.count())


def _column(visit: Visit, beginning: str) -> str:
    """Return the option of the choice of columns that begins so."""
    return next(text for text in visit.texts("#column option") if text.startswith(beginning))


def test_every_plot_is_drawn_with_names_that_do_nothing(looking: Visit) -> None:
    looking.go("plots")
    assert _draw_all(looking) == 8 + 2 + 1  # of the models, of the first column, of the copies
    assert "script>" in looking.page.text_content("figure[data-key='all/categories'] svg")
    looking.after(lambda: looking.page.select_option("#column", _column(looking, "MMLU")))
    assert _draw_all(looking) == 8 + 1 + 1


def test_plots_come_only_when_they_are_looked_at(looking: Visit) -> None:
    looking.go("")
    loaded = "performance.getEntriesByType('resource').map(entry => entry.name).join(' ')"
    assert "vega" not in looking.page.evaluate(loaded)
    looking.go("plots")
    assert looking.page.locator("figure.plot").last.get_attribute("data-drawn") is None


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_plot_has_the_colours_of_the_theme_and_words_for_it(browser: Any, plotted: Path, scheme: Any) -> None:
    opened = Visit(browser, (plotted.parent / "public").as_uri(), color_scheme=scheme)
    opened.page.goto("about:blank")
    opened.go("plots")
    opened.until("document.querySelector('figure.plot').dataset.drawn")
    svg = opened.page.locator("figure.plot svg").first
    colour = "harness.colour('text')"
    assert f'fill="{opened.page.evaluate(colour)}"' in svg.inner_html()
    assert svg.get_attribute("role") == "img"
    assert "Mean win rates by category" in svg.get_attribute("aria-label")
    opened.page.select_option("#theme", "dark" if scheme == "light" else "light")
    opened.until(f"document.querySelector('figure.plot svg')?.innerHTML.includes({colour})")
    opened.context.close()
    assert opened.wrong == []


def test_files_of_a_plot(looking: Visit, tmp_path: Path) -> None:
    looking.go("plots")
    looking.until("document.querySelector('figure.plot').dataset.drawn")
    figure = looking.page.locator("figure.plot").first
    for kind in ("SVG", "PNG", "CSV"):
        with looking.page.expect_download() as waiting:
            figure.get_by_role("button", name=kind).click()
        assert waiting.value.suggested_filename == f"mean-win-rates-by-category.{kind.lower()}"
        waiting.value.save_as(tmp_path / kind)
    assert (tmp_path / "SVG").read_text().startswith("<svg")
    assert "<script" not in (tmp_path / "SVG").read_text()
    assert (tmp_path / "PNG").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    rows = list(csv.DictReader((tmp_path / "CSV").read_text().splitlines()))
    assert {row["category"] for row in rows} >= {"accuracy", "calibration", "efficiency"}
    assert len(rows) % 3 == 0
    figure.locator("details.numbers summary").click()
    figure.locator("details.numbers tbody tr").first.wait_for()  # made once the browser has told that it is open
    assert figure.locator("details.numbers tbody tr").count() == len(rows)


def test_orders_are_drawn_on_the_page_of_a_contamination_test(looking: Visit) -> None:
    page = looking.go("contamination")
    looking.after(lambda: page.locator("#contamination tbody tr a[href*='contamination/']").first.click())
    page.locator("#plot-orders").scroll_into_view_if_needed()
    looking.until("document.querySelector('#plot-orders figure')?.dataset.drawn")
    assert page.locator("#plot-orders svg path").count() >= 4 * 3


def test_comparisons_are_those_of_the_command(looking: Visit, plotted: Path) -> None:
    family = compare_models(find_runs(plotted, ["main"]), "hf:org/alpha", "hf:org/beta")
    page = looking.go(f"compare?first={ADDRESSES['hf:org/alpha']}&with={ADDRESSES['hf:org/beta']}")
    lines = {line.locator("th").inner_text(): line.inner_text() for line in page.locator("#comparisons tbody tr").all()}
    assert len(lines) == len(family.comparisons) == 3
    for comparison in family.comparisons:
        line = next(text for name, text in lines.items() if name.lower().startswith(comparison.title.lower())).replace(
            "−", "-"
        )
        assert f"{comparison.difference:+.3f}" in line
        if comparison.low is None:
            assert "[" not in line
        else:
            assert f"[{comparison.low:+.3f}, {comparison.high:+.3f}]" in line
        shown = [float(cell.lstrip("<")) for cell in line.split("\t")[-3:-1]]
        assert shown == pytest.approx([comparison.p, comparison.p_holm], abs=0.00051)
    links = page.locator("#comparisons tbody a")
    assert links.count() == 3
    links.first.click()
    looking.until("document.querySelector('#instances')")
    assert "on 5 of 20 instances" in page.inner_text("main")
    assert page.locator("#instances tbody tr").count() == 5
    looking.after(lambda: page.locator("#instances tbody a").first.click())
    assert page.locator("article.example, .example").count() >= 1


BROKEN_WORDS = """() => [...document.querySelectorAll('#comparisons thead .title')].flatMap((title) => {
  const found = [], walker = document.createTreeWalker(title, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) for (const word of walker.currentNode.data.matchAll(/\\S+/g)) {
    const range = document.createRange();
    range.setStart(walker.currentNode, word.index);
    range.setEnd(walker.currentNode, word.index + word[0].length);
    if (range.getClientRects().length > 1) found.push(word[0]);
  }
  return found;
})"""


@pytest.mark.parametrize("width", [800, 1200])
def test_no_heading_breaks_within_a_word(looking: Visit, width: int) -> None:
    looking.page.set_viewport_size({"width": width, "height": 900})
    page = looking.go(f"compare?with={','.join(list(ADDRESSES.values())[1:])}")
    assert page.locator("#comparisons thead .title").count() == 10
    assert page.evaluate(BROKEN_WORDS) == []


def test_the_pair_is_shown_from_either_side(looking: Visit) -> None:
    one, other = ADDRESSES["hf:org/alpha"], ADDRESSES["hf:org/beta"]

    def differences(first: str, second: str) -> list[list[str]]:
        page = looking.go(f"compare?first={first}&with={second}")
        return [line.inner_text().split("\t") for line in page.locator("#comparisons tbody tr").all()]

    for mine, theirs in zip(differences(one, other), differences(other, one), strict=True):
        assert (mine[3], mine[4]) == (theirs[4], theirs[3])
        assert mine[5][0] != theirs[5][0]
        assert mine[6:] == theirs[6:]


def test_several_models_are_one_family(looking: Visit) -> None:
    others = ",".join(list(ADDRESSES.values())[1:])
    page = looking.go(f"compare?first={ADDRESSES['hf:org/alpha']}&with={others}")
    assert page.locator("#comparisons tbody tr").count() == 6
    assert "6 comparisons" in page.inner_text("main")
    page.locator("details.models-choice summary").click()
    page.locator("details.models-choice input").first.uncheck()
    looking.until("document.querySelectorAll('#comparisons tbody tr').length === 3")


def test_a_running_sweep_is_shown_and_new_results_come(browser: Any, plotted: Path, tmp_path: Path) -> None:
    progress = plotted / ".progress" / "main.json"
    progress.parent.mkdir(exist_ok=True)
    state = {"suite": "<b>main</b>", "state": "running", "runs": 9, "done": 4, "failed": 1, "current": "<i>quiz</i>",
             "examples": 12, "of_examples": 50, "rate": 2.5, "updated": "2999-01-01T00:00:00+00:00"}  # fmt: skip
    progress.write_text(json.dumps(state))
    live = LiveSite(plotted, tmp_path / "site", build_site, poll=0.1)
    with SiteServer(tmp_path / "site", live.state, port=0) as server:
        live.start()
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            opened = Visit(browser, server.url.rstrip("/"), viewport={"width": 1300, "height": 900})
            opened.page.goto("about:blank")
            page = opened.go("plots")
            opened.until("document.querySelector('.live-sweep')")
            shown = page.inner_text(".live")
            for words in ("<b>main</b>", "4 of 9 runs", "1 failed", "12 of 50 examples", "2.5 a second", "<i>quiz"):
                assert words in shown
            assert _draw_all(opened) == 11
            page.mouse.click(5, 5)  # somebody reads: the page does not renew itself under their eyes
            record = next(plotted.glob("main/*/run.json"))
            text = record.read_text()
            record.write_text(text.replace('"finished": "2025', '"finished": "2026'))
            opened.until("document.querySelector('.live-news button')")
            progress.write_text(json.dumps({**state, "state": "ended"}))
            page.get_by_role("button", name="Show them").click()
            opened.until("document.documentElement.dataset.ready && !document.querySelector('.live-news button')")
            opened.until("document.querySelector('.live').hidden")
            opened.context.close()
            assert opened.wrong == []
        finally:
            progress.unlink()
            server.shutdown()
            thread.join()
            live.stop()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser: Any, plotted: Path, scheme: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    # The checker is put into the page as a script of its own, which the policy forbids.
    opened = Visit(browser, (plotted.parent / "public").as_uri(), color_scheme=scheme, bypass_csp=True)
    opened.page.goto("about:blank")
    options = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
    for route in ("plots", "compare"):
        page = opened.go(route)
        if route == "plots":
            opened.until("document.querySelector('figure.plot').dataset.drawn")
        found = axe.run(page, options=options).response["violations"]
        serious = [one["id"] for one in found if one["impact"] in {"serious", "critical"}]
        assert serious == [], [node["html"][:200] for one in found for node in one["nodes"][:3]]
    opened.context.close()
