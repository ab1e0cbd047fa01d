"""Heuristic membership scores from token log-probabilities: for comparison, without an error rate of their own.

A text that was trained on tends to score higher. But scores depend on the text as much as on training, so no score has
a null distribution: a threshold only holds for texts like the clean ones that set it, and a difference only says
something about the model if it exceeds the text baseline (:mod:`harness.contamination.statistics.text_baseline`).
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence

_SMALLEST_SD = 1e-6
"""Nats; the standard deviation over the vocabulary of a model that gives all tokens the same probability is 0."""


def mean_logprob(logprobs: Sequence[float]) -> float:
    """Return the mean log-probability of a text's tokens, nats: the negative loss (Yeom et al. 2018).

    Raises:
        ValueError: There is no token.
    """
    return math.fsum(logprobs) / len(_some(logprobs))


def min_k(logprobs: Sequence[float], k: float = 0.2) -> float:
    """Return Min-K% Prob: the mean log-probability of the least likely tokens (Shi et al. 2023, arXiv 2310.16789).

    Args:
        logprobs: Log-probability of each token, nats.
        k: Share of the tokens to use; at least one.

    Raises:
        ValueError: There is no token, or ``k`` is not in (0, 1].
    """
    return _lowest_mean(logprobs, k)


def min_k_plus_plus(logprobs: Sequence[float], moments: Sequence[tuple[float, float]], k: float = 0.2) -> float:
    """Return Min-K%++: the mean over the lowest of the tokens' standardized log-probabilities.

    A token's log-probability less the mean of log p over the vocabulary at its position, in standard deviations there,
    both weighted by p (Zhang et al. 2024, arXiv 2404.02936, equation 4).

    Args:
        logprobs: Log-probability of each token, nats.
        moments: Mean and standard deviation of log p over the vocabulary at each token, nats.
        k: Share of the tokens to use; at least one.

    Raises:
        ValueError: There is no token, the lengths differ, or ``k`` is not in (0, 1].
    """
    standardized = [
        (logprob - mean) / max(sd, _SMALLEST_SD) for logprob, (mean, sd) in zip(logprobs, moments, strict=True)
    ]
    return _lowest_mean(standardized, k)


def zlib_ratio(logprobs: Sequence[float], text: str) -> float:
    """Return the summed log-probability per byte of the compressed text, nats (Carlini et al. 2021, section 5.2).

    Raises:
        ValueError: There is no token.
    """
    return math.fsum(_some(logprobs)) / len(zlib.compress(text.encode("utf-8", "surrogatepass")))


def threshold(clean: Sequence[float], rate: float = 0.05) -> float:
    """Return the lowest clean score that at most a share ``rate`` of the clean scores exceeds.

    Raises:
        ValueError: There are too few scores for the rate, or it is not in (0, 1).
    """
    if not 0.0 < rate < 1.0:
        raise ValueError(f"a rate of false positives is between 0 and 1, not {rate}")
    allowed = math.floor(rate * len(clean) + 1e-9)
    if allowed < 1:
        raise ValueError(
            f"{len(clean)} clean scores are too few for a threshold at {rate:.0%}: {math.ceil(1 / rate)} are needed"
        )
    return sorted(clean, reverse=True)[allowed]


def share_flagged(scores: Sequence[float], above: float) -> float:
    """Return the share of scores above a threshold.

    Raises:
        ValueError: There is no score.
    """
    return sum(score > above for score in scores) / len(_some(scores))


def auroc(members: Sequence[float], others: Sequence[float]) -> float:
    """Return the probability that a member scores higher than another text, ties counting one half.

    The area under the receiver operating characteristic, by Mann and Whitney's statistic (Hanley and McNeil 1982).

    Raises:
        ValueError: There is no member or no other.
    """
    import numpy as np

    ordered = np.sort(np.asarray(_some(others), dtype=np.float64))
    below = np.searchsorted(ordered, np.asarray(_some(members), dtype=np.float64), side="left")
    upto = np.searchsorted(ordered, np.asarray(members, dtype=np.float64), side="right")
    return float((below + upto).mean()) / (2 * len(ordered))


def _lowest_mean(values: Sequence[float], k: float) -> float:
    if not 0.0 < k <= 1.0:
        raise ValueError(f"a share is above 0 and at most 1, not {k}")
    lowest = sorted(_some(values))[: max(1, int(k * len(values)))]
    return math.fsum(lowest) / len(lowest)


def _some(values: Sequence[float]) -> Sequence[float]:
    if len(values) == 0:
        raise ValueError("there is no value")
    return values
