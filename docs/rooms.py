"""The drawing of the engine's rooms: an SVG made from the imports, so that it cannot be out of date."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from html import escape
from pathlib import Path

import grimp

Graph = Mapping[str, frozenset[str]]
"""For each room, the rooms that it imports from."""

ROOT = Path(__file__).parent.parent
WIDTH, HEIGHT, GAP_X, GAP_Y = 132, 30, 22, 44
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1b1f24; text-anchor: middle; dominant-baseline: central }
  rect { fill: #eef3fa; stroke: #4a6fa5 }
  path { fill: none; stroke: #7a8797 }
  #tip { fill: #7a8797; stroke: none }
"""


def room_names() -> list[str]:
    """Return the engine's rooms from top to bottom, as the import rules in pyproject.toml name them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    for contract in settings["tool"]["importlinter"]["contracts"]:
        if contract.get("containers") == ["harness"]:
            names = [name.strip() for layer in contract["layers"] for name in layer.split("|")]
            return [name for name in names if name != "__main__" and not name.startswith("(")]  # those may not exist
    raise ValueError("pyproject.toml has no contract for the layers of harness")


def room_graph() -> Graph:
    """Return which room imports from which."""
    imports = grimp.build_graph("harness", cache_dir=None)
    arrows: dict[str, set[str]] = {name: set() for name in room_names()}
    for module in imports.modules:
        for target in imports.find_modules_directly_imported_by(module):
            start, end = (name.split(".")[1] if "." in name else "" for name in (module, target))
            if start in arrows and end in arrows and start != end:
                arrows[start].add(end)
    return {name: frozenset(targets) for name, targets in arrows.items()}


def essential_arrows(graph: Graph) -> Graph:
    """Return the arrows that do not follow from others: a → c is left out where a → b → c is there."""
    below: dict[str, set[str]] = {}
    for room in reversed(list(graph)):  # the rooms are sorted: each imports only from later ones
        below[room] = set(graph[room]).union(*(below[each] for each in graph[room]))
    return {
        room: frozenset(end for end in ends if not any(end in below[other] for other in ends))
        for room, ends in graph.items()
    }


def levels(graph: Graph) -> list[list[str]]:
    """Return the rooms in rows, each as high as the rooms that import it allow."""
    depth: dict[str, int] = {}
    for room in graph:
        depth[room] = 1 + max((depth[other] for other in depth if room in graph[other]), default=-1)
    return [[room for room in graph if depth[room] == row] for row in range(max(depth.values()) + 1)]


def draw_rooms(graph: Graph) -> str:
    """Return the drawing: a box for each room, and an arrow to each room that it imports from."""
    rows, arrows = levels(graph), essential_arrows(graph)
    width = max(map(len, rows)) * (WIDTH + GAP_X) + 3 * GAP_X
    height = len(rows) * (HEIGHT + GAP_Y)
    place: dict[str, tuple[float, float]] = {}
    for number, row in enumerate(rows):
        # A row's boxes are ordered by where their arrows come from, which keeps crossings few.
        def origin(room: str) -> float:
            above = [place[other][0] for other in place if room in arrows[other]]
            return sum(above) / len(above) if above else width / 2

        start = (width - len(row) * (WIDTH + GAP_X) + GAP_X) / 2
        shift = GAP_X * (1 if number % 2 else -1)  # rows are staggered so that arrows past a row do not cross its boxes
        for column, room in enumerate(sorted(row, key=origin)):
            place[room] = (start + shift + column * (WIDTH + GAP_X), GAP_Y / 2 + number * (HEIGHT + GAP_Y))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img">',
        "<title>The rooms of harness/; an arrow leads to a room that is imported</title>",
        f"<style>{STYLE}</style>",
        '<marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path id="tip" d="M0 0L8 4L0 8z"/></marker>',
        '<rect width="100%" height="100%" style="fill:#fff;stroke:none"/>',
    ]
    for room, ends in arrows.items():
        for end in sorted(ends):
            (x1, y1), (x2, y2) = place[room], place[end]
            x1, x2, y1 = x1 + WIDTH / 2, x2 + WIDTH / 2, y1 + HEIGHT
            bend = (y2 - y1) / 2
            curve = f"M{x1:g} {y1:g}C{x1:g} {y1 + bend:g} {x2:g} {y2 - bend:g} {x2:g} {y2:g}"
            lines.append(f'<path class="{room} {end}" d="{curve}" marker-end="url(#end)"/>')
    for room, (x, y) in place.items():
        lines.append(f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="5"/>')
        lines.append(f'<text x="{x + WIDTH / 2:g}" y="{y + HEIGHT / 2:g}">{escape(room)}</text>')
    return "\n".join([*lines, "</svg>", ""])
