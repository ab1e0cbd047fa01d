from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from adapters.multiple_choice_separate_calibrated import MultipleChoiceSeparateCalibrated
from adapters.multiple_choice_separate_original import MultipleChoiceSeparateOriginal
from harness import Adapted, HarnessError, Instance, Message, ModelError, Response, ScoreRequest

Make = Callable[..., Instance]
Original = MultipleChoiceSeparateOriginal
Calibrated = MultipleChoiceSeparateCalibrated


def adapt_one(
    adapter: Original | Calibrated, instance: Instance, tokenization: Any, train: list[Instance] | None = None
) -> Adapted:
    (adapted,) = adapter.adapt([instance], train or [], tokenization, trial=0, seed=0)
    return adapted


def scored(adapted: Adapted) -> list[tuple[Any, str, int | None, str]]:
    rows = []
    for request in adapted.requests:
        assert isinstance(request, ScoreRequest)
        assert request.origin is not None
        rows.append((request.context, request.continuation, request.origin.reference, request.origin.role))
    return rows


def test_each_reference_continues_the_input(make: Make, characters: Any) -> None:
    adapter = Original(Original.Params())
    assert scored(adapt_one(adapter, make("e", "A dog", ["barks.", "meows."]), characters())) == [
        ("A dog", " barks.", 0, "original"),
        ("A dog", " meows.", 1, "original"),
    ]


def test_an_empty_output_prefix_scores_the_reference_alone(make: Make, characters: Any) -> None:
    """HELM's ``empty_input``: the references are whole sentences."""
    adapter = Original(Original.Params(output_prefix=""))
    rows = scored(adapt_one(adapter, make("e", "", ["Dogs bark.", "Dogs meow."]), characters()))
    assert [(context, answer) for context, answer, *_ in rows] == [("", "Dogs bark."), ("", "Dogs meow.")]


def test_examples_and_affixes_are_helms(make: Make, helm_train: list[Instance], characters: Any) -> None:
    adapter = Original(
        Original.Params(
            max_train_instances=2,
            sample_train=False,
            instructions="Choose.\n",
            input_prefix="Q: ",
            input_suffix="\n",
            output_prefix="A: ",
            output_suffix="\n",
        )
    )
    ((context, answer, *_), *_) = scored(adapt_one(adapter, make("e", "Third?"), characters(), helm_train))
    assert context + answer == (
        "Choose.\n\n"
        "Q: Second reference is correct\nA: Second\n\n"
        "Q: First and second references are correct\nA: First\n\n"
        "Q: Third?\nA: First"
    )
    assert answer == " First"


def test_calibration_asks_about_each_reference_without_the_question(
    make: Make, helm_train: list[Instance], characters: Any
) -> None:
    adapter = Calibrated(Calibrated.Params(max_train_instances=1, sample_train=False))
    adapted = adapt_one(adapter, make("e", "A dog", ["barks.", "meows."]), characters(), helm_train)
    question = "Second reference is correct Second\nA dog"
    assert scored(adapted) == [
        (question, " barks.", 0, "original"),
        ("Answer:", " barks.", 0, "calibration"),
        (question, " meows.", 1, "original"),
        ("Answer:", " meows.", 1, "calibration"),
    ]


def test_a_chat_models_turn_is_the_reference(make: Make, characters: Any) -> None:
    adapted = adapt_one(Original(Original.Params()), make("e", "A dog", ["barks."]), characters(chat=True))
    assert scored(adapted) == [((Message("user", "A dog"),), "barks.", 0, "original")]


