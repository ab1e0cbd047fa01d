"""What the text alone says of an order, stretch by stretch of what may be permuted, as JSON values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.contamination import diagnose, holm

FEWEST = 8
"""Examples of a block below which its order says nothing."""


def diagnosed(
    texts: Sequence[str], labels: Sequence[str] | None, groups: Sequence[Sequence[int]], seed: int
) -> dict[str, dict[str, Any]]:
    """Return each test's ``statistic``, ``z``, ``p`` and ``p_holm``, by name.

    Where only parts are permuted, each part's own order is looked at, and Holm's correction is over all of them.

    Args:
        texts: The examples in published order.
        labels: Their labels, where there are any; within a part that is not the whole they are not looked at.
        groups: The positions that are permuted among themselves.
        seed: Seeds the random orders.
    """
    found: dict[str, dict[str, Any]] = {}
    whole = len(groups) == 1
    for number, members in enumerate(groups):
        if len(members) < FEWEST:
            continue
        part = [texts[place] for place in members]
        tests = diagnose(part, labels if whole else None, seed=seed).tests
        for test in tests:
            name = test.name if whole else f"{test.name}, block {number + 1}"
            found[name] = {"statistic": test.statistic, "z": test.z, "p": test.p, "p_holm": test.p_holm}
    if not whole:
        corrected = holm([one["p"] for one in found.values()])
        for one, p_holm in zip(found.values(), corrected, strict=True):
            one["p_holm"] = p_holm
    return found
