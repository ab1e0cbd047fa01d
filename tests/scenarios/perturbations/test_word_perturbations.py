"""Misspellings, contractions, expansions, filler words, mild mix and contrast sets, row by row."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import DataError, Instance, PluginError, Reference
from scenarios.perturbations._words.lexicon import FOLDER, match_case, read_alternatives
from scenarios.perturbations.contractions import contraction, expansion
from scenarios.perturbations.contrast_sets import contrast_sets
from scenarios.perturbations.filler_words import FILL, SPEAKER, UNCERTAIN, filler_words
from scenarios.perturbations.mild_mix import mild_mix
from scenarios.perturbations.misspellings import misspellings
from tests.scenarios.perturbations.conftest import instance, perturbed


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("man", "woman", "woman"),
        ("Man", "woman", "Woman"),
        ("MAN", "woman", "WOMAN"),
        ("I", "me", "Me"),
        ("I am", "I'm", "I'm"),
        ("i am", "I'm", "i'm"),
        ("It's", "it is", "It is"),
        ("McAdam", "theo", "Theo"),
        ("iPod", "mp3", "mp3"),
    ],
)
def test_case_is_kept(old: str, new: str, expected: str) -> None:
    assert match_case(old, new) == expected


@pytest.mark.parametrize(
    ("text", "contracted"),
    [
        ("She is a doctor, and I am a student", "She's a doctor, and I'm a student"),  # HELM's example
        ("I know who he is.", "I know who he is."),
        ("I know who he is", "I know who he is"),
        ("he is, she is not", "he is, she's not"),
        ("It is not true. DO NOT go", "It's not true. DON'T go"),
        ("it is  so", "it's  so"),
        ("Do not do not go", "Don't don't go"),
        ("he would have gone", "he'd have gone"),
        ("theirs is", "theirs is"),
        ("I will\nnot", "I will\nnot"),
    ],
)
def test_contraction(text: str, contracted: str) -> None:
    assert perturbed(contraction, text) == contracted


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("She's a doctor, and I'm a student", "She is a doctor, and I am a student"),  # HELM's example
        ("don't", "do not"),
        ("DON'T", "DO NOT"),
        ("Isn’t it?", "Is not it?"),
        ("can't've can't", "cannot have cannot"),
        ("the cat's tail", "the cat's tail"),
        ("he'd've done it", "he would have done it"),
        ("we're, you're", "we are, you are"),
    ],
)
def test_expansion(text: str, expanded: str) -> None:
    assert perturbed(expansion, text) == expanded


def test_every_contraction_expands_and_every_expansion_contracts_to_one_that_expands_to_it() -> None:
    table = read_alternatives(FOLDER / "contractions.txt")
    for short, (long,) in table.items():
        assert perturbed(expansion, short).lower() == long.lower()
        if short.count("'") == 1:
            again = perturbed(contraction, f"{long} x").removesuffix(" x")
            assert again != long
            assert perturbed(expansion, again).lower() == long.lower()


@pytest.mark.parametrize(
    ("text", "misspelt"),
    [
        ("abandons", "abondons"),
        ("Abandons!", "Abondons!"),
        ("ABANDONS", "ABONDONS"),
        ("abandons abandons", "abondons abondons"),
        ("abandonsx", "abandonsx"),
        ("A vengeance", "Avengence"),
        ("harness", "harness"),
    ],
)
def test_misspellings(text: str, misspelt: str) -> None:
    assert perturbed(misspellings, text, prob=1.0) == misspelt


def test_misspellings_are_drawn_from_all_on_the_list_as_often_as_asked_for() -> None:
    text = "abandoned " * 1000
    words = perturbed(misspellings, text, prob=0.3).split()
    assert set(words) == {"abandoned", "abondoned", "abandonned"}
    assert 240 < sum(word != "abandoned" for word in words) < 360


def test_no_misspelling_is_the_word_itself() -> None:
    table = read_alternatives(FOLDER / "misspellings.txt")
    assert len(table) > 3000
    assert not [word for word, wrong in table.items() if word in wrong or len(set(wrong)) < len(wrong)]


@given(st.lists(st.sampled_from(["one", "two,", "three."]), min_size=1), st.integers())
def test_filler_words_before_every_word(words: list[str], seed: int) -> None:
    text = perturbed(filler_words, " ".join(words), seed, insert_prob=1.0)
    filler = "|".join(re.escape(phrase) for phrase in (*SPEAKER, *UNCERTAIN, *FILL))
    assert re.fullmatch(" ".join(f"(?:{filler}) {re.escape(word)}" for word in words), text)


@pytest.mark.parametrize(
    ("parameters", "fillers"),
    [
        ({"speaker_ph": False, "uncertain_ph": False}, FILL),
        ({"speaker_ph": False, "fill_ph": False}, UNCERTAIN),
        ({"uncertain_ph": False, "fill_ph": False}, SPEAKER),
    ],
)
def test_lists_of_filler_words(parameters: dict[str, Any], fillers: tuple[str, ...]) -> None:
    drawn = {perturbed(filler_words, "x", seed, insert_prob=1.0, **parameters)[:-2] for seed in range(200)}
    assert drawn == set(fillers)


def test_filler_words_keep_lines_and_runs_of_spaces_and_stop_at_the_most() -> None:
    fill: dict[str, Any] = {"insert_prob": 1.0, "speaker_ph": False, "uncertain_ph": False}
    text = perturbed(filler_words, "a  b\nc", **fill)
    assert re.fullmatch(r"[a-z ]+ a  [a-z ]+ b\nc", text)
    assert perturbed(filler_words, "a b c", max_num_insert=1, **fill).endswith(" a b c")
    assert perturbed(filler_words, "a b c", max_num_insert=0, **fill) == "a b c"


def test_filler_words_of_no_list() -> None:
    with pytest.raises(PluginError, match="speaker_ph, uncertain_ph or fill_ph"):
        perturbed(filler_words, "a", speaker_ph=False, uncertain_ph=False, fill_ph=False)


def test_mild_mix_is_lower_case_contracted_and_spaced() -> None:
    texts = [perturbed(mild_mix, "It IS NOT what I abandoned", seed) for seed in range(50)]
    assert {" ".join(text.split()) for text in texts} >= {"it's not what i abandoned"}
    assert any("  " in text for text in texts)
    assert any("abondoned" in text or "abandonned" in text for text in texts)


CONTRAST = instance("Good film.", "Positive", "Negative").replace(
    meta={"contrast": [{"input": "Bad film.", "answer": "Negative"}, {"input": "Fine film.", "answer": "Positive"}]}
)


def test_contrast_sets_replace_the_input_and_mark_the_right_answer() -> None:
    drawn = [contrast_sets(CONTRAST, Random(seed)) for seed in range(20)]
    copies = [copy for copy in drawn if copy is not None]
    found = {(copy.input, copy.references, copy.meta["perturbed"][0][1]) for copy in copies}
    positive, negative = Reference("Positive", True), Reference("Negative", True)
    assert found == {
        ("Bad film.", (Reference("Positive"), negative), "contrast 1"),
        ("Fine film.", (positive, Reference("Negative")), "contrast 2"),
    }


def test_contrast_sets_have_no_copy_of_what_has_none() -> None:
    assert contrast_sets(instance("Good film.", "Yes"), Random(0)) is None
    assert contrast_sets(instance("Good film.").replace(meta={"contrast": []}), Random(0)) is None


def test_a_contrast_answer_that_is_no_reference() -> None:
    wrong = Instance("test-1", "x", (Reference("Yes", True),), meta={"contrast": [{"input": "y", "answer": "Maybe"}]})
    with pytest.raises(DataError, match="'Maybe' of a contrast input"):
        contrast_sets(wrong, Random(0))
