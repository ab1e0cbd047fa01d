"""Matches between the prediction and a correct reference: exact, after normalisation, or in part."""

from __future__ import annotations

from harness import Example, metric
from harness.answers import final_number
from metrics._text.normalisation import comparable
from metrics._text.references import Score, best_over_references


@metric(
    "exact_match",
    title="Exact match",
    short="EM",
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
    title="Exact match (quasi)",
    short="EM (quasi)",
    category="accuracy",
    scale="proportion",
    source="Liang et al. 2022, appendix C.1",
    votes=lambda example: comparable(example.prediction, "")[0] or None,
)
def quasi_exact_match(example: Example) -> Score:
    """1 if the prediction equals a correct reference after normalisation; else 0.

    Normalisation lower-cases the text, removes ASCII punctuation and the articles a, an and the, and collapses
    whitespace; if the reference has letters of a script other than Latin, punctuation of every script is removed
    ("北京。" is "北京"). The mean lies between 0 and 1, and higher is better. An empty prediction scores 0.

    If normalisation would leave nothing of a reference (the answer "A", the operator "+"), its articles or its
    punctuation are kept. HELM counts any two such texts as equal.
    """
    return best_over_references(example, lambda gold, text: _equal(*comparable(gold, text)))


@metric(
    "prefix_exact_match",
    title="Exact match (prefix)",
    short="EM (prefix)",
    category="accuracy",
    scale="proportion",
    source="Liang et al. 2022, appendix C.1",
)
def prefix_exact_match(example: Example) -> Score:
    """1 if the prediction begins with a correct reference, both stripped of surrounding whitespace; else 0.

    For models that write on after the answer. The match need not end at the end of a word: "Yesterday" matches "Yes".
    The mean lies between 0 and 1, and higher is better. An empty prediction scores 0. An empty reference matches
    nothing; in HELM it matches everything.
    """
    return best_over_references(example, _begins)


@metric(
    "quasi_prefix_exact_match",
    title="Exact match (quasi, prefix)",
    short="EM (quasi prefix)",
    category="accuracy",
    scale="proportion",
    source="Liang et al. 2022, appendix C.1",
)
def quasi_prefix_exact_match(example: Example) -> Score:
    """1 if the prediction begins with a correct reference, both normalised as for quasi_exact_match; else 0.

    The mean lies between 0 and 1, and higher is better. An empty prediction scores 0.

    If normalisation would leave nothing of a reference (the answer "A"), its articles or its punctuation are kept. HELM
    counts such a reference as a prefix of every prediction.
    """
    return best_over_references(example, lambda gold, text: _begins(*comparable(gold, text)))


@metric(
    "token_exact_match",
    title="Exact match (tokens)",
    short="EM (tokens)",
    category="accuracy",
    scale="proportion",
    source="Saparov and He 2022 (synthetic reasoning); Suzgun et al. 2019 (Dyck languages)",
)
def token_exact_match(example: Example) -> Score:
    """1 if the prediction has exactly the tokens of a correct reference, as separated by whitespace; else 0.

    For answers that are sequences of symbols, such as brackets: case and punctuation count, and the kind and amount of
    whitespace do not. The mean lies between 0 and 1, and higher is better. An empty prediction scores 0. Undefined if
    every correct reference is empty.
    """
    return best_over_references(example, _same_tokens)


@metric(
    "exact_match_indicator",
    title="Exact match (after the indicator)",
    short="EM (indicator)",
    category="accuracy",
    scale="proportion",
    same_as="helm:exact_match_indicator",
    source="HELM, evaluate_reference_metrics.py, 2022",
)
def exact_match_indicator(example: Example, *, indicator: str = " ") -> Score:
    """1 if the text after the last indicator is the same in the prediction and in a correct reference; else 0.

    The default indicator is a space, so that the last words are compared: "Thus the answer is 7" matches "It is 7". The
    mean lies between 0 and 1, and higher is better. A prediction that ends in the indicator scores 0.
    """
    return best_over_references(example, lambda gold, text: _equal(_last(gold, indicator), _last(text, indicator)))


@metric(
    "final_number_exact_match",
    title="Exact match (final number)",
    short="EM (number)",
    category="accuracy",
    scale="proportion",
    source="Cobbe et al. 2021, section 3 (GSM8K)",
    votes=lambda example: final_number(example.prediction),
)
def final_number_exact_match(example: Example) -> Score:
    """1 if the last number in the prediction equals the last number in a correct reference; else 0.

    A number may be a decimal, with or without commas between thousands, or have an exponent (1e3), a power (5^2), a
    fraction (3/4) or a mixed fraction (2½). The mean lies between 0 and 1, and higher is better. A prediction or
    reference without a number scores 0.

    Unlike HELM, which compares numbers as text, this compares their values: 15.00 equals 15. The decimal point must be
    a point (HELM accepts any character, so that "5 12" is one number), a comma belongs to a number only between
    thousands, and a minus sign right after a word or a number is a dash ("10-5" ends in 5).
    """
    return best_over_references(example, _same_final_number)


def _equal(gold: str, prediction: str) -> float:
    return float(prediction == gold.strip() and prediction != "")


def _begins(gold: str, prediction: str) -> float:
    stripped = gold.strip()
    return float(stripped != "" and prediction.startswith(stripped))


def _same_tokens(gold: str, prediction: str) -> float | None:
    expected = gold.split()
    return float(prediction.split() == expected) if expected else None


def _last(text: str, indicator: str) -> str:
    return text.strip().split(indicator)[-1].strip()


def _same_final_number(gold: str, prediction: str) -> float:
    number = final_number(gold)
    return float(number is not None and number == final_number(prediction))
