"""Quantiles of Student's t distribution, without the half second that importing a statistics library costs."""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist

_EXPANSION_SUFFICES = 1000
"""Degrees of freedom from which the expansion's error is below that of double precision's usual uses (1e-12)."""


@cache
def t_quantile(probability: float, freedom: int) -> float:
    """Return the value that Student's t stays below with the given probability.

    The Cornish-Fisher expansion around the normal quantile (Abramowitz and Stegun 1964, 26.7.5), polished for small
    degrees of freedom by Newton's method on the distribution function's finite sum (26.7.3 and 26.7.4).

    Args:
        probability: Strictly between 0 and 1.
        freedom: Degrees of freedom, at least 1.

    Raises:
        ValueError: An argument is out of range.
    """
    if not 0.0 < probability < 1.0 or freedom < 1:
        raise ValueError(f"no t quantile for probability {probability} and {freedom} degrees of freedom")
    if probability < 0.5:
        return -t_quantile(1.0 - probability, freedom)
    if freedom == 1:
        return math.tan(math.pi * (probability - 0.5))
    if freedom == 2:
        return (2.0 * probability - 1.0) / math.sqrt(2.0 * probability * (1.0 - probability))
    value = _expansion(NormalDist().inv_cdf(probability), freedom)
    if freedom >= _EXPANSION_SUFFICES:
        return value
    for _ in range(50):
        step = (_distribution(value, freedom) - probability) / _density(value, freedom)
        value -= step
        if abs(step) < 1e-13 * abs(value):
            break
    return value


def _expansion(z: float, freedom: int) -> float:
    square = z * z
    terms = (
        (square + 1) / 4,
        ((5 * square + 16) * square + 3) / 96,
        (((3 * square + 19) * square + 17) * square - 15) / 384,
        ((((79 * square + 776) * square + 1482) * square - 1920) * square - 945) / 92160,
    )
    return z * (1.0 + sum(term / float(freedom) ** power for power, term in enumerate(terms, start=1)))


def _distribution(value: float, freedom: int) -> float:
    angle = math.atan(value / math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    term = cosine if freedom % 2 else 1.0
    total = 0.0
    for k in range(2 + freedom % 2, freedom + 1, 2):
        total += term
        term *= cosine * cosine * (k - 1) / k
    inside = 2.0 / math.pi * (angle + sine * total) if freedom % 2 else sine * total
    return 0.5 + inside / 2.0


def _density(value: float, freedom: int) -> float:
    log_scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - 0.5 * math.log(freedom * math.pi)
    return math.exp(log_scale - (freedom + 1) / 2 * math.log1p(value * value / freedom))
