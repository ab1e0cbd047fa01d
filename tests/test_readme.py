"""The README is short, and what it shows works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, follow
from tests.docs.preloaded import harness

README = ROOT / "README.md"


def test_it_is_read_in_three_minutes() -> None:
    assert len(README.read_text("utf-8").split()) < 900


def test_what_it_shows_works(tmp_path: Path) -> None:
    follow(README, tmp_path)
    code, printed = harness(tmp_path, "validate", "my-sweep.yaml")
    assert code == 0, printed
    assert "8 runs with 2 models" in printed


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"])
def test_links_lead_somewhere(page: str) -> None:
    for address in re.findall(r"\]\(([^)#]+)", (ROOT / page).read_text("utf-8")):
        assert "://" in address or Path(ROOT / address).exists(), address
