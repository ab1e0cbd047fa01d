"""ROUGE: the overlap of n-grams and of the longest common subsequence, of stemmed words."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from harness import Example, ExampleMetric, metric
from metrics._text.languages import is_english, one_language
from metrics._text.references import Score, best_over_references
from metrics._text.word_tokens import words

Words = tuple[str, ...]


class _Rouge(ExampleMetric):
    """Compares the words of a reference and a prediction, stemmed unless the language is known not to be English."""

    def __init__(self, *, language: str | None = None) -> None:
        self._stemmed = is_english(language) or not one_language(language)

    def __call__(self, example: Example) -> Score:
        return best_over_references(example, self._compare)

    def details(self) -> Mapping[str, Any]:
        """Return how words are separated and stemmed."""
        return {"words": "letters and digits", "stemmer": "Porter, for ASCII words" if self._stemmed else "none"}

    def _compare(self, gold: str, prediction: str) -> float | None:
        expected = _words(gold, self._stemmed)
        return self._f1(expected, _words(prediction, self._stemmed)) if expected else None

    @abstractmethod
    def _f1(self, expected: Words, given: Words) -> float:
        """Return the F-measure of a prediction's words, given those of a reference."""


@metric(
    "rouge_1",
    title="ROUGE-1",
    category="accuracy",
    scale="bounded",
    gives=("rouge_1", "rouge_1@*"),
    same_as="helm:rouge_1",
    source="Lin 2004, section 2 (ROUGE-N)",
)
class Rouge1(_Rouge):
    """ROUGE-1 F-measure: F1 of the stemmed words of prediction and reference, the largest over correct references.

    Words are lower-cased runs of letters and digits in any script; in scripts without spaces, such as Chinese and Thai,
    each letter is a word. ASCII words of more than three letters are reduced to their Porter stem, unless ``language``,
    by default the scenario's, is one other than English. Words are counted with multiplicity. Between 0 and 1, and
    higher is better. Undefined if no correct reference has a word. The details in run.json say whether words were
    stemmed.

    On ASCII texts the values equal those of the rouge-score package, which HELM uses. That package drops all other
    letters, so that a Russian text scores 0 and "naïve" becomes "na" and "ve".
    """

    def _f1(self, expected: Words, given: Words) -> float:
        return _ngram_f1(expected, given, 1)


@metric(
    "rouge_2",
    title="ROUGE-2",
    category="accuracy",
    scale="bounded",
    gives=("rouge_2", "rouge_2@*"),
    same_as="helm:rouge_2",
    source="Lin 2004, section 2 (ROUGE-N)",
)
class Rouge2(_Rouge):
    """ROUGE-2 F-measure: F1 of the pairs of adjacent stemmed words, the largest over correct references.

    Words are those of ``rouge_1``, which explains ``language``. Between 0 and 1, and higher is better. A text of one
    word has no pairs and scores 0.
    """

    def _f1(self, expected: Words, given: Words) -> float:
        return _ngram_f1(expected, given, 2)


@metric(
    "rouge_l",
    title="ROUGE-L",
    category="accuracy",
    scale="bounded",
    gives=("rouge_l", "rouge_l@*"),
    same_as="helm:rouge_l",
    source="Lin 2004, section 3.1 (ROUGE-L)",
)
class RougeL(_Rouge):
    """ROUGE-L F-measure: F1 of the longest common subsequence of stemmed words, the largest over correct references.

    With l the length of the subsequence, precision is l / words of the prediction, recall is l / words of the
    reference, and F1 is their harmonic mean. Words are those of ``rouge_1``, which explains ``language``; sentence
    boundaries are ignored. Between 0 and 1, and higher is better.
    """

    def _f1(self, expected: Words, given: Words) -> float:
        from rapidfuzz.distance import LCSseq

        common = LCSseq.similarity(expected, given)
        return 2.0 * common / (len(expected) + len(given)) if common else 0.0


def _ngram_f1(expected: Words, given: Words, order: int) -> float:
    golds, guesses = _ngrams(expected, order), _ngrams(given, order)
    common = sum(min(count, guesses[ngram]) for ngram, count in golds.items())
    return 2.0 * common / (golds.total() + guesses.total()) if common else 0.0


def _ngrams(words: Words, order: int) -> Counter[Words]:
    return Counter(zip(*(words[start:] for start in range(order)), strict=False))


@lru_cache(maxsize=1024)
def _words(text: str, stemmed: bool) -> Words:
    found = words(text)
    return (
        tuple(_stem(word) if len(word) > 3 and word.isascii() else word for word in found) if stemmed else tuple(found)
    )


@lru_cache(maxsize=65536)  # stemming is nine tenths of the time
def _stem(word: str) -> str:
    stem: str = _stemmer().stem(word)
    return stem


@cache
def _stemmer() -> Any:
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer()
