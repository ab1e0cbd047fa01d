"""Plots in the Vega-Lite grammar, without colours and fonts, which the page adds for its theme.

The data of a specification are named ``rows``; the page provides them. Fields are the columns of a :class:`Plot`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.output.display import brief

Json = dict[str, Any]
Row = Sequence[Any]

UP, DOWN = "higher is better", "lower is better"
ROW_STEP = 17
"""Height in pixels of a line of a ranking."""
LONGEST_LABEL = 36
"""Most characters of a model's name on an axis."""
PICKED = [{"name": "picked", "select": {"type": "point", "fields": ["model"]}, "bind": "legend"}]
"""The parameter that selects a model by a click in the legend."""
SQUARE = {"width": 340, "height": 340}


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
    spec: Mapping[str, Any]
    """The Vega-Lite specification."""

    def as_json(self) -> Json:
        """Return the plot as a JSON value."""
        return {
            "title": self.title,
            "description": self.description,
            "columns": [[one, one] if isinstance(one, str) else one for one in self.columns],
            "rows": self.rows,
            "spec": {"data": {"name": "rows"}, **self.spec},
        }


def short_names(models: Sequence[str]) -> dict[str, str]:
    """Return for each model a different name that fits an axis."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for model in models:
        name = brief(model, LONGEST_LABEL)
        number = 1
        while name in taken:
            number += 1
            name = f"{brief(model, LONGEST_LABEL - 4)} ({number})"
        taken.add(name)
        found[model] = name
    return found


def direction(higher_is_better: bool | None) -> str:
    """Return the words after a metric's name on an axis."""
    return {True: f" ({UP}) ↑", False: f" ({DOWN}) ↓", None: ""}[higher_is_better]


def quantitative(field: str, title: str, **more: Any) -> Json:
    """Return a channel of numbers; the axis need not begin at 0."""
    given = more.pop("scale", {})
    scale = given if given.get("type") == "log" else {"zero": False, "nice": True, **given}
    return {"field": field, "type": "quantitative", "title": title, "scale": scale, **more}


def names(field: str, order: Sequence[str], **axis: Any) -> Json:
    """Return a channel of names in a given order."""
    return {"field": field, "type": "nominal", "title": None, "sort": list(order), "axis": {"labelLimit": 240, **axis}}


