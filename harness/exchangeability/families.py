"""Many contamination tests at once, on log10 p-values, so that none underflows."""

from __future__ import annotations

from collections.abc import Sequence


def holm(log10_ps: Sequence[float]) -> list[float]:
    """Return log10 p-values adjusted after Holm (1979); valid whatever the dependence."""
    raise NotImplementedError


def benjamini_hochberg(log10_ps: Sequence[float]) -> list[float]:
    """Return log10 p-values adjusted after Benjamini and Hochberg (1995); valid for independent tests."""
    raise NotImplementedError


def benjamini_yekutieli(log10_ps: Sequence[float]) -> list[float]:
    """Return log10 p-values adjusted after Benjamini and Yekutieli (2001); valid whatever the dependence."""
    raise NotImplementedError


def fisher(log10_ps: Sequence[float]) -> float:
    """Return log10 of Fisher's combined p-value; valid for independent tests."""
    raise NotImplementedError


def cauchy(log10_ps: Sequence[float]) -> float:
    """Return log10 of the Cauchy combination's p-value (Liu and Xie 2020); for dependent tests, approximately."""
    raise NotImplementedError
