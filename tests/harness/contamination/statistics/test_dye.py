"""Dye: the exact tail of the number of random answers that a model gives."""

from __future__ import annotations

import math
from itertools import product

import pytest
from scipy.stats import binom

from harness.contamination.statistics.dye import dye_test, sentence_tokens


@pytest.mark.parametrize(("hits", "questions", "options"), [(0, 10, 4), (3, 10, 4), (10, 10, 4), (20, 40, 2)])
def test_equal_questions_are_binomial(hits: int, questions: int, options: int) -> None:
    found = dye_test([(number < hits, options) for number in range(questions)])
    assert (found.hits, found.questions) == (hits, questions)
    assert found.expected == pytest.approx(questions / options)
    assert 10**found.log10_p == pytest.approx(binom.sf(hits - 1, questions, 1 / options))


def test_questions_with_different_numbers_of_options() -> None:
    sizes = (2, 3, 4, 5)
    total = math.prod(sizes)
    for hits in range(5):
        answers = [(number < hits, size) for number, size in enumerate(sizes)]
        exact = sum(math.prod(size - 1 for size, hit in zip(sizes, drawn, strict=True) if not hit)
                    for drawn in product([False, True], repeat=4) if sum(drawn) >= hits) / total  # fmt: skip
        assert 10 ** dye_test(answers).log10_p == pytest.approx(exact)


def test_mistakes() -> None:
    with pytest.raises(ValueError, match="must be a question"):
        dye_test([])
    with pytest.raises(ValueError, match="needs 2 options"):
        dye_test([(True, 1)])


@pytest.mark.parametrize(
    ("options", "cut_at", "tokens"),
    [(["yes", "no"], 0, 32), (["yes" * 20], 0, 32), (["word " * 100], 0, 256), (["yes"], 5, 32), (["yes"], 32, 128)],
)
def test_a_sentence_needs_room_for_the_longest_option(options: list[str], cut_at: int, tokens: int) -> None:
    assert sentence_tokens(options, cut_at) == tokens
