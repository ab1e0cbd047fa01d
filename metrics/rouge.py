"""ROUGE: the overlap of n-grams and of the longest common subsequence, of stemmed words."""

from __future__ import annotations

from collections import Counter
from functools import cache, lru_cache
from typing import Any

from harness import Example, metric
from metrics._text.references import Score, best_over_references
from metrics._text.word_tokens import words


@metric("rouge_1", category="accuracy", scale="bounded", same_as="helm:rouge_1", source="Lin 2004, section 2 (ROUGE-N)")
def rouge_1(example: Example) -> Score:
    """ROUGE-1 F-measure: F1 of the stemmed words of prediction and reference, the largest over correct references.

    Words are lower-cased runs of letters and digits in any script; in scripts without spaces, such as Chinese and Thai,
    each letter is a word. ASCII words of more than three letters are reduced to their Porter stem. Words are counted
    with multiplicity. Between 0 and 1, and higher is better. Undefined if no correct reference has a word.

    On ASCII texts the values equal those of the rouge-score package, which HELM uses. That package drops all other
    letters, so that a Russian text scores 0 and "naïve" becomes "na" and "ve".
    """
    return best_over_references(example, lambda gold, prediction: _ngram_f1(gold, prediction, 1))


@metric("rouge_2", category="accuracy", scale="bounded", same_as="helm:rouge_2", source="Lin 2004, section 2 (ROUGE-N)")
def rouge_2(example: Example) -> Score:
    """ROUGE-2 F-measure: F1 of the pairs of adjacent stemmed words, the largest over correct references.

    Words are those of rouge_1. Between 0 and 1, and higher is better. A text of one word has no pairs and scores 0.
    """
    return best_over_references(example, lambda gold, prediction: _ngram_f1(gold, prediction, 2))


@metric(
    "rouge_l",
    category="accuracy",
    scale="bounded",
    same_as="helm:rouge_l",
    source="Lin 2004, section 3.1 (ROUGE-L)",
)
def rouge_l(example: Example) -> Score:
    """ROUGE-L F-measure: F1 of the longest common subsequence of stemmed words, the largest over correct references.

    With l the length of the subsequence, precision is l / words of the prediction, recall is l / words of the
    reference, and F1 is their harmonic mean. Words are those of rouge_1; sentence boundaries are ignored. Between 0 and
    1, and higher is better.
    """
    return best_over_references(example, _subsequence_f1)


def _ngram_f1(gold: str, prediction: str, order: int) -> float | None:
    if not _words(gold):
        return None
    expected, given = _ngrams(gold, order), _ngrams(prediction, order)
    common = sum(min(count, given[ngram]) for ngram, count in expected.items())
    return 2.0 * common / (expected.total() + given.total()) if common else 0.0


def _subsequence_f1(gold: str, prediction: str) -> float | None:
    from rapidfuzz.distance import LCSseq

    expected, given = _words(gold), _words(prediction)
    if not expected:
        return None
    common = LCSseq.similarity(expected, given)
    return 2.0 * common / (len(expected) + len(given)) if common else 0.0


def _ngrams(text: str, order: int) -> Counter[tuple[str, ...]]:
    words = _words(text)
    return Counter(zip(*(words[start:] for start in range(order)), strict=False))


@lru_cache(maxsize=1024)
def _words(text: str) -> tuple[str, ...]:
    return tuple(_stem(word) if len(word) > 3 and word.isascii() else word for word in words(text))


@lru_cache(maxsize=65536)  # stemming is nine tenths of the time
def _stem(word: str) -> str:
    stem: str = _stemmer().stem(word)
    return stem


@cache
def _stemmer() -> Any:
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer()
