"""Two looks at one hypothesis: a cheap one, and a thorough one where the first leaves the answer open.

The level is divided beforehand: a share w of it belongs to the first look, the rest to the second::

    first look      p₁ = 0.004     w = 0.2      p₁ / w = 0.02: near the level, so look again
    second look     p₂ = 0.0008                 p₂ / (1 - w) = 0.001
    together        p = min(0.02, 0.001) = 0.001

Data sets whose p₁ is above a limit c, 0.2, get no second look and keep p = p₁; the others have p ≤ c. So for α < c,
P(p ≤ α) ≤ P(p₁ ≤ wα) + P(p₂ ≤ (1 - w)α) ≤ α, although the second look contains the first (Bonferroni's inequality
with weights: Genovese, Roeder and Wasserman 2006, Biometrika 93:509-524; as a fixed budget for interim looks: Haybittle
1971, British Journal of Radiology 44:793-797). For α ≥ c, p ≤ α exactly where p₁ ≤ α.

This holds for any rule for the second look, and for families of data sets whose orders are independent. Let p* be the
p-value of a data set that gets a second look whenever p₁ ≤ c. It depends on that data set alone, P(p* ≤ α) ≤ α as
above, and p ≥ p*. Holm, Fisher and Cauchy, which reject less often when p-values rise, therefore keep their level even
if other data sets decide about second looks. In fact only a data set's own answers decide, so the p-values are
independent, as Benjamini and Hochberg's correction assumes.

It does not hold for the scores: data sets with a second look were chosen by their answers, so that ranks among all
their orders are not uniform. A test of several data sets' scores may only read their first looks.
"""

from __future__ import annotations

import math


def combined_looks(first: float, second: float | None, share: float, limit: float) -> float:
    """Return log10 of the p-value of one or two looks.

    Args:
        first: Log10 of the first look's p-value.
        second: Log10 of the second look's; None if there was none.
        share: The first look's share of the level, between 0 and 1.
        limit: The first look's p-value above which there is no second look.

    Raises:
        ValueError: The share or the limit is not between 0 and 1, or a value is not the log10 of a p-value.
    """
    if not 0 < share < 1:
        raise ValueError(f"the share is {share}, not between 0 and 1")
    if not 0 < limit <= 1:
        raise ValueError(f"the limit is {limit}, not between 0 and 1")
    if first > 0 or (second is not None and second > 0):
        raise ValueError("a value is not the log10 of a p-value")
    most = math.log10(limit)
    if first > most:
        return first
    weighted = first - math.log10(share)
    return min(most, weighted if second is None else min(weighted, second - math.log10(1 - share)))
