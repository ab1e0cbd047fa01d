"""Texts and tables in Markdown, for the pages that are generated."""

from __future__ import annotations

import re
from collections.abc import Sequence


def prose(text: str) -> str:
    """Return a docstring's text as Markdown: cross-references become code, and signs of markup are escaped."""
    text = re.sub(r":[a-z]+:`~?([^`]+)`", r"``\1``", text)
    text = re.sub(r"(?:``)?\bdocs/(\w+)\.md\b(?:``)?", r"`docs/\1.md`", text)
    pieces = re.split(r"(``.+?``|`[^`]+`)", text, flags=re.DOTALL)
    escaped = (each if each.startswith("`") else re.sub(r"([<*\[\]$])", r"\\\1", each) for each in pieces)
    return re.sub(r"`docs/(\w+)\.md`", r"[docs/\1.md](../\1.md)", "".join(escaped))


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; nothing if it has no rows."""
    if not rows:
        return ""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(
        "| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in line) + " |" for line in lines
    )
