"""Multiple-choice accuracy: is the chosen option correct, by its position and not by its text?"""

from __future__ import annotations

import math

from harness import Example, MetricError, metric


@metric(
    "multiple_choice_accuracy",
    title="Accuracy",
    short="Acc.",
    category="accuracy",
    scale="bounded",
    binary_samples=True,
    needs_options="chosen",
    agrees_with=("helm:exact_match", "lm-eval:acc"),
    source="Liang et al. 2022, appendix C.1; HELM, basic_metrics.py",
)
def multiple_choice_accuracy(example: Example) -> float | None:
    """1 if the chosen option is correct, else 0; if several options tie for the best score, the share of correct ones.

    Methods that score each option choose the one with the largest score; a tie is worth what choosing among the tied
    options at random would give on average. Methods that ask for a letter choose at most one option, and an answer that
    is not an option scores 0. Options are identified by position, so that a wrong option with the text of the right one
    stays wrong (HELM compares texts if a letter is asked for). Where several options are chosen together, they must be
    exactly the correct ones. The mean lies between 0 and 1, and higher is better. Undefined without a correct option.

    Raises:
        MetricError: The adaptation method does not offer options, or a score is missing.
    """
    references = example.references
    if not any(reference.correct for reference in references):
        return None
    scores = example.choice_scores
    if scores is None:
        if example.choices is not None:
            return float(example.chose_correctly)
        if example.choice is None:
            if not example.labels:
                raise MetricError("there are no options to choose from; use an adapter for multiple choice.")
            return 0.0
        if not 0 <= example.choice < len(references):
            raise MetricError(f"the choice is option {example.choice}, but there are {len(references)}, from 0.")
        return float(references[example.choice].correct)
    if len(scores) != len(references):
        raise MetricError(f"there are {len(scores)} scores for {len(references)} options.")
    if any(map(math.isnan, scores)):
        raise MetricError("the score of an option is not a number; the model gave no log-probabilities.")
    best = max(scores)
    tied = [reference.correct for reference, score in zip(references, scores, strict=True) if score == best]
    return sum(tied) / len(tied)
