"""Means of ratings, where both the rated items and the raters are samples."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace

from harness.contracts import Estimate, Scale
from harness.statistics.clustered_estimates import MINIMUM, clustered_mean
from harness.statistics.quantiles import UPPER_TAIL, t_quantile

FEWEST_RATERS = 5
"""Minimum number of raters for an interval that allows for differences between raters."""

THESE_RATERS = "for these raters"
"""The note of an interval over items alone, because there are too few raters."""


def crossed_mean(
    values: Sequence[float], items: Sequence[Hashable], raters: Sequence[Hashable], scale: Scale
) -> Estimate:
    """Return the mean of ratings with standard error and 95 % interval over items and, with at least five, raters.

    The error over items is that of :func:`clustered_mean`. Raters add the variance of a mean over raters, less the part
    that pairs of item and rater have by themselves (Cameron, Gelbach and Miller 2011, J. Bus. Econ. Stat. 29:238, eq.
    2.8); their part of the interval uses Student's t with one degree of freedom fewer than raters. With fewer than five
    raters their variance cannot be estimated: the interval is then over items alone, and the note says that it is for
    these raters.

    In simulations of raters on a scale from 1 to 5 whose strictness differs, the interval covers .93 to 1
    (tests/benchmarks/crossed_mean.py); over items alone it covers as little as .63.

    Args:
        values: The ratings.
        items: What each rating is of.
        raters: Who gave each.
        scale: The scale of a rating.

    Raises:
        ValueError: There are no values, the lengths differ, or a value is outside of the scale.
    """
    over_items = clustered_mean(values, items, scale)
    if over_items.low is None and (count := len(set(items))) < MINIMUM:
        return replace(over_items, note=f"{count} instance{'s are' if count > 1 else ' is'} too few for an interval")
    people = len(set(raters))
    if over_items.low is None or over_items.high is None or over_items.stderr is None:
        return over_items
    if people < FEWEST_RATERS:
        return replace(over_items, note="; ".join(filter(None, [over_items.note, THESE_RATERS])))
    over_raters = clustered_mean(values, raters, None).stderr or 0.0
    over_both = clustered_mean(values, list(zip(items, raters, strict=True)), None).stderr or 0.0
    more = max(over_raters**2 - over_both**2, 0.0)
    reach = t_quantile(UPPER_TAIL, people - 1.0) ** 2 * more
    lowest, highest = scale.bounds
    mean = over_items.value
    return replace(
        over_items,
        stderr=math.sqrt(over_items.stderr**2 + more),
        low=max(mean - math.sqrt((mean - over_items.low) ** 2 + reach), lowest),
        high=min(mean + math.sqrt((over_items.high - mean) ** 2 + reach), highest),
    )
