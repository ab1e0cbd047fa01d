from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from adapters.multiple_choice_shared_ending import MultipleChoiceSharedEnding
from harness import Adapted, HarnessError, Instance, Message, Response, ScoreRequest, Split

Make = Callable[..., Instance]
Ending = MultipleChoiceSharedEnding


def adapt_one(adapter: Ending, instance: Instance, tokenization: Any, train: list[Instance] | None = None) -> Adapted:
    (adapted,) = adapter.adapt([instance], train or [], tokenization, trial=0, seed=0)
    return adapted


def scored(adapted: Adapted) -> list[tuple[Any, str, int | None]]:
    rows = []
    for request in adapted.requests:
        assert isinstance(request, ScoreRequest)
        assert request.origin is not None
        rows.append((request.context, request.continuation, request.origin.reference))
    return rows


def test_the_ending_is_scored_after_each_option(make: Make, characters: Any) -> None:
    instance = make("e", "Ann thanked Kim since _ had helped.", ["Ann", "Kim"])
    assert scored(adapt_one(Ending(Ending.Params()), instance, characters())) == [
        ("Ann thanked Kim since Ann", " had helped.", 0),
        ("Ann thanked Kim since Kim", " had helped.", 1),
    ]


def test_an_example_is_the_sentence_with_its_right_option(make: Make, characters: Any) -> None:
    """As in lm-evaluation-harness: the option is part of the question, the ending its answer."""
    train = [make("t", "The cup hit a wall and _  broke. ", ["a wall", "the cup"], correct={1}, split=Split.TRAIN)]
    adapter = Ending(Ending.Params(max_train_instances=1, output_suffix="\n"))
    adapted = adapt_one(adapter, make("e", "Ann saw _ leave.", ["Kim", "him"]), characters(), train)
    assert [context for context, *_ in scored(adapted)] == [
        "The cup hit a wall and the cup broke.\n\nAnn saw Kim",
        "The cup hit a wall and the cup broke.\n\nAnn saw him",
    ]


@pytest.mark.parametrize(("output_prefix", "ending"), [(" ", " 's pet."), ("", "'s pet."), ("\n", "\n's pet.")])
def test_whitespace_after_the_gap(make: Make, characters: Any, output_prefix: str, ending: str) -> None:
    adapter = Ending(Ending.Params(output_prefix=output_prefix))
    rows = scored(adapt_one(adapter, make("e", "This is _'s pet.", ["Ann"]), characters()))
    assert rows == [("This is Ann", ending, 0)]


def test_the_first_gap_of_several_is_filled_and_its_mark_can_be_chosen(make: Make, characters: Any) -> None:
    adapter = Ending(Ending.Params(gap="[MASK]", output_prefix=""))
    rows = scored(adapt_one(adapter, make("e", "因为[MASK]很_大,[MASK]。", ["树"]), characters()))
    assert rows == [("因为树", "很_大,[MASK]。", 0)]


def test_a_chat_models_turn_is_the_ending(make: Make, characters: Any) -> None:
    adapted = adapt_one(Ending(Ending.Params()), make("e", "So _ left.", ["Ann"]), characters(chat=True))
    assert scored(adapted) == [((Message("user", "So Ann"),), "left.", 0)]


def test_the_option_with_the_likeliest_ending_wins(make: Make, characters: Any) -> None:
    adapter = Ending(Ending.Params())
    adapted = adapt_one(adapter, make("e", "So _ left.", ["Ann", "Bartholomew"]), characters())
    prediction = adapter.predict(adapted, [Response(logprobs=(-1.0, -2.0)), Response(logprobs=(-0.5, -0.75))])
    assert (prediction.choice, prediction.text) == (1, "Bartholomew")
    assert prediction.choice_scores == (-3.0, -1.25)
    assert prediction.probability == pytest.approx(1 / (1 + math.exp(-1.75)))


def test_a_long_beginning_is_cut_before_the_option(make: Make, characters: Any) -> None:
    """The option and the ending stay whole, however long the text before them."""
    instance = make("e", "x" * 100 + "_ ends.", ["one", "three"])
    adapted = adapt_one(Ending(Ending.Params()), instance, characters(window=30))
    assert [(context.lstrip("x"), ending) for context, ending, _ in scored(adapted)] == [
        ("one", " ends."),
        ("three", " ends."),
    ]
    assert adapted.truncated


@pytest.mark.parametrize(
    ("text", "answers", "message"),
    [
        ("There is none.", ["a"], "has no gap '_'"),
        ("It ends with _ ", ["a"], "nothing follows the gap '_'"),
        ("So _ left.", [], "no references"),
    ],
)
def test_what_cannot_be_scored_is_refused(
    make: Make, characters: Any, text: str, answers: list[str], message: str
) -> None:
    with pytest.raises(HarnessError, match=message):
        adapt_one(Ending(Ending.Params()), make("e", text, answers), characters())
