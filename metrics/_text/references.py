"""How a comparison of two texts becomes the score of an example that has several references or completions."""

from __future__ import annotations

from collections.abc import Callable

from harness import Example

Score = float | dict[str, float] | None


def best_over_references(example: Example, name: str, compare: Callable[[str, str], float | None]) -> Score:
    """Return the largest value of ``compare(reference, prediction)`` over the correct references.

    The prediction has no whitespace at its ends; an empty one scores 0. Where the model gave k > 1 completions, the
    score of the prediction comes under ``name`` and the largest score of any completion under ``name@k``, as in HELM.
    The score is undefined without a correct reference, and where ``compare`` gives None for every one of them: whether
    it does depends on the reference alone.
    """
    golds = [
        reference.text
        for reference in example.references
        if reference.correct and compare(reference.text, "") is not None
    ]
    if not golds:
        return None

    def score(prediction: str) -> float:
        stripped = prediction.strip()
        return max(compare(gold, stripped) or 0.0 for gold in golds) if stripped else 0.0

    first = score(example.prediction)
    if len(example.predictions) < 2:
        return first
    return {name: first, f"{name}@{len(example.predictions)}": max(map(score, example.predictions))}
