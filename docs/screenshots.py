"""Make the pictures of the results site that the documentation shows.

    python docs/screenshots.py SITE-FOLDER      # a site of real runs, built by `harness leaderboard --site`
    python docs/screenshots.py --invented       # 42 scenarios and 30 models, whose numbers are invented

The leaderboard is taken at 1440, 1024 and 390 pixels, light and dark; of real runs, also the page of a run
with many examples. The pictures go to ``docs/screenshots``. It needs the extra ``browser`` and Chromium.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
PICTURES = Path(__file__).parent / "screenshots"
SIZES = {1440: 900, 1024: 768, 390: 844}


def picture(browser: Any, site: Path, route: str, name: str, width: int, scheme: str) -> None:
    """Take a picture of what a route shows."""
    page = browser.new_page(viewport={"width": width, "height": SIZES[width]}, color_scheme=scheme)
    page.goto(f"{site.as_uri()}/index.html#/{route}")
    while not page.evaluate("document.documentElement.dataset.ready"):
        page.wait_for_timeout(20)
    page.wait_for_timeout(600)
    page.screenshot(path=PICTURES / f"{name}-{width}-{scheme}.png")
    page.close()


def pictures(site: Path, name: str) -> None:
    """Take the pictures of a site's leaderboard, and of the run with the most examples if there is one."""
    PICTURES.mkdir(exist_ok=True)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for width in SIZES:
            for scheme in ("light", "dark"):
                picture(browser, site, "board?suites=all", name, width, scheme)
        runs = sorted(site.glob("data/runs/*/index.js"), key=lambda one: (one.stat().st_size, one.parent.name))
        if runs:
            picture(browser, site, f"run/{runs[-1].parent.name}?only=wrong", "run", 1440, "dark")
        browser.close()


def main(argument: str) -> None:
    """Take the pictures of a site, or of one with invented numbers."""
    if argument != "--invented":
        pictures(Path(argument).resolve(), "leaderboard")
        return
    sys.path.insert(0, str(ROOT))
    from harness.leaderboard.site.builder import build_site
    from tools.site_results import write_invented

    with tempfile.TemporaryDirectory() as folder:
        write_invented(Path(folder) / "results")
        pictures(build_site(Path(folder) / "results", Path(folder) / "site").parent, "invented")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "--invented")
