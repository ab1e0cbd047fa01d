"""Diagnostics of an order from its text alone, as JSON values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.contamination import DIAGNOSTICS_LEVEL, diagnose

Diagnostics = dict[str, dict[str, Any]]
"""Each test's ``statistic``, ``z``, ``p`` and ``p_holm``, by name."""


def diagnosed(
    texts: Sequence[str], labels: Sequence[str] | None, groups: Sequence[Sequence[int]] | None, seed: int
) -> Diagnostics:
    """Return the diagnostics of an order; if only groups are permuted, of what it shows within them."""
    tests = diagnose(texts, labels, seed=seed, groups=groups).tests
    return {test.name: {"statistic": test.statistic, "z": test.z, "p": test.p, "p_holm": test.p_holm} for test in tests}


def faults(found: Diagnostics) -> list[str]:
    """Return the names of the tests that reject."""
    return [name for name, test in found.items() if test["p_holm"] <= DIAGNOSTICS_LEVEL]
