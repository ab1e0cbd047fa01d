"""``acc`` and ``acc_norm`` by hand, as lm-evaluation-harness defines them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness import Example, MetricError, Reference
from metrics.option_accuracy import acc, acc_norm
from tests.metrics.scored import scored


def with_texts(example: Example, *texts: str) -> Example:
    references = tuple(
        Reference(text, one.correct) for text, one in zip(texts, example.instance.references, strict=True)
    )
    return replace(example, instance=example.instance.replace(references=references))


def test_the_likeliest_option_and_the_likeliest_per_character_can_differ() -> None:
    example = with_texts(scored(-4.0, -6.0, correct=(1,)), "cat", "a large cat")
    assert acc(example) == 0.0  # -4 is more than -6
    assert acc_norm(example) == 1.0  # -6/11 is more than -4/3


def test_characters_are_code_points_and_not_bytes() -> None:
    example = with_texts(scored(-4.0, -4.1, correct=(1,)), "ee", "éé")
    assert acc_norm(example) == 0.0  # by bytes, -4.1/4 would win
    letters = replace(with_texts(scored(-4.0, -5.0, correct=(1,)), "x", "a much longer text"), labels=("A", "B"))
    assert acc_norm(letters) == 0.0


def test_tokens_are_summed_and_the_first_of_a_tie_counts() -> None:
    assert acc(scored([-1.0, -1.0], [-1.5], correct=(1,))) == 1.0
    assert acc(scored(-2.0, -2.0, correct=(0,))) == 1.0
    assert acc(scored(-2.0, -2.0, correct=(1,))) == 0.0


def test_without_a_correct_option_or_a_score() -> None:
    assert acc(scored(-1.0, -2.0, correct=())) is None
    with pytest.raises(MetricError, match="no log-probability"):
        acc_norm(scored(None, -1.0))
