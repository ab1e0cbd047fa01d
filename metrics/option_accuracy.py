"""Accuracy of the likeliest option as in lm-evaluation-harness: ``acc`` and ``acc_norm`` of the same answers."""

from __future__ import annotations

from collections.abc import Sequence

from harness import Example, metric
from metrics._option_likelihoods import option_log_likelihoods

_SOURCE = "lm-evaluation-harness 0.4.13, api/task.py (Zenodo 10256836)"


@metric("acc", title="Accuracy", category="accuracy", scale="proportion", needs_options="scored", source=_SOURCE)
def acc(example: Example) -> float | None:
    """1 if the option with the largest summed log-probability is correct, else 0; of a tie, the first option counts.

    The mean lies between 0 and 1, and higher is better. It does not depend on ``length_normalization``, so that one run
    gives both ``acc`` and ``acc_norm``. Undefined without a correct option.

    Raises:
        MetricError: An option was not scored.
    """
    return _first_is_correct(example, option_log_likelihoods(example))


@metric(
    "acc_norm",
    title="Accuracy per character",
    category="accuracy",
    scale="proportion",
    needs_options="scored",
    source=_SOURCE,
)
def acc_norm(example: Example) -> float | None:
    """1 if the option with the largest log-probability per character is correct, else 0; of a tie, the first counts.

    Characters are those of the option's text (Unicode code points), without the space before it; where options are
    asked for by letter, those of the letter. The mean lies between 0 and 1, and higher is better. Undefined without a
    correct option.

    Raises:
        MetricError: An option was not scored.
    """
    shown = example.labels or tuple(reference.text for reference in example.references)
    found = option_log_likelihoods(example)
    return _first_is_correct(example, [value / max(1, len(text)) for value, text in zip(found, shown, strict=True)])


def _first_is_correct(example: Example, scores: Sequence[float]) -> float | None:
    if not example.correct:
        return None
    return float(example.references[scores.index(max(scores))].correct)
