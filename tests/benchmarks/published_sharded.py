"""The published sharded comparison test (Oren et al. 2023, compute_sharded_comparison_test.py), on a CPU.

One sequence at a time, windows half a context apart, a log-softmax over every position, a t-test on the shards'
differences. What differs from the published script: one process, one device, tokens given.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from scipy import stats


def log_likelihood(tokens: Sequence[int], model: Any, context: int, stride: int) -> float:
    """Return the sum of the log-probabilities of all tokens but the first, in nats."""
    inputs, targets = tokens[:-1], tokens[1:]
    total = torch.zeros((1, 1))
    windows = math.ceil(max(0, len(inputs) - context) / stride) + 1
    for number in range(windows):
        start = stride * number
        end = min(start + context, len(inputs))
        skipped = max(0, context - stride) if number else 0
        with torch.no_grad():
            logits = model(torch.tensor([inputs[start:end]])).logits[0]
            logprobs = torch.nn.functional.log_softmax(logits, dim=-1)
            picked = logprobs.gather(-1, torch.tensor(targets[start:end]).unsqueeze(-1)).squeeze(-1)
            total += picked[skipped:].sum()
    return float(total.item())


def likelihood_table(
    examples: Sequence[Sequence[int]],
    model: Any,
    *,
    shards: int,
    shuffles: int,
    context: int,
    stride: int,
    first: Sequence[int] = (),
    seed: int = 0,
) -> np.ndarray:
    """Return log-likelihoods, ``(shards, 1 + shuffles)``, the published order's in column 0.

    Args:
        examples: Each example's tokens, in published order.
        model: From transformers.
        shards: How many.
        shuffles: How many shuffled orders of each.
        context: Tokens of a window.
        stride: Tokens between windows.
        first: Tokens that stand before every shard.
        seed: Of the shuffles.
    """
    rng = random.Random(seed)
    sizes = [len(examples) // shards + (i < len(examples) % shards) for i in range(shards)]
    table = np.zeros((shards, shuffles + 1))
    start = 0
    for row, size in enumerate(sizes):
        shard = list(examples[start : start + size])
        start += size
        for column in range(shuffles + 1):
            order = shard if column == 0 else rng.sample(shard, k=len(shard))
            tokens = [*first, *(token for example in order for token in example)]
            table[row, column] = log_likelihood(tokens, model, context, stride)
    return table


def t_test(table: np.ndarray) -> tuple[float, float]:
    """Return t and its one-sided p-value, as published: with the population's standard deviation."""
    differences = table[:, 0] - table[:, 1:].mean(axis=1)
    t = float(differences.mean() / differences.std() * math.sqrt(len(differences)))
    return t, float(1 - stats.t.cdf(t, df=len(differences) - 1))
