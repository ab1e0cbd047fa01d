"""How much of a summary is copied from its text, and how short it is."""

from __future__ import annotations

from collections.abc import Sequence

from harness import Example, metric
from metrics._text.word_tokens import words_and_signs

_SOURCE = "Grusky et al. 2018 (Newsroom; arXiv:1804.11283)"


@metric(
    "extractiveness",
    title={
        "extractiveness": "Extractiveness",
        "summary_coverage": "Coverage of the summary",
        "summary_density": "Density of the summary",
        "summary_compression": "Compression",
    },
    short={"summary_coverage": "Coverage", "summary_density": "Density"},
    category="accuracy",
    scale={"summary_coverage": "bounded", "*": "count"},
    higher_is_better=None,
    gives=("summary_coverage", "summary_density", "summary_compression"),
    source=_SOURCE,
)
def extractiveness(example: Example) -> dict[str, float] | None:
    """Coverage, density and compression of a summary: ``summary_coverage``, ``_density`` and ``_compression``.

    A are the words of the article (the instance's input), S those of the summary (the prediction), and the extractive
    fragments f are the longest sequences of words that both share, found greedily from the start of the summary:

    - coverage = Σ|f| / |S|, between 0 and 1: the share of words that are copied;
    - density = Σ|f|² / |S|, at least 0: the mean length of the fragment that a word belongs to;
    - compression = |A| / |S|.

    Neither direction is better: the values distinguish extractive from abstractive summaries. Undefined for an empty
    summary. Words are lower-cased runs of letters and digits, and each other character that is not a space; in scripts
    without spaces, such as Chinese, each letter is a word. The paper's authors and HELM use spaCy's tokens.
    """
    article, summary = words_and_signs(example.instance.input), words_and_signs(example.prediction)
    if not summary:
        return None
    fragments = extractive_fragments(article, summary)
    return {
        "summary_coverage": sum(fragments) / len(summary),
        "summary_density": sum(length**2 for length in fragments) / len(summary),
        "summary_compression": len(article) / len(summary),
    }


def extractive_fragments(article: Sequence[str], summary: Sequence[str]) -> list[int]:
    """Return the lengths of the summary's extractive fragments, in order (Grusky et al. 2018).

    At each position of the summary, the longest match anywhere in the article is taken, and the search goes on after
    it.
    """
    places: dict[str, list[int]] = {}
    for index, word in enumerate(article):
        places.setdefault(word, []).append(index)
    fragments, start = [], 0
    while start < len(summary):
        longest = 0
        for place in places.get(summary[start], ()):
            length = 1
            while (
                start + length < len(summary)
                and place + length < len(article)
                and summary[start + length] == article[place + length]
            ):
                length += 1
            longest = max(longest, length)
        if longest:
            fragments.append(longest)
        start += max(longest, 1)
    return fragments
