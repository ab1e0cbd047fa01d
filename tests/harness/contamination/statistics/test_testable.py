"""Whether the order of a data set can be tested: the reasons why it cannot be."""

from __future__ import annotations

from typing import Any

import pytest

from harness.contamination.statistics.testable import why_not_testable

GATE = "the text alone shows that the order is not exchangeable"


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        ({}, ""),
        ({"testable": True, "exchangeable": True, "diagnostics": {"length trend": {"p_holm": 0.011}}}, ""),
        ({"testable": False, "not_testable": "with 4 examples …"}, "with 4 examples …"),
        ({"testable": False}, "too few examples"),
        ({"exchangeable": False}, GATE),
        ({"exchangeable": False, "diagnostics": None}, GATE),
        ({"diagnostics": {"length trend": {"p_holm": 0.009}}}, f"{GATE}: length trend (p = 0.009 after Holm)"),
        # The diagnostics decide, and those after a repair.
        ({"exchangeable": False, "diagnostics": {"length trend": {"p_holm": 0.5}}}, ""),
        (
            {
                "diagnostics": {"length trend": {"p_holm": 0.001}},
                "repaired_diagnostics": {"length trend": {"p_holm": 0.4}},
            },
            "",
        ),
        # Of two reasons, the one that more examples would not remove.
        ({"testable": False, "not_testable": "with 4 examples …", "exchangeable": False}, GATE),
    ],
)
def test_reasons(found: dict[str, Any], reason: str) -> None:
    assert why_not_testable(found) == reason
