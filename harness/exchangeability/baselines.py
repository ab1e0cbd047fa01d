"""Heuristic membership scores from token log-probabilities: for comparison, without an error rate of their own."""

from __future__ import annotations

from collections.abc import Sequence


def mean_logprob(logprobs: Sequence[float]) -> float:
    """Return the mean log-probability of a text's tokens, nats: the loss with its sign turned (Yeom et al. 2018)."""
    raise NotImplementedError


def min_k(logprobs: Sequence[float], k: float = 0.2) -> float:
    """Return Min-K% Prob: the mean over the least likely share ``k`` of the tokens (Shi et al. 2023)."""
    raise NotImplementedError


def min_k_plus_plus(logprobs: Sequence[float], moments: Sequence[tuple[float, float]], k: float = 0.2) -> float:
    """Return Min-K%++ (Zhang et al. 2024, arXiv 2404.02936).

    Args:
        logprobs: Log-probability of each token, nats.
        moments: Mean and standard deviation of log p over the vocabulary at each token, nats.
        k: Share of the tokens that counts.
    """
    raise NotImplementedError


def zlib_ratio(logprobs: Sequence[float], text: str) -> float:
    """Return the summed log-probability per byte of the compressed text (Carlini et al. 2021)."""
    raise NotImplementedError


def threshold(clean: Sequence[float], rate: float = 0.05) -> float:
    """Return the score that a share ``rate`` of clean validation texts exceeds."""
    raise NotImplementedError


def share_flagged(scores: Sequence[float], above: float) -> float:
    """Return the share of scores above a threshold."""
    raise NotImplementedError


def auroc(members: Sequence[float], others: Sequence[float]) -> float:
    """Return the probability that a member scores higher than another text, ties counting one half."""
    raise NotImplementedError
