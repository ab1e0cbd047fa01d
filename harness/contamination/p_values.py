"""How p-values are written for people."""

from __future__ import annotations

import math


def shown_p(log10_p: float | None, *, brief: bool = False) -> str:
    """Return a p-value for people: ``0.034``, ``2.1e-05``, ``4.0e-412``; where brief ``2e-05``."""
    if log10_p is None:
        return "–"
    if log10_p > -3:
        return f"{10**log10_p:.3f}"
    exponent = math.floor(log10_p)
    decimals = 0 if brief else 1
    mantissa = f"{10 ** (log10_p - exponent):.{decimals}f}"
    if mantissa.startswith("10"):
        mantissa, exponent = f"{1:.{decimals}f}", exponent + 1
    return f"{mantissa}e{exponent:03d}"
