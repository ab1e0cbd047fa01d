"""How far answers agree with candidates, as in the module's pictures; and the ranks' level."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contamination.statistics.agreements import (
    PIECE,
    agreement,
    agreement_scores,
    piece_starts,
    token_starts,
)
from harness.contamination.statistics.boundaries import Boundary, Stretch
from harness.contamination.statistics.next_example import EProcess


@pytest.mark.parametrize(
    ("answer", "rest", "expected"),
    [
        (" cat", " cat sat.", 1),
        ("cat", " cat sat.", 1),
        (" ca", " cat sat.", 1),
        (" The", "A cat", 0),
        (" cats", " cat sat.", 0),
        ("\n", "\nQuestion", 1),
        ("\n", " cat", 0),
        ("", " cat", 0),
    ],
)
def test_agreement_of_one_token(answer: str, rest: str, expected: float) -> None:
    assert agreement(answer, rest) == expected


@pytest.mark.parametrize(
    ("answer", "rest", "expected"),
    [
        (" The cat", "A baking pan", 0),
        ("king pan", "king pan", 1),
        (" powder", " pan", 0.5),
        ("baking", " baking", 1),
        ("\n\nA", "\n\nB", 2 / 3),
        ("ab", "ab", 1),
        ("", "pan", 0),
    ],
)
def test_agreement_of_the_next_four_characters(answer: str, rest: str, expected: float) -> None:
    assert agreement(answer, rest, PIECE) == pytest.approx(expected)


def by_words(text: str, tokens: int) -> str:
    return "".join(["A", " b", "ak", "ing", " pan"][:tokens])


def test_the_module_s_examples() -> None:
    text = "A baking pan"
    alone = Stretch(2, (0, 1), (Boundary(1, (0, 1)),))
    starts = token_starts(text, 32, by_words)
    assert starts == [0, 1, 3, 5, 8]
    rests = [[text[start:] for start in starts], ["B."]]
    answers = [" The", " cat", "ak", "ing", " pan", "B"]
    assert agreement_scores(alone, rests, answers * 2) == [3.0, 1.0, 3.0, 1.0]
    assert piece_starts(text, 32) == [0, 4, 8]
    rests = [[text[start:] for start in piece_starts(text, 32)], ["B."]]
    answers = [" The cat", "king pan", " powder", "C"]
    assert agreement_scores(alone, rests, answers * 2, PIECE) == [1.5, 0.0, 1.5, 0.0]
    with pytest.raises(ValueError, match="7 answers where 8"):
        agreement_scores(alone, rests, (answers * 2)[:7], PIECE)


def test_cuts_inside_of_a_character_are_left_out() -> None:
    cuts = {1: "a", 2: "a\ufffd", 3: "aß", 4: "aßb"}
    assert token_starts("aßb", 32, lambda text, tokens: cuts[tokens]) == [0, 1, 2]
    assert token_starts("", 32, lambda text, tokens: "") == []


@given(st.text(), st.text(), st.integers(1, 8))
def test_agreement_is_a_share_and_full_where_the_text_goes_on(answer: str, rest: str, piece: int) -> None:
    assert 0 <= agreement(answer, rest, piece) <= 1
    assert agreement(rest, rest, piece) == float(bool(rest))
    assert agreement(answer, answer + rest) == float(bool(answer))


def test_evidence_from_counts_is_rarely_large_under_the_null() -> None:
    """Ville's inequality, for counts of agreement that tie often; 0.05 plus 3 standard errors."""
    rng, reached = Random(0), 0
    for _ in range(300):
        process, most = EProcess(), 0.0
        for left in range(20):
            most = max(most, process.add([float(rng.randint(0, 12)) for _ in range(2 + left % 6)]))
        reached += most >= 1.301
    assert reached / 300 <= 0.05 + 3 * (0.05 * 0.95 / 300) ** 0.5
