"""Checks files against the schemas of Every Eval Ever, and for contradictions that a JSON Schema cannot see."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from harness.errors import HarnessError, shown
from harness.imports.every_eval_ever.layout import SCHEMA_VERSION
from harness.installation import install_advice

_FILES = {"aggregate": "eval.schema.json", "sample": "instance_level_eval.schema.json"}

_LONGEST = 200
"""Characters of a value that a message shows."""

Kind = Literal["aggregate", "sample"]


def problem(value: Any, kind: Kind) -> str | None:
    """Return what is wrong with a file's content, as a sentence without a full stop; None if nothing is.

    Args:
        value: The content of an aggregate file, or of a line of a samples file.
        kind: Which of the two.

    Raises:
        HarnessError: The library that checks JSON Schemas is not installed.
    """
    if not isinstance(value, Mapping):
        return f"must be a JSON object, not {shown(value, 40)}"
    version = value.get("schema_version")
    if version != SCHEMA_VERSION:
        return f"schema_version is {shown(version, 40)}; this version reads {SCHEMA_VERSION}"
    from jsonschema.exceptions import best_match

    wrong = best_match(_validator(kind).iter_errors(value))
    if wrong is not None:
        message = wrong.message if len(wrong.message) <= _LONGEST else f"{wrong.message[:_LONGEST]}…"
        return f"{_place(wrong.absolute_path)}{message}"
    return next(_contradictions(value), None) if kind == "aggregate" else _sample_contradiction(value)


@cache
def _validator(kind: Kind) -> Any:
    try:
        from jsonschema import Draft7Validator
    except ImportError:
        raise HarnessError(
            f"checking files of Every Eval Ever needs jsonschema, which is not installed: {install_advice('exchange')}"
        ) from None
    schema = files(__package__).joinpath("schema", _FILES[kind]).read_text(encoding="utf-8")
    return Draft7Validator(json.loads(schema))


def _place(path: Any) -> str:
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return f"{text.lstrip('.')}: " if text else ""


def _contradictions(value: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the aggregate says that cannot be true."""
    seen = set[str]()
    for index, result in enumerate(value["evaluation_results"]):
        here = f"evaluation_results[{index}]"
        identifier = result.get("evaluation_result_id")
        if identifier is not None and identifier in seen:
            yield f"{here}.evaluation_result_id: {shown(identifier, 60)} is used twice"
        seen.add(identifier)
        config, details = result["metric_config"], result["score_details"]
        score = details["score"]
        low, high = bound(config.get("min_score"), -math.inf), bound(config.get("max_score"), math.inf)
        if low > high:
            yield f"{here}.metric_config: min_score {low:g} is above max_score {high:g}"
        if not _above(score, low) or not _above(high, score):
            yield f"{here}.score_details.score: {score:g} is not between min_score {low:g} and max_score {high:g}"
        uncertainty = details.get("uncertainty") or {}
        interval = uncertainty.get("confidence_interval")
        if interval is not None and interval["lower"] > interval["upper"]:
            yield (
                f"{here}.score_details.uncertainty.confidence_interval: lower {interval['lower']:g} is above upper "
                f"{interval['upper']:g}"
            )
        for name, number in (
            ("standard_error.value", (uncertainty.get("standard_error") or {}).get("value")),
            ("standard_deviation", uncertainty.get("standard_deviation")),
            ("num_samples", uncertainty.get("num_samples")),
        ):
            if number is not None and number < 0:
                yield f"{here}.score_details.uncertainty.{name}: must be at least 0, not {number:g}"


def _sample_contradiction(value: Mapping[str, Any]) -> str | None:
    usage = value.get("token_usage")
    if usage and usage["total_tokens"] < max(usage["input_tokens"], usage["output_tokens"]):
        return (
            f"token_usage.total_tokens: {usage['total_tokens']} is less than the input_tokens or output_tokens that "
            "it should include"
        )
    return None


def bound(value: float | str | None, absent: float) -> float:
    """Return ``min_score`` or ``max_score`` as a number; the schema writes infinities as texts."""
    return absent if value is None else float(value)


def _above(value: float, low: float) -> bool:
    return value >= low - 1e-9 * max(1.0, abs(low) if math.isfinite(low) else 1.0)
