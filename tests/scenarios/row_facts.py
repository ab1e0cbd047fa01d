"""What rows.yaml says of a data set: the instances of each split, the balance of labels, and the two ends."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from harness import Instance

ROWS: dict[str, dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "rows.yaml").read_text("utf-8"))
MOST_LABELS = 12


def facts(instances: Sequence[Instance]) -> dict[str, Any]:
    """Return what rows.yaml says of the instances of one split."""
    found: dict[str, Any] = {"rows": len(instances)}
    if labels := _labels(instances):
        found["labels"] = labels
    return found | {"ends": f"{_digest(instances[0])}-{_digest(instances[-1])}"}


def _labels(instances: Sequence[Instance]) -> dict[str, int] | list[int] | None:
    """Return how often each option is right: by its text if all instances have the same, else by its position.

    None if there are no wrong options, or if the right one is always the first.
    """
    if not all(len(instance.references) > 1 and len(instance.correct) == 1 for instance in instances):
        return None
    options = {frozenset(reference.text for reference in instance.references) for instance in instances}
    if len(options) == 1:
        counts = Counter(instance.correct[0].text for instance in instances)
        return dict(sorted(counts.items())) if len(counts) <= MOST_LABELS else None
    positions = Counter(instance.references.index(instance.correct[0]) for instance in instances)
    return [positions[position] for position in range(max(positions) + 1)] if max(positions) else None


def _digest(instance: Instance) -> str:
    text = instance.published or "\t".join([instance.input, *(one.text for one in instance.correct)])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
