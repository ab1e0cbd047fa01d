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
from harness.leaderboard.site.addresses import model_address
from harness.leaderboard.site.builder import build_site
from harness.leaderboard.site.live import LiveSite
from harness.leaderboard.site.server import SiteServer
from tests.harness.leaderboard.site.conftest import Record, Visit
from tests.harness.leaderboard.site.plotted import MODELS, write_field, write_plotted

pytestmark = pytest.mark.slow

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
        assert figures.nth(position).locator(".mark").count() >= 3
    return int(figures.count())


def _column(visit: Visit, beginning: str) -> str:
    """Return the option of the choice of columns that begins so."""
    return next(text for text in visit.texts("#column option") if text.startswith(beginning))


def test_every_plot_is_drawn_with_names_that_do_nothing(looking: Visit) -> None:
    page = looking.go("plots?suites=all")
    assert _draw_all(looking) == 3
    assert "script>" in page.text_content("figure[data-key='all/categories'] svg")
    looking.go("plots?suites=all&view=accuracy")
    assert _draw_all(looking) == 5
    looking.go("plots?suites=all&view=column")
    assert _draw_all(looking) == 2
    looking.after(lambda: page.select_option("#column", _column(looking, "MMLU")))
    assert _draw_all(looking) == 1
    looking.go("plots?suites=all&view=contamination")
    assert _draw_all(looking) == 1


def test_plots_come_only_when_they_are_looked_at(looking: Visit) -> None:
    looking.go("")
    loaded = "performance.getEntriesByType('resource').map(entry => entry.name).join(' ')"
    assert "chart.js" not in looking.page.evaluate(loaded)
    looking.page.set_viewport_size({"width": 800, "height": 500})
    looking.go("plots?view=accuracy")
    assert looking.page.locator("figure.plot").last.get_attribute("data-drawn") is None


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_plot_has_the_colours_of_the_theme_and_words_for_it(browser: Any, plotted: Path, scheme: Any) -> None:
    opened = Visit(browser, (plotted.parent / "public").as_uri(), color_scheme=scheme)
    opened.page.goto("about:blank")
    opened.go("plots?view=column")
    opened.until("document.querySelector('figure.plot').dataset.drawn")
    accent = "getComputedStyle(document.querySelector('svg.chart .chosen .dot')).fill === harness.colour('accent')"
    assert opened.page.evaluate(accent)
    before = opened.page.evaluate("harness.colour('accent')")
    assert opened.page.locator("svg.chart").first.get_attribute("aria-label").startswith("<b>quiz</b>: scores. Models")
    opened.page.select_option("#theme", "dark" if scheme == "light" else "light")
    assert opened.page.evaluate(accent)
    assert opened.page.evaluate("harness.colour('accent')") != before
    opened.context.close()
    assert opened.wrong == []


def test_one_model_is_highlighted_in_every_plot(looking: Visit) -> None:
    page = looking.go("plots?view=column")
    _draw_all(looking)
    chosen = "[...document.querySelectorAll('svg.chart text.chosen')].map((text) => text.textContent)"
    assert page.evaluate(chosen) == ["alpha", "alpha"]
    page.select_option("#model", "beta")
    assert page.evaluate(chosen) == ["beta", "beta"]
    assert "model=beta" in page.url
    page.locator("svg.chart .series:not(.chosen) .mark").first.click()
    assert len(set(page.evaluate(chosen))) == 1
    assert page.evaluate(chosen) != ["beta", "beta"]
    looking.go("plots?view=column&model=nobody")
    assert "Unknown model nobody" in page.inner_text("main")


