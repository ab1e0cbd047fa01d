"""The probability that a model gives to the options of a question, by its likelihood of each."""

from __future__ import annotations

import math

from harness import Example, Scale, metric
from metrics._option_likelihoods import option_log_likelihoods, shares


@metric(
    "true_mass",
    title="Probability of the correct options (MC2)",
    short="MC2",
    category="accuracy",
    scale="bounded",
    needs_options="scored",
    source="Lin et al. 2022, section 3.3 (TruthfulQA, MC2)",
)
def true_mass(example: Example) -> float | None:
    """The correct options' share of the probability of all options (MC2).

    Probabilities are the exponentials of the summed log-probabilities of the options' tokens, also where the method
    divides by an option's length to choose one. Between 0 and 1, and higher is better. Undefined without a correct
    option.

    Raises:
        MetricError: An option was not scored.
    """
    found = shares(option_log_likelihoods(example))
    if not example.correct:
        return None
    return math.fsum(share for share, option in zip(found, example.references, strict=True) if option.correct)


@metric(
    "multiclass_brier_score",
    title="Brier score (all options)",
    short="Brier (all)",
    category="calibration",
    scale=Scale("bounded", 0.0, 2.0),
    higher_is_better=False,
    same_as="lm-eval:brier_score",
    needs_options="scored",
    source="Brier 1950, equation 2",
)
def multiclass_brier_score(example: Example) -> float | None:
    """Σ over the options of (share of the probability − 1 if correct, else 0)², as Brier defined it.

    Shares are those of ``true_mass``. Between 0 and 2, and lower is better; 1 − 1/k if all of k options are equally
    likely. Undefined unless exactly one option is correct. ``brier_score`` instead measures the probability of the
    chosen option alone.

    Raises:
        MetricError: An option was not scored.
    """
    found = shares(option_log_likelihoods(example))
    if len(example.correct) != 1:
        return None
    return math.fsum((share - option.correct) ** 2 for share, option in zip(found, example.references, strict=True))
