"""One p-value and a few fixed words for a data set: what was proved, and never that a model is clean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum


class Verdict(StrEnum):
    """What a test of the published order allows to say."""

    DETECTED = "dependence on the published order detected"
    NOT_DETECTED = "not detected"
    IN_DOUBT = "in doubt: a control rejects too"
    INCONCLUSIVE = "inconclusive: the order is not exchangeable"
    RETEST = "re-test of the same order"


def headline(log10_ps: Sequence[float]) -> float:
    """Return log10 of min(1, k · smallest p) of k tests: Bonferroni, valid whatever their dependence.

    Raises:
        ValueError: There is no test, or a value is not the log10 of a p-value.
    """
    if not log10_ps:
        raise ValueError("there is no p-value")
    for value in log10_ps:
        if not value <= 0.0:
            raise ValueError(f"{value} is not the log10 of a p-value")
    return min(0.0, math.log10(len(log10_ps)) + min(log10_ps))


def verdict(log10_p: float, alpha: float, exchangeable: bool) -> Verdict:
    """Return the words for a p-value at level alpha.

    Where the text alone shows that the published order is not a random one, neither outcome of the test says anything
    about the model: a model can prefer an ordered list that it has never seen.
    """
    if not exchangeable:
        return Verdict.INCONCLUSIVE
    return Verdict.DETECTED if log10_p <= math.log10(alpha) else Verdict.NOT_DETECTED