def test_the_keyboard_reaches_every_mark(looking: Visit) -> None:
    page = looking.go("plots?view=column")
    _draw_all(looking)
    chart = page.locator("svg.chart").first
    marks = chart.locator(".mark").count()
    assert chart.locator(".mark[tabindex='0']").count() == 1
    chart.locator(".mark[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    looking.until("!document.querySelector('#tip')?.hidden")
    assert page.inner_text("#tip").startswith("beta")
    seen = {page.evaluate("document.activeElement.getAttribute('aria-label')")}
    page.keyboard.press("ArrowUp")
    for _ in range(marks - 1):
        seen.add(page.evaluate("document.activeElement.getAttribute('aria-label')"))
        page.keyboard.press("ArrowDown")
    seen.add(page.evaluate("document.activeElement.getAttribute('aria-label')"))
    assert len(seen) == marks == 3
    page.keyboard.press("Enter")
    assert "model=" in page.url


# Texts that leave their drawing, and names that lie over each other.
CLIPPED = """() => [...document.querySelectorAll('svg.chart')].flatMap((svg) => {
  const whole = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].filter((text) => {
    const box = text.getBoundingClientRect();
    return box.left < whole.left - 1 || box.right > whole.right + 1
      || box.top < whole.top - 1 || box.bottom > whole.bottom + 1;
  }).map((text) => text.textContent);
})"""
OVERLAPS = """() => [...document.querySelectorAll('svg.chart')].flatMap((svg) => {
  const names = [...svg.querySelectorAll('.labels text, .rows text:not([transform])')];
  const boxes = names.map((text) => [text.textContent, text.getBoundingClientRect()]);
  const over = (a, b) => a.left < b.right - 1 && a.right > b.left + 1 && a.top < b.bottom - 2 && a.bottom > b.top + 2;
  return boxes.flatMap(([name, a], at) => boxes.slice(at + 1).filter(([, b]) => over(a, b)).map(([b]) => [name, b]));
})"""


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory, make_run: Record) -> Path:
    """A site of 30 models with long names on data sets of 15 questions."""
    root = tmp_path_factory.mktemp("field")
    write_field(root / "results", make_run)
    return build_site(root / "results", root / "site").parent


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_thirty_models_are_drawn_without_anything_clipped(browser: Any, field: Path, width: int, scheme: Any) -> None:
    opened = Visit(browser, field.as_uri(), viewport={"width": width, "height": 900}, color_scheme=scheme)
    opened.page.goto("about:blank")
    for view in ("", "accuracy", "column"):
        page = opened.go(f"plots?view={view}")
        _draw_all(opened)
        assert page.evaluate(CLIPPED) == []
        assert page.evaluate(OVERLAPS) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    bins = page.locator("figure[data-key*='reliability'] .series.chosen .mark")
    assert bins.count() == 2
    assert "15 predictions in 2 bins" in page.inner_text("figure[data-key*='reliability']")
    assert page.locator("figure[data-key*='reliability'] .whisker").count() == 2
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
    assert "class=" not in (tmp_path / "SVG").read_text()  # its colours are its own
    assert (tmp_path / "PNG").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    rows = list(csv.DictReader((tmp_path / "CSV").read_text().splitlines()))
    assert {row["category"] for row in rows} >= {"Accuracy", "Calibration", "Efficiency"}
    assert len(rows) % 3 == 0
    figure.locator("details.numbers summary").click()
    figure.locator("details.numbers tbody tr").first.wait_for()  # made once the browser has told that it is open
    assert figure.locator("details.numbers tbody tr").count() == len(rows)


def test_orders_are_drawn_on_the_page_of_a_contamination_test(looking: Visit) -> None:
    page = looking.go("contamination")
    looking.after(lambda: page.locator("#contamination tbody tr a[href*='contamination/']").first.click())
    page.locator("#plot-orders").scroll_into_view_if_needed()
    looking.until("document.querySelector('#plot-orders figure')?.dataset.drawn")
    assert page.locator("#plot-orders svg .mark").count() == 4 * 3


def test_a_run_draws_its_calibration_with_its_statistics(looking: Visit, plotted: Path) -> None:
    data = plotted.parent / "public" / "data" / "runs"
    runs = [file.parent.name for file in sorted(data.glob("*/run.js")) if '"calibration":{' in file.read_text("utf-8")]
    assert runs
    looking.go(f"run/{runs[0]}?view=stats")
    looking.until("document.querySelector('section.calibration svg')")
    assert "Reliability diagram" in (
        looking.page.locator("section.calibration svg").first.get_attribute("aria-label") or ""
    )
    assert looking.page.locator("section.calibration .mark").count() >= 1


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
            assert _draw_all(opened) == 3
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
    page = opened.go("plots")
    opened.until("document.querySelector('figure.plot').dataset.drawn")
    found = axe.run(page, options=options).response["violations"]
    serious = [one["id"] for one in found if one["impact"] in {"serious", "critical"}]
    assert serious == [], [node["html"][:200] for one in found for node in one["nodes"][:3]]
    opened.context.close()
