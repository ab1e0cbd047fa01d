"""Scores of examples with several references or completions, from a comparison of two texts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from harness import BestOf, Example

Score = float | BestOf | None
"""What a metric returns that compares each completion with the correct references."""


def best_over_references(example: Example, compare: Callable[[str, str], float | None]) -> Score:
    """Return the largest value of ``compare(reference, prediction)`` over the correct references.

    Predictions are stripped of surrounding whitespace; an empty one scores 0. With k > 1 completions the largest score
    of any of them is given too, as in HELM. The score is undefined (None) without a correct reference, and where
    ``compare`` gives None for each of them, which must depend on the reference alone.
    """

    @cache
    def score(prediction: str) -> float | None:
        values = [compare(reference.text, prediction) for reference in example.correct]
        known = [value for value in values if value is not None]
        return (max(known) if prediction else 0.0) if known else None

    first = score(example.prediction.strip())
    if first is None or len(example.predictions) < 2:
        return first
    return BestOf(first, max(score(text.strip()) or 0.0 for text in example.predictions), len(example.predictions))
