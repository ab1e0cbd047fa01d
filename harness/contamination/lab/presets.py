"""Sizes of the lab's models, by name."""

from __future__ import annotations

from collections.abc import Mapping

from harness.contamination.lab.training import Recipe
from harness.errors import ModelError, did_you_mean

PRESETS: Mapping[str, Recipe] = {
    "tiny": Recipe(),
    "small": Recipe(window=256, width=128, heads=4, batch=2, matrix_rate=5e-3, other_rate=1e-2),
    "medium": Recipe(vocabulary=4096, window=256, width=256, layers=4, heads=8, matrix_rate=4e-3, other_rate=6e-3),
    "llama-small": Recipe(
        architecture="llama", window=256, width=128, heads=4, batch=2, matrix_rate=5e-3, other_rate=1e-2
    ),
    "gpt2-124m": Recipe(
        vocabulary=32768, window=1024, width=768, layers=12, heads=12, batch=64, rows_at_once=16,
        matrix_rate=1e-3, other_rate=1e-3, warmup=200,
    ),
    "gpt2-355m": Recipe(
        vocabulary=32768, window=1024, width=1024, layers=24, heads=16, batch=64, rows_at_once=8,
        matrix_rate=8e-4, other_rate=8e-4, warmup=200,
    ),
}  # fmt: skip
"""The first four train in seconds to minutes on one core; the last two have GPT-2's sizes and want a GPU."""


def preset_named(name: str) -> Recipe:
    """Return a preset.

    Raises:
        ModelError: There is no such preset.
    """
    if name not in PRESETS:
        raise ModelError(f"there is no preset {name!r}. {did_you_mean(name, PRESETS)}")
    return PRESETS[name]
