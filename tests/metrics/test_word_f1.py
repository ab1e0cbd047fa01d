"""F1 of bags of words: SQuAD's examples, and its definition from first principles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness import Example
from metrics.word_f1 import f1_score

Build = Callable[..., Example]
words = st.lists(st.sampled_from(["cat", "dog", "sat", "mat", "the", "Cat!"]), max_size=8).map(" ".join)


@pytest.mark.parametrize(
    ("prediction", "golds", "expected"),
    [
        ("the cat", ("cat",), 1.0),
        ("cat sat", ("the cat sat on the mat",), 2 * 1.0 * 0.5 / 1.5),
        ("no no no", ("no",), 2 * (1 / 3) * 1.0 / (4 / 3)),
        ("Denver", ("Broncos", "Denver Broncos"), 2 / 3),
        ("Rome", ("Paris",), 0.0),
        ("", ("Paris",), 0.0),
        ("", ("",), None),
        ("", ("", "Paris"), 0.0),
        ("？", ("？",), 1.0),
        ("！", ("？",), 0.0),
        ("«Кошка»", ("кошка",), 1.0),
        ("Кошка сидит", ("кошка спит",), 0.5),
        ("我喜歡貓", ("我喜歡狗",), 0.75),
        ("北京 2008", ("在北京，2008",), 2 * 1.0 * 0.75 / 1.75),
        ("“cat”", ("cat",), 1.0),
        ("the", ("Paris",), 0.0),
        ("A", ("A",), 1.0),
        ("the", ("A",), 0.0),
    ],
)
def test_by_hand(answered: Build, prediction: str, golds: tuple[str, ...], expected: float | None) -> None:
    assert f1_score(answered(prediction, *golds)) == pytest.approx(expected)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words, words)
def test_is_the_harmonic_mean_of_precision_and_recall(answered: Build, gold: str, prediction: str) -> None:
    def bag(text: str) -> Counter[str]:
        return Counter(word.lower().strip("!") for word in text.split() if word != "the")

    expected, given_words = bag(gold), bag(prediction)
    if not expected:
        return
    common = (expected & given_words).total()
    precision, recall = common / max(given_words.total(), 1), common / expected.total()
    wanted = 2 * precision * recall / (precision + recall) if common else 0.0
    assert f1_score(answered(prediction, gold)) == pytest.approx(wanted)
