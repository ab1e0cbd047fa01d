"""The generated text: seeded, and without the samples' tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.contamination.lab.generated_text import documents, facts

SAMPLES = Path(__file__).parents[4] / "scenarios" / "samples"


def records(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (SAMPLES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def test_equal_seeds_give_equal_documents_and_others_do_not() -> None:
    assert documents(3, 50) == documents(3, 50)
    assert documents(3, 50) != documents(4, 50)


def test_a_longer_list_begins_with_a_shorter_one() -> None:
    assert documents(0, 80)[:30] == documents(0, 30)


def test_no_document_holds_what_is_held_out() -> None:
    phrases = ["What is a shirt made of?", "I hate it.", "Bees make honey."]
    assert all(any(phrase in document for document in documents(0, 300)) for phrase in phrases)
    assert not any(phrase in document for phrase in phrases for document in documents(0, 300, without=phrases))


def test_no_question_of_the_multiple_choice_and_generation_tests_is_asked_in_the_text_even_unfiltered() -> None:
    questions = {row["question"] for name in ("multiple_choice_test", "generation_test") for row in records(name)}
    assert questions.isdisjoint(fact.question for fact in facts())
    text = "\n".join(documents(0, 2000))
    assert [question for question in sorted(questions) if question in text] == []


def test_a_fact_that_is_asked_has_four_different_answers() -> None:
    asked = [fact for fact in facts() if fact.question]
    assert len(asked) > 50
    assert [fact for fact in asked if len({fact.answer, *fact.wrong}) != 4] == []


@pytest.mark.parametrize(
    ("beginning", "labels"),
    [("Review: ", {"positive", "negative"}), ("Passage: ", {"yes", "no"})],
)
def test_labels_stand_where_the_prompts_put_them_and_balance(beginning: str, labels: set[str]) -> None:
    blocks = [block for document in documents(0, 1500) for block in document.split("\n\n")]
    found = [block.rpartition(": ")[2] for block in blocks if block.startswith(beginning)]
    assert set(found) == labels
    assert all(0.4 < found.count(label) / len(found) < 0.6 for label in labels)


def test_a_passage_says_yes_exactly_when_the_statement_stands_in_it() -> None:
    blocks = [block for document in documents(0, 1500) for block in document.split("\n\n")]
    likes = [block for block in blocks if block.startswith("Passage: ") and " like " in block]
    assert len(likes) > 20
    for block in likes:
        passage, question, answer = block.splitlines()
        _, _, name, _, food = question.rstrip("?").split(maxsplit=4)
        assert (f"{name} likes {food}." in passage) == answer.endswith("yes")
