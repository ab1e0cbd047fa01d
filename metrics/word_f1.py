"""The overlap of prediction and reference as bags of words."""

from __future__ import annotations

from collections import Counter

from harness import Example, metric
from metrics._text.normalisation import comparable
from metrics._text.references import Score, best_over_references
from metrics._text.word_tokens import bare_words


@metric(
    "f1_score",
    title="F1 of words",
    short="F1",
    category="accuracy",
    scale="bounded",
    source="Rajpurkar et al. 2016, section 6.1 (SQuAD)",
)
def f1_score(example: Example) -> Score:
    """F1 of the words of the prediction and those of the correct reference that it matches best.

    With c the number of words in common, counted with multiplicity, precision is c / words of the prediction, recall is
    c / words of the reference, and F1 is their harmonic mean. Words are separated by whitespace after normalisation
    (lower case, no punctuation, no articles); in scripts without spaces, such as Chinese and Thai, each letter is a
    word, as in MLQA's evaluation (Lewis et al. 2020, arXiv:1910.07475). Between 0 and 1, and higher is better. An empty
    prediction scores 0. Undefined if every correct reference is empty.

    Unlike HELM, this counts words as often as they occur, as SQuAD's script does; HELM compares sets, so that
    "no no no" is a perfect answer to "no". A reference that consists only of an article or punctuation keeps it.
    """
    return best_over_references(example, _f1)


def _f1(gold: str, prediction: str) -> float | None:
    gold, prediction = comparable(gold, prediction)
    if gold == "":
        return None
    if gold == prediction:
        return 1.0
    expected, given = bare_words(gold), bare_words(prediction)
    if not expected:  # only punctuation
        expected, given = gold.split(), prediction.split()
    common = (Counter(expected) & Counter(given)).total()
    return 2.0 * common / (len(expected) + len(given)) if common else 0.0