def ranking(order: Sequence[str], title: str, scale: Json | None = None, width: int = 420) -> Json:
    """Return models in a given order, each a point within its interval (fields model, mean, low, high)."""
    x = quantitative("mean", title, scale=scale or {})
    ends = {"x": {**x, "field": "low"}, "x2": {"field": "high"}}
    return _line_per_model(
        order,
        width,
        {"mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.55}, "encoding": ends},
        {"mark": _point(55, 1), "encoding": {"x": x, "tooltip": tooltips("model", "mean", "low", "high")}},
    )


def tooltips(*fields: str) -> list[Json]:
    """Return the tooltip of a mark."""
    return [{"field": field, "title": field} for field in fields]


def panels(parts: Sequence[tuple[str, str, Json]], field: str, columns: int) -> Json:
    """Return plots side by side, each of the rows with one value of a field.

    Args:
        parts: For each panel the field's value, its title and its specification.
        field: The field.
        columns: Number of panels in a line.
    """
    return {
        "columns": columns,
        "concat": [
            {"title": title, "transform": [{"filter": {"field": field, "equal": value}}], **spec}
            for value, title, spec in parts
        ],
    }


def by_model(order: Sequence[str]) -> Json:
    """Return colour and shape of points by model; a click in the legend (:data:`PICKED`) dims the others."""
    legend = {"title": "model", "labelLimit": 240, "symbolLimit": 60, "columns": 1 if len(order) <= 15 else 2}
    channel = {"field": "model", "type": "nominal", "sort": list(order), "legend": legend}
    return {
        "color": channel,
        "shape": channel,
        "opacity": {"condition": {"param": "picked", "value": 0.85}, "value": 0.08},
    }


def scatter(order: Sequence[str], x: Json, y: Json, *, diagonal: bool = False) -> Json:
    """Return points by model; if asked, with the diagonal on which both values are equal."""
    points: Json = {
        "params": PICKED,
        "mark": _point(60),
        "encoding": {
            "x": x,
            "y": y,
            **by_model(order),
            "tooltip": tooltips("model", "scenario", x["field"], y["field"]),
        },
    }
    return {**SQUARE, "layer": [_diagonal(x, y), points]} if diagonal else {**SQUARE, **points}


def reliability(order: Sequence[str], lines: bool) -> Json:
    """Return accuracy over mean probability by bin and model, with the diagonal of perfect calibration."""
    unit = {"domain": [0, 1], "zero": True}
    x = quantitative("probability", "mean probability of the prediction", scale=unit)
    y = quantitative("accuracy", "share that is right", scale=unit)
    size = {"field": "count", "type": "quantitative", "title": "predictions", "scale": {"range": [12, 220]}}
    interval = {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": by_model(order)["color"]}
    channels = {"x": x, "y": y, **by_model(order)}
    tooltip = tooltips("model", "run", "probability", "accuracy", "count")
    return {
        **SQUARE,
        "layer": [
            _diagonal(x, y),
            *([{"mark": {"type": "line", "strokeWidth": 1.2}, "encoding": channels}] if lines else []),
            {"mark": {"type": "rule", "opacity": 0.35}, "encoding": interval},
            {
                "params": PICKED,
                "mark": _point(),
                "encoding": {**channels, "size": {**size, "legend": None}, "tooltip": tooltip},
            },
        ],
    }


def spread(order: Sequence[str], title: str, scale: Json | None = None) -> Json:
    """Return a tick for every part of each model, and a point at the model's median."""
    x = quantitative("mean", title, scale=scale or {})
    tooltip, median = tooltips("model", "part", "mean", "low", "high"), {**x, "aggregate": "median"}
    return _line_per_model(
        order,
        400,
        {"mark": {"type": "tick", "thickness": 1.5, "opacity": 0.6}, "encoding": {"x": x, "tooltip": tooltip}},
        {"mark": _point(60, 1), "encoding": {"x": median}},
    )


def heat_map(order: Sequence[str]) -> Json:
    """Return how often the row's model beats the column's, blue above one half and orange below."""
    numbers = len(order) <= 15
    size = 46 if numbers else 24
    cells: list[Json] = [
        {
            "mark": {"type": "rect"},
            "encoding": {
                "color": {
                    "field": "rate", "type": "quantitative", "title": "share of columns won",
                    "scale": {"scheme": "blueorange", "reverse": True, "domain": [0, 1]},
                },
                "tooltip": tooltips("model", "against", "rate", "columns"),
            },
        }
    ]  # fmt: skip
    if numbers:
        # Readable on the pale middle of the scale and on its dark ends.
        ends = {"test": "datum.rate < 0.2 || datum.rate > 0.8", "value": "white"}
        text = {"field": "rate", "type": "quantitative", "format": ".2f"}
        color = {"condition": ends, "value": "black"}
        cells.append({"mark": {"type": "text", "fontSize": 11}, "encoding": {"text": text, "color": color}})
    return {
        "width": {"step": size},
        "height": {"step": size if numbers else 20},
        "encoding": {
            "y": names("model", order),
            "x": names("against", order, labelAngle=-40, orient="top"),
        },
        "layer": cells,
    }


def evidence_by_copies(order: Sequence[str], threshold: float) -> Json:
    """Return log10 p over the number of copies read, with the threshold of the verdict."""
    x = quantitative("copies", "copies of the data set in the training text", scale={"type": "symlog", "zero": True})
    y = quantitative("log10_p", "log10 p (lower is more evidence)")
    rule = {"mark": _dashed("rule"), "encoding": {"y": {"datum": threshold}}}
    points = {
        "params": PICKED,
        "mark": _point(60),
        "encoding": {"x": x, "y": y, **by_model(order), "tooltip": tooltips("model", "data", "copies", "log10_p")},
    }
    return {"width": 400, "height": 360, "layer": [rule, points]}


def shuffles(shards: int) -> Json:
    """Return for each shard the log-likelihoods of its orders, relative to the mean of the shuffled ones."""
    x = quantitative("difference", "log-likelihood − mean of the shuffled orders, in nats")
    y = {"field": "shard", "type": "ordinal", "title": "shard", "axis": {"labelOverlap": True}}
    shuffled = {"filter": {"field": "order", "equal": "shuffled"}}
    published = {"filter": {"field": "order", "equal": "published"}}
    kind = {
        "field": "order", "type": "nominal", "title": "order",
        "scale": {"domain": ["shuffled", "published"]}, "legend": {"symbolOpacity": 1},
    }  # fmt: skip
    tooltip = tooltips("shard", "order", "log_likelihood", "difference")
    channels = {"x": x, "y": y, "color": kind, "tooltip": tooltip}
    tick = {"type": "tick", "thickness": 1, "opacity": 0.7}
    return {
        "width": 400,
        "height": {"step": 15 if shards <= 40 else 5},
        "layer": [
            {"mark": _dashed("rule"), "encoding": {"x": {"datum": 0}}},
            {"transform": [shuffled], "mark": tick, "encoding": channels},
            {"transform": [published], "mark": _point(45, 1), "encoding": channels},
        ],
    }


def _diagonal(x: Json, y: Json) -> Json:
    ends = [{x["field"]: 0, y["field"]: 0}, {x["field"]: 1, y["field"]: 1}]
    return {
        "data": {"values": ends},
        "mark": {**_dashed("line"), "strokeWidth": 1, "point": False, "opacity": 0.7},
        "encoding": {"x": x, "y": y},
    }


def _line_per_model(order: Sequence[str], width: int, *layers: Json) -> Json:
    height = {"step": ROW_STEP}
    return {"width": width, "height": height, "encoding": {"y": names("model", order)}, "layer": list(layers)}


def _point(size: int | None = None, opacity: float | None = None) -> Json:
    given = {"size": size, "opacity": opacity}
    return {"type": "point", "filled": True, **{name: value for name, value in given.items() if value is not None}}


def _dashed(kind: str) -> Json:
    return {"type": kind, "strokeDash": [4, 3]}
