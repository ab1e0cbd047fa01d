"""DROP: answers of one or more spans, in which numbers must agree."""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from functools import lru_cache

from harness import Example, metric
from metrics._text.references import Score, best_over_references
from metrics._text.word_tokens import split_unspaced

_SOURCE = "Dua et al. 2019, section 5 (DROP, drop_eval.py)"
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = dict.fromkeys(map(ord, string.punctuation))

Spans = tuple[str, ...]


@metric("drop_exact", title="Exact match (DROP)", short="EM", category="accuracy", scale="proportion", source=_SOURCE)
def drop_exact(example: Example, *, separator: str = ";") -> Score:
    """1 if the prediction names the same spans as a correct reference, in any order, else 0.

    Spans are compared as normalised for ``drop_f1``. The mean lies between 0 and 1, and higher is better. An empty
    prediction scores 0. Undefined if every correct reference is empty.

    Args:
        example: Each correct reference is one annotator's answer.
        separator: Separates the spans of an answer, in references and predictions.
    """
    return best_over_references(example, _compared(separator, _same))


@metric("drop_f1", title="F1 (DROP)", short="F1", category="accuracy", scale="bounded", source=_SOURCE)
def drop_f1(example: Example, *, separator: str = ";") -> Score:
    """F1 of the words of the spans that a prediction and a reference name, aligned as well as possible.

    Each span of the reference is paired with at most one of the prediction, so that the sum of the pairs' F1 is
    largest; the score is this sum divided by the larger number of spans. F1 is that of sets of words. A pair scores 0
    if the reference's span has numbers and the prediction's has none of them. The largest over correct references
    counts. Between 0 and 1, and higher is better. An empty prediction scores 0. Undefined if every correct reference is
    empty.

    Words are separated by spaces and hyphens, in lower case, without articles and, unless they are numbers, without
    ASCII punctuation; numbers are compared by value ("1,200.0" is "1200"). In scripts without spaces each letter is a
    word. On other texts the values are those of DROP's script, which also rounds the F1 of each question to two
    decimals.

    Args:
        example: Each correct reference is one annotator's answer.
        separator: Separates the spans of an answer, in references and predictions.
    """
    return best_over_references(example, _compared(separator, _aligned_f1))


def _compared(separator: str, score: Callable[[Spans, Spans], float]) -> Callable[[str, str], float | None]:
    def compare(gold: str, prediction: str) -> float | None:
        return score(_spans(gold, separator), _spans(prediction, separator)) if gold.strip() else None

    return compare


def _same(gold: Spans, given: Spans) -> float:
    return float(set(gold) == set(given) and len(gold) == len(given))


def _aligned_f1(gold: Spans, given: Spans) -> float:
    expected, found = [_bag(span) for span in gold], [_bag(span) for span in given]
    size = max(len(expected), len(found))
    if size == 1:
        return _f1(expected[0], found[0])
    from scipy.optimize import linear_sum_assignment

    scores = [[_f1(one, other) for other in found] for one in expected]
    rows, columns = linear_sum_assignment(scores, maximize=True)
    paired: list[float] = [scores[row][column] for row, column in zip(rows, columns, strict=True)]
    return min(sum(paired) / size, 1.0)


def _f1(expected: frozenset[str], found: frozenset[str]) -> float:
    numbers = {word for word in expected if _is_number(word)}
    if numbers and not numbers & found:
        return 0.0
    if not expected and not found:
        return 1.0
    common = len(expected & found)
    return 2.0 * common / (len(expected) + len(found)) if common else 0.0


def _spans(text: str, separator: str) -> Spans:
    parts = text.split(separator) if separator else [text]
    return tuple(_normalised(part) for part in parts if part.strip()) or ("",)


@lru_cache(maxsize=4096)
def _normalised(span: str) -> str:
    words = (_word(token) for token in re.split("[ -]", span.lower()))
    return " ".join(word for word in words if word)


def _word(token: str) -> str:
    bare = token if _is_number(token) else token.translate(_NO_PUNCTUATION)
    if _is_number(bare):
        return str(float(bare))
    return " ".join(_ARTICLES.sub(" ", bare).split())


def _bag(span: str) -> frozenset[str]:
    return frozenset(split_unspaced(span.split()))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
