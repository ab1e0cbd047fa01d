"""How much scores depend on the prompt, in a real browser: on a scenario's page and in the board's cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.leaderboard.site.addresses import scenario_address
from harness.leaderboard.site.builder import build_site
from tests.harness.leaderboard.site.conftest import Record, Visit, save
from tests.harness.leaderboard.test_prompt_variants import SCORES, varied

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory, make_run: Record) -> Path:
    """The site of one model with four prompts, one with a hostile name, and one model with a single prompt."""
    root = tmp_path_factory.mktemp("asked") / "results"
    scores = {("<i>loud</i>" if words == "terse" else words): each for words, each in SCORES.items()}
    for run in [*varied(make_run, scores), *varied(make_run, dict(list(SCORES.items())[:1]), "hf:b")]:
        save(root, run)
    return build_site(root, root.parent / "site").parent


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_every_prompt_is_shown_with_its_score(browser: Any, asked: Path, width: int, scheme: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    opened = Visit(
        browser, asked.as_uri(), color_scheme=scheme, bypass_csp=True, viewport={"width": width, "height": 900}
    )
    page = opened.go(f"scenario/{scenario_address('boolq')}")
    opened.until("document.querySelector('#by-prompt')")
    (row,) = page.locator("#by-prompt tbody tr").all()
    cells = [cell.inner_text() for cell in row.locator("th, td").all()]
    assert cells[:3] == ["hf:a", "4", ".650"]
    assert cells[5:8] == [".600", ".500", ".900"]
    page.click("#prompts details > summary")
    listed = page.locator("#prompts details li").all_inner_texts()
    assert listed[0] == ".900 <i>loud</i>"
    assert listed[-1] == ".500 reversed"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.wrong == []
    found = axe.run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]})
    assert [rule["id"] for rule in found.response["violations"] if rule["impact"] in ("serious", "critical")] == []
    opened.context.close()
