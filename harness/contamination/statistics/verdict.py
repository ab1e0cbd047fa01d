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
    INCONCLUSIVE = "inconclusive: the order is not exchangeable"
    RETEST = "re-test of the same order"


def verdict(log10_p: float, alpha: float, exchangeable: bool) -> Verdict:
    """Return the words for a p-value at level alpha.

    If the text alone shows that the published order is not random, the test says nothing about the model either way:
    a model can prefer an ordered list that it was never trained on.
    """
    if not exchangeable:
        return Verdict.INCONCLUSIVE
    return Verdict.DETECTED if log10_p <= math.log10(alpha) else Verdict.NOT_DETECTED
