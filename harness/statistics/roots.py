"""The root of a function of one variable, between two values of opposite sign."""

from __future__ import annotations

import math
from collections.abc import Callable


def find_root(function: Callable[[float], float], start: float, stop: float, tolerance: float = 1e-10) -> float:
    """Return a root of a function, or the end with the smaller absolute value if both have the same sign.

    It uses inverse quadratic interpolation if the last three points allow it, else bisection (Chandrupatla 1997, Adv.
    Eng. Softw. 28:145), so that it never takes many more steps than bisection, and usually about ten.

    Args:
        function: Continuous between the ends.
        start: One end.
        stop: The other end.
        tolerance: The largest distance of the result from a root.
    """
    a, b = stop, start
    fa, fb = function(a), function(b)
    if fa == 0.0 or fb == 0.0 or (fa > 0.0) == (fb > 0.0):
        return a if abs(fa) <= abs(fb) else b
    step = 0.5
    while True:
        x = a + step * (b - a)
        fx = function(x)
        if (fx > 0.0) == (fa > 0.0):
            c, fc = a, fa
        else:
            c, fc, b, fb = b, fb, a, fa
        a, fa = x, fx
        best, fbest = (a, fa) if abs(fa) < abs(fb) else (b, fb)
        smallest = (2.0 * math.ulp(abs(best)) + 0.5 * tolerance) / abs(b - c)
        if fbest == 0.0 or smallest > 0.5:
            return best
        across, slope = (a - b) / (c - b), (fa - fb) / (fc - fb)
        if slope * slope < across and (1.0 - slope) ** 2 < 1.0 - across:
            step = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        else:
            step = 0.5
        step = min(1.0 - smallest, max(smallest, step))
