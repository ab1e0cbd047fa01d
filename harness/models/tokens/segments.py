"""Sums of log-probabilities by segment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise


def segment_sums(logprobs: Sequence[float], lengths: Sequence[int]) -> tuple[float, ...]:
    """Return each segment's sum of token log-probabilities, summed in double precision.

    Args:
        logprobs: The tokens' natural log-probabilities, in reading order.
        lengths: The number of tokens of each segment.
    """
    return tuple(math.fsum(logprobs[start:end]) for start, end in pairwise(accumulate(lengths, initial=0)))