@pytest.mark.parametrize(
    ("normalization", "scores", "choice"),
    [("tokens", (-1.0, -1.5), 0), ("none", (-3.0, -1.5), 1), ("characters", (-3.0 / 4, -1.5 / 1), 0)],
)
def test_a_score_is_a_log_likelihood_by_its_length(
    make: Make, characters: Any, normalization: Any, scores: tuple[float, float], choice: int
) -> None:
    adapter = Original(Original.Params(length_normalization=normalization))
    adapted = adapt_one(adapter, make("e", "eval", ["four", "1"]), characters())
    prediction = adapter.predict(adapted, [Response(logprobs=(-1.0, -0.5, -1.5)), Response(logprobs=(-1.5,))])
    assert prediction.choice_scores == scores
    assert prediction.choice == choice
    assert prediction.text == ["four", "1"][choice]
    assert prediction.probability == pytest.approx(math.exp(max(scores)) / sum(map(math.exp, scores)))


def test_a_calibrated_score_is_what_the_question_adds(make: Make, characters: Any) -> None:
    adapter = Calibrated(Calibrated.Params())
    adapted = adapt_one(adapter, make("e", "eval", ["common", "rare"]), characters())
    given = [(-1.0, -1.0), (-0.5, -0.5), (-2.0, -3.0), (-4.0, -4.0)]
    prediction = adapter.predict(adapted, [Response(logprobs=each) for each in given])
    assert prediction.choice_scores == (-2.0 - -1.0, -5.0 - -8.0)
    assert prediction.text == "rare"


def test_ties_go_to_the_first_and_show_in_the_scores(make: Make, characters: Any) -> None:
    adapter = Original(Original.Params())
    adapted = adapt_one(adapter, make("e", "eval", ["a", "b", "c"]), characters())
    prediction = adapter.predict(adapted, [Response(logprobs=(each,)) for each in (-2.0, -1.0, -1.0)])
    assert prediction.choice == 1
    assert prediction.choice_scores == (-2.0, -1.0, -1.0)


@pytest.mark.parametrize("adapter", [Original(Original.Params()), Calibrated(Calibrated.Params())])
@pytest.mark.parametrize("logprobs", [None, (), (-1.0, math.nan)])
def test_missing_log_probabilities_are_an_error(
    make: Make, characters: Any, adapter: Original | Calibrated, logprobs: tuple[float, ...] | None
) -> None:
    adapted = adapt_one(adapter, make("e", "eval", ["a", "b"]), characters())
    responses = [Response(logprobs=(-1.0,))] * (len(adapted.requests) - 1) + [Response(logprobs=logprobs)]
    with pytest.raises(ModelError, match=f"request {len(adapted.requests) - 1} of instance 'e'"):
        adapter.predict(adapted, responses)


def test_impossible_options_have_no_probability(make: Make, characters: Any) -> None:
    adapter = Original(Original.Params())
    adapted = adapt_one(adapter, make("e", "eval", ["a", "b"]), characters())
    prediction = adapter.predict(adapted, [Response(logprobs=(-math.inf,))] * 2)
    assert prediction.probability is None


def test_all_references_follow_the_same_prompt_with_room_for_the_longest(
    make: Make, helm_train: list[Instance], characters: Any
) -> None:
    adapter = Original(Original.Params(max_train_instances=2, sample_train=False))
    both = len("Second reference is correct Second\nFirst and second references are correct First\nA dog")
    tokenization = characters(window=1 + both + 1 + len(" barks."))
    adapted = adapt_one(adapter, make("e", "A dog", ["barks.", "has a very long reference"]), tokenization, helm_train)
    assert {context for context, *_ in scored(adapted)} == {"Second reference is correct Second\nA dog"}
    assert (adapted.train_instances, adapted.dropped_examples) == (("train0",), 1)


@pytest.mark.parametrize(
    ("answers", "settings", "message"),
    [([], {}, "no references"), (["a", ""], {"output_prefix": "A:"}, "reference 1 of instance 'e' is empty")],
)
def test_what_cannot_be_scored_is_refused(
    make: Make, characters: Any, answers: list[str], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(HarnessError, match=message):
        adapt_one(Original(Original.Params(**settings)), make("e", "eval", answers), characters())
