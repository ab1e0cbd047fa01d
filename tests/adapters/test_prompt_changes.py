"""Changes of prompts: which are offered, that they leave the task as it is, and that answers are read as before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from adapters.generation import Generation
from adapters.multiple_choice_joint import MultipleChoiceJoint
from adapters.multiple_choice_joint_scored import MultipleChoiceJointScored
from adapters.multiple_choice_separate_original import MultipleChoiceSeparateOriginal
from harness import Completion, GenerateRequest, Instance, PromptChange, Response, ScoreRequest, Split

Make = Callable[..., Instance]
QUESTION = {"input_noun": "Question", "output_noun": "Answer"}


def offered(adapter: Any, **settings: Any) -> Mapping[str, Sequence[PromptChange]]:
    found: Mapping[str, Sequence[PromptChange]] = adapter.prompt_changes(adapter.Params(**settings))
    return found


@pytest.mark.parametrize("adapter", [Generation, MultipleChoiceJoint, MultipleChoiceJointScored])
def test_every_change_can_be_set_and_has_words_of_its_own(adapter: Any) -> None:
    found = offered(adapter, **QUESTION, instructions="Choose.\n")
    changes = [change for several in found.values() for change in several]
    assert len({change.description for change in changes}) == len(changes) > 5
    plain = adapter.Params(**QUESTION, instructions="Choose.\n")
    for change in changes:
        changed = adapter.Params(**{**plain.model_dump(), **change.settings})
        assert changed != plain, change


def test_only_changes_that_fit_the_prompt_are_offered() -> None:
    assert offered(Generation, input_noun=None, output_noun=None, max_train_instances=0) == {}
    assert set(offered(MultipleChoiceSeparateOriginal, max_train_instances=2)) == {"spacing"}
    assert set(offered(Generation, **QUESTION)) == {"instructions", "case", "separators", "spacing"}
    assert {"option_order", "letters", "option_format"} < set(offered(MultipleChoiceJoint, **QUESTION))


@pytest.mark.parametrize(
    "settings",
    [
        {"instructions": "Answer with A, B or C.\n"},
        {"global_suffix": "Give (A) or (B)."},
        {"output_prefix": "The right one is ("},
        {"answer": {"last": "is ([A-D])"}},
    ],
)
def test_letters_that_something_else_depends_on_stay(settings: dict[str, Any]) -> None:
    assert {"letters", "option_format"}.isdisjoint(offered(MultipleChoiceJoint, **{**QUESTION, **settings}))


def test_digits_are_not_offered_where_the_instructions_ask_for_a_letter() -> None:
    asked = offered(MultipleChoiceJoint, **QUESTION, instructions="Answer with a single letter.\n")
    assert [change.description for change in asked["letters"]] == ["letters a, b, c", "letters P, Q, R"]


def test_a_sequence_that_stops_at_the_next_question_follows_the_question() -> None:
    found = offered(Generation, **QUESTION, stop_sequences=["Question:", "\n\n"])
    assert [change.settings["stop_sequences"] for change in found["case"]] == [
        ["QUESTION:", "\n\n"], ["question:", "\n\n"],
    ]  # fmt: skip


@pytest.mark.parametrize("order", ["reversed", 1, 2, 3])
@pytest.mark.parametrize("letters", [None, ["1", "2", "3"]])
def test_in_another_order_the_answer_is_still_read_as_the_option_that_was_named(
    make: Make, characters: Any, order: Any, letters: Any
) -> None:
    texts = ["cat", "dog", "owl"]
    instance = make("id", "Which?", texts, correct={1})
    train = [make("train", "Example?", texts, correct={2}, split=Split.TRAIN)]
    settings = {"option_order": order, "reference_prefix_characters": letters, "max_train_instances": 1}
    adapter = MultipleChoiceJoint(MultipleChoiceJoint.Params(**settings))
    (adapted,) = adapter.adapt([instance], train, characters(), trial=0, seed=0)
    (request,) = adapted.requests
    assert isinstance(request, GenerateRequest)
    assert adapted.instance == instance
    example, question = (block.splitlines() for block in str(request.prompt).split("\n\n"))
    shown = dict(line.split(". ") for line in question[1:4])
    assert sorted(shown) == (letters or ["A", "B", "C"])
    assert set(shown.values()) == set(texts)
    if order == "reversed":
        assert list(shown.values()) == texts[::-1]
    taught = dict(line.split(". ") for line in example[1:4])
    assert taught[example[4].removeprefix("Output: ")] == "owl"
    for letter, text in shown.items():
        found = adapter.predict(adapted, [Response(completions=(Completion(text=f" {letter}"),))])
        assert (found.text, found.choice) == (text, texts.index(text))


def test_the_shuffled_order_depends_on_the_seed_and_the_question_alone(make: Make, characters: Any) -> None:
    def prompts(seed: int, *instances: Instance) -> list[str]:
        adapter = MultipleChoiceJointScored(MultipleChoiceJointScored.Params(option_order=seed, max_train_instances=0))
        found = adapter.adapt(list(instances), [], characters(), trial=0, seed=0)
        contexts = []
        for adapted in found:
            request = adapted.requests[0]
            assert isinstance(request, ScoreRequest)
            contexts.append(str(request.context))
        return contexts

    several = [make(f"id{number}", f"Question {number}?", "abcdefgh") for number in range(3)]
    assert prompts(1, *several) == prompts(1, *several[::-1])[::-1]
    assert prompts(1, *several) != prompts(2, *several)
    assert len({prompt.partition("\n")[2] for prompt in prompts(1, *several)}) == 3


def test_several_right_options_are_shown_in_the_order_of_their_letters(make: Make, characters: Any) -> None:
    train = [make("train", "Example?", ["cat", "dog", "owl"], correct={0, 1}, split=Split.TRAIN)]
    settings = {"option_order": "reversed", "multi_label": True, "max_train_instances": 1, "max_tokens": 5}
    adapter = MultipleChoiceJoint(MultipleChoiceJoint.Params(**settings))
    (adapted,) = adapter.adapt([make("id", "Which?", ["x", "y"], correct={1})], train, characters(), trial=0, seed=0)
    (request,) = adapted.requests
    assert isinstance(request, GenerateRequest)
    assert "Output: B, C\n" in str(request.prompt)
