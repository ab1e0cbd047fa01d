"""A statistic of a run as an evaluation result of Every Eval Ever."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from harness.contracts import Stat
from harness.imports.every_eval_ever.layout import LIBRARY, NO_DIRECTION, result_id

_SCORE_TYPES = {"proportion": "binary", "bounded": "continuous", "smooth": "continuous", "unbounded": "continuous"}


def metric_config(stat: Stat, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the schema calls ``metric_config``.

    Args:
        stat: The statistic.
        arguments: The arguments of its metric; those that are texts, numbers, truth values or null are written.
    """
    low, high = _range(stat)
    details = {"category": stat.category}
    if stat.scale is not None:
        details["scale"] = stat.scale.kind
        details |= {
            f"scale_{name}": repr(end)
            for name, end in (("low", stat.scale.low), ("high", stat.scale.high))
            if end is not None
        }
    if stat.higher_is_better is None:
        details |= NO_DIRECTION
    config: dict[str, Any] = {
        "evaluation_description": _description(stat),
        "metric_id": f"{LIBRARY}.{stat.metric}",
        "metric_name": stat.metric,
        "lower_is_better": stat.higher_is_better is False,
        "additional_details": details,
    }
    if (low, high) == (0.0, 1.0):
        config["metric_unit"] = "proportion"
    if stat.scale is not None:
        plain = stat.computed_on != "drop" and not _is_gap(stat)
        config["score_type"] = _SCORE_TYPES[stat.scale.kind] if plain else "continuous"
        config["min_score"], config["max_score"] = _bound(low), _bound(high)
    parameters = {key: value for key, value in arguments.items() if _is_plain(value)}
    if parameters:
        config["metric_parameters"] = parameters
    return config


def score_details(stat: Stat) -> dict[str, Any]:
    """Return what the schema calls ``score_details``, with the uncertainty."""
    uncertainty: dict[str, Any] = {"num_samples": stat.count}
    units = "instances" if stat.clusters is None else "clusters of instances"
    if stat.stderr is not None:
        uncertainty["standard_error"] = {"value": stat.stderr, "method": f"analytic, over {units}"}
    if stat.ci95 is not None:
        uncertainty["confidence_interval"] = {
            "lower": stat.ci95[0],
            "upper": stat.ci95[1],
            "confidence_level": 0.95,
            "method": f"over {units}",
        }
    details = {
        "split": stat.split,
        "computed_on": stat.computed_on,
        **({} if stat.perturbation is None else {"perturbation": stat.perturbation}),
        **({} if stat.group is None else {"group": stat.group}),
        **({} if stat.min is None else {"min": repr(stat.min)}),
        **({} if stat.max is None else {"max": repr(stat.max)}),
        **({"missing": str(stat.missing)} if stat.missing else {}),
        **({} if stat.clusters is None else {"clusters": str(stat.clusters)}),
        **({"note": stat.note} if stat.note else {}),
    }
    return {"score": stat.mean, "details": details, "uncertainty": uncertainty}


def evaluation_result(stat: Stat, arguments: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    """Return a statistic as an item of ``evaluation_results``.

    Args:
        stat: The statistic.
        arguments: The arguments of its metric.
        shared: What all results of a run have in common: name, data, time, generation settings.
    """
    return {
        "evaluation_result_id": result_id(stat),
        **shared,
        "metric_config": metric_config(stat, arguments),
        "score_details": score_details(stat),
    }


def _range(stat: Stat) -> tuple[float, float]:
    """Return the smallest and largest value that a statistic can have; drops and gaps are differences of scores."""
    if stat.scale is None:
        return -math.inf, math.inf
    low, high = stat.scale.bounds
    if stat.computed_on == "drop":
        return low - high, high - low
    return (0.0, high - low) if _is_gap(stat) else (low, high)


def _is_gap(stat: Stat) -> bool:
    return (stat.group or "").endswith(": gap")


def _bound(value: float) -> float | str:
    return value if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value))


_KINDS = {
    "original": "",
    "perturbed": " on perturbed copies",
    "worst": ", the worst of each instance and its perturbed copies",
    "drop": ", how much worse perturbed copies are than their originals",
}


def _description(stat: Stat) -> str:
    what = f" ({stat.perturbation})" if stat.perturbation is not None else ""
    group = f", {stat.group}" if stat.group is not None else ""
    return f"{stat.metric}{_KINDS[stat.computed_on]}{what}{group}"
