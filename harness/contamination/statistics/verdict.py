"""The verdict of a test of the published order, in a few fixed words; none says that a model is clean."""

from __future__ import annotations

import math
from enum import StrEnum


class Verdict(StrEnum):
    """The possible verdicts of a test of the published order."""

    DETECTED = "depends on the published order"
    NOT_DETECTED = "no dependence found"
    NOT_TESTABLE = "not testable"
    IN_DOUBT = "in doubt: a control rejects too"
    RETEST = "re-test of the same order"


def verdict(log10_p: float, alpha: float) -> Verdict:
    """Return the words for the p-value of a testable order at level alpha."""
    return Verdict.DETECTED if log10_p <= math.log10(alpha) else Verdict.NOT_DETECTED
