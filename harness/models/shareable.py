"""Whether a model can read many texts that share their beginnings at once, as far as its configuration tells."""

from __future__ import annotations

import inspect
from typing import Any

MOVING_ROTATIONS = ("dynamic", "longrope")
"""Rotary embeddings that depend on the length of the longest text in the batch."""


def why_not_shareable(model: Any, window: int | None) -> str | None:
    """Return why every text must be read by itself; None where nothing is known against sharing.

    Sharing gives the attention a mask of ancestors and the tokens their positions. A model that sees only the last
    tokens, has a state instead of a cache, or knows positions from the mask, cannot be told so.

    Args:
        model: From ``AutoModelForCausalLM``.
        window: Most tokens that it will read at once.
    """
    config = model.config.get_text_config()
    taken = inspect.signature(model.forward).parameters
    for name in ("position_ids", "attention_mask", "past_key_values"):
        if name not in taken:
            return f"its forward pass takes no {name}"
    attention = getattr(config, "_attn_implementation", None)
    if attention not in ("sdpa", "eager"):
        return f"its attention ({attention}) takes no mask of ancestors"
    layers = set(getattr(config, "layer_types", None) or ["full_attention"])
    sliding = getattr(config, "sliding_window", None)
    if layers != {"full_attention"} or (
        not getattr(config, "layer_types", None) and sliding is not None and (window is None or sliding < window)
    ):
        return "some of its layers do not see all tokens"
    rotation = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    if isinstance(rotation, dict) and rotation.get("rope_type") in MOVING_ROTATIONS:
        return "its positions depend on the length of a text"
    if getattr(config, "alibi", False) or getattr(config, "is_encoder_decoder", False):
        return "its attention knows positions from the order in a row"
    return None
