"""ROUGE against Lin's examples and the rouge-score package."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness import Example
from metrics.rouge import rouge_1, rouge_2, rouge_l

Build = Callable[..., Example]
FAMILY = {"rouge1": rouge_1, "rouge2": rouge_2, "rougeL": rouge_l}
VOCABULARY = ["police", "killed", "the", "gunman", "gunmen", "running", "runs", "ends", "don't", "a_b", "3.14", "..."]
sentences = st.lists(st.sampled_from(VOCABULARY), max_size=70).map(" ".join)


@pytest.mark.parametrize(
    ("prediction", "expected"),
    [("police kill the gunman", (0.75, 1 / 3, 0.75)), ("the gunman kill police", (0.75, 1 / 3, 0.5))],
)
def test_lins_example(answered: Build, prediction: str, expected: tuple[float, ...]) -> None:
    # Lin 2004, section 3.1, with "ended" in the place of "killed", which stemming would make equal to "kill".
    example = answered(prediction, "police ended the gunman")
    assert tuple(score(example) for score in (rouge_1, rouge_2, rouge_l)) == pytest.approx(expected)


def test_words_are_stemmed_and_the_best_reference_counts(answered: Build) -> None:
    assert rouge_l(answered("He was running", "nothing alike", "he was runs")) == 1.0
    assert rouge_1(answered("", "he runs")) == 0.0
    assert rouge_2(answered("one", "one")) == 0.0


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(sentences, sentences)
def test_equals_the_rouge_score_package(answered: Build, gold: str, prediction: str) -> None:
    from rouge_score.rouge_scorer import RougeScorer

    theirs = RougeScorer(list(FAMILY), use_stemmer=True).score(gold, prediction)
    ours = {name: score(answered(prediction, gold)) for name, score in FAMILY.items()}
    if not gold.strip(" ."):
        assert set(ours.values()) == {None}  # a reference without a word
    else:
        assert ours == pytest.approx({name: score.fmeasure for name, score in theirs.items()}, abs=1e-12)
