"""Quantiles of the normal and of Student's t distribution."""

from __future__ import annotations

from functools import cache
from statistics import NormalDist

UPPER_TAIL = 0.975
"""Probability below the upper end of a two-sided 95 % interval."""

Z = NormalDist().inv_cdf(UPPER_TAIL)
"""Standard errors that a 95 % interval reaches: 1.959964."""


@cache
def normal_quantile(probability: float) -> float:
    """Return the value that a standard normal variable stays below with the given probability."""
    return NormalDist().inv_cdf(probability)


@cache
def t_quantile(probability: float, freedom: float) -> float:
    """Return the value that Student's t stays below with the given probability.

    Args:
        probability: Strictly between 0 and 1.
        freedom: Degrees of freedom, at least 1; not necessarily a whole number.

    Raises:
        ValueError: An argument is out of range.
    """
    if not 0.0 < probability < 1.0 or not freedom >= 1.0:
        raise ValueError(f"no t quantile for probability {probability} and {freedom} degrees of freedom")
    from scipy.special import stdtrit  # not at the top: importing it takes a quarter of a second

    return float(stdtrit(freedom, probability))
