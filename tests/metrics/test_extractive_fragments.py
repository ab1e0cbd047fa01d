"""Coverage, density and compression by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import Example, Instance
from metrics.extractive_fragments import extractive_fragments, extractiveness


@pytest.mark.parametrize(
    ("article", "summary", "fragments"),
    [
        ("a b c d e", "a b c", [3]),
        ("a b c d e", "a b x d e", [2, 2]),
        ("a b x a b c", "a b c", [3]),  # the longest of several places
        ("a b c", "x y z", []),
        ("a b c", "c b a", [1, 1, 1]),
        ("a a", "a a a", [2, 1]),  # a place may be copied twice
        ("", "a", []),
    ],
)
def test_fragments(article: str, summary: str, fragments: list[int]) -> None:
    assert extractive_fragments(article.split(), summary.split()) == fragments


def test_by_hand() -> None:
    article = "The quick brown fox jumps over the lazy dog."  # 10 words, the full stop included
    example = Example(Instance("a", article), prediction="A quick brown fox slept.")
    # quick brown fox, and the full stop: 4 of 6 words; 3² + 1² = 10.
    scores = extractiveness(example)
    assert scores is not None
    assert scores == {
        "summary_coverage": pytest.approx(4 / 6),
        "summary_density": pytest.approx(10 / 6),
        "summary_compression": pytest.approx(10 / 6),
    }


def test_an_empty_summary_has_none() -> None:
    assert extractiveness(Example(Instance("a", "some text"), prediction=" ")) is None


@given(st.text(alphabet="ab c", max_size=60), st.text(alphabet="ab c", min_size=1, max_size=30))
def test_ranges(article: str, summary: str) -> None:
    scores = extractiveness(Example(Instance("a", article), prediction=summary))
    if scores is not None:
        words = len(summary.split())
        assert 0.0 <= scores["summary_coverage"] <= 1.0
        assert scores["summary_coverage"] <= scores["summary_density"] <= words
