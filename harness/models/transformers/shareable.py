"""Check whether a model can read many texts with common beginnings at once."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from harness.models.transformers.batching import out_of_memory
from harness.models.transformers.cuda_errors import is_sticky

FULL, SLIDING = "full_attention", "sliding_attention"
"""What transformers calls the attention of a layer."""

MOVING_ROTATIONS = ("dynamic", "longrope")
"""Rotary embeddings that depend on the length of the longest text in the batch."""


class NotShareable(Exception):  # noqa: N818 - never an error to anybody: the texts are read one by one instead
    """The model does not give the same answers, or none, to texts that are read together."""


@contextmanager
def refusals() -> Iterator[None]:
    """Turn what a model's forward pass raises into :class:`NotShareable`, unless memory ran out or the GPU is lost."""
    try:
        yield
    except (RuntimeError, TypeError, ValueError, IndexError, AttributeError) as error:
        if out_of_memory(error) or is_sticky(error):
            raise
        raise NotShareable(f"the model refuses what it was given ({error})") from error


def why_not_shareable(model: Any) -> str | None:
    """Return why every text must be read by itself; None where the configuration says nothing against sharing.

    Sharing gives the attention a mask of ancestors and the tokens their positions. A model that has a state instead of
    a cache, or knows positions from the order in a row, cannot be told so.
    """
    config = model.config.get_text_config()
    taken = inspect.signature(model.forward).parameters
    for name in ("position_ids", "attention_mask", "past_key_values"):
        if name not in taken:
            return f"its forward pass takes no {name}"
    attention = getattr(config, "_attn_implementation", None)
    if attention not in ("sdpa", "eager"):
        return f"its attention ({attention}) takes no mask of ancestors"
    if not set(getattr(config, "layer_types", None) or ()) <= {FULL, SLIDING}:
        return "some of its layers are neither full nor sliding attention"
    rotation = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    if isinstance(rotation, dict) and rotation.get("rope_type") in MOVING_ROTATIONS:
        return "its positions depend on the length of a text"
    if getattr(config, "alibi", False) or getattr(config, "is_encoder_decoder", False):
        return "its attention knows positions from the order in a row"
    return None


def longest_shareable(model: Any) -> int | None:
    """Return the most tokens of a text that may be read with others: a model's sliding window; None for no limit.

    A mask of ancestors takes the place of the model's own, which would hide what lies before the window.
    """
    config = model.config.get_text_config()
    layers = getattr(config, "layer_types", None)
    sliding = getattr(config, "sliding_window", None)
    return None if sliding is None or (layers and SLIDING not in layers) else int(sliding)
