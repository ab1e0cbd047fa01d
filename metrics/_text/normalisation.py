"""What is left of two texts before they are compared."""

from __future__ import annotations

import re
import string
from functools import lru_cache

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = dict.fromkeys(map(ord, string.punctuation))


@lru_cache(maxsize=4096)
def normalise(text: str, *, articles: bool = False) -> str:
    """Return the text in lower case, without ASCII punctuation, articles and superfluous whitespace.

    The steps and their order are those of the SQuAD evaluation script (Rajpurkar et al. 2016), which HELM uses.

    Args:
        text: Any text.
        articles: Keep ``a``, ``an`` and ``the``.
    """
    text = text.lower().translate(_NO_PUNCTUATION)
    if not articles:
        text = _ARTICLES.sub(" ", text)
    return " ".join(text.split())


def comparable(gold: str, prediction: str) -> tuple[str, str]:
    """Return reference and prediction normalised, by a gentler rule where nothing would be left of the reference.

    A reference that is nothing but an article ("A") keeps its articles, and one that is nothing but punctuation ("+")
    keeps that as well; the prediction is treated like it. Otherwise such a reference would equal every other text of
    which nothing is left, and would be a prefix of every prediction.
    """
    if normal := normalise(gold):
        return normal, normalise(prediction)
    if normal := normalise(gold, articles=True):
        return normal, normalise(prediction, articles=True)
    return " ".join(gold.lower().split()), " ".join(prediction.lower().split())
