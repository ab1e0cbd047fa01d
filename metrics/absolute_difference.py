"""The distance of a predicted number from the correct one."""

from __future__ import annotations

import math

from harness import BestOf, Example, metric
from harness.answers import whole_number
from metrics._text.references import Score


@metric(
    "absolute_value_difference",
    title="Absolute difference",
    category="accuracy",
    scale="count",
    higher_is_better=False,
    source="HELM, evaluate_reference_metrics.py, 2022",
)
def absolute_value_difference(example: Example) -> Score:
    """|prediction − reference|, the smallest over the correct references that are numbers.

    At least 0, with no upper limit, and lower is better. With k > 1 completions, ``absolute_value_difference@k`` is the
    smallest difference of any of them. The whole text must be a number (``1,234.5``, ``1e3``, ``2½``; a final full stop
    is ignored). If the prediction is not a number, or no reference is one, the score is undefined and counted as
    missing.

    Unlike HELM, text that is not a number does not count as 0 (a model that says nothing would be right where the
    answer is 0), decimals are numbers, and of several references the nearest counts, not the farthest.
    """
    golds = [number for reference in example.correct if (number := whole_number(reference.text)) is not None]

    def distance(prediction: str) -> float | None:
        number = whole_number(prediction)
        return None if number is None or not golds else float(min(abs(number - gold) for gold in golds))

    first = distance(example.prediction)
    if len(example.predictions) < 2:
        return first
    known = [value for value in map(distance, example.predictions) if value is not None]
    return BestOf(math.nan if first is None else first, min(known, default=math.nan), len(example.predictions))
