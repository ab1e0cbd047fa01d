"""How often one-token answers agree with candidates, as in the module's picture; and the ranks' level."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contamination.statistics.agreements import agreement_scores, agrees, word_starts
from harness.contamination.statistics.boundaries import Boundary, Stretch
from harness.contamination.statistics.next_example import EProcess


@pytest.mark.parametrize(
    ("answer", "rest", "expected"),
    [
        (" cat", " cat sat.", True),
        ("cat", " cat sat.", True),
        (" ca", " cat sat.", True),
        (" The", "A cat", False),
        (" cats", " cat sat.", False),
        ("\n", "\nQuestion", True),
        ("\n", " cat", False),
        ("", " cat", False),
    ],
)
def test_agreement(answer: str, rest: str, expected: bool) -> None:
    assert agrees(answer, rest) is expected


def test_the_module_s_example() -> None:
    starts = word_starts("A cat sat.", 32)
    assert starts == [0, 1, 5]
    rests = [["A cat sat."[start:] for start in starts], ["B."]]
    alone = Stretch(2, (0, 1), (Boundary(1, (0, 1), 2),))
    answers = [" The", " cat", " on", "B", "A", "cat", "sat", "C"]
    assert agreement_scores(alone, rests, answers) == [1.0, 1.0, 3.0, 0.0]
    with pytest.raises(ValueError, match="7 answers where 8"):
        agreement_scores(alone, rests, answers[:7])


@given(st.text(), st.integers(1, 8))
def test_words_with_their_whitespace_are_the_text(text: str, most: int) -> None:
    starts = word_starts(text, most)
    assert len(starts) <= most
    assert bool(starts) == bool(text.strip())
    pieces = [text[start:stop] for start, stop in zip(starts, [*starts[1:], len(text)], strict=False)]
    assert "".join(pieces) == (text if starts else "")
    assert all(piece.strip() for piece in pieces)


def test_evidence_from_counts_is_rarely_large_under_the_null() -> None:
    """Ville's inequality, for counts of agreement that tie often; 0.05 plus 3 standard errors."""
    rng, reached = Random(0), 0
    for _ in range(300):
        process, most = EProcess(), 0.0
        for left in range(20):
            most = max(most, process.add([float(rng.randint(0, 12)) for _ in range(2 + left % 6)]))
        reached += most >= 1.301
    assert reached / 300 <= 0.05 + 3 * (0.05 * 0.95 / 300) ** 0.5
