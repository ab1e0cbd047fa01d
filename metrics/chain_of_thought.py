"""The answer at the end of a chain of thought: the option or the number that it states last."""

from __future__ import annotations

from harness import BestOf, Example, MetricError, metric
from harness.answers import read_option, stated_number
from metrics._text.generations import generations
from metrics._text.references import Score, best_over_references

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@metric(
    "chain_of_thought_option",
    title="Exact match (option after reasoning)",
    short="EM (CoT)",
    category="accuracy",
    scale="proportion",
    source="HELM, gpqa_chain_of_thought_metric.py, 2024",
    votes=lambda example: stated_option(_texts(example)[0], _labels(example)),
)
def chain_of_thought_option(example: Example) -> Score:
    r"""1 if the option that a chain of thought states last is correct; else 0.

    It recognises statements such as "the answer is B", "I think it's B", "B is correct" and ``\boxed{B}``. Letters are
    those that the adapter showed, else A, B, C … in the order of the references. A text that names no option, or two
    ("A or B"), scores 0. The mean lies between 0 and 1, and higher is better. Undefined without a correct option. With
    k > 1 completions, ``chain_of_thought_option@k`` is 1 if any of them is right.

    Unlike HELM, the last statement counts, not the first ("The answer is A … no, the answer is B"); the article "a" is
    not an option ("The answer is A good one"); "Answer: B" is recognised (HELM's pattern for it looks for the literal
    text "[aA]nswer"); and only options that were shown count.

    Raises:
        MetricError: There are no options, or more than 26 without letters.
    """
    labels = _labels(example)
    if len(labels) < len(example.references) or len(labels) < 2:
        raise MetricError(f"chain_of_thought_option needs 2 to 26 options, and there are {len(example.references)}.")
    if not example.correct:
        return None
    right = {label for label, reference in zip(labels, example.references, strict=False) if reference.correct}
    scores = [float(stated_option(text, labels) in right) for text in _texts(example)]
    if len(scores) < 2:
        return scores[0]
    return BestOf(scores[0], max(scores), len(scores))


@metric(
    "chain_of_thought_number",
    title="Exact match (number after reasoning)",
    short="EM (CoT)",
    category="accuracy",
    scale="proportion",
    source="Cobbe et al. 2021 (GSM8K), section 3",
    votes=lambda example: stated_number(example.prediction),
)
def chain_of_thought_number(example: Example) -> Score:
    r"""1 if the number that a chain of thought states last equals that of a correct reference; else 0.

    The number stated last is the first one after the last "answer is", "answer:", ``####`` or ``\boxed``, or without
    such a marker the last number of the text: "The answer is 7, since 5 + 2 = 7 and not 8" states 7. Of an equation,
    such as "5 + 2 = 7", the right-hand side counts. Numbers are read and compared as for final_number_exact_match. The
    mean lies between 0 and 1, and higher is better. A text without a number scores 0.
    """
    return best_over_references(example, _same_number)


def stated_option(text: str, labels: tuple[str, ...]) -> str | None:
    """Return the label of the option that a text states (:func:`harness.answers.read_option`), or None."""
    position = read_option(text, labels)
    return None if position is None else labels[position]


def _labels(example: Example) -> tuple[str, ...]:
    return example.labels or tuple(_LETTERS[: len(example.references)])


def _texts(example: Example) -> tuple[str, ...]:
    return generations(example) or example.predictions or (example.prediction,)


def _same_number(gold: str, prediction: str) -> float:
    number = stated_number(gold)
    return float(number is not None and number == stated_number(prediction))
