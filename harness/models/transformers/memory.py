"""The number of tokens in a batch, from the memory that a model's weights leave on its device."""

from __future__ import annotations

from typing import Any

MOST_TOKENS = {"cpu": 2048, "mps": 8192, "cuda": 65536}
"""Maximum number of tokens in a batch, by kind of device."""

LEAST_TOKENS = 512

USED_SHARE = 0.7
"""Share of the free memory to plan with; the rest is for logits, masks and fragmentation."""

CACHE_BATCHES = 2
"""Number of batches whose keys and values may be cached in addition to those of the current batch."""


def batch_tokens(config: Any, kind: str, bytes_each: int, free: int | None) -> int:
    """Return the most tokens of a batch.

    Args:
        config: The text model's configuration.
        kind: Kind of device, such as ``cuda``.
        bytes_each: Bytes of a number in the model's precision.
        free: Bytes that are free on the device once the weights are there; None if that cannot be known.
    """
    most = MOST_TOKENS.get(kind, MOST_TOKENS["cpu"])
    if free is None:
        return most
    try:
        needed = (1 + CACHE_BATCHES) * cache_bytes(config, bytes_each) + _working_bytes(config, bytes_each)
    except Exception:  # a shape of its own, as errors of several classes say; batches shrink if need be
        return most
    return max(LEAST_TOKENS, min(most, int(USED_SHARE * free) // max(1, needed)))


def cache_bytes(config: Any, bytes_each: int) -> int:
    """Return the bytes of one token's keys and values in all layers."""
    heads = getattr(config, "num_attention_heads", None) or 1
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    kept = getattr(config, "num_key_value_heads", None) or heads
    return int(2 * config.num_hidden_layers * kept * size * bytes_each)


def _working_bytes(config: Any, bytes_each: int) -> int:
    """Return about how many bytes one layer needs for a token, which are free again when the layer is done."""
    inner = getattr(config, "intermediate_size", None) or 4 * config.hidden_size
    inner = max(inner) if isinstance(inner, list | tuple) else inner
    return int((8 * config.hidden_size + 3 * inner) * bytes_each)
