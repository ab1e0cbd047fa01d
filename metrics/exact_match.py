"""Whether the prediction is a correct reference, to the letter or nearly so."""

from __future__ import annotations

from harness import Example, final_number, metric
from metrics._text.normalisation import comparable
from metrics._text.references import Score, best_over_references


@metric(
    "exact_match",
    category="accuracy",
    scale="proportion",
    same_as="helm:exact_match",
    source="Liang et al. 2022, appendix C.1",
)
def exact_match(example: Example) -> Score:
    """1 if the prediction equals a correct reference, both stripped of surrounding whitespace; else 0.

    The mean lies between 0 and 1, and higher is better. An empty prediction scores 0. Undefined without a correct
    reference. With k > 1 completions, ``exact_match@k`` is 1 if any of them matches.
    """
    return best_over_references(example, _equal)


@metric(
    "quasi_exact_match",
    category="accuracy",
    scale="proportion",
    source="Liang et al. 2022, appendix C.1",
)
def quasi_exact_match(example: Example) -> Score:
    """1 if the prediction equals a correct reference after normalisation; else 0.

    Normalisation makes lower case, deletes ASCII punctuation, deletes the articles a, an and the, and collapses
    whitespace. The mean lies between 0 and 1, and higher is better. An empty prediction scores 0.

    Other than in HELM, a reference of which normalisation leaves nothing (the answer "A", the operator "+") keeps
    its articles or its punctuation; HELM counts any two such texts as equal.
    """
    return best_over_references(example, _quasi_equal)


@metric(
    "prefix_exact_match",
    category="accuracy",
    scale="proportion",
    source="Liang et al. 2022, appendix C.1",
)
def prefix_exact_match(example: Example) -> Score:
    """1 if the prediction begins with a correct reference, both stripped of surrounding whitespace; else 0.

    For models that go on after the answer. The prefix need not end a word, so "Yesterday" matches "Yes". The mean lies
    between 0 and 1, and higher is better. An empty prediction scores 0; an empty reference matches nothing, where in
    HELM it matches everything.
    """
    return best_over_references(example, _begins)


@metric(
    "quasi_prefix_exact_match",
    category="accuracy",
    scale="proportion",
    source="Liang et al. 2022, appendix C.1",
)
def quasi_prefix_exact_match(example: Example) -> Score:
    """1 if the prediction begins with a correct reference, both normalised as for quasi_exact_match; else 0.

    The mean lies between 0 and 1, and higher is better. An empty prediction scores 0.

    Other than in HELM, a reference of which normalisation leaves nothing (the answer "A") keeps its articles or its
    punctuation; HELM counts it as a prefix of every prediction.
    """
    return best_over_references(example, _quasi_begins)


@metric(
    "exact_match_indicator",
    category="accuracy",
    scale="proportion",
    same_as="helm:exact_match_indicator",
    source="HELM, evaluate_reference_metrics.py, 2022",
)
def exact_match_indicator(example: Example, *, indicator: str = " ") -> Score:
    """1 if what follows the last indicator in the prediction equals what follows it in a correct reference; else 0.

    With the default indicator, a space, the last words are compared: "Thus the answer is 7" matches "It is 7". The mean
    lies between 0 and 1, and higher is better. A prediction that ends in the indicator scores 0.
    """
    return best_over_references(example, lambda gold, text: _equal(_last(gold, indicator), _last(text, indicator)))


@metric(
    "final_number_exact_match",
    category="accuracy",
    scale="proportion",
    source="Cobbe et al. 2021, section 3 (GSM8K)",
)
def final_number_exact_match(example: Example) -> Score:
    """1 if the last number in the prediction equals the last number in a correct reference; else 0.

    Numbers are read by the rules of :mod:`harness.answers.reading`: decimals with optional commas between thousands,
    exponents (1e3), powers (5^2), fractions (3/4) and mixed numbers (2½). The mean lies between 0 and 1, and higher is
    better. A prediction or reference without a number scores 0.

    Other than in HELM, numbers are compared as numbers (15.00 equals 15, where HELM compares text), the decimal point
    is a point (HELM takes any character for it, so that "5 12" is one number), a comma is part of a number only between
    thousands, and a minus sign right after a word or a number is a dash ("10-5" ends in 5).
    """
    return best_over_references(example, _same_final_number)


def _equal(gold: str, prediction: str) -> float:
    return float(prediction == gold.strip() and prediction != "")


def _quasi_equal(gold: str, prediction: str) -> float:
    return _equal(*comparable(gold, prediction))


def _begins(gold: str, prediction: str) -> float:
    stripped = gold.strip()
    return float(stripped != "" and prediction.startswith(stripped))


def _quasi_begins(gold: str, prediction: str) -> float:
    return _begins(*comparable(gold, prediction))


def _last(text: str, indicator: str) -> str:
    return text.strip().split(indicator)[-1].strip()


def _same_final_number(gold: str, prediction: str) -> float:
    number = final_number(gold)
    return float(number is not None and number == final_number(prediction))
