"""Make the pictures of the results site that the documentation shows.

    python docs/screenshots.py SITE-FOLDER              # a site of real runs, built by `harness leaderboard --site`
    python docs/screenshots.py --runs SITE-FOLDER RUN   # of it, only the page of a run, by its address
    python docs/screenshots.py --pages SITE-FOLDER NAME...  # of it, only pages, such as checkpoints
    python docs/screenshots.py --invented               # 42 scenarios and 30 models, whose numbers are invented

The leaderboard is taken at 1440, 1024 and 390 pixels, light and dark; of invented numbers, also the table of models,
the page of one, plots, contamination and checkpoints; of real runs, also the table of scenarios, the page of the
scenario with the most items, a comparison and the run with the most examples, and on a phone one of these. The
pictures go to ``docs/screenshots``, in 128 colours, since they are then a third as large. It needs the extra
``browser``, Chromium and Pillow.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
PICTURES = Path(__file__).parent / "screenshots"
SIZES = {1440: 900, 1024: 768, 390: 844}


def chromium() -> str | None:
    """Return the path of Chromium; None for Playwright's own."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


def picture(browser: Any, site: Path, route: str, name: str, width: int, scheme: str) -> None:
    """Take a picture of what a route shows."""
    page = browser.new_page(viewport={"width": width, "height": SIZES[width]}, color_scheme=scheme)
    page.goto(f"{site.as_uri()}/index.html#/{route}")
    while not page.evaluate("document.documentElement.dataset.ready"):
        page.wait_for_timeout(20)
    page.wait_for_timeout(600)
    taken = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    taken.quantize(128, dither=Image.Dither.NONE).save(PICTURES / f"{name}-{width}-{scheme}.png", optimize=True)
    page.close()


def run_pictures(site: Path, address: str = "*") -> None:
    """Take the pictures of a run, by default that with the most examples: its samples, and one of them open."""
    runs = sorted(site.glob(f"data/runs/{address}/index.js"), key=lambda one: (one.stat().st_size, one.parent.name))
    if not runs:
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        route = f"run/{runs[-1].parent.name}"
        script = (runs[-1].parent / "lines" / "0.js").read_text(encoding="utf-8")
        first = script.partition('"id":["')[2].partition('"')[0]
        for width in SIZES:
            for scheme in ("light", "dark"):
                picture(browser, site, route, "run", width, scheme)
        picture(browser, site, f"{route}?id={first}", "sample", 390, "light")
        browser.close()


def pictures(site: Path, name: str) -> None:
    """Take the pictures of a site's leaderboard, and of the run with the most examples if there is one."""
    PICTURES.mkdir(exist_ok=True)
    run_pictures(site)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        for width in SIZES:
            for scheme in ("light", "dark"):
                picture(browser, site, "board?suites=all", name, width, scheme)
                for page, route in _routes(site, name).items():
                    picture(browser, site, route, page, width, scheme)
        browser.close()


def _routes(site: Path, name: str) -> dict[str, str]:
    """Return the routes of other pages that are taken, by the name of their pictures."""
    if name == "invented":
        model = min(file.stem for file in site.glob("data/models/cedar-52b*.js"))
        return {
            "models": "models",
            "model": f"model/{model}",
            "plots": "plots",
            "contamination": "contamination?suites=all",
        }
    items = sorted(site.glob("data/scenarios/*/items.js"), key=lambda one: (one.stat().st_size, one.parent.name))
    found = {"scenario": f"scenario/{items[-1].parent.name}"} if items else {}
    if (site / "data" / "checkpoints.js").is_file():
        found["checkpoints"] = "checkpoints"
    return {**found, "compare": "compare?suites=all", "coverage": "coverage?suites=all"}


def page_pictures(site: Path, *names: str) -> None:
    """Take the pictures of pages that are named as in addresses."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        for name in names:
            for width in (1440, 390):
                for scheme in ("light", "dark"):
                    picture(browser, site, f"{name}?suites=all", name, width, scheme)
        browser.close()


def main(argument: str, *more: str) -> None:
    """Take the pictures of a site, only of its runs or of some pages, or of a site with invented numbers."""
    if argument == "--runs":
        run_pictures(Path(more[0]).resolve(), *more[1:])
        return
    if argument == "--pages":
        page_pictures(Path(more[0]).resolve(), *more[1:])
        return
    if argument != "--invented":
        pictures(Path(argument).resolve(), "leaderboard")
        return
    sys.path.insert(0, str(ROOT))
    from harness.leaderboard.site.builder import build_site
    from tools.site_results import write_checkpoints, write_invented

    with tempfile.TemporaryDirectory() as folder:
        write_invented(Path(folder) / "results", diagrams=True)
        pictures(build_site(Path(folder) / "results", Path(folder) / "site").parent, "invented")
        write_checkpoints(Path(folder) / "training")
        page_pictures(build_site(Path(folder) / "training", Path(folder) / "trained").parent, "checkpoints")


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["--invented"]))
