"""The exact probability that a sum of independent uniform choices is at least as large as observed.

Two rows, two choices each, the observed ones in column 0; scores are in steps of the lattice::

    row 1     (3, 1)          sums      3+2  3+0  1+2  1+0  =  5  3  3  1
    row 2     (2, 0)          observed  3+2 = 5         p = #{sums ≥ 5} / 4 = 1/4

    enumeration    sort the sums of one half of the rows, and look up each sum of the other half (meet in the middle)
    convolution    too many sums: multiply the Fourier transforms of the rows' tilted distributions
    tilting        weights exp(t·choice) put the mean of the sum at 5, so that far tails keep all their digits
    saddlepoint    thousands of different rows: a formula from the cumulants, at most the Chernoff bound

Enumeration and convolution are exact, up to rounding in the last digits of the probability.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from harness.contamination.statistics.null_distribution import LN10, NullDistribution, null_distribution, spread

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

Method = Literal["constant", "enumeration", "convolution", "saddlepoint"]

_LARGEST_HALF = 2**19
"""Largest number of sums of half of the rows to enumerate: 4 MB."""

_CELLS = 2**21
"""Lattice points times different rows of a convolution: a few hundredths of a second."""

_FINE = 2.0**-40
"""Step of the lattice that numbers are enumerated on, in standard deviations of the sum."""

_NARROWEST, _WIDEST = 2**14, 2**17
_LOG_ALIASED = math.log(1e-16)


@dataclass(frozen=True, slots=True)
class Tail:
    """The upper tail of a sum of choices at its observed value."""

    log10_p: float
    """Log10 of the probability of a sum at least as large."""
    log10_certified: float
    """Log10 of its Chernoff bound, never smaller."""
    log10_floor: float
    """Log10 of the probability of the largest sum: no observation has a smaller tail."""
    z: float
    """The observed sum less its mean, in standard deviations; 0 where it cannot vary."""
    method: Method
    """The way in which ``log10_p`` was computed."""


def exact_tail(tables: Sequence[Floats]) -> Tail:
    """Return the upper tail of the sum of one choice from every row, at the choices in column 0.

    Rows are enumerated where half of them offer at most 2^19 sums. Else the numbers are rounded to a lattice of at
    least 512 steps a standard deviation of the sum. The rounded sum is another statistic, a hundredth of a standard
    deviation away, and the convolution gives its null distribution exactly. Where thousands of rows are all different,
    that would take seconds; the saddlepoint approximation, at most the Chernoff bound, replaces it, and becomes more
    accurate with every row.

    Args:
        tables: Rows, shapes (rows, choices), finite.
    """
    sd = spread(tables)
    largest = max(float(abs(table).max()) for table in tables)
    if sd <= 1e-12 * largest or sd == 0:
        return Tail(0.0, 0.0, 0.0, 0.0, "constant")
    fine = null_distribution(tables, sd * _FINE)
    if fine.observed == fine.top:
        return _tail(fine, fine.log_top, "enumeration")
    halves = _halves(fine)
    if halves is not None:
        rows = len(halves[0]) + len(halves[1])  # each is rounded by half a step at most: what ties still ties
        return _tail(fine, math.log(_enumerate(*halves, fine.observed - rows)), "enumeration")
    different = len({row.tobytes() for block in fine.blocks for row in block.values})
    width = min(max(_CELLS // different, _NARROWEST), _WIDEST)
    coarse = null_distribution(tables, sd * 32 / width)
    log_p = convolved(coarse, 32 * _CELLS // different)
    if log_p is None:
        return _tail(fine, fine.log_saddlepoint(), "saddlepoint")
    return _tail(coarse, log_p, "convolution")


def _tail(total: NullDistribution, log_p: float, method: Method) -> Tail:
    log_p = min(max(log_p, total.log_top), 0.0)
    certified = max(total.log_chernoff, log_p)  # equal to it where rounding alone says otherwise
    return Tail(log_p / LN10, certified / LN10, total.log_top / LN10, total.excess / total.sd, method)


def _halves(total: NullDistribution) -> tuple[list[Integers], list[Integers]] | None:
    """Deal the rows into two halves, the longest rows first, each to the half that has fewer sums."""
    halves: tuple[list[Integers], list[Integers]] = ([], [])
    sizes = [1, 1]
    for block in sorted(total.blocks, key=lambda block: -block.values.shape[1]):
        for row, count in zip(block.values, block.counts, strict=True):
            for _ in range(count):
                smaller = 0 if sizes[0] <= sizes[1] else 1
                halves[smaller].append(row)
                sizes[smaller] *= len(row)
                if sizes[smaller] > _LARGEST_HALF:
                    return None
    return halves


def _enumerate(first: list[Integers], second: list[Integers], observed: int) -> float:
    """Count the pairs of half sums that reach the observed sum."""
    import numpy as np

    one, other = _sums(first), np.sort(_sums(second))
    reached = len(other) - np.searchsorted(other, observed - one, side="left")
    return int(reached.sum()) / (len(one) * len(other))


def _sums(rows: list[Integers]) -> Integers:
    import numpy as np

    sums = np.zeros(1, dtype=np.int64)
    for row in rows:
        sums = np.add.outer(sums, row).ravel()
    return sums


def convolved(total: NullDistribution, most: int = 2**24) -> float | None:
    """Return the log of the tail by Fourier convolution of the tilted choices.

    None where the lattice would need more than ``most`` points, or where what remains of the tail after tilting is
    within reach of rounding.
    """
    import numpy as np

    if total.observed == total.top:
        return total.log_top
    t, excess = total.tilt, total.excess
    generating, _, variance = total.cumulants(t)
    points, whole = _points(total, t, generating, variance)
    if points > most:
        return None
    transform = np.ones(points // 2 + 1, dtype=np.complex128)
    for block in total.blocks:
        rows_at_once = max(1, _CELLS // points)
        for start in range(0, len(block.values), rows_at_once):
            values = block.values[start : start + rows_at_once]
            exponents = t * (values - values[:, -1:])
            weights = np.exp(exponents)
            weights /= weights.sum(axis=1, keepdims=True)
            cells = values % points + points * np.arange(len(values))[:, None]
            density = np.bincount(cells.ravel(), weights.ravel(), minlength=points * len(values))
            spectra = np.fft.rfft(density.reshape(len(values), points), axis=1)
            counts = block.counts[start : start + rows_at_once]
            if (counts > 1).any():
                spectra = spectra ** counts[:, None]
            transform *= spectra.prod(axis=0)
    density = np.fft.irfft(transform, points).clip(min=0.0)
    above = np.arange(min(total.top - total.observed + 1, points) if whole else points // 2)
    remaining = float(density[(total.observed + above) % points] @ np.exp(-t * above))
    if remaining < 1e-9:
        return None
    return generating - t * excess + math.log(remaining)


def _points(total: NullDistribution, t: float, generating: float, variance: float) -> tuple[int, bool]:
    """Return a power of two of lattice points, and whether they hold all sums.

    Otherwise they hold all but 1e-16 of the tilted distribution on either side of the observed sum, by its own Chernoff
    bounds, and the rest is folded in.
    """
    every = total.top - total.bottom + 1
    reach = 0.0
    for sign in (1, -1):
        sides = []
        for strength in (2.0, 4.0, 6.0, 8.0, 12.0):
            theta = sign * strength / math.sqrt(max(variance, 1e-12))
            drift = total.cumulants(t + theta)[0] - generating - theta * total.excess
            sides.append((drift - _LOG_ALIASED) / abs(theta))
        reach = max(reach, min(sides))
    needed = min(float(every), 2 * reach + 4)
    points = 1 << math.ceil(math.log2(max(needed, 2.0)))
    return points, points >= every
