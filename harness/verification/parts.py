"""Reads parts of what run.json says of a run's origin, which other programs may have written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def part(value: Any, *names: str) -> Mapping[str, Any]:
    """Return the object at a path of names, such as ``model``, ``fingerprint``; empty if there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}
