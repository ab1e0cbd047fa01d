"""Sphinx's settings. The reference pages are made from the program itself, each time the site is built."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from docs.rooms import draw_rooms, room_graph
from docs.write_reference import reference_pages

project = "holistic-harness"
release = metadata.version("holistic-harness")
copyright = "holistic-harness contributors. Apache-2.0"
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
nitpicky = True
smartquotes = False  # they would turn --option into –option
exclude_patterns = ["screenshots"]
html_theme = "furo"
html_title = "holistic-harness"
html_show_sourcelink = False
html_copy_source = False


def _write(path: Path, text: str) -> None:
    """Write a file unless it already holds the text, so that Sphinx reads only pages that changed."""
    if not path.exists() or path.read_text("utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


_reference = Path(__file__).parent / "reference"
_pages = reference_pages() | {"rooms.svg": draw_rooms(room_graph())}
for _name, _text in _pages.items():
    _write(_reference / _name, _text)
for _old in set(_reference.iterdir()) - {_reference / _name for _name in _pages}:
    _old.unlink()
