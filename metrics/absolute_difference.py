"""How far a predicted number is from the right one."""

from __future__ import annotations

import math

from harness import BestOf, Example, metric, whole_number
from metrics._text.references import Score


@metric(
    "absolute_value_difference",
    category="accuracy",
    scale="count",
    higher_is_better=False,
    source="HELM, evaluate_reference_metrics.py, 2022",
)
def absolute_value_difference(example: Example) -> Score:
    """|prediction − reference|, the smallest over correct references that are numbers.

    At least 0, without an upper end, and lower is better. With k > 1 completions, ``absolute_value_difference@k`` is
    the smallest difference of any of them. The whole text must be a number by the rules of
    :mod:`harness.answers.reading` (``1,234.5``, ``1e3``, ``2½``; a full stop after it is ignored). Where the prediction
    or every reference is not one, the score is undefined and counted as missing.

    Other than in HELM, where a text that is no number counts as 0, so that a model that says nothing is as far off as
    the answer is large, and right where the answer is 0; decimals are numbers here; and among several references the
    nearest counts, where HELM takes the farthest.
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
