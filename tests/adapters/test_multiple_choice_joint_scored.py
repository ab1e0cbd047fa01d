from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from adapters.multiple_choice_joint import MultipleChoiceJoint
from adapters.multiple_choice_joint_scored import MultipleChoiceJointScored
from harness import (
    Adapted,
    GenerateRequest,
    HarnessError,
    Instance,
    Message,
    ModelError,
    Origin,
    Response,
    ScoreRequest,
)

Make = Callable[..., Instance]


def adapt_one(settings: dict[str, Any], instance: Instance, train: list[Instance], tokenization: Any) -> Adapted:
    adapter = MultipleChoiceJointScored(MultipleChoiceJointScored.Params(**settings))
    (adapted,) = adapter.adapt([instance], train, tokenization, trial=0, seed=0)
    return adapted


def test_each_letter_continues_the_joint_prompt(
    helm_train: list[Instance], helm_eval: Instance, characters: Any
) -> None:
    settings = {"sample_train": False, "output_noun": "Answer"}
    joint = MultipleChoiceJoint(MultipleChoiceJoint.Params(**settings))
    (asked,) = joint.adapt([helm_eval], helm_train, characters(), trial=0, seed=0)
    assert isinstance(asked.requests[0], GenerateRequest)
    adapted = adapt_one(settings, helm_eval, helm_train, characters())
    assert adapted.requests == tuple(ScoreRequest(asked.requests[0].prompt, answer) for answer in (" A", " B", " C"))
    assert [request.origin for request in adapted.requests] == [Origin("test0", reference=index) for index in range(3)]
    assert adapted.labels == ("A", "B", "C")
    assert adapted.train_instances == ("train0", "train1")


@pytest.mark.parametrize(("output_prefix", "answer"), [("Answer:", "A"), ("Answer:\n", "\nA"), ("Answer: ", " A")])
def test_the_letter_follows_the_output_prefixs_own_whitespace(
    make: Make, characters: Any, output_prefix: str, answer: str
) -> None:
    settings = {"max_train_instances": 0, "output_prefix": output_prefix}
    request = adapt_one(settings, make("e", "eval"), [], characters()).requests[0]
    assert isinstance(request, ScoreRequest)
    assert isinstance(request.context, str)
    assert request.context + request.continuation == f"Input: eval\nA. First\nB. Second\nC. Third\n{output_prefix}A"
    assert request.continuation == answer


def test_a_chat_models_turn_begins_with_the_letter(make: Make, characters: Any) -> None:
    request = adapt_one({"max_train_instances": 0}, make("e", "eval"), [], characters(chat=True)).requests[1]
    assert request == ScoreRequest((Message("user", "Input: eval\nA. First\nB. Second\nC. Third\nOutput:"),), "B")


@pytest.mark.parametrize(
    ("logprobs", "choice"),
    [([(-1.0,), (-0.5,), (-2.0,)], 1), ([(-1.0, -1.0), (-1.5, -1.5), (-1.75,)], 2), ([(-1.0,), (-1.0,), (-1.0,)], 0)],
)
def test_the_likeliest_letter_is_chosen(
    make: Make, characters: Any, logprobs: list[tuple[float, ...]], choice: int
) -> None:
    instance = make("e", "eval")
    adapted = adapt_one({"max_train_instances": 0}, instance, [], characters())
    adapter = MultipleChoiceJointScored(MultipleChoiceJointScored.Params())
    prediction = adapter.predict(adapted, [Response(logprobs=each) for each in logprobs])
    totals = [sum(each) for each in logprobs]
    assert prediction.choice == choice
    assert prediction.text == instance.references[choice].text
    assert prediction.choice_scores == tuple(totals)
    assert prediction.probability == pytest.approx(math.exp(max(totals)) / sum(map(math.exp, totals)))


@pytest.mark.parametrize("logprobs", [None, (), (math.nan,)])
def test_missing_log_probabilities_are_an_error(
    make: Make, characters: Any, logprobs: tuple[float, ...] | None
) -> None:
    adapted = adapt_one({"max_train_instances": 0}, make("e", "eval"), [], characters())
    adapter = MultipleChoiceJointScored(MultipleChoiceJointScored.Params())
    with pytest.raises(ModelError, match="request 2 of instance 'e'"):
        adapter.predict(adapted, [Response(logprobs=each) for each in ((-1.0,), (-1.0,), logprobs)])


def test_the_prompt_and_the_longest_letter_fit_the_window(make: Make, characters: Any) -> None:
    adapted = adapt_one({"max_train_instances": 0}, make("e", "x" * 1000), [], characters(window=100))
    (context,) = {request.context for request in adapted.requests if isinstance(request, ScoreRequest)}
    assert characters().count_tokens(context) + characters().count_tokens(" A") == 100
    assert adapted.truncated


def test_an_instance_without_options_is_refused(make: Make, characters: Any) -> None:
    with pytest.raises(HarnessError, match="'e' has no references"):
        adapt_one({"max_train_instances": 0}, make("e", "eval", []), [], characters())
