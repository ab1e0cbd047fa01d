"""The names that exported files use where the schema leaves them open, shared by export and import."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from harness.contracts import Stat

SCHEMA_VERSION = "0.3.0"

LIBRARY = "holistic-harness"
"""``eval_library.name`` of files that this harness wrote."""

WRITTEN_BY = "written_by"
"""In the library's additional details: ``holistic-harness`` if this harness wrote the file, whoever evaluated."""

SAMPLES_SUFFIX = "_samples.jsonl"
"""Ends the name of a samples file, after the aggregate file's UUID."""

NO_DIRECTION = {"polarity": "not_applicable"}
"""In a metric's additional details: neither higher nor lower is better, which ``lower_is_better`` cannot say."""


def result_id(stat: Stat) -> str:
    """Return a statistic's ``evaluation_result_id``, unique within its run."""
    parts = [stat.metric, stat.split]
    if stat.perturbation is not None:
        parts.append(f"perturbation={stat.perturbation}")
    if stat.computed_on != "original":
        parts.append(f"computed_on={stat.computed_on}")
    if stat.group is not None:
        parts.append(f"group={stat.group}")
    return "/".join(parts)


def is_best(score: float, stat: Stat | None) -> bool:
    """Return the schema's ``is_correct``: True if a score is the best that its metric can give.

    False where the metric has no best score or no direction.
    """
    if stat is None or stat.scale is None or stat.higher_is_better is None:
        return False
    low, high = stat.scale.bounds
    return score >= high if stat.higher_is_better else score <= low


def sample_hash(text: str, correct: Sequence[str]) -> str:
    """Return a sample's ``sample_hash``, of its input and its correct references."""
    return hashlib.sha256("".join((text, *correct)).encode("utf-8", "surrogatepass")).hexdigest()
