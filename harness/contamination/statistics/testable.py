"""The definition of testable: whether a test of a published order can give a meaningful p-value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from harness.contamination.statistics.diagnostics import DIAGNOSTICS_LEVEL
from harness.output.display import counted


def why_not_testable(found: Mapping[str, Any]) -> str:
    """Return why a data set's order cannot be tested; '' if it can be.

    There are two possible reasons: there are too few examples for a p-value at the level, or the text alone shows,
    after all repairs, that the order is not exchangeable. Then no p-value is shown, and the test belongs to no family.

    Args:
        found: The description of the data set, or a metric's details, which contain it: ``testable`` with
            ``not_testable``, ``exchangeable``, ``diagnostics`` and ``repaired_diagnostics``, each of which may be
            missing.
    """
    diagnostics = found.get("repaired_diagnostics") or found.get("diagnostics") or {}
    wrong = rejecting(diagnostics)
    if wrong or not (diagnostics or found.get("exchangeable", True)):
        because = f": {', '.join(wrong)}" if wrong else ""
        return f"the text alone shows that the order is not exchangeable{because}"
    return "" if found.get("testable", True) else str(found.get("not_testable") or "too few examples")


def why_options_not_testable(found: Mapping[str, Any], alpha: float) -> str:
    """Return why the order of questions' options cannot be tested; '' if it can be.

    Args:
        found: The metric's details, of which ``exchangeable``, ``diagnostics`` and ``log10_p_floor`` are used; each may
            be missing.
        alpha: The level.
    """
    wrong = rejecting(found.get("diagnostics") or {})
    if wrong or not found.get("exchangeable", True):
        because = f": {', '.join(wrong)}" if wrong else ""
        return f"the text alone shows that the options are not in random order{because}"
    floor = float(found.get("log10_p_floor", -math.inf))
    if floor <= math.log10(alpha):
        return ""
    questions = counted(int(found["n_questions"]), "question")
    return f"with {questions} no p-value at the level {alpha:g} is possible (the smallest is {10**floor:.2g})"


def rejecting(diagnostics: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the diagnostics that reject, each with its corrected p-value, ``length trend (p = 0.002 after Holm)``."""
    return [
        f"{name} (p = {test['p_holm']:.3g} after Holm)"
        for name, test in diagnostics.items()
        if test["p_holm"] <= DIAGNOSTICS_LEVEL
    ]
