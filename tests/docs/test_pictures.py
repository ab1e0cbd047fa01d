"""The pages show pictures that exist, and no picture is left over."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PICTURES = ROOT / "docs" / "screenshots"
MOST_BYTES = 3_300_000


def _linked() -> set[Path]:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    return {
        (page.parent / address).resolve()
        for page in pages
        for address in re.findall(r"\]\(([^)\s]+\.png)\)", page.read_text("utf-8"))
    }


def test_every_picture_is_shown_and_exists() -> None:
    assert _linked() == {picture.resolve() for picture in PICTURES.iterdir()}


def test_pictures_are_small() -> None:
    assert sum(picture.stat().st_size for picture in PICTURES.iterdir()) < MOST_BYTES
