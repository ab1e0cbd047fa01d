"""The site builds without a warning, and needs neither a server nor a network."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "docs", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 15
    for page in pages:
        loaded = re.findall(r"<(?:script|img|link|iframe)\b[^>]*?(?:src|href)=\"([^\"]+)\"", page.read_text("utf-8"))
        assert loaded
        assert [address for address in loaded if "://" in address] == []
    for style in site.rglob("*.css"):
        assert re.findall(r"url\(\W*https?:", style.read_text("utf-8")) == []


@pytest.fixture
def chromium() -> str:
    command = shutil.which("chromium") or shutil.which("chromium-browser")
    if command is None:
        pytest.skip("Chromium is not installed")
    return command


@pytest.mark.slow
def test_the_search_works_from_files(site: Path, chromium: str) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(f"{site.as_uri()}/search.html?q=selective_accuracy")
        page.wait_for_selector("#search-results li")
        assert "reference/metrics.html" in page.inner_html("#search-results")
        browser.close()
