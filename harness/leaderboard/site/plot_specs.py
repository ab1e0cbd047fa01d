"""Plots as data: the numbers, and how the page draws them (see ``assets/plot.js``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.output.display import brief

Json = dict[str, Any]
Row = Sequence[Any]

UP, DOWN = "higher is better", "lower is better"
LONGEST_LABEL = 60
"""Most characters of a model's name; the page shortens it further where there is less room."""
SHARE = (0.0, 1.0)
"""The range of an axis for rates."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot with the numbers behind it."""

    title: str
    """Its title, a few words."""
    description: str
    """What it shows and how to read it; also its text alternative."""
    columns: Sequence[str | tuple[str, str]]
    """Field and heading of each column of the numbers; one text where they are the same."""
    rows: Sequence[Row]
    """The numbers."""
    drawing: Mapping[str, Any]
    """How they are drawn, from :func:`ranking`, :func:`scatter`, :func:`matrix` or :func:`reliability`."""

    def as_json(self) -> Json:
        """Return the plot as a JSON value."""
        return {
            "title": self.title,
            "description": self.description,
            "columns": [[one, one] if isinstance(one, str) else one for one in self.columns],
            "rows": self.rows,
            "drawing": self.drawing,
        }


def short_names(models: Sequence[str]) -> dict[str, str]:
    """Return for each model a different name of at most :data:`LONGEST_LABEL` characters."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for model in models:
        name = brief(model, LONGEST_LABEL)
        number = 1
        while name in taken:
            number += 1
            name = f"{brief(model, LONGEST_LABEL - 5)} ({number})"
        taken.add(name)
        found[model] = name
    return found


def direction(higher_is_better: bool | None) -> str:
    """Return the words after a metric's name on an axis."""
    return {True: f" ({UP}) ↑", False: f" ({DOWN}) ↓", None: ""}[higher_is_better]


def axis(field: str, title: str, limits: tuple[float, float] | None = None, scale: str = "linear") -> Json:
    """Return an axis.

    Args:
        field: The column of its numbers.
        title: Its title, which names the unit.
        limits: Its ends (default: those of the numbers).
        scale: ``linear``, ``log``, or ``symlog`` for numbers that span decades and include 0.
    """
    return {"field": field, "title": title, "range": limits, "scale": scale}


def ranking(
    row: str,
    order: Sequence[str | int],
    x: Json,
    *,
    series: str | None = None,
    panels: str | None = None,
    points: tuple[str, str] | None = None,
    median: bool = False,
) -> Json:
    """Return a line for each model, with a point and, from the columns ``low`` and ``high``, its interval.

    Args:
        row: The column that says on which line a row of the numbers is.
        order: The lines from top to bottom.
        x: The axis.
        series: The column whose values are highlighted together (default: the lines).
        panels: The column whose values each have a panel of their own, in which the lines are as in the numbers.
        points: A column and a value of it: rows with the value are points, all others ticks.
        median: Draw all rows as ticks, and a point at the median of each line.
    """
    return {
        "kind": "rows", "row": row, "order": list(order), "x": x, "series": series or row, "panels": panels,
        "points": points, "median": median,
    }  # fmt: skip


def scatter(
    order: Sequence[str],
    x: Json,
    y: Json,
    *,
    series: str = "model",
    choice: str | None = None,
    lines: bool = False,
    lost_below: bool = False,
    guides: Sequence[Json] = (),
) -> Json:
    """Return points by model, or by another column.

    Args:
        order: The values of that column; the first is highlighted until the reader chooses another.
        x: The horizontal axis.
        y: The vertical axis.
        series: The column whose values are highlighted together.
        choice: A column of which the reader chooses a value, and sees only its rows.
        lines: Join the points of each.
        lost_below: Draw the diagonal on which both values are equal, and say that points below it lose.
        guides: Dashed lines: ``{"x" or "y": number, "words": text}``.
    """
    diagonal = {"below": "below: lost by perturbations", "above": ""} if lost_below else None
    return {
        "kind": "points", "series": series, "order": list(order), "x": x, "y": y, "choice": choice, "lines": lines,
        "diagonal": diagonal, "guides": list(guides),
    }  # fmt: skip


def matrix(row: str, column: str, value: str, order: Sequence[str]) -> Json:
    """Return a square of tinted cells, with a number between 0 and 1 for each pair of names."""
    return {"kind": "matrix", "row": row, "column": column, "value": value, "order": list(order)}


def reliability(order: Sequence[str], errors: Mapping[str, Sequence[float | int | None]]) -> Json:
    """Return reliability diagrams by model.

    The numbers have the columns ``model``, ``probability``, ``accuracy``, ``low``, ``high`` and ``count``.

    Args:
        order: The models.
        errors: By model its calibration error, the ends of its interval, and the number of predictions.
    """
    return {"kind": "reliability", "series": "model", "order": list(order), "errors": errors}
