"""The drawing of the rooms shows the tree, and docs/architecture.md names every room and only files that exist."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from docs.rooms import Graph, draw_rooms, essential_arrows, levels, room_graph, room_names

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")


@pytest.fixture(scope="module")
def graph() -> Graph:
    return room_graph()


def test_the_drawing_has_every_room_of_the_tree(graph: Graph) -> None:
    tree = {
        each.stem for each in (ROOT / "harness").iterdir() if each.suffix == ".py" or (each / "__init__.py").exists()
    }
    drawing = ElementTree.fromstring(draw_rooms(graph))  # noqa: S314
    drawn = {text.text for text in drawing.iter("{http://www.w3.org/2000/svg}text")}
    assert drawn == tree - {"__init__", "__main__"}


def test_every_arrow_is_an_import_and_every_import_is_a_way_along_arrows(graph: Graph) -> None:
    arrows = essential_arrows(graph)

    def reached(room: str) -> set[str]:
        return set(arrows[room]).union(*(reached(each) for each in arrows[room]))

    for room, imported in graph.items():
        assert arrows[room] <= imported <= reached(room)


def test_arrows_point_down(graph: Graph) -> None:
    row = {room: number for number, rooms in enumerate(levels(graph)) for room in rooms}
    assert all(row[room] < row[end] for room, ends in graph.items() for end in ends)


def test_the_table_lists_the_rooms_from_top_to_bottom() -> None:
    listed = re.findall(r"^\| `(\w+)(?:/|\.py)` \|", PAGE, re.MULTILINE)
    assert [name for name in listed if name in room_names()] == room_names()


def test_files_that_the_page_names_exist() -> None:
    named = set(re.findall(r"`((?:\w+/)+\w*\.?\w*|\w+\.py)`", PAGE))
    assert len(named) > 30
    missing = {name for name in named if not (ROOT / name).exists() and not (ROOT / "harness" / name).exists()}
    assert missing == set()
