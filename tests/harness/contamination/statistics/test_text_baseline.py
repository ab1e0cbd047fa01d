"""Telling two sets of texts apart without a model."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.contamination.statistics.text_baseline import text_baseline

MakeTexts = Callable[..., list[str]]


def test_sets_of_one_kind_look_alike(made_up: MakeTexts) -> None:
    texts = made_up(300)
    assert text_baseline(texts[:150], texts[150:]) == pytest.approx(0.5, abs=0.12)


def test_a_word_that_only_one_set_has(made_up: MakeTexts) -> None:
    texts = made_up(200)
    dated = [text + (" in 2024" if place % 3 else "") for place, text in enumerate(texts[:100])]
    assert 0.75 < text_baseline(dated, texts[100:]) <= 1.0
    assert text_baseline([text + " in 2024" for text in texts[:100]], texts[100:]) > 0.99


def test_sets_of_different_sizes_and_empty_texts(made_up: MakeTexts) -> None:
    assert text_baseline([""] * 5, made_up(40)) == pytest.approx(text_baseline([""] * 5, made_up(40)))
    assert text_baseline(made_up(40), made_up(40, seed=1)) == text_baseline(made_up(40), made_up(40, seed=1))


@pytest.mark.parametrize(("first", "folds"), [(4, 5), (10, 1)])
def test_too_few_texts(made_up: MakeTexts, first: int, folds: int) -> None:
    with pytest.raises(ValueError, match="each fold needs a text of either set"):
        text_baseline(made_up(first), made_up(20), folds=folds)
