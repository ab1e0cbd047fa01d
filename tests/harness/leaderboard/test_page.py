"""The page: self-contained, accessible, and admitting no script but its own."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from harness.leaderboard.aggregate import build_board
from harness.leaderboard.page import as_page

VOID = {"meta", "link", "br", "img", "input", "hr"}


@pytest.fixture(scope="module")
def page(make_run: Any) -> str:
    return as_page(
        build_board(
            [
                make_run("hf:a", "boolq", 0.5),
                make_run("hf:b", "boolq", 0.7),
                make_run("hf:b", "imdb", None, error="no data"),
                make_run("hf:" + "long" * 100, "wiki", 3.0, metric="perplexity", higher=False),
            ]
        )
    )


class Elements(HTMLParser):
    """Collects elements with their attributes, and complains of any that is not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def elements(page: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = Elements()
    parser.feed(page)
    assert parser.open == []
    return parser.found


def test_the_policy_admits_exactly_the_pages_own_style_and_script(page: str) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    text = policy[1].replace("&#39;", "'").replace("&#43;", "+")
    assert "default-src 'none'" in text
    assert "unsafe" not in text
    for element, directive in (("style", "style-src"), ("script", "script-src")):
        (content,) = re.findall(rf"<{element}>(.*?)</{element}>", page, flags=re.S)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}';" in text


def test_nothing_is_loaded_from_elsewhere(page: str) -> None:
    for tag, attributes in elements(page):
        assert "style" not in attributes
        for name in ("src", "href"):
            target = attributes.get(name)
            assert target is None or target.startswith(("#", "data:,")), (tag, target)
    assert not re.search(r"https?://|@import|url\(", page)


def test_the_table_tells_its_structure(page: str) -> None:
    found = elements(page)
    tags = [tag for tag, _ in found]
    assert tags.count("caption") == 1
    headers = [attributes for tag, attributes in found if tag == "th"]
    assert all(attributes.get("scope") in ("col", "row") for attributes in headers)
    assert sum(attributes.get("scope") == "col" for attributes in headers) == tags.count("button") == 6
    assert ("html", {"lang": "en"}) in found
    ids = {attributes["id"] for _, attributes in found if "id" in attributes}
    targets = {attributes["href"] for tag, attributes in found if tag == "a"}
    assert {f"#{name}" for name in ids} >= targets != set()


def test_a_cut_name_is_whole_in_its_title(page: str) -> None:
    full = "hf:" + "long" * 100
    assert f'title="{full}"' in page
    assert f"<bdi>{full}</bdi>" not in page


def test_lower_is_better_sorts_upwards_first(page: str) -> None:
    header = next(part for part in page.split("<th ") if "perplexity" in part)
    assert 'data-first="ascending"' in header


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_contrast_reaches_wcag_aa(page: str, scheme: str) -> None:
    palettes = re.findall(r":root \{(.*?)\}", page, flags=re.S)
    colours = dict(re.findall(r"--(\w+): (#\w{6})", palettes[0]))
    if scheme == "dark":
        colours |= dict(re.findall(r"--(\w+): (#\w{6})", palettes[1]))
    for ground in ("ground", "panel", "hover", "best"):
        for ink in ("text", "quiet", "accent", "bad"):
            assert _contrast(colours[ground], colours[ink]) >= 4.5, (scheme, ground, ink)


def _contrast(one: str, other: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    """WCAG 2.2's relative luminance."""
    channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
