"""Make the README's pictures of the leaderboard's site: ``python docs/screenshots.py SITE-FOLDER [RUN]``.

SITE-FOLDER is a site built by ``harness leaderboard --site``, RUN the beginning of a run's address; without it the
pictured run is the one with the most examples. The pictures go to ``docs/screenshots``. It needs the extra ``browser``
and Chromium.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

PICTURES = Path(__file__).parent / "screenshots"
SIZE = {"width": 1180, "height": 720}


def picture(page: Page, site: Path, route: str, name: str) -> None:
    """Take a picture of what a route shows."""
    page.goto("about:blank")
    page.goto(f"{site.as_uri()}/index.html#/{route}")
    while not page.evaluate("document.documentElement.dataset.ready"):
        page.wait_for_timeout(20)
    page.wait_for_timeout(300)
    page.screenshot(path=PICTURES / f"{name}.png")


def main(site: Path, start: str = "") -> None:
    """Take the pictures: the leaderboard in the light, and the examples of a run in the dark."""
    PICTURES.mkdir(exist_ok=True)
    # The run with the most examples has the most to show.
    run = max(
        site.glob(f"data/runs/{start}*/index.js"), key=lambda index: (index.stat().st_size, index.parent.name)
    ).parent.name
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        picture(browser.new_page(viewport=SIZE), site, "", "leaderboard")
        dark = browser.new_page(viewport=SIZE, color_scheme="dark")
        picture(dark, site, f"run/{run}?only=wrong&copies=:dialect", "run")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), *sys.argv[2:3])
