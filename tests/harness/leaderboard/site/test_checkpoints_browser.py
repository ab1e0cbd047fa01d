"""The curves of checkpoints over training steps, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.contracts.specs import Component
from harness.leaderboard.site.addresses import model_address
from harness.leaderboard.site.builder import build_site
from tests.harness.leaderboard.site.conftest import Record, Visit, save

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, make_run: Record) -> Path:
    """The site of two trainings with three checkpoints each."""
    root = tmp_path_factory.mktemp("trained") / "results"
    for run in ("run-a", "<b>run-b"):
        for place, step in enumerate((10, 100, 1000)):
            for scenario in ("boolq", "imdb"):
                save(root, make_run(f"hf:/x/{run}/step-{step}", scenario, 0.4 + place / 10, stderr=0.02))
    save(root, make_run("hf:/x/run-a/step-10", "quiz", 0.4))
    return build_site(root, root.parent / "site").parent


def test_checkpoints_are_curves_over_steps(browser: Any, trained: Path) -> None:
    opened = Visit(browser, trained.as_uri(), viewport={"width": 1440, "height": 900})
    page = opened.go("checkpoints")
    opened.until("document.querySelectorAll('svg.chart .mark').length === 12")
    assert page.locator(".curves figure").count() == 2  # a single point of quiz is not a curve
    assert page.locator(".chart .band").count() == 2
    assert page.locator("#axis-log").get_attribute("aria-pressed") == "true"
    label = page.locator(".chart .chosen .mark").nth(1).get_attribute("aria-label")
    assert "step 100," in label
    assert "0.500 ±0.040" in label
    said = page.locator(".curves .signal").first.inner_text()
    assert "2 of 2 neighbouring pairs of checkpoints differ significantly, signal to noise 3.4" in said
    assert "Not paired: the scores of instances are unknown." in said
    page.locator(".curves details.numbers > summary").first.click()
    rows = page.locator(".curves details.numbers table").first.locator("tr").all_inner_texts()
    assert [row.split()[0] for row in rows] == ["Step", "10", "100", "1,000"]
    assert "0.500 ±0.040" in rows[2]
    opened.after(lambda: page.click("#axis-linear"))
    opened.until("location.href.includes('axis=linear')")
    last, first = (model_address(Component(name=f"hf:/x/<b>run-b/step-{step}")) for step in (1000, 10))
    assert page.locator(f"a[href*='a={last}&b={first}']").count() == 1
    page = opened.go("checkpoints?series=nothing&axis=round")
    assert page.inner_text("[role=alert]") == "Unknown series nothing. Unknown axis round."
    assert opened.wrong == []
    opened.context.close()


def test_models_that_are_the_same_step_are_named(
    browser: Any, tmp_path_factory: pytest.TempPathFactory, make_run: Record
) -> None:
    root = tmp_path_factory.mktemp("shared") / "results"
    for name in ("step-10", "step-20", "checkpoint-20"):
        save(root, make_run(f"hf:/x/run-a/{name}", "boolq", 0.5))
    site = build_site(root, root.parent / "site").parent
    opened = Visit(browser, site.as_uri(), viewport={"width": 1440, "height": 900})
    notice = opened.go("checkpoints").inner_text("p.notice")
    assert notice.startswith("run-a: hf:/x/run-a/checkpoint-20 and hf:/x/run-a/step-20 are both step 20.")
    assert opened.wrong == []
    opened.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_checkpoints_fit_and_axe_finds_nothing_serious(browser: Any, trained: Path, scheme: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    options = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
    for width in (1440, 390):
        opened = Visit(
            browser, trained.as_uri(), color_scheme=scheme, bypass_csp=True, viewport={"width": width, "height": 844}
        )
        page = opened.go("checkpoints")
        opened.until("document.querySelectorAll('svg.chart .mark').length === 12")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for menu in ("", "#series", "#scenarios"):
            if menu:
                page.click(menu)
            found = axe.run(page, options=options).response["violations"]
            serious = [
                (one["id"], one["nodes"][0]["html"][:200]) for one in found if one["impact"] in {"serious", "critical"}
            ]
            assert serious == [], (menu, width)
        opened.context.close()


def test_without_checkpoints_there_is_no_page(site: Path) -> None:
    assert "#/checkpoints" not in (site / "index.html").read_text(encoding="utf-8")
