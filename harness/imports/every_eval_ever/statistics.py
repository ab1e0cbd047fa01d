"""Evaluation results of Every Eval Ever as statistics."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, cast, get_args

from harness.contracts import BOUNDED, PROPORTION, Scale, Split, Stat
from harness.contracts.scales import ScaleKind
from harness.imports.every_eval_ever.layout import NO_DIRECTION
from harness.imports.every_eval_ever.validation import bound
from harness.imports.imported_run import OTHER

_SPLITS = {"validation": "valid", "val": "valid", "dev": "valid", "training": "train"}
"""Other names of our splits."""

_KINDS = ("original", "perturbed", "worst", "drop")

_NO_DIRECTION = {*NO_DIRECTION.values(), "unknown"}


def stat_of(result: Mapping[str, Any], metric: str) -> Stat:
    """Return an item of ``evaluation_results`` as a statistic.

    An interval is kept if it is one of 95 %; a score is given the range that the file declares.

    Args:
        result: The item; it fits the schema.
        metric: The metric's name here.

    Raises:
        ValueError: A detail that this harness wrote has an impossible value.
    """
    config, given = result["metric_config"], result["score_details"]
    details, about = given.get("details") or {}, config.get("additional_details") or {}
    uncertainty = given.get("uncertainty") or {}
    interval = uncertainty.get("confidence_interval") or {}
    perturbation = details.get("perturbation") or None
    computed_on = details.get("computed_on", "perturbed" if perturbation else "original")
    if computed_on not in _KINDS:
        raise ValueError(f"computed_on must be one of {', '.join(_KINDS)}, not {computed_on!r}")
    return Stat(
        metric=metric,
        category=about.get("category", OTHER),
        split=split_of(result),
        perturbation=perturbation,
        count=uncertainty.get("num_samples") or 0,
        mean=float(given["score"]),
        stderr=(uncertainty.get("standard_error") or {}).get("value"),
        ci95=(interval["lower"], interval["upper"]) if interval.get("confidence_level") == 0.95 else None,
        min=_number(details, "min"),
        max=_number(details, "max"),
        higher_is_better=None if about.get("polarity") in _NO_DIRECTION else not config["lower_is_better"],
        missing=int(details.get("missing", 0)),
        computed_on=cast(Literal["original", "perturbed", "worst", "drop"], computed_on),
        group=details.get("group") or None,
        note=details.get("note", ""),
        scale=_scale(config),
        clusters=int(details["clusters"]) if "clusters" in details else None,
    )


def split_of(result: Mapping[str, Any]) -> str:
    """Return the split of an evaluation result; the test split if it does not say."""
    details = result["score_details"].get("details") or {}
    named = str(details.get("split") or result["source_data"].get("hf_split") or "").lower()
    split = _SPLITS.get(named, named)
    return split if split in list(Split) else Split.TEST.value


def _number(details: Mapping[str, str], key: str) -> float | None:
    return float(details[key]) if key in details else None


def _scale(config: Mapping[str, Any]) -> Scale | None:
    """Return the range of an instance's score; None if the file does not declare it."""
    about = config.get("additional_details") or {}
    if (kind := about.get("scale")) in get_args(ScaleKind):
        return Scale(cast(ScaleKind, kind), _number(about, "scale_low"), _number(about, "scale_high"))
    low, high = bound(config.get("min_score"), -math.inf), bound(config.get("max_score"), math.inf)
    match config.get("score_type"):
        case "binary":
            return PROPORTION
        case "continuous" if (low, high) == (0, 1):
            return BOUNDED
        case "continuous" if low < high:
            ends = (low if math.isfinite(low) else None, high if math.isfinite(high) else None)
            return Scale("unbounded" if None in ends else "bounded", *ends)
    return None
