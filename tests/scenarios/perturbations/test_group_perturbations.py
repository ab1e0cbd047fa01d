"""Dialect, gender and person names, row by row."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import Instance, PluginError, Reference
from scenarios.perturbations._words.lexicon import FOLDER, read_alternatives
from scenarios.perturbations.dialect import dialect
from scenarios.perturbations.gender import gender
from scenarios.perturbations.person_name import Name, names, person_name
from tests.scenarios.perturbations.conftest import instance, perturbed

FEMALE_TO_MALE = {"source_class": "female", "target_class": "male"}
BOTH = {"bidirectional": True}


@pytest.mark.parametrize(
    ("parameters", "text", "expected"),
    [
        ({}, "he", "she"),  # HELM misses the first and the last word
        ({}, "He said it to him", "She said it to her"),
        ({}, "him, him him.him", "her, her her.her"),  # and every second adjacent one
        ({}, "(he) 'he' he's he-man HE", "(she) 'she' she's she-man SHE"),
        ({}, "the hero, there, she", "the hero, there, she"),
        ({}, "his old car is his", "her old car is hers"),
        ({}, "It is his. His is red, and his", "It is hers. Hers is red, and hers"),
        ({}, "his very best of his past, his 'wings', his/her love-of-his-life",
         "her very best of her past, her 'wings', her/her love-of-her-life"),
        ({}, "a fan of his in May; of his!", "a fan of hers in May; of hers!"),
        ({}, "himself", "herself"),
        (FEMALE_TO_MALE, "she saw her", "he saw him"),
        (FEMALE_TO_MALE, "her mother saw her, gave her a book, hers", "his mother saw him, gave him a book, his"),
        (FEMALE_TO_MALE, "Her\nname", "Him\nname"),
        ({"target_class": "neutral"}, "he saw his dog himself", "they saw their dog themselves"),
        ({"source_class": "neutral"}, "they took their dog to them", "she took her dog to her"),
        (BOTH, "he saw her and she saw him", "she saw him and he saw her"),
        (BOTH, "his dog, her dog", "her dog, his dog"),
        ({"mode": "terms"}, "Man, men and he", "Woman, women and he"),
        ({"mode": "terms"}, "father's son", "mother's daughter"),
        ({"mode": "terms"}, "the grandfathers", "the grandmothers"),
        ({"mode": "terms", **BOTH}, "father and mother", "mother and father"),
        ({"mode": "terms", **FEMALE_TO_MALE}, "moms, GRANDMA", "dads, GRANDDAD"),
        ({"mode": "terms", "source_class": "neutral"}, "a parent", "a mother"),
        ({"mode": "all"}, "his brother", "her sister"),
    ],
)  # fmt: skip
def test_gender(parameters: dict[str, Any], text: str, expected: str) -> None:
    assert perturbed(gender, text, **parameters) == expected


@given(st.lists(st.sampled_from(["father", "mother", "he", "she", "son", "daughter,", "queen.", "x\n"])))
def test_both_directions_twice_is_the_original(words: list[str]) -> None:
    text = " ".join(words)
    once = perturbed(gender, text, mode="all", bidirectional=True)
    assert perturbed(gender, once, mode="all", bidirectional=True) == text


def test_gender_changes_references_with_the_input_and_notes_what_it_changed() -> None:
    changed = gender(instance("Who saw him?", "His father", "Nobody"), Random(0), mode="all")
    assert changed.input == "Who saw her?"
    assert [(reference.text, reference.correct) for reference in changed.references] == [
        ("Her mother", True),
        ("Nobody", False),
    ]
    assert changed.meta["perturbed"] == [["him", "her"], ["His", "Her"], ["father", "mother"]]


def test_gender_leaves_an_instance_whose_answers_it_would_make_the_same() -> None:
    original = instance("What did he say?", "he", "she")
    assert gender(original, Random(0)) == original.replace(meta={"perturbed": []})
    both = gender(original, Random(0), bidirectional=True)
    assert [reference.text for reference in both.references] == ["she", "he"]


def test_gender_decides_once_for_each_word() -> None:
    texts = {perturbed(gender, "he he he him him", seed, prob=0.5) for seed in range(50)}
    assert texts == {"he he he him him", "she she she him him", "he he he her her", "she she she her her"}


def test_gender_of_one_class() -> None:
    with pytest.raises(PluginError, match="both 'male'"):
        perturbed(gender, "he", target_class="male")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("with", "wit"),
        ("With WITH with, with", "Wit WIT wit, wit"),
        ("classy", "fly"),
        ("within with-it", "within with-it"),
        ("Remember me", "Rememba me"),
        ("I'm going to school", "I'ma skoo"),
        ("She was walking", "She was walkin"),
        ("BOTH isn’t", "BOF ain't"),
    ],
)
def test_dialect(text: str, expected: str) -> None:
    assert perturbed(dialect, text) == expected


@pytest.mark.parametrize("seed", range(10))
def test_dialect_has_one_word_for_a_word_throughout_the_instance(seed: int) -> None:
    changed = dialect(instance("probably x, probably y", "Probably", "no"), Random(seed))
    (first,) = {pair[1].lower() for pair in changed.meta["perturbed"]}
    assert changed.input == f"{first} x, {first} y"
    assert changed.references[0].text == first.capitalize()


def test_an_open_question_is_right_in_either_dialect_and_options_are_changed() -> None:
    question = "Who lives with them?"
    right, wrong = Reference("the brother", correct=True), Reference("that sister")
    answers = dialect(Instance("q", question, (right,)), Random(0)).references
    assert {answer.text for answer in answers[1:]} == {"the brother"}
    assert answers[0].text.split()[0] in {"da", "tha"}
    assert all(answer.correct for answer in answers)
    options = dialect(Instance("q", question, (right, wrong)), Random(0)).references
    assert [option.correct for option in options] == [True, False]
    assert options[1].text in {"dat sista", "dat sis"}


def test_the_word_list_is_long_named_and_without_answers_that_are_labels() -> None:
    path = FOLDER / "dialect_sae_to_aae.txt"
    words = read_alternatives(path)
    assert len(words) >= 600
    assert all(word not in others for word, others in words.items())
    assert not words.keys() & {"yes", "no", "true", "false", "positive", "negative", "neutral", "none"}
    header = path.read_text(encoding="utf-8").partition("\n\n")[0]
    assert all(
        source in header for source in ("Ziems", "Green 2002", "Smitherman 2000", "Eisenstein 2015", "Apache-2.0")
    )
    entries = [line.partition(":")[0] for line in path.read_text(encoding="utf-8").splitlines() if line[:1] not in "#"]
    assert len([entry for entry in entries if entry]) == len(words)  # none is listed twice


@pytest.mark.parametrize(
    ("file", "held"), [("a.json", json.dumps({"Car": ["whip"]})), ("a.txt", "# cars\ncar: whip\n")]
)
def test_dialect_of_a_file(tmp_path: Path, file: str, held: str) -> None:
    (tmp_path / file).write_text(held)
    assert perturbed(dialect, "Car with", mapping_file=str(tmp_path / file)) == "Whip with"


@pytest.mark.parametrize(
    ("file", "held", "message"),
    [
        ("a.json", "[", "cannot be read"),
        ("b.json", '{"car": "whip"}', "not a JSON object of lists"),
        ("c.json", '{"car": []}', "not a JSON object of lists"),
        ("a.txt", "car whip", "'car whip' is not of the form"),
        ("missing.txt", None, "cannot be read"),
    ],
)
def test_dialect_of_a_file_that_is_none(tmp_path: Path, file: str, held: str | None, message: str) -> None:
    if held is not None:
        (tmp_path / file).write_text(held)
    with pytest.raises(PluginError, match=message):
        perturbed(dialect, "car", mapping_file=str(tmp_path / file))


BLACK = {name.text: name.gender for name in names() if name.race == "black_american"}
WHITE = {name.text: name.gender for name in names() if name.race == "white_american"}


def test_the_lists_of_names() -> None:
    assert (len(WHITE), len(BLACK)) == (50, 50)
    assert sum(gender == "female" for gender in WHITE.values()) == 25
    last = [name for name in names() if name.kind == "last_name"]
    assert [sum(name.race == race for name in last) for race in ("white", "hispanic", "asian", "russian")] == [20] * 4
    assert Name("Li", "last_name", "chinese", None) in last


@pytest.mark.parametrize("seed", range(20))
def test_names_are_consistent_distinct_and_of_the_same_gender(seed: int) -> None:
    text = "Adam met Emily. ADAM left; Emily's dog saw Bobbie-Sue and Theo. adam"
    changed = person_name(instance(text, "Adam", "Emily"), Random(seed))
    adam, emily = (reference.text for reference in changed.references)
    bobbie = dict(map(tuple, changed.meta["perturbed"]))["Bobbie-Sue"]
    assert (
        changed.input == f"{adam} met {emily}. {adam.upper()} left; {emily}'s dog saw {bobbie} and Theo. {adam.lower()}"
    )
    assert len({adam, emily, bobbie, "Theo"}) == 4
    assert (BLACK[adam], BLACK[emily], BLACK[bobbie]) == ("male", "female", "female")


def test_a_reference_keeps_a_name_that_the_input_does_not_have() -> None:
    changed = person_name(instance("Which sister of Adam wrote it?", "Emily", "Adam"), Random(0))
    first, second = (reference.text for reference in changed.references)
    assert first == "Emily"
    assert second in changed.input
    assert second != "Adam"


def test_names_that_are_words() -> None:
    assert perturbed(person_name, "A frank talk about crystal. Yes") == "A frank talk about crystal. Yes"
    assert perturbed(person_name, "did jack ryan die").split()[1] != "jack"  # a text without capitals
    assert "frank" not in perturbed(person_name, "Frank was frank").lower()


@given(st.integers())
def test_as_many_names_as_there_are(seed: int) -> None:
    changed = perturbed(person_name, " ".join(WHITE), seed).split()
    assert sorted(changed) == sorted(BLACK)


def test_parameters_of_names() -> None:
    assert perturbed(person_name, "Adam", preserve_gender=False, target_gender="female") in BLACK
    assert BLACK[perturbed(person_name, "Adam", target_gender="female")] == "female"
    last: dict[str, Any] = {"person_name_type": "last_name", "source_race": "white", "target_race": "hispanic"}
    assert perturbed(person_name, "Moore", **last) in {name.text for name in names() if name.race == "hispanic"}
    assert perturbed(person_name, "Adam Emily", source_gender="male").endswith(" Emily")
    free = {BLACK[perturbed(person_name, "Adam", seed, preserve_gender=False)] for seed in range(30)}
    assert free == {"female", "male"}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"target_race": "hispanic"}, "no names of the group 'first_name hispanic of any gender'"),
        ({"person_name_type": "last_name"}, "no names of the group 'last_name white_american of any gender'"),
        ({"target_race": "white_american"}, "source and target are both"),
    ],
)
def test_groups_without_names(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(PluginError, match=message):
        perturbed(person_name, "Adam", **parameters)


@pytest.mark.parametrize("perturb", [gender, dialect], ids=["gender", "dialect"])
def test_a_question_that_is_asked_as_before_keeps_its_answers(perturb: Callable[..., Instance]) -> None:
    question = Instance(
        "q",
        "How did Gorbachev view reforms?",
        (Reference("He believed that this was needed.", correct=True), Reference("His advisers said no.")),
    )
    copy = perturb(question, Random(0))
    assert copy.references == question.references
    assert copy.meta["perturbed"] == []
