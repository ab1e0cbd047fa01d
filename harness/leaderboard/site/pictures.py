"""The contamination plots of a site as SVG and PDF files, drawn by a browser exactly as the site shows them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from harness.installation import install_advice
from harness.storage.durable import write_whole, writing

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Locator, Page

WIDTH = 900
"""Width of the window, in pixels: plots fill it."""

_SAVED = """() => {
  harness.save = (name, content) => { window.saved = [name, content]; };
}"""


def browser_problem() -> str:
    """Return why pictures cannot be made; empty if they can."""
    try:
        import playwright  # noqa: F401
    except ImportError:
        return f"pictures need a browser: {install_advice('browser')}."
    if _chromium() is None:
        from playwright.sync_api import sync_playwright

        with sync_playwright() as started:
            if not Path(started.chromium.executable_path).exists():
                return "there is no Chromium; install it with `playwright install chromium`."
    return ""


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Yield a browser without windows that are seen."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=_chromium(), args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


def write_pictures(browser: Browser, page: Path, folder: Path) -> list[Path]:
    """Write the plots of contamination of a site as SVG and PDF, and return the files.

    Args:
        browser: Chromium, since no other browser writes PDF.
        page: The site's first page.
        folder: The folder to write, which may exist.

    Raises:
        StorageError: A file cannot be written.
    """
    written: list[Path] = []
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    context = browser.new_context(viewport={"width": WIDTH, "height": 900})
    try:
        window = context.new_page()
        window.goto(f"{page.resolve().as_uri()}#/plots?view=contamination&suites=all")
        window.wait_for_selector("figure.plot, p.error")
        window.evaluate(_SAVED)
        for figure in window.locator("figure.plot").all():
            written += [file for name, svg in _drawn(figure) for file in _write(folder / name, svg, context)]
    finally:
        context.close()
    return written


def _drawn(figure: Locator) -> Iterator[tuple[str, str]]:
    """Yield the name and the SVG of a figure's plot, for each choice that it offers."""
    figure.scroll_into_view_if_needed()
    figure.page.wait_for_function("figure => figure.dataset.drawn", arg=figure.element_handle())
    choice = figure.locator("figcaption select")
    for which in choice.locator("option").all_text_contents()[:-1] if choice.count() else [None]:
        if which is not None:
            choice.select_option(which)
        figure.get_by_role("button", name="SVG").click()
        name, content = figure.page.evaluate("() => window.saved")
        yield Path(name).stem + (f"-{re.sub('[^a-z]+', '-', which.lower())}" if which else ""), content


def _write(stem: Path, svg: str, context: BrowserContext) -> list[Path]:
    files = {stem.with_suffix(".svg"): svg.encode(), stem.with_suffix(".pdf"): _pdf(context.new_page(), svg)}
    for file, data in files.items():
        with writing(file):
            write_whole(file, data)
    return list(files)


def _chromium() -> str | None:
    """Return the path of the system's Chromium; None for Playwright's own."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


def _pdf(page: Page, picture: str) -> bytes:
    """Return a page as large as a picture, with nothing else on it."""
    page.set_content(f"<style>body {{ margin: 0 }} svg {{ display: block }}</style>{picture}")
    size = page.locator("svg").first.bounding_box() or {"width": WIDTH, "height": WIDTH}
    found = page.pdf(width=f"{size['width']}px", height=f"{size['height'] + 1}px", print_background=True)
    page.close()
    return found
